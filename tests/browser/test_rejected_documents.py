"""Rejected documents: the marked finding, the correction, and the review request."""

from datetime import UTC, datetime

import pytest
from playwright.sync_api import expect

from ingestion.models import Document
from samples.documents import make_sample
from samples.faults import DocumentFault
from tests.browser.actions import SAMPLE, choose, fits, make_sample_site, work

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
]


@pytest.fixture
def site():
    return make_sample_site()


def write(path, fault=None):
    today = datetime.now(UTC).date()
    path.write_bytes(make_sample("delegation-log", today=today, site=SAMPLE, fault=fault))
    return path


@pytest.fixture
def page(signed_in, mara, tmp_path):
    """Return the page of a packet with an unsigned delegation log, which was rejected."""
    opened = signed_in(mara)
    opened.goto("/packets/new/")
    choose(opened, write(tmp_path / "Delegation_log.pdf", DocumentFault.UNSIGNED))
    opened.get_by_role("button", name="Send packet (1)").click()
    opened.wait_for_url("**/packets/PKT-*/")
    work()
    expect(opened.locator("h2").first).to_have_text("1 of 1 document needs your attention")
    return opened


def is_drawn(picture):
    return picture.evaluate("picture => picture.decode().then(() => picture.naturalWidth > 0)")


@pytest.mark.slow
def test_the_finding_is_marked_on_the_image_of_the_page(page):
    page.locator("summary").click()
    picture = page.locator(".sl-sheet img")
    assert is_drawn(picture)
    expect(page.locator(".sl-sheet rect")).to_be_attached()
    page.get_by_role("link", name="Delegation_log.pdf").click()
    assert is_drawn(page.locator(".sl-sheet img"))
    page.set_viewport_size({"width": 320, "height": 640})
    assert fits(page)


@pytest.mark.slow
def test_a_corrected_file_replaces_the_rejected_one_and_both_link_to_each_other(page, tmp_path):
    page.get_by_role("link", name="Upload a corrected file").click()
    expect(page.locator("h1")).to_have_text("Upload a corrected file")
    expect(page.get_by_role("button", name="Select file")).to_be_visible()
    signed = write(tmp_path / "Delegation_log_signed.pdf")
    page.locator("[data-drop] input").set_input_files(signed)
    expect(page.locator("[data-hint]")).to_contain_text("Type detected")
    page.set_viewport_size({"width": 320, "height": 640})
    assert fits(page)
    page.get_by_role("button", name="Send the corrected file").click()
    page.wait_for_url("**/packets/PKT-*/")
    work()
    expect(page.locator("h2").first).to_have_text("All documents are on file")
    page.get_by_text("Replaces").get_by_role("link").click()
    expect(page.get_by_text("Corrected by")).to_contain_text("Delegation_log_signed.pdf")
    expect(page.get_by_role("link", name="Upload a corrected file")).to_have_count(0)
    old, new = Document.objects.order_by("pk")
    assert (new.corrects, new.doc_id, new.state) == (old, old.doc_id, "ARCHIVED")
    page.goto(f"/documents/{old.pk}/correct/")
    expect(page.get_by_text("A corrected file was already sent.")).to_be_visible()
    page.goto("/")
    expect(page.locator("h2").first).to_have_text("Nothing needs your attention")


@pytest.mark.slow
def test_a_site_requests_a_review_in_its_own_words(page):
    page.get_by_role("link", name="Request a review").click()
    page.get_by_role("button", name="Request a review").click()
    expect(page.get_by_role("alert")).to_contain_text("Describe what QA should check.")
    page.get_by_label("Why do you think").fill("The signature is in the margin of page 1.")
    page.get_by_role("button", name="Request a review").click()
    expect(page.get_by_text("Your request was sent to QA.")).to_be_visible()
    expect(page.locator(".sl-chip").first).to_have_text("In review")
    expect(page.get_by_text("in the margin of page 1")).to_be_visible()
    page.goto(f"{page.url}ask/")
    expect(page.locator("h1")).to_contain_text("A review was already requested on")
