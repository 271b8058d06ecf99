"""Documents in review: the site corrects the type or replaces the file."""

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.core.files.base import ContentFile
from playwright.sync_api import expect

from ingestion.intake import registration
from ingestion.models import Document, WorkerHost
from samples.documents import make_sample
from tests.browser.actions import SAMPLE, fits, make_sample_site, work
from tests.ingestion.review.reviewers import lead

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
]
WHY = "It was marked as a letter by mistake."
NOTE = "This is a delegation log, and no letter of the IRB."
WIDE, PHONE = {"width": 1200, "height": 900}, {"width": 360, "height": 740}
SHOTS = os.environ.get("SHOTS")


def shoot(page, name):
    assert fits(page), name
    if SHOTS:
        page.screenshot(path=str(Path(SHOTS) / f"{name}.png"), full_page=True)


def shoot_both(page, name):
    shoot(page, f"{name}_wide")
    page.set_viewport_size(PHONE)
    shoot(page, f"{name}_phone")
    page.set_viewport_size(WIDE)


@pytest.fixture
def site():
    return make_sample_site()


def content_of(kind="delegation-log"):
    return make_sample(kind, today=datetime.now(UTC).date(), site=SAMPLE)


@pytest.fixture
def document(mara):
    """Return a delegation log that was declared as an IRB approval and is in review."""
    name = "Delegation_log.pdf"
    sent = registration.UploadedDocument(name, "irb-approval", "", ContentFile(content_of(), name))
    WorkerHost.objects.create(name="h", host="worker-01", workers=1, software="1")
    site = mara.memberships.get().site
    packet = registration.register_upload(site=site, user=mara, files=[sent])
    work()
    document = packet.documents.get()
    assert (document.state, document.code) == ("IN_REVIEW", "DOC_TYPE_CONFLICT")
    return document


@pytest.mark.slow
def test_a_site_corrects_the_type_and_the_same_file_is_filed(signed_in, mara, document):
    page = signed_in(mara, viewport=WIDE)
    page.goto(f"/packets/{document.packet.reference}/")
    advice = "If you meant to send a delegation log, correct the type."
    expect(page.get_by_text(advice)).to_be_visible()
    shoot_both(page, "packet_in_review")
    page.goto(f"/documents/{document.pk}/")
    shoot_both(page, "document_in_review")
    page.get_by_role("link", name="Correct type or person").click()
    page.get_by_label("Type").select_option("cv")
    page.get_by_label("Reason").fill(WHY)
    page.get_by_role("button", name="Save and check again").click()
    expect(page.get_by_role("alert")).to_contain_text("Enter the name of the person whose CV")
    shoot_both(page, "correct_type_refused")
    page.get_by_label("Type").select_option("delegation-log")
    page.get_by_role("button", name="Save and check again").click()
    expect(page.get_by_text("The checks run again. This page shows the result.")).to_be_visible()
    shoot_both(page, "checked_again")
    work()
    page.reload()
    expect(page.locator(".sl-chip").first).to_have_text("Filed")
    sentence = "Type or person corrected: Delegation log. It was sent as IRB approval"
    expect(page.get_by_text(sentence)).to_be_visible()
    shoot_both(page, "filed_after_correction")
    assert Document.objects.get().doc_id == "delegation-log"


def test_a_reviewer_corrects_the_type_and_the_same_file_is_filed(signed_in, document):
    page = signed_in(lead("ines", "Inês Duarte"), viewport=WIDE)
    page.goto(f"/admin/review/{document.pk}/")
    expect(page.get_by_text("What to check").first).to_be_visible()
    expect(page.get_by_text("What to do")).to_have_count(0)
    shoot_both(page, "review_page")
    page.get_by_role("link", name="Correct type or person").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Type").select_option("delegation-log")
    dialog.get_by_label("Reason").fill(NOTE)
    shoot_both(page, "review_correct_type")
    dialog.get_by_label("User name").fill("ines")
    dialog.get_by_label("Password").fill("correct horse")
    dialog.get_by_role("button", name="Sign").click()
    page.wait_for_url("**/admin/review/")
    expect(page.get_by_text("The checks run again.")).to_be_visible()
    work()
    page.goto(f"/admin/review/{document.pk}/")
    expect(page.locator(".sl-chip").first).to_have_text("Filed")
    expect(page.get_by_text("Corrected to")).to_be_visible()
    shoot_both(page, "review_corrected")


def replace(page, document, letter):
    """Replace the file with the buttons of the page."""
    page.goto(f"/documents/{document.pk}/")
    page.get_by_role("link", name="Replace the file").click()
    page.locator("[data-drop] input").set_input_files(letter)
    expect(page.locator("[data-hint]")).to_contain_text("Type detected")
    shoot_both(page, "replace_form")
    page.get_by_role("button", name="Replace the file").click()
    page.wait_for_url("**/packets/PKT-*/")
    work()


@pytest.mark.slow
def test_a_reviewer_sees_that_the_file_was_replaced_and_keeps_the_note(
    signed_in, client, mara, document, tmp_path
):
    reviewing = signed_in(lead("ines", "Inês Duarte"), viewport=WIDE)
    reviewing.goto(f"/admin/review/{document.pk}/")
    reviewing.get_by_role("link", name="Return to site").click()
    dialog = reviewing.get_by_role("dialog")
    dialog.get_by_label("Reason").select_option("WRONG_DOCUMENT")
    dialog.get_by_label("Note to the site").fill(NOTE)

    client.cookies.clear()  # the reviewer stays signed in
    page = signed_in(mara, viewport=WIDE)
    letter = tmp_path / "IRB_letter.pdf"
    letter.write_bytes(content_of("irb-approval"))
    replace(page, document, letter)
    expect(page.locator("h2").first).to_have_text("All documents are on file")
    page.goto(f"/documents/{document.pk}/")
    expect(page.get_by_text("The site replaced this file during review.")).to_be_visible()
    shoot_both(page, "replaced_document")

    dialog.get_by_role("button", name="Return to site").click()
    expect(dialog.get_by_role("heading").first).to_contain_text("The site replaced this file")
    expect(dialog.get_by_text(NOTE)).to_be_visible()
    shoot_both(reviewing, "review_overtaken")
    dialog.get_by_role("link", name="IRB_letter.pdf").click()
    expect(reviewing.locator(".sl-chip").first).to_have_text("Filed")
    assert not document.qa_decisions.exists()


@pytest.mark.slow
def test_an_open_page_shows_that_the_last_worker_stopped(signed_in, mara):
    host = WorkerHost.objects.create(name="h", host="worker-01", workers=1, software="1")
    sent = registration.UploadedDocument(
        "a.pdf", "irb-approval", "", ContentFile(b"%PDF-1.7", "a.pdf")
    )
    site = mara.memberships.get().site
    packet = registration.register_upload(site=site, user=mara, files=[sent])
    page = signed_in(mara, viewport=WIDE)
    page.goto(f"/packets/{packet.reference}/")
    expect(page.locator("h2").first).to_have_text("Checking your documents")
    host.delete()
    stopped = "Checking has stopped: no worker is running"
    expect(page.locator("h2").first).to_have_text(stopped)
    shoot_both(page, "no_worker")
    page.goto("/")
    shoot_both(page, "home_no_worker")
