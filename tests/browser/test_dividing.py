"""A reviewer divides a file in a browser: with the mouse, the keyboard, and without JavaScript."""

import os
from pathlib import Path

import pytest
from playwright.sync_api import expect

from audit.ledger.log import ledger
from ingestion.core.file_parts import Division, DocumentPart, FilePart
from ingestion.documents import division
from ingestion.models import Document
from ingestion.reading.results import DocumentReading, MediaType, PageReading, TextSource
from ingestion.rules.findings import RuleFinding
from ingestion.rules.segmentation.parts import PagePart, ProposedCut
from ingestion.storage.archive import get_archive
from tests import steps
from tests.browser import axe
from tests.browser.actions import fits
from tests.factories import verdict
from tests.ingestion.reading.documents import make_pdf
from tests.ingestion.review.reviewers import reviewer
from tests.web.scenes import lease_all, make_packet

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
]
SHOTS = os.environ.get("SHOTS")
SEVERAL = verdict("IN_REVIEW", RuleFinding("MULTIPLE_DOCUMENTS", 3, {"documents": "two"}))
PAGES = 6
READING = DocumentReading(
    MediaType.PDF,
    tuple(PageReading(n, 612, 792, "", TextSource.NATIVE) for n in range(1, PAGES + 1)),
)
CUT = ProposedCut(
    (PagePart(1, 2, type="cv", evidence="A curriculum vitae begins."), PagePart(3, 6)),
    is_certain=False,
    reasons=("unsure-starts",),
)


def shoot(page, name):
    if SHOTS:
        page.screenshot(path=str(Path(SHOTS) / f"{name}.png"), full_page=True)


@pytest.fixture
def file(site, mara, tmp_path):
    """A file of six pages in review, with a proposed cut before page 3."""
    content = make_pdf(pages=PAGES)
    packet = make_packet(site, mara, None, content=content)
    file = packet.documents.get()
    (tmp_path / "incoming").write_bytes(content)
    get_archive().put(tmp_path / "incoming", file.expected_sha256)
    lease = lease_all(packet)
    steps.start_checking(file.pk, lease, sha256=file.expected_sha256, size=len(content))
    steps.conclude(file.pk, lease, SEVERAL, reading=READING, cut=CUT)
    return file


@pytest.fixture
def rafael():
    return reviewer("rafael", "Rafael Duarte")


def card(page, number):
    return page.locator(f"[data-page='Page {number}']")


def sign(page):
    page.get_by_label("User name").fill("rafael")
    page.get_by_label("Password").fill("correct horse")
    page.get_by_role("button", name="Sign: Divide into documents").click()


def parts_of(file):
    rows = Document.objects.filter(part_of=file).order_by("pk")
    return list(rows.values_list("first_page", "last_page", "document_type"))


def test_a_reviewer_moves_a_boundary_and_sets_a_page_aside(signed_in, rafael, file):
    page = signed_in(rafael, viewport={"width": 1200, "height": 900})
    page.goto(f"/admin/review/{file.pk}/")
    page.get_by_role("link", name="Divide into documents").click()
    expect(page.get_by_text("It is not certain on which pages documents begin.")).to_be_visible()
    expect(card(page, 3).get_by_text("Document 2")).to_be_visible()
    shoot(page, "divide")
    # With the mouse to page 4, and with the keyboard to page 5 and back.
    card(page, 3).locator("[data-handle]").drag_to(card(page, 4).locator("legend"))
    expect(card(page, 4).get_by_text("Document 2")).to_be_visible()
    card(page, 4).locator("[data-handle]").press("ArrowRight")
    card(page, 5).locator("[data-handle]").press("ArrowLeft")
    expect(card(page, 4).locator("[data-handle]")).to_be_focused()
    card(page, 4).get_by_label("Type").select_option("irb-approval")
    card(page, 6).get_by_label("This page").select_option("set_aside")
    sign(page)
    expect(page.get_by_role("alert").get_by_text("Page 6: enter a reason")).to_be_visible()
    card(page, 6).get_by_label("Reason").fill("A fax cover sheet")
    shoot(page, "divide-moved")
    sign(page)
    expect(page.get_by_text("Decision recorded")).to_be_visible()
    assert parts_of(file) == [(1, 3, "cv"), (4, 5, "irb-approval")]


@pytest.mark.slow
def test_a_file_is_divided_without_javascript_and_on_a_narrow_screen(signed_in, rafael, file):
    page = signed_in(rafael, java_script_enabled=False, viewport={"width": 320, "height": 700})
    page.goto(f"/admin/review/{file.pk}/divide/")
    shoot(page, "divide-narrow")
    card(page, 3).get_by_label("This page").select_option("continues")
    card(page, 5).get_by_label("This page").select_option("begins")
    sign(page)
    expect(page.get_by_text("Decision recorded")).to_be_visible()
    assert parts_of(file) == [(1, 4, "cv"), (5, 6, "")]


@pytest.mark.slow
def test_the_page_fits_a_narrow_screen(signed_in, rafael, file):
    page = signed_in(rafael, viewport={"width": 320, "height": 700})
    page.goto(f"/admin/review/{file.pk}/divide/")
    page.wait_for_load_state("networkidle")  # images are rendered while they are requested
    assert fits(page)
    assert axe.faults(page) == []


@pytest.mark.slow
def test_the_page_of_a_divided_file_lists_its_documents(signed_in, mara, file):
    two = Division((DocumentPart(FilePart(1, 2), "cv"), DocumentPart(FilePart(3, 6))))
    with ledger():
        division.divide(Document.lock(file.pk), two, page_count=PAGES)
    page = signed_in(mara, viewport={"width": 1200, "height": 900})
    page.goto(f"/documents/{file.pk}/")
    expect(page.get_by_role("row", name="Pages 3 to 6")).to_be_visible()
    assert axe.faults(page) == []
    shoot(page, "divided-file")
    page.goto(f"/packets/{file.packet.reference}/")
    shoot(page, "divided-packet")
