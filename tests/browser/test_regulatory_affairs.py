"""The work of regulatory affairs in a browser: trail, verification, reviews and exports."""

import pytest
from playwright.sync_api import expect

from audit import background_jobs, job_runs
from audit.export.job import KIND
from audit.ledger import queries
from audit.ledger.actors import Actor
from audit.signing import key_rotation
from ingestion import roles
from tests.factories import make_staff
from tests.web.scenes import FILED, REJECTED, make_packet

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
]
FINDINGS = "I looked for changes of sites at night, and saw none."


@pytest.fixture
def work(settings, tmp_path):
    """`work()` runs the waiting jobs, as a worker does."""
    settings.AUDIT_KEY_FILE = tmp_path / "keys" / "audit.pem"
    settings.ANCHOR_DIR, settings.EXPORT_DIR = tmp_path / "anchors", tmp_path / "exports"
    key_rotation.create_key(by=Actor.software("tests", "operations"))

    def work():
        while job_runs.run_next_job():
            pass

    return work


@pytest.fixture
def rafael():
    roles.install()  # a transactional test begins with empty tables
    return make_staff("Regulatory affairs", "rafael", printed_name="Rafael Duarte")


@pytest.fixture
def packet(site, mara):
    return make_packet(site, mara, FILED, REJECTED)


@pytest.mark.slow
def test_the_trail_of_a_document_is_reached_from_its_page(sign_in, rafael, packet):
    page = sign_in(rafael)
    expect(page.locator("h1")).to_have_text("Audit trail")
    page.goto(f"/documents/{packet.documents.get(state='REJECTED').pk}/")
    page.get_by_role("link", name="Audit trail of this document").click()
    expect(page.get_by_text("Checking → Rejected")).to_be_visible()
    expect(page.get_by_text("SIGNATURE_MISSING", exact=False).first).to_be_visible()
    entry = page.locator("li", has_text="Checking → Rejected")
    expect(entry.locator("pre")).to_be_hidden()
    entry.locator("summary").click()
    expect(entry.locator("pre")).to_contain_text("SIGNATURE_MISSING")


@pytest.mark.slow
def test_the_chain_is_verified_while_the_page_is_open(signed_in, rafael, packet, work):
    page = signed_in(rafael)
    page.goto("/admin/audit/")
    page.get_by_role("link", name="Verification", exact=True).click()
    page.get_by_role("button", name="Verify now").click()
    expect(page.get_by_role("status").filter(has_text="Waiting for a worker")).to_be_visible()
    work()
    sentence = "The audit trail is consistent, but no independent anchor confirms it."
    expect(page.get_by_text(sentence)).to_be_visible()


@pytest.mark.slow
def test_a_review_of_the_trail_is_signed(sign_in, rafael, packet):
    page = sign_in(rafael)
    page.get_by_role("link", name="Reviews").click()
    page.get_by_role("link", name="Record a review").click()
    page.get_by_label("Findings").fill(FINDINGS)
    page.get_by_label("User name").fill("rafael")
    page.get_by_label("Password").fill("correct horse")
    page.get_by_role("button", name="Sign the review").click()
    expect(page.get_by_text(FINDINGS)).to_be_visible()
    (entry,) = queries.find_entries(limit=1)
    assert (entry.event, entry.actor) == ("ledger.reviewed", rafael.actor_name)


@pytest.mark.slow
def test_an_export_is_created_and_downloaded_without_javascript(signed_in, rafael, packet, work):
    page = signed_in(rafael, java_script_enabled=False)
    page.goto("/admin/audit/export/")
    page.get_by_role("link", name="Export audit trail").click()
    page.get_by_label("Site number").fill("0203")
    page.get_by_role("button", name="Continue").click()
    page.get_by_role("button", name="Create export").click()
    expect(page.get_by_role("status").filter(has_text="Waiting for a worker")).to_be_visible()
    work()
    page.reload()
    with page.expect_download() as download:
        page.get_by_role("link", name="Download export").click()
    job = background_jobs.list_latest_jobs(KIND, 1)[0]
    assert download.value.suggested_filename == f"audit-{job.pk}-1.zip"
