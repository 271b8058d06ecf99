"""Tests of all real documents, most of which have other types and must not be recognised."""

import pytest

from ingestion.reading.results import DocumentReading
from ingestion.rules.classification.classify import classify
from tests.ingestion.rules.pages import checked, codes
from tests.ingestion.rules.printed_documents import read_all

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]

TYPES_OF_OURS = {
    "nci-ocr__form_1572.pdf": "form-fda-1572",
    "nci-ocr__ctep_form_fda_1572.pdf": "form-fda-1572",
    "nci-ocr__ctep_financial_disclosure_form.pdf": "financial-disclosure",
    "nci-ocr__OCR_CV_sample.pdf": "cv",
}


@pytest.fixture(scope="module")
def readings(corpus):
    kinds = {".pdf", ".png", ".tif", ".fuzz"}
    files = [path for path in sorted(corpus.iterdir()) if path.suffix in kinds]
    seen = {path.name: each for path, each in zip(files, read_all(files), strict=True)}
    readable = {name: each for name, each in seen.items() if isinstance(each, DocumentReading)}
    assert len(readable) > 50
    return readable


def test_documents_of_other_types_are_not_recognised(readings):
    types = {name: classify(reading).slug for name, reading in readings.items()}
    assert {name: slug for name, slug in types.items() if slug} == TYPES_OF_OURS


def test_no_real_document_is_suspected_of_participant_details(readings):
    suspected = [name for name, each in readings.items() if "PHI_SUSPECTED" in codes(checked(each))]
    assert suspected == []
