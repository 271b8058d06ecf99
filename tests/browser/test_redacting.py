"""A reviewer redacts a document in a browser: mouse, keyboard, a finger, and without JavaScript."""

import os
from pathlib import Path

import pytest
from playwright.sync_api import expect

from ingestion.documents import redactions
from ingestion.models import Action, Decision
from ingestion.reading.results import Box
from tests.browser import axe
from tests.browser.actions import fits
from tests.ingestion.review.redacting import send_record
from tests.ingestion.review.reviewers import lead

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
]
SHOTS = os.environ.get("SHOTS")


def shoot(page, name):
    if SHOTS:
        page.screenshot(path=str(Path(SHOTS) / f"{name}.png"), full_page=True)


@pytest.fixture
def record(site, mara, tmp_path):
    return send_record(site, mara, tmp_path)


@pytest.fixture
def ines():
    return lead("ines", "Inês Duarte")


def sign(page):
    page.get_by_label("Reason", exact=True).fill("The label of the hospital names the participant.")
    page.get_by_label("User name").fill("ines")
    page.get_by_label("Password").fill("correct horse")
    page.get_by_role("button", name="Sign: Redact participants' data").click()


def drag(page, element, start, end):
    """Press the mouse at a place of an element, and release it at another one, in pixels."""
    # The mouse waits until the page has stopped moving, for example after an image was loaded.
    element.hover(position={"x": start[0], "y": start[1]})
    corner = element.bounding_box()
    page.mouse.down()
    page.mouse.move(corner["x"] + end[0], corner["y"] + end[1], steps=4)
    page.mouse.up()


def boxes(page):
    return page.locator(".sl-redact-box")


def recorded(document):
    decision = Decision.objects.filter(document=document, action=Action.REDACT).last()
    return redactions.read_redaction(decision).pages[1].boxes


def test_a_reviewer_draws_moves_and_removes_places(signed_in, ines, record):
    page = signed_in(ines, viewport={"width": 1200, "height": 900})
    page.goto(f"/admin/review/{record.pk}/")
    page.get_by_role("link", name="Redact participants' data").click()
    expect(boxes(page)).to_have_count(3)
    paper = page.locator("[data-paper]")
    assert axe.faults(page) == []
    shoot(page, "redact")
    drag(page, paper, (100, 400), (300, 440))  # draws one
    expect(boxes(page)).to_have_count(4)
    # Move and resize with the keyboard, and remove one with its button.
    for keys in ("ArrowDown", "Shift+ArrowRight"):
        page.get_by_role("button", name="Place 4 on page 1. ").press(keys)
    page.get_by_role("button", name="Remove place 3 on page 1").click()
    expect(boxes(page)).to_have_count(3)
    drag(page, boxes(page).nth(2), (20, 10), (60, 10))
    shoot(page, "redact-changed")
    width = paper.bounding_box()["width"]
    proposed = redactions.propose(record).pages[1].boxes
    sign(page)
    expect(page.get_by_text("Decision recorded")).to_be_visible()
    shoot(page, "redact-done")
    *kept, moved = recorded(record)
    assert kept == [Box(*(round(side, 1) for side in box)) for box in proposed[:2]]
    scale = width / 612
    assert moved.left * scale == pytest.approx(140, abs=4)
    assert (moved.bottom - moved.top) * scale == pytest.approx(40, abs=4)


def test_a_finger_adds_and_moves_a_place_on_a_phone(signed_in, ines, record):
    page = signed_in(ines, viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    page.goto(f"/admin/review/{record.pk}/redact/")
    expect(boxes(page)).to_have_count(3)
    page.get_by_role("button", name="Add a place on page 1").tap()
    expect(boxes(page)).to_have_count(4)
    expect(page.get_by_role("button", name="Place 4 on page 1. ")).to_be_focused()
    assert fits(page)
    assert axe.faults(page) == []
    shoot(page, "redact-phone")


def test_a_document_is_redacted_without_javascript(signed_in, ines, record):
    page = signed_in(ines, java_script_enabled=False)
    page.goto(f"/admin/review/{record.pk}/redact/")
    field = page.get_by_label("Places to redact on page 1")
    assert len(field.input_value().splitlines()) == 3
    field.fill("60 40 300 90\nhere")
    sign(page)
    expect(page.get_by_role("alert").get_by_text("“here” is no place on this page")).to_be_visible()
    shoot(page, "redact-without-javascript")
    page.get_by_label("Places to redact on page 1").fill("60 40 300 90")
    sign(page)
    expect(page.get_by_text("Decision recorded")).to_be_visible()
    assert [list(box) for box in recorded(record)] == [[60, 40, 300, 90]]
