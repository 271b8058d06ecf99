"""A coordinator scans eight documents into one file, and QA divides another one, in a browser."""

import io
import os
from datetime import UTC, datetime
from pathlib import Path

import pikepdf
import pypdfium2
import pytest
from playwright.sync_api import expect

from audit.verification import verify
from audit.verification.start import Mode
from ingestion.documents import division
from ingestion.models import Document
from ingestion.operations.division_check import check_divisions_against_ledger
from ingestion.reading.preview_request import PREVIEW_WIDTH
from samples.binders import make_binder
from samples.documents import make_sample
from samples.renditions import make_scan
from tests.browser import axe
from tests.browser.actions import SAMPLE, choose, make_sample_site, work
from tests.ingestion.review.reviewers import reviewer

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
]
SHOTS = os.environ.get("SHOTS")
TIMEOUT = 60_000  # milliseconds, for the quick reading of a file
KINDS = (  # in the order of the list of required documents
    "protocol-signature-page",
    "irb-approval",
    "form-fda-1572",
    "cv",
    "medical-licence",
    "gcp-certificate",
    "financial-disclosure",
    "delegation-log",
)
OTHERS = ("lab-certification", "lab-normal-ranges")  # also required
VALUES = {  # of some fields that the documents must have kept
    "protocol-signature-page": "protocol_number",
    "irb-approval": "approval_date",
    "form-fda-1572": "investigator",
    "cv": "person",
    "medical-licence": "expiry_date",
    "gcp-certificate": "completion_date",
}


def shoot(page, name):
    if SHOTS:
        page.screenshot(path=str(Path(SHOTS) / f"{name}.png"), full_page=True)


@pytest.fixture
def site():
    return make_sample_site()


def papers(kinds=KINDS):
    today = datetime.now(UTC).date()
    return [make_sample(kind, today=today, site=SAMPLE) for kind in kinds]


def print_sheets(page, kinds):
    """Print the separator sheets of the site from its page, and return those of these types."""
    page.goto(f"/sites/{SAMPLE.site_id}/")
    shoot(page, "binder-site")
    link = page.get_by_role("link", name="Sheets of all required documents (PDF)")
    printed = page.request.get(link.evaluate("link => link.href")).body()
    sheets = {}
    with pypdfium2.PdfDocument(printed) as pdf:
        texts = [sheet.get_textpage().get_text_range() for sheet in pdf]
    for number, text in enumerate(texts):
        kind = next(kind for kind in KINDS + OTHERS if f":{kind}:" in text)
        sheets[kind] = number
    return [make_single(printed, sheets[kind]) for kind in kinds]


def make_single(content, index):
    with pikepdf.open(io.BytesIO(content)) as source, pikepdf.new() as single:
        single.pages.append(source.pages[index])
        output = io.BytesIO()
        single.save(output)
    return output.getvalue()


def upload(page, path):
    page.goto("/packets/new/")
    choose(page, path)
    expect(page.locator("[data-contents]")).not_to_be_empty(timeout=TIMEOUT)


def send(page):
    page.get_by_role("button", name="Send packet (1)").click()
    page.wait_for_url("**/packets/PKT-*/")


def check_filed_documents(page, content, kinds=KINDS):
    """Check that the file became these filed documents, and that its original is complete."""
    expect(page.locator("h2").first).to_have_text("All documents are on file", timeout=TIMEOUT)
    expect(page.locator(".sl-chip", has_text="Filed")).to_have_count(len(kinds))
    file = Document.objects.get(part_of=None)
    assert (file.state, division.is_finished(file)) == ("DIVIDED", True)
    parts = list(file.parts.order_by("first_page"))
    assert [(part.document_type, part.state) for part in parts] == [
        (kind, "ARCHIVED") for kind in kinds
    ]
    for part in parts:
        names = {field["name"] for field in part.extractions.last().fields if field["value"]}
        assert VALUES.get(part.document_type, "") in {*names, ""}
    page.goto(f"/documents/{file.pk}/")
    shoot(page, "binder-file")
    assert axe.faults(page) == []
    assert page.request.get(f"/documents/{file.pk}/file/").body() == content
    assert list(check_divisions_against_ledger()) == []
    assert not verify.verify_ledger(Mode.FULL).problems


