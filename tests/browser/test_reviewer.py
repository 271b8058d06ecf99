"""The work of QA in a browser: with the keyboard, without images, and without JavaScript."""

import dataclasses
import os
from pathlib import Path

import pytest
from playwright.sync_api import expect

from audit.ledger import queries
from ingestion.documents.downloads import VIEWED
from ingestion.models import Action, Document
from ingestion.reading.results import Box
from ingestion.review.review_requests import request_review
from ingestion.rules.checks.signatures import DocumentSignature, SignatureState
from ingestion.rules.fields.values import FieldValue
from ingestion.storage.archive import get_archive
from tests.browser.actions import fits
from tests.ingestion.reading.documents import make_pdf
from tests.ingestion.review.reviewers import decide, lead, reviewer
from tests.web.scenes import (
    FILED,
    IN_REVIEW,
    REJECTED,
    make_packet,
)

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
]
NOTE = "Ask the chair to sign page 2, and send the whole letter again."
SHOTS = os.environ.get("SHOTS")
UNSIGNED = DocumentSignature(SignatureState.EMPTY, 2, Box(60.0, 530.0, 332.0, 620.0))
NAMED = FieldValue("site_number", "0417", 1, "native", 100.0, box=Box(142.0, 129.0, 168.0, 143.0))
DOUBTED = dataclasses.replace(IN_REVIEW, fields=(NAMED,))
UNSIGNED_PAGE = dataclasses.replace(REJECTED, signature=UNSIGNED)


def shoot(page, name):
    if SHOTS:
        page.screenshot(path=str(Path(SHOTS) / f"{name}.png"), full_page=True)


@pytest.fixture
def sent(site, mara, tmp_path):
    def send(*verdicts, content=b""):
        content = content or make_pdf(pages=2)
        packet = make_packet(site, mara, *verdicts, content=content)
        document = packet.documents.order_by("pk").first()
        (tmp_path / "incoming").write_bytes(content)
        get_archive().put(tmp_path / "incoming", document.sha256)
        return document, mara

    return send


@pytest.fixture
def ines():
    return lead("ines", "Inês Duarte")


@pytest.fixture
def two(sent):
    return sent(DOUBTED)[0], sent(DOUBTED, content=make_pdf(pages=3))[0]


@pytest.fixture
def page(signed_in, ines):
    return signed_in(ines, viewport={"width": 1200, "height": 900})


@pytest.mark.slow
def test_a_reviewer_uses_queue_and_pages_with_the_keyboard(page, two):
    page.goto("/admin/review/")
    shoot(page, "queue")
    page.get_by_role("link", name="IRB approval, site 0203").first.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("1 of 2 in the queue")).to_be_visible()
    expect(page.locator("figure img")).to_have_js_property("naturalWidth", 980)
    shoot(page, "review")
    page.keyboard.press("Alt+k")
    expect(page.get_by_role("heading", name="Page 2 of 2")).to_be_visible()
    page.keyboard.press("Alt+n")
    expect(page.get_by_text("2 of 2 in the queue")).to_be_visible()
    page.keyboard.press("Alt+p")
    expect(page.get_by_text("1 of 2 in the queue")).to_be_visible()
    page.keyboard.press("n")  # a letter alone is no command (WCAG 2.1.4)
    page.keyboard.press("Alt+y")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Return to site")).to_be_focused()


def test_escape_closes_the_dialog_and_the_focus_returns(page, two):
    page.goto(f"/admin/review/{two[0].pk}/")
    button = page.get_by_role("link", name="Release and file")
    button.focus()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_label("Reason")).to_be_focused()
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    expect(button).to_be_focused()


@pytest.mark.requirement("R24")
@pytest.mark.requirement("R25")
def test_a_reviewer_signs_with_the_keyboard_and_a_wrong_password_keeps_the_text(sign_in, ines, two):
    first, second = two
    page = sign_in(ines)
    page.get_by_role("link", name="IRB approval, site 0203").first.click()
    page.wait_for_url(f"**/admin/review/{first.pk}/")  # with its scripts: they open the dialog
    page.get_by_role("link", name="Release and file").focus()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_label("Reason")).to_be_focused()
    for written in ("Its address is right.", "ines", "wrong horse"):
        page.keyboard.type(written)
        page.keyboard.press("Tab")
    shoot(page, "sign")
    page.keyboard.press("Enter")
    expect(dialog.get_by_role("alert")).to_contain_text("Enter your own user name and password")
    expect(dialog.get_by_label("Reason")).to_have_value("Its address is right.")
    expect(dialog.get_by_label("Password")).to_be_focused()
    shoot(page, "sign_again")
    page.keyboard.type("correct horse")
    page.keyboard.press("Enter")
    expect(page.get_by_role("status").first).to_contain_text("Released from review")
    assert page.url.endswith(f"/admin/review/{second.pk}/")
    assert decided(first, ines) == "document.released"


def decided(document, person):
    """Return the event of the decision by this person in the ledger."""
    assert Document.objects.get(pk=document.pk).state == "ARCHIVED"
    # The browser may still fetch page images when the decision is signed.
    entries = [each for each in queries.list_entries(document.subject) if each.event != VIEWED]
    entry = entries[-1]
    assert (entry.actor, entry.detail["printed_name"]) == (person.actor_name, person.printed_name)
    return entry.event


