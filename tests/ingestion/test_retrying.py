"""What is held goes on with new budgets, on record and by name; what failed waits in its row."""

import pytest
from django.core.management import call_command

from audit.history import timeline
from ingestion import filing, retrying
from ingestion.core.states import BatchState, DocumentState
from ingestion.dispatch import leases
from ingestion.filing import By
from ingestion.models import Document
from tests.factories import make_batch, make_leased, make_site, verdict

pytestmark = pytest.mark.django_db
OLU = By("user:7", "staff")


@pytest.fixture(autouse=True)
def _folders(settings, tmp_path):
    settings.SPOOL_DIR = tmp_path


def make_held(documents=1, site=None, code="PORTAL_UNAVAILABLE"):
    batch = make_batch(site, documents)
    for lease in leases.take(10, by="here:1:1"):
        for item in lease.items:
            filing.take_up(item.document, lease.lease_id, budget=5)
            filing.give_up(item.document, lease.lease_id, code, {"tries": 4}, held=True)
        leases.close(lease.chunk, lease.lease_id)
    return batch


def test_a_held_document_goes_back_with_new_budgets_and_a_name_beside_it():
    document = make_held().documents.get()
    assert retrying.try_again(Document.objects.all(), by=OLU) == 1
    document.refresh_from_db()
    assert (document.state, document.attempts, document.code) == ("RECEIVED", 0, "")
    entry = timeline(document.subject)[-1]
    assert (entry.event, entry.actor) == ("document.tried_again", "user:7")


def test_it_is_worked_like_any_other_and_its_batch_stays_completed():
    batch = make_held()
    retrying.try_again(Document.objects.all(), by=OLU)
    [lease] = leases.take(10, by="here:1:1")
    filing.start_checking(lease.items[0].document, lease.lease_id, sha256="a" * 64, size=1)
    filing.conclude(lease.items[0].document, lease.lease_id, verdict(), pages=1)
    leases.close(lease.chunk, lease.lease_id)
    batch.refresh_from_db()
    assert batch.state == BatchState.COMPLETED
    assert batch.counts() == {DocumentState.ARCHIVED: 1}


def test_only_what_is_held_is_tried_again():
    make_batch()
    assert retrying.try_again(Document.objects.all(), by=OLU) == 0


def test_a_failed_request_is_on_record_and_its_budget_outlives_the_worker():
    chunk, lease = make_leased()
    document = chunk.documents.get()
    retrying.fetch_failed(
        document.pk,
        lease,
        "DOWNLOAD_FAILED",
        {"status": 503},
        tries=2,
        now=leases.database_now(),
        wait=60.0,
        later=True,
    )
    leases.close(chunk.pk, lease)
    entry = timeline(document.subject)[-1]
    assert (entry.event, entry.to_state, entry.detail["status"]) == (
        "document.fetch_failed",
        "",
        503,
    )
    document.refresh_from_db()
    assert document.fetch_tries == 2
    assert leases.take(10, by="there:2:2") == []  # not before its minute is over


def test_the_command_takes_one_site_or_one_code(capsys):
    here, there = make_site(), make_site()
    make_held(site=here)
    make_held(site=there, code="INTERNAL_ERROR")
    call_command("retry", "--dry-run")
    call_command("retry", "--code", "INTERNAL_ERROR")
    call_command("retry", "--site", here.site_id)
    assert capsys.readouterr().out.splitlines() == [
        "2 documents would be tried again.",
        "1 documents are tried again.",
        "1 documents are tried again.",
    ]
