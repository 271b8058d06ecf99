"""Single sample documents: their text, signatures, renditions, faults and reproducibility."""

import ctypes
import io
import os
import random
import subprocess
import sys
from contextlib import closing
from datetime import date, timedelta

import pikepdf
import pypdfium2 as pdfium
import pytesseract
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pypdf import PdfReader

from samples.document_facts import PacketDates
from samples.documents import find_neighbour, make_sample
from samples.faults import PASSWORD, DocumentFault
from samples.pages import EXPIRING, FILLABLE, PAGES
from samples.people_and_sites import SITES, get_sample_site
from samples.renditions import Rendition
from tests.marks import slower

TODAY = date(2026, 11, 20)
INK = [15, 23, 92]  # red, green, blue
TYPICAL_TEXTS = {
    "protocol-signature-page": ["PROTOCOL SIGNATURE PAGE", "Version 3.0"],
    "irb-approval": ["NOTICE OF INITIAL APPROVAL", "IRB99000103", "FWA99000203", "Approval Date"],
    "form-fda-1572": ["STATEMENT OF INVESTIGATOR", "FORM FDA 1572 (3/19)", "OMB No. 0910-0014"],
    "cv": ["CURRICULUM VITAE", "EDUCATION"],
    "medical-licence": ["MEDICAL LICENSE", "License Number", "Expiration Date"],
    "gcp-certificate": ["Good Clinical Practice", "ICH E6", "Completion Date"],
    "lab-certification": ["CLINICAL LABORATORY IMPROVEMENT AMENDMENTS", "52D9900103"],
    "lab-normal-ranges": ["NORMAL RANGES", "Potassium"],
    "financial-disclosure": ["FINANCIAL DISCLOSURE", "21 CFR Part 54", "$50,000", "$25,000"],
    "delegation-log": ["DELEGATION OF AUTHORITY LOG", "Initials"],
}


def make(document_type="cv", **rest):
    return make_sample(document_type, **{"today": TODAY, "site": get_sample_site("1003"), **rest})


def pages_of(content, password=None):
    """Return the text of each page."""
    with closing(pdfium.PdfDocument(content, password=password)) as document:
        texts = [page.get_textpage().get_text_range() for page in document]
    return [" ".join(text.split()) for text in texts]


def strokes_of(content):
    """Return the number of pen strokes in the whole document."""
    with closing(pdfium.PdfDocument(content)) as document:
        return sum(_is_ink(item) for page in document for item in page.get_objects())


def _is_ink(item):
    red, green, blue, alpha = (ctypes.c_uint() for _ in range(4))
    if item.type != pdfium.raw.FPDF_PAGEOBJ_PATH:
        return False
    pdfium.raw.FPDFPageObj_GetStrokeColor(item, red, green, blue, alpha)
    return [red.value, green.value, blue.value] == INK


def read_by_ocr(content):
    """Return the text of the first page."""
    with closing(pdfium.PdfDocument(content)) as document:
        image = document[0].render(scale=200 / 72, grayscale=True).to_pil()
    return " ".join(pytesseract.image_to_string(image).split())


@pytest.mark.parametrize("document_type", PAGES)
def test_a_document_names_its_site_and_has_the_texts_of_its_type(document_type):
    pages = pages_of(make(document_type))

    assert all("SPECIMEN" in page for page in pages)
    assert "Site number: 1003" in " ".join(pages)
    assert [text for text in TYPICAL_TEXTS[document_type] if text not in " ".join(pages)] == []


@pytest.mark.parametrize("document_type", PAGES)
def test_a_signature_is_drawn_with_strokes_and_missing_from_an_unsigned_document(document_type):
    signed = strokes_of(make(document_type))
    unsigned = strokes_of(make(document_type, fault=DocumentFault.UNSIGNED))

    assert signed - unsigned >= 2
    assert unsigned == 0 or document_type == "delegation-log"  # which the staff have signed


def test_people_sign_differently_and_two_signatures_of_one_person_differ():
    strokes = {
        entry.investigator.name: strokes_of(make("protocol-signature-page", site=entry))
        for entry in SITES
    }
    other = make("protocol-signature-page", seed=2027)

    assert len(set(strokes.values())) > 1
    assert other != make("protocol-signature-page")


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "rendition",
    [Rendition.FILLABLE_FORM, *(slower(each) for each in Rendition if each != "fillable-form")],
)
def test_the_same_seed_and_day_give_the_same_bytes_in_every_process(rendition):
    program = (
        "import hashlib; from datetime import date; from samples.documents import *;"
        "content = make_sample('form-fda-1572', today=date(2026, 11, 20),"
        f" rendition=Rendition({str(rendition)!r})); print(hashlib.sha256(content).hexdigest())"
    )
    runs = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            check=True,
        ).stdout
        for hash_seed in ("1", "2")
    }

    assert len(runs) == 1