def divide(page, file, documents):
    """Divide a file into these documents as a reviewer: select the beginnings, and sign."""
    page.goto(f"/admin/review/{file.pk}/divide/")
    first = 1
    for kind, document in zip(KINDS, documents, strict=True):
        with pypdfium2.PdfDocument(document) as pdf:
            last = first + len(pdf) - 1
        for number in range(first, last + 1):
            card = page.locator(f"[data-page='Page {number}']")
            use = "begins" if number == first else "continues"
            card.get_by_label("This page").select_option(use)
        page.locator(f"[data-page='Page {first}']").get_by_label("Type").select_option(kind)
        first = last + 1
    for image in page.locator(".sl-cut-image").all():
        image.scroll_into_view_if_needed()  # those far below are loaded when they are near
        expect(image).to_have_js_property("naturalWidth", PREVIEW_WIDTH, timeout=TIMEOUT)
    shoot(page, "binder-divide")
    page.get_by_label("User name").fill("rafael")
    page.get_by_label("Password").fill("correct horse")
    page.get_by_role("button", name="Sign: Divide into documents").click()
    expect(page.get_by_text("Decision recorded")).to_be_visible()


@pytest.mark.parametrize(
    ("kinds", "is_scan"),
    [
        pytest.param(KINDS[1:3], False, id="two"),
        pytest.param(KINDS, False, id="eight", marks=pytest.mark.slow),
        pytest.param(KINDS, True, id="eight, scanned", marks=pytest.mark.slow),
    ],
)
def test_a_file_with_separator_sheets_becomes_its_filed_documents(
    signed_in, mara, tmp_path, kinds, is_scan
):
    page = signed_in(mara)
    pairs = zip(print_sheets(page, kinds), papers(kinds), strict=True)
    content = make_binder([each for pair in pairs for each in pair])
    content = make_scan(content, seed="binder") if is_scan else content
    (tmp_path / "scan_0001.pdf").write_bytes(content)
    upload(page, tmp_path / "scan_0001.pdf")
    contents, number = page.locator("[data-contents]"), len(kinds)
    expect(contents).to_contain_text(
        f"According to its separator sheets, this file contains {number} documents:"
    )
    expect(contents.get_by_role("listitem")).to_have_count(number)
    expect(page.locator(".sl-row select")).to_have_value("several-documents")
    shoot(page, "binder-upload")
    assert axe.faults(page) == []
    page.reload()  # the proposal is kept with the file
    expect(contents.get_by_role("listitem")).to_have_count(number)
    send(page)
    work()
    shoot(page, "binder-packet")
    check_filed_documents(page, content, kinds)


@pytest.mark.slow
def test_a_file_without_sheets_becomes_eight_filed_documents_when_qa_confirms_it(
    signed_in, mara, tmp_path
):
    page = signed_in(mara)
    documents = papers()
    content = make_binder(documents)
    (tmp_path / "scan_0002.pdf").write_bytes(content)
    upload(page, tmp_path / "scan_0002.pdf")
    expect(page.locator("[data-contents]")).to_contain_text("QA confirms")
    shoot(page, "binder-upload-qa")
    send(page)
    work()
    file = Document.objects.get()
    assert (file.state, file.code) == ("IN_REVIEW", "MULTIPLE_DOCUMENTS")
    page.reload()
    shoot(page, "binder-packet-qa")
    divide(signed_in(reviewer("rafael", "Rafael Duarte")), file, documents)
    work()
    page = signed_in(mara)
    page.goto(f"/packets/{file.packet.reference}/")
    check_filed_documents(page, content)
