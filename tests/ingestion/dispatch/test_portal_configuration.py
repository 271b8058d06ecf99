"""Documents of a portal that may not be asked are held, and say what has to be done by whom."""

import pytest
from django.core.management import call_command

from audit.ledger.queries import list_entries
from ingestion import tasks
from ingestion.core.states import DocumentState
from ingestion.dispatch.shift import work_shift
from ingestion.intake import corrections
from ingestion.models import Document
from ingestion.rules.codes import CODES
from ingestion.rules.finding_texts import format_sentences
from ingestion.sources.credentials import name_credential
from samples.portal import SamplePortal, read_limits
from sites.models import Portal
from tests.factories import make_user

pytestmark = pytest.mark.django_db(transaction=True)


def read_sentences(document, *, for_staff=False):
    [finding] = document.current_findings
    return format_sentences(finding.code, finding.facts, for_staff=for_staff)


def test_documents_wait_until_the_address_of_their_portal_is_approved(few, submit, client):
    with SamplePortal(few.directory, read_limits(few.sites), faults=0) as served:
        batch = submit(few, served)
        portal = Portal.objects.get()
        Portal.objects.update(approved_origin="")
        work_shift()
        assert not served.requests
        held = batch.documents.first()
        assert set(batch.documents.values_list("state", "code")) == {
            (DocumentState.HELD, "PORTAL_NOT_APPROVED")
        }
        assert CODES[held.code].owner == "operations"
        assert f"Portal {portal.key} is not asked" in read_sentences(held).what
        check = read_sentences(held, for_staff=True).do
        assert f"operations has to approve {portal.base_url}" in check
        assert list_entries(held.subject)[-1].detail["findings"][0]["facts"]["portal"] == portal.key
        assert corrections.is_waiting_for_portal(held), "the site may upload an urgent document"
        client.force_login(make_user(sites=(held.site,)))
        assert (
            f"Portal {portal.key} is not asked"
            in client.get(f"/documents/{held.pk}/").content.decode()
        )
        tasks.retry_approved_portals()
        assert Document.objects.held().count() == 3, "nobody has approved it"
        portal.save()  # as it was approved
        tasks.retry_approved_portals()
        work_shift()
    assert not batch.documents.unsettled().exists()
    assert not Document.objects.held().exists()


def test_documents_of_a_portal_with_an_unusable_certificate_are_held_and_name_the_file(
    few, submit, settings, tmp_path
):
    file = tmp_path / "broken.pem"
    file.write_text("-----BEGIN NONSENSE-----")
    with SamplePortal(few.directory, read_limits(few.sites), faults=0) as served:
        batch = submit(few, served)
        settings.PORTAL_SECRETS = {name_credential("CA", Portal.objects.get().key): str(file)}
        work_shift()
        held = batch.documents.first()
        assert (held.state, held.code) == (DocumentState.HELD, "PORTAL_MISCONFIGURED")
        assert str(file) in read_sentences(held, for_staff=True).do
        assert str(file) not in read_sentences(held).what
        file.unlink()
        settings.PORTAL_SECRETS = {}
        call_command("retry", code="PORTAL_MISCONFIGURED", verbosity=0)
        work_shift()
    assert not Document.objects.held().exists()
