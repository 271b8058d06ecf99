import io

import pikepdf
import pypdf
import pytest
from PIL import Image

from ingestion.reading.limits import ReadingLimits
from ingestion.reading.results import DocumentReading, Unreadable
from ingestion.rules.finding_texts import format_sentences, get_short_text
from tests.ingestion.reading.documents import (
    encrypt,
    make_pdf,
    make_scan,
    read,
    render,
    rewrite,
    save,
)


def test_a_document_with_a_password_is_reported_as_encrypted(tmp_path):
    locked = encrypt(make_pdf(), user="secret")
    assert read(save(tmp_path, locked)) == Unreadable("ENCRYPTED_DOCUMENT")


def test_a_document_that_only_restricts_printing_is_read(tmp_path):
    reading = read(save(tmp_path, encrypt(make_pdf(), user="")))
    assert isinstance(reading, DocumentReading)
    assert "SLX-301" in reading.text


@pytest.mark.parametrize("share", [0.1, 0.4, 0.7])
def test_a_truncated_document_is_corrupt(tmp_path, share):
    content = make_pdf(pages=3)
    reading = read(save(tmp_path, content[: int(len(content) * share)]))
    assert (type(reading), reading.code) == (Unreadable, "CORRUPT_DOCUMENT")


def test_a_truncated_document_names_its_last_readable_page(tmp_path):
    content = make_pdf(pages=3)
    third = [at for at in range(len(content)) if content.startswith(b"endstream", at)][2]
    reading = read(save(tmp_path, content[: third - 1]))
    assert reading == Unreadable("CORRUPT_DOCUMENT", {"last_page": 2, "total": 3})
    texts = format_sentences(reading.code, reading.facts)
    assert texts.what == "The file is damaged. The last readable page is page 2 of 3."


def test_a_truncated_document_that_lost_pages_is_not_read_as_a_shorter_one(tmp_path):
    written = io.BytesIO()
    pypdf.PdfWriter(clone_from=io.BytesIO(make_pdf(pages=5))).write(written)  # page by page
    content = written.getvalue()
    reading = read(save(tmp_path, content[: int(len(content) * 0.4)]))
    assert reading == Unreadable("CORRUPT_DOCUMENT", {"last_page": 2})
    texts = format_sentences(reading.code, reading.facts)
    assert texts.what == "The file is damaged. The last readable page is page 2."


def test_a_document_without_its_trailer_is_repaired_and_reported_as_repaired(tmp_path):
    content = make_pdf()
    reading = read(save(tmp_path, content[: content.rindex(b"trailer")]))
    assert isinstance(reading, DocumentReading)
    assert reading.repaired
    assert "Good Clinical Practice" in reading.text


def test_a_repaired_document_that_lost_a_page_is_corrupt(tmp_path):
    content = make_pdf(pages=2)
    lost = content.replace(b"/Contents 9 0 R", b"/Contents 99 0 R")
    assert lost != content
    reading = read(save(tmp_path, lost[: lost.rindex(b"trailer")]))
    assert reading.code == "CORRUPT_DOCUMENT"


def test_a_document_of_too_many_pages_is_reported_with_the_limit(tmp_path):
    reading = read(save(tmp_path, make_pdf(pages=4)), ReadingLimits(max_pages=3))
    assert reading == Unreadable("FILE_TOO_LARGE", {"pages": 4, "limit_pages": 3})


def test_a_header_alone_is_corrupt(tmp_path):
    assert read(save(tmp_path, b"%PDF-1.7\nand nothing else")) == Unreadable("CORRUPT_DOCUMENT")


def test_a_scan_of_too_many_pages_is_reported_with_the_limit(tmp_path):
    sheets = [Image.new("1", (8, 8), 1)] * 4
    path = tmp_path / "scan.tif"
    sheets[0].save(path, save_all=True, append_images=sheets[1:])
    reading = read(path, ReadingLimits(max_pages=3))
    assert reading == Unreadable("FILE_TOO_LARGE", {"pages": 4, "limit_pages": 3})


@pytest.mark.parametrize(
    "form",
    [
        {"XFA": "<template/>", "Fields": []},
        {"XFA": "<template/>"},
    ],
    ids=["no fields", "none at all"],
)
def test_a_dynamic_xfa_form_is_not_read_as_please_wait(tmp_path, form):
    def draw(document: pikepdf.Pdf) -> None:
        document.Root.AcroForm = pikepdf.Dictionary(**form)

    please_wait = rewrite(make_pdf(lines=("Please wait...",)), draw)
    reading = read(save(tmp_path, please_wait))
    assert reading == Unreadable("DYNAMIC_XFA_FORM")
    texts = format_sentences(reading.code, reading.facts)
    assert texts.what == "The PDF contains a form that only Adobe Reader can display (dynamic XFA)."
    assert "not a PDF" not in f"{texts} {get_short_text(reading.code)}"


def test_a_scanned_please_wait_page_is_not_read(tmp_path):
    def draw(document: pikepdf.Pdf) -> None:
        document.Root.NeedsRendering = True

    scan = rewrite(make_scan(render(make_pdf(lines=("Please wait...",)))), draw)
    assert read(save(tmp_path, scan)).code == "DYNAMIC_XFA_FORM"


def test_a_page_that_is_too_large_does_not_fail_its_document(tmp_path):
    def enlarge(document: pikepdf.Pdf) -> None:
        document.pages[0].obj.MediaBox = [0, 0, 1_000_000, 1_000_000]

    reading = read(save(tmp_path, rewrite(make_pdf(pages=2), enlarge)))
    assert isinstance(reading, DocumentReading)
    assert "inches" in reading.pages[0].error
    assert "SLX-301" in reading.pages[1].text
