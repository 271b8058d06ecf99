"""A single sample document: what it says, how it is signed, and that it is always the same."""

import io
import random
from datetime import date

import numpy as np
import pikepdf
import pypdfium2 as pdfium
import pytest
import pytesseract
from hypothesis import given
from hypothesis import strategies as st
from pypdf import PdfReader

from ingestion.samples.dossier import Dates
from ingestion.samples.faults import PASSWORD, Fault
from ingestion.samples.pages import EXPIRING, FILLABLE, PAGES
from ingestion.samples.people_and_sites import SITES, site
from ingestion.samples.renditions import Rendition
from ingestion.samples.specimens import neighbour, specimen

TODAY = date(2026, 11, 20)
DAYS = st.dates(date(2001, 1, 1), date(2090, 1, 1))
LANDMARKS = {
    "protocol-signature-page": ["PROTOCOL SIGNATURE PAGE", "Version 3.0"],
    "irb-approval": ["NOTICE OF INITIAL APPROVAL", "IRB99000103", "FWA99000203", "Approval Date"],
    "form-fda-1572": ["STATEMENT OF INVESTIGATOR", "FORM FDA 1572 (3/19)", "OMB No. 0910-0014"],
    "cv": ["CURRICULUM VITAE", "EDUCATION"],
    "medical-licence": ["MEDICAL LICENSE", "License Number", "Expiration Date"],
    "gcp-certificate": ["Good Clinical Practice", "ICH E6", "Completion Date"],
    "lab-certification": ["CLINICAL LABORATORY IMPROVEMENT AMENDMENTS", "CLIA ID NUMBER"],
    "lab-normal-ranges": ["NORMAL RANGES", "Potassium"],
    "financial-disclosure": ["FINANCIAL DISCLOSURE", "21 CFR Part 54", "$50,000", "$25,000"],
    "delegation-log": ["DELEGATION OF AUTHORITY LOG", "Initials"],
}


def make(document_type="cv", **rest):
    return specimen(document_type, **{"today": TODAY, "site": site("1003"), **rest})


def pages_of(content):
    """The text of each page, with the values of its form."""
    with pdfium.PdfDocument(content) as document:
        document.init_forms()
        texts = []
        for page in document:
            pdfium.raw.FPDFPage_Flatten(page, pdfium.raw.FLAT_NORMALDISPLAY)
            page.close()
        for number in range(len(document)):
            texts.append(document[number].get_textpage().get_text_range())
        return texts


def text_of(content):
    return " ".join("\n".join(pages_of(content)).split())


def curves_of(content):
    """How many strokes of a pen stand on the pages: only ink is drawn in blue-black."""
    with pdfium.PdfDocument(content) as document:
        return sum(is_ink(item) for page in document for item in page.get_objects())


def is_ink(item):
    if item.type != pdfium.raw.FPDF_PAGEOBJ_PATH:
        return False
    channels = [pdfium.raw.c_uint() for _ in range(4)] if hasattr(pdfium.raw, "c_uint") else None
    import ctypes

    channels = [ctypes.c_uint() for _ in range(4)]
    pdfium.raw.FPDFPageObj_GetStrokeColor(item, *channels)
    return [channel.value for channel in channels[:3]] == [15, 23, 92]


@pytest.mark.parametrize("document_type", PAGES)
def test_a_document_names_its_site_and_carries_the_landmarks_of_its_type(document_type):
    text = text_of(make(document_type))

    assert "SPECIMEN" in text
    assert "Site number: 1003" in text
    assert [mark for mark in LANDMARKS[document_type] if mark not in text] == []
