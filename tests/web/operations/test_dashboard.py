"""The dashboard: numbers link to the lists that they count, and alarms have advice."""

import json
import re
import time
from datetime import timedelta
from types import SimpleNamespace

import pytest
from django.core.management import call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from audit.verification import runs
from audit.verification.start import Mode
from ingestion.models import Document, PortalLimitState, WorkerHost
from ingestion.operations import alerts, metrics
from tests.audit.signers import CheckpointSigner
from tests.audit.support import write_many
from tests.factories import make_batch, make_leased, make_read, make_site
from tests.web.conftest import text
from tests.web.operations.conftest import hold
from web.operations import portals

PAGE = "/admin/ops/"
NOW = 1_800_000_000  # seconds since 1970


def tile(page, name):
    """Return the text of one tile, without markup."""
    part = page.split(f"<dt>{name}</dt>")[1].split("</div>")[0]
    return " ".join(re.sub(r"<[^>]+>", " ", part).split())


def test_only_operations_can_open_the_dashboard(as_role, signed_in):
    assert signed_in.get(PAGE).status_code == 403
    assert as_role("QA reviewers").get(PAGE).status_code == 403
    assert as_role("Operations").get(PAGE).status_code == 200


def test_strangers_are_redirected_to_sign_in(client, db):
    assert client.get(PAGE).url == f"/login/?next={PAGE}"


def test_each_number_links_to_the_list_that_it_counts(ops, site, host):
    make_batch(site, 3)
    make_leased(2, make_site())
    make_read(site, "cv")
    hold(site)
    page = text(ops.get(PAGE))
    assert tile(page, "Waiting").startswith("3 ")
    assert tile(page, "In progress").startswith("2 in ")
    assert tile(page, "Filed today").startswith("1 0% rejected")
    assert tile(page, "Busy workers").startswith("0 of 2 last heartbeat just now")
    assert tile(page, "Stuck").startswith("1 ")
    assert tile(page, "Failed tasks").startswith("0 ")
    for address in re.findall(r'<dd><a href="([^"#]+)', page):
        assert ops.get(address.replace("&amp;", "&")).status_code == 200, address


def test_the_verdict_about_the_chain_comes_from_its_verifications(ops, host, monkeypatch):
    assert tile(text(ops.get(PAGE)), "Audit trail").startswith("Not verified ")
    signer = CheckpointSigner(monkeypatch)
    write_many(3)
    runs.run_check(Mode.FULL, asked_by="system:tests")
    verdict = tile(text(ops.get(PAGE)), "Audit trail")
    assert verdict.startswith("Consistent Not confirmed by an independent anchor. Verified ")
    size = signer.sign()
    runs.run_check(Mode.FULL, asked_by="system:tests")
    verdict = tile(text(ops.get(PAGE)), "Audit trail")
    assert verdict.startswith(
        f"Intact Confirmed by an independent anchor up to entry {size}. Verified "
    )


@pytest.mark.parametrize("silent_for", [None, 61])
def test_without_a_worker_the_alarm_names_the_command_to_run(ops, host, silent_for):
    if silent_for:
        host.seen_at = timezone.now() - timedelta(seconds=silent_for)
        host.save()
        assert "No heartbeat" in text(ops.get(PAGE))
    else:
        host.delete()
    page = text(ops.get(PAGE))
    assert '<div class="sl-verdict sl-bad"> <p><strong>No worker heartbeat' in page
    assert "<code>manage.py workers</code>" in page


def test_an_alarm_shows_when_it_began(ops, host, site):
    hold(site)
    assert "Since <time" not in text(ops.get(PAGE))
    alerts.update_alerts(timezone.now() - timedelta(hours=3))
    assert "Since <time" in text(ops.get(PAGE))


def test_with_a_running_worker_there_is_no_alarm(ops, host):
    assert "sl-verdict" not in text(ops.get(PAGE))


def test_a_portal_at_its_limit_is_shown_with_the_waiting_documents(ops, host, monkeypatch):
    monkeypatch.setattr(portals, "time", SimpleNamespace(time=lambda: NOW))
    site = make_site("0204", rate_per_second=1.0, burst=5)
    make_batch(site, 14)
    PortalLimitState.objects.create(portal=site.portal, tat=int((NOW + 60) * 1e6))
    page = text(ops.get(PAGE))
    assert "Site 0204: the portal has reached its request limit." in page
    assert "14 documents are waiting." in page
    assert "100%, limit reached" in page
    PortalLimitState.objects.update(tat=int((NOW + 2.5) * 1e6))
    page = text(ops.get(PAGE))
    assert "has reached its request limit" not in page
    assert ">50%<" in page


