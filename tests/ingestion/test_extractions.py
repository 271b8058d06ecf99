"""Tests of extractions, which store what was read from a document."""

import dataclasses
import datetime

import pytest

from ingestion.models import Extraction
from ingestion.reading.results import (
    Box,
    DigitalSignature,
    DocumentReading,
    MediaType,
    PageReading,
    SignatureResult,
    TextSource,
    Word,
)
from ingestion.rules.checks.signatures import DocumentSignature, SignatureState
from ingestion.rules.fields.values import FieldValue
from tests import steps
from tests.factories import make_leased, verdict
from web.documents.extracted_fields import list_extracted_values

pytestmark = pytest.mark.django_db(transaction=True)
TODAY = datetime.date(2026, 3, 12)
SIGNED = DocumentSignature(SignatureState.SIGNED, 2, Box(10.04, 20, 30, 40))
DATE = FieldValue("signature_date", "2026-03-12", 2, "ocr", 91.23, Box(1, 2, 3.14159, 4), TODAY)
SCAN = PageReading(
    1, 612, 792, "hello", TextSource.OCR, (Word("hello", Box(1, 2, 3, 4), 96.5),), dpi=200
)
READ = DocumentReading(MediaType.PDF, (SCAN,), engine="tesseract 5.3.0", repaired=True)


def conclude(found, reading=READ):
    chunk, lease = make_leased()
    document = chunk.documents.get()
    steps.start_checking(document.pk, lease, sha256="0" * 64, size=9)
    steps.conclude(document.pk, lease, found, reading=reading)
    document.refresh_from_db()
    return document


def test_each_value_is_stored_with_page_source_confidence_and_box():
    found = dataclasses.replace(
        verdict(), fields=(DATE,), signature=SIGNED, evidence="CV", dated=TODAY, expires=TODAY
    )
    kept = conclude(found).extractions.get()
    assert kept.fields == [
        {
            "name": "signature_date",
            "value": "2026-03-12",
            "page": 2,
            "source": "ocr",
            "confidence": 91.2,
            "box": [1, 2, 3.1, 4],
        }
    ]
    assert kept.signature == {"ink": "signed", "page": 2, "area": [10.0, 20, 30, 40]}
    assert (kept.evidence, kept.dated, kept.expires) == ("CV", TODAY, TODAY)


def test_the_validation_of_a_digital_signature_is_stored_and_displayed():
    digital = DigitalSignature(
        SignatureResult.UNKNOWN_ISSUER,
        page=2,
        signer="Margaret Whitfield",
        issuer="Some CA",
        signed_on=TODAY,
    )
    signature = dataclasses.replace(SIGNED, digital=digital)
    document = conclude(dataclasses.replace(verdict(), signature=signature))
    assert document.extractions.get().signature["digital"] == {
        "result": "unknown-issuer",
        "signer": "Margaret Whitfield",
        "issuer": "Some CA",
        "signed_on": "2026-03-12",
        "is_timestamped": False,
        "detail": "",
    }
    value = list_extracted_values(document)[-1]
    assert (value.label, value.value, value.page, value.source) == (
        "Digitally signed by",
        "Margaret Whitfield",
        "page 2",
        "intact; the issuer Some CA is not trusted",
    )


@pytest.mark.parametrize(
    ("confidence", "source"), [(100.0, ""), (40.0, "in doubt; compare it with the page")]
)
def test_a_value_in_doubt_says_so(confidence, source):
    value = FieldValue("protocol_number", "SLX-301", 1, TextSource.NATIVE, confidence)
    document = conclude(dataclasses.replace(verdict(), fields=(value,)))
    assert list_extracted_values(document)[0].source == source


def test_the_weakness_of_a_digital_signature_is_stored_in_words():
    digital = DigitalSignature(
        SignatureResult.WEAK, weakness="an RSA key of {bits} bits", bits=1024, digest="SHA256"
    )
    signature = dataclasses.replace(SIGNED, digital=digital)
    document = conclude(dataclasses.replace(verdict(), signature=signature))
    stored = document.extractions.get().signature["digital"]
    assert stored["detail"] == "an RSA key of 1024 bits"


@pytest.mark.parametrize("result", SignatureResult)
def test_every_result_of_validating_a_signature_has_a_label(result):
    signature = dataclasses.replace(SIGNED, digital=DigitalSignature(result))
    document = conclude(dataclasses.replace(verdict(), signature=signature))
    assert list_extracted_values(document)[-1].source


def test_the_provenance_of_each_page_and_the_ocr_words_are_stored():
    kept = conclude(verdict()).extractions.get()
    assert kept.pages[0] | {"source": "ocr", "dpi": 200} == kept.pages[0]
    assert (kept.engine, kept.is_repaired) == ("tesseract 5.3.0", True)
    assert kept.words_by_page == {1: [["hello", [1, 2, 3, 4], 96.5]]}


def test_an_extraction_belongs_to_the_decision_of_its_attempt():
    document = conclude(verdict())
    assert document.extractions.get().attempt == document.revision


def test_an_unreadable_document_has_no_extraction():
    conclude(verdict("REJECTED"), None)
    assert not Extraction.objects.exists()