@pytest.mark.parametrize("document_type", sorted(FILLABLE))
def test_the_answers_of_a_fillable_form_are_only_in_its_fields(document_type):
    content = make(document_type, rendition=Rendition.FILLABLE_FORM)
    answers = " ".join(PdfReader(io.BytesIO(content)).get_form_text_fields().values())

    assert "Anita Deshmukh, MD MPH" in answers
    assert "1003" in answers
    assert "SLX-301, IND" not in " ".join(pages_of(content))
    assert strokes_of(content) >= 2


@pytest.mark.sampled(4)
@pytest.mark.parametrize("document_type", ["irb-approval", slower("lab-certification")])
def test_a_scan_has_no_text_layer_and_is_read_by_ocr(document_type, monkeypatch):
    monkeypatch.setenv("OMP_THREAD_LIMIT", "1")  # several threads make tesseract slower
    content = make(document_type, rendition=Rendition.SCAN)
    text = read_by_ocr(content)

    assert "".join(pages_of(content)) == ""
    assert "Site number: 1003" in text
    assert TYPICAL_TEXTS[document_type][0] in text


@pytest.mark.parametrize("document_type", sorted(EXPIRING))
def test_an_expired_document_differs_from_a_valid_one_only_in_its_dates(document_type):
    valid, expired = make(document_type), make(document_type, fault=DocumentFault.EXPIRED)

    assert pages_of(valid) != pages_of(expired)
    assert strokes_of(valid) == strokes_of(expired)


def test_a_document_of_the_wrong_site_names_only_the_neighbour():
    text = " ".join(pages_of(make("cv", fault=DocumentFault.WRONG_SITE)))

    assert "Site number: 1004" in text
    assert "1003" not in text


@given(st.sampled_from(SITES))
def test_each_site_has_a_neighbour_in_its_study(site):
    assert find_neighbour(site) != site
    assert find_neighbour(site).study == site.study


@pytest.mark.parametrize("rendition", [Rendition.BORN_DIGITAL, Rendition.SCAN])
def test_a_truncated_file_cannot_be_repaired(rendition):
    content = make("irb-approval", fault=DocumentFault.TRUNCATED, rendition=rendition)

    with pytest.raises(pdfium.PdfiumError):
        pdfium.PdfDocument(content)
    assert contents_after_repair(content) == []


def contents_after_repair(content):
    """Return the contents of the pages that can be repaired."""
    try:
        with pikepdf.open(io.BytesIO(content)) as repaired:
            contents = [page.get("/Contents") for page in repaired.pages]
            return [found for found in contents if isinstance(found, pikepdf.Stream)]
    except pikepdf.PdfError:
        return []


def test_an_encrypted_document_opens_only_with_its_password():
    content = make("irb-approval", fault=DocumentFault.ENCRYPTED)

    with pytest.raises(pdfium.PdfiumError, match="password"):
        pdfium.PdfDocument(content)
    assert "NOTICE OF INITIAL APPROVAL" in pages_of(content, PASSWORD)[0]


@pytest.mark.parametrize(
    ("fault", "head"),
    [(DocumentFault.A_SPREADSHEET, b"PK\x03\x04"), (DocumentFault.A_WEB_PAGE, b"<!DOCTYPE html>")],
)
def test_a_file_that_is_not_a_pdf_has_the_first_bytes_of_its_real_type(fault, head):
    assert make(fault=fault).startswith(head)


def test_a_blank_page_without_text_is_inserted_between_the_others():
    pages = pages_of(make("cv", fault=DocumentFault.BLANK_PAGE))

    assert [bool(page) for page in pages] == [True, False, True]
    assert "Page 2 of 2" in pages[2]


def test_a_rendition_or_fault_that_a_type_cannot_have_is_refused():
    with pytest.raises(ValueError, match="not made as a fillable form"):
        make("cv", rendition=Rendition.FILLABLE_FORM)
    with pytest.raises(ValueError, match="does not expire"):
        make("cv", fault=DocumentFault.EXPIRED)


@given(st.dates(date(2001, 1, 1), date(2090, 1, 1)), st.randoms(use_true_random=False))
def test_on_any_day_the_dates_are_in_order_and_valid(today, rng):
    dates = PacketDates.around(today, today - timedelta(days=566), rng)

    assert dates.protocol < dates.board_meeting < dates.approval < dates.signature < today
    soon = today + timedelta(days=120)
    assert min(dates.approval_ends, dates.licence_ends, dates.clia_ends, dates.gcp_ends) > soon


@given(st.dates(date(2001, 1, 1), date(2090, 1, 1)), st.integers())
def test_on_any_day_expired_documents_have_expired(today, seed):
    protocol = today - timedelta(days=566)
    dates = PacketDates.around(today, protocol, random.Random(seed), expired=True)

    assert max(dates.approval_ends, dates.licence_ends, dates.clia_ends) < today
    assert dates.protocol < dates.approval