def test_a_portal_that_does_not_respond_is_listed_with_its_next_attempt(ops, host, site):
    later = int((time.time() + 300) * 1e6)
    PortalLimitState.objects.create(portal=site.portal, breaker="OPEN", probe_at=later)
    assert "Not responding" in text(ops.get(PAGE))
    PortalLimitState.objects.update(probe_at=int((time.time() - 3600) * 1e6))
    page = text(ops.get(PAGE))
    assert "Not responding" in page
    assert "asked again with the next document" in page
    assert "The next attempt" not in page


def test_problems_of_the_settings_are_shown_with_advice(ops, host, settings):
    settings.SHIFT_SECONDS = 7200
    page = text(ops.get(PAGE))
    assert "A shift of more than an hour keeps a worker from being recycled." in page
    assert "Set SHIFT_SECONDS to 3600 or less." in page


def test_the_fragment_contains_only_the_live_parts(ops, host, site):
    make_read(site, "cv")
    fragment = text(ops.get(PAGE, headers={"X-Fragment": "1"}))
    page = text(ops.get(PAGE))
    live = set(re.findall(r'id="([^"]+)" data-live', page))
    assert live == set(re.findall(r'id="([^"]+)" data-live', fragment))
    assert "<html" not in fragment
    assert "checks-title" not in fragment
    assert 'data-poll="10000"' in page


def test_every_chart_has_a_table_and_no_styles(ops, host, site):
    make_read(site, "cv")
    page = text(ops.get(PAGE))
    assert page.count('role="img"') == 2
    assert page.count("Show as a table") == 2
    assert "style=" not in page


def test_the_number_of_queries_does_not_grow_with_the_work(ops, host, site):
    def queries():
        with CaptureQueriesContext(connection) as counted:
            ops.get(PAGE, headers={"X-Fragment": "1"})
        return len(counted)

    hold(site)
    make_batch(site)
    PortalLimitState.objects.create(portal=site.portal, tat=int((NOW + 60) * 1e6))
    few = queries()
    for number in range(4):
        more = make_site()
        make_batch(more, 3)
        hold(more, 2, "PORTAL_UNAVAILABLE")
        make_read(more, "cv")
        PortalLimitState.objects.create(portal=more.portal, tat=int((NOW + 60) * 1e6))
        WorkerHost.objects.create(name=f"h{number}", host="h", workers=1, software="1")
    Document.objects.filter(state="ARCHIVED").update(code="")
    assert queries() == few


def test_the_dashboard_does_not_say_that_waiting_documents_were_filed(ops, site, host):
    make_batch(site, 10)
    page = text(ops.get(PAGE))
    assert "No documents were rejected, returned, held or put in review." in page
    assert "All documents were filed" not in page


def test_the_dashboard_counts_documents_that_were_not_filed_by_owner(ops, site, host, capsys):
    hold(site, 2)
    hold(make_site(), code="PORTAL_UNAVAILABLE")
    make_read(site, "cv")
    counts = {"site": 0, "qa": 0, "operations": 2, "portal": 1, "sponsor": 0}
    page = text(ops.get(PAGE))
    section = page.split('id="live-owners"')[1].split("</section>")[0]
    numbers = re.findall(r"owner=(\w+)\".*?sl-number\">(\d+)<", section, re.DOTALL)
    assert {owner: int(number) for owner, number in numbers} == counts
    linked = text(ops.get("/admin/ingestion/document/?owner=operations"))
    assert "2 documents" in linked
    call_command("status", as_json=True)
    assert json.loads(capsys.readouterr().out)["unfiled_by_owner"] == counts


def test_a_returned_document_waits_for_its_site_whatever_its_code_is(site, host):
    (document,) = hold(site)
    since = timezone.now() - timedelta(days=1)
    Document.objects.filter(pk=document.pk).update(state="RETURNED", code="SITE_MISMATCH")
    assert metrics.count_unfiled_by_owner(Document.objects.all(), since)["site"] == 1
    Document.objects.filter(pk=document.pk).update(state="HELD", code="NO_LONGER_A_CODE")
    assert metrics.count_unfiled_by_owner(Document.objects.all(), since)["operations"] == 1
