"""The work of operations in a browser: dashboard and stuck items."""

import re
from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from audit.ledger import queries
from ingestion import roles
from ingestion.models import WorkerHost
from tests.browser.actions import fits
from tests.factories import make_read, make_site, make_staff, make_user
from tests.web.operations.conftest import hold
from web.operations import dashboard

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
]
WHY = "The archive's disk was exchanged."


@pytest.fixture(autouse=True)
def _quick(monkeypatch, settings, tmp_path):
    monkeypatch.setattr(dashboard, "POLL_MILLISECONDS", 300)
    settings.ANCHOR_DIR = tmp_path / "anchors"


@pytest.fixture
def olu():
    roles.install()  # a transactional test begins with empty tables
    return make_staff("Operations", "olu", printed_name="Olu Adeyemi")


def host(**columns):
    return WorkerHost.objects.create(name="h", host="worker-01", workers=2, software="1", **columns)


def test_a_held_document_is_retried_from_the_dashboard(sign_in, olu, site):
    host()
    [document] = hold(site)
    page = sign_in(olu)
    expect(page.get_by_text("1 document is held.")).to_be_visible()
    page.get_by_role("link", name="Open stuck items").click()
    page.get_by_role("button", name="Retry selected documents").click()
    expect(page.get_by_role("alert")).to_contain_text("Enter a reason.")
    page.get_by_role("checkbox", name="CV, doc-1, site 0203").check()
    page.get_by_role("textbox", name="Reason").fill(WHY)
    page.get_by_role("button", name="Retry selected documents").click()
    expect(page.get_by_text("1 document is in the queue again.")).to_be_visible()
    expect(page.get_by_text("There are no stuck items.")).to_be_visible()
    entry = queries.list_entries(document.subject)[-1]
    assert (entry.actor, entry.detail["reason"]) == (olu.actor_name, WHY)
    page.get_by_role("link", name="Back to Operations").click()
    expect(page.get_by_text("1 document is held.")).to_have_count(0)


@pytest.mark.slow
def test_the_dashboard_updates_itself_until_it_is_paused(signed_in, olu, site):
    there = host()
    page = signed_in(olu)
    page.goto("/admin/ops/")
    expect(page.get_by_text("No worker heartbeat since")).to_have_count(0)
    page.get_by_text("Show as a table").first.click()
    WorkerHost.objects.update(seen_at=timezone.now() - timedelta(minutes=2))
    expect(page.get_by_text("No worker heartbeat since")).to_be_visible()
    expect(page.get_by_role("columnheader", name="Hour (UTC)")).to_be_visible()
    pause = page.get_by_role("button", name="Pause updates")
    pause.click()
    expect(pause).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_text("Updates are paused")).to_be_visible()
    there.seen_at = timezone.now()
    there.save()
    with pytest.raises(AssertionError):
        expect(page.get_by_text("No worker heartbeat since")).to_have_count(0, timeout=1_500)
    pause.press("Enter")
    expect(page.get_by_text("No worker heartbeat since")).to_have_count(0)


@pytest.mark.slow
def test_without_javascript_the_dashboard_is_complete_and_has_no_pause_button(signed_in, olu, site):
    hold(site)
    page = signed_in(olu, java_script_enabled=False)
    page.goto("/admin/ops/")
    expect(page.get_by_role("button", name="Pause updates")).to_be_hidden()
    expect(page.get_by_role("img", name="Documents per hour, last 24 hours")).to_be_visible()


@pytest.mark.slow
def test_a_coordinator_goes_from_a_missing_document_to_the_upload_form(signed_in, site):
    mara = make_user("mara", sites=(site, make_site("0417")))
    make_read(site, "irb-approval")
    page = signed_in(mara)
    page.goto("/sites/")
    page.get_by_role("link", name=re.compile("Missing ?, CV, site 0203")).click()
    expect(page.locator("h1")).to_have_text("Upload a packet")
    assert "site=0203&type=cv" in page.url


@pytest.mark.slow
def test_the_matrix_scrolls_in_its_own_box_and_keeps_its_sites_visible(signed_in, site):
    mara = make_user("mara", sites=(site, make_site("0417")))
    page = signed_in(mara, viewport={"width": 600, "height": 800})
    page.goto("/sites/")
    box = page.get_by_role("region", name="Required documents by site")
    number = page.get_by_role("link", name="0203", exact=True)
    before = number.bounding_box()["x"]
    box.evaluate("box => box.scrollTo(400, 0)")
    assert box.evaluate("box => box.scrollLeft") == 400
    assert abs(number.bounding_box()["x"] - before) <= 2, "but for the gap between cells"
    assert fits(page)