@pytest.mark.slow
def test_a_signature_is_shown_with_the_decision(page, two, ines):
    decide(two[0], Action.RELEASE, ines)
    page.goto(f"/admin/review/{two[0].pk}/")
    expect(page.get_by_text("Inês Duarte (QA lead)")).to_be_visible()
    expect(page.get_by_text("The signed record has not changed.")).to_be_visible()
    shoot(page, "decided")


def test_the_second_of_two_reviewers_sees_the_conflict_and_keeps_the_text(page, sent):
    document, _ = sent(DOUBTED)
    rafael = reviewer("rafael", "Rafael Duarte")
    page.goto(f"/admin/review/{document.pk}/")
    page.get_by_role("link", name="Return to site").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Reason").select_option("OTHER")
    dialog.get_by_label("Note to the site").fill(NOTE)
    decide(document, Action.RETURN, rafael)
    dialog.get_by_role("button", name="Return to site").click()
    expect(dialog.get_by_role("heading", name="Already decided by Rafael Duarte")).to_be_visible()
    expect(dialog.get_by_text(NOTE)).to_be_visible()
    shoot(page, "overtaken")
    assert Document.objects.get().qa_decisions.count() == 1


@pytest.mark.slow
def test_a_missing_page_image_does_not_block_a_decision(page, sent):
    document, _ = sent(DOUBTED, content=b"%PDF-1.7 a letter")
    page.goto(f"/admin/review/{document.pk}/")
    expect(
        page.get_by_text(
            "The page could not be displayed. Download the file to read it.", exact=True
        )
    ).to_be_visible()
    expect(page.get_by_role("link", name="Download the file")).to_be_visible()
    shoot(page, "not_drawn")
    page.get_by_role("link", name="Return to site").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Reason").select_option("NOT_READABLE")
    dialog.get_by_label("Note to the site").fill(NOTE)
    dialog.get_by_role("button", name="Return to site").click()
    expect(page.get_by_text("No documents are waiting for a decision.")).to_be_visible()
    assert Document.objects.get().state == "RETURNED"


@pytest.mark.slow
def test_without_javascript_every_form_is_a_page(sign_in, sent, ines):
    document, mara = sent(UNSIGNED_PAGE)
    request_review(document, "It is signed, on the back of page 2.\nPlease look again.", user=mara)
    page = sign_in(ines, viewport={"width": 320, "height": 900}, java_script_enabled=False)
    page.goto("/admin/review/?only=asked")
    assert fits(page)
    shoot(page, "queue_320")
    page.get_by_role("link", name="IRB approval, site 0203").click()
    expect(page.get_by_text("It is signed, on the back of page 2.")).to_be_visible()
    assert fits(page)
    shoot(page, "asked_320")
    page.get_by_role("link", name="Zoom in").click()
    expect(page.get_by_role("link", name="Zoom out")).to_be_visible()
    assert fits(page)
    shoot(page, "larger_320")
    page.get_by_role("link", name="Zoom out").click()
    page.get_by_role("link", name="Override and file").click()
    page.get_by_label("Reason").fill("The signature is on the back of page 2.")
    page.get_by_label("User name").fill("ines")
    page.get_by_label("Password").fill("correct horse")
    assert fits(page)
    shoot(page, "override_320")
    page.get_by_role("button", name="Sign: Override and file").click()
    expect(page.get_by_text("No documents are waiting for a decision.")).to_be_visible()
    assert decided(document, ines) == "document.overridden"


def test_a_document_filed_in_error_is_withdrawn_from_its_page(signed_in, sent, ines):
    document, _ = sent(FILED)
    page = signed_in(ines, viewport={"width": 320, "height": 900})
    page.goto(f"/documents/{document.pk}/")
    shoot(page, "filed_320")
    page.get_by_role("link", name="Withdraw document").click()
    page.get_by_label("Reason").fill("It is a draft; the signed one comes tomorrow.")
    page.get_by_label("User name").fill("ines")
    page.get_by_label("Password").fill("correct horse")
    page.get_by_role("button", name="Sign: Withdraw document").click()
    expect(page.get_by_text("QA decisions")).to_be_visible()
    assert fits(page)
    shoot(page, "withdrawn_320")
    assert Document.objects.get().state == "WITHDRAWN"


def test_several_documents_of_one_reason_are_returned_with_one_note(signed_in, sent, ines):
    sent(DOUBTED)
    sent(DOUBTED, content=make_pdf(pages=3))
    page = signed_in(ines, viewport={"width": 320, "height": 900})
    page.goto("/admin/review/?code=SITE_MISMATCH")
    for box in page.get_by_role("checkbox").all():
        box.check()
    page.get_by_role("button", name="Return selected documents").click()
    page.get_by_label("Reason").select_option("WRONG_PLACE_OR_PERSON")
    page.get_by_label("Note to the site").fill(NOTE)
    assert fits(page)
    shoot(page, "together_320")
    page.get_by_role("button", name="Return to site").click()
    expect(page.get_by_text("2 documents were returned.")).to_be_visible()
    assert {document.state for document in Document.objects.all()} == {"RETURNED"}
