"""Tests of types without samples: printed, signed, scanned, and read as in production."""

from functools import partial

import pytest

from ingestion.rules.classification.classify import classify
from samples.pages import PAGES
from tests.ingestion.rules.documents import COMPLETE
from tests.ingestion.rules.pages import checked, codes
from tests.ingestion.rules.printed_documents import Readings, make_printed

FURTHER = sorted(COMPLETE.keys() - PAGES.keys())
SIGNED = [slug for slug in FURTHER if COMPLETE[slug][1]]


@pytest.fixture(scope="module")
def readings(tmp_path_factory):
    documents = {}
    for slug in FURTHER:
        lines, caption = COMPLETE[slug]
        documents[slug] = partial(make_printed, *lines, signed=caption)
        documents[f"{slug} scanned"] = partial(make_printed, *lines, signed=caption, scanned=True)
        documents[f"{slug} unsigned"] = partial(make_printed, *lines)
    return Readings(tmp_path_factory.mktemp("documents"), documents)


@pytest.mark.parametrize("slug", FURTHER)
def test_a_printed_document_is_recognised_and_filed(slug, readings):
    assert classify(readings[slug]).slug == slug
    verdict = checked(readings[slug], declared=slug)
    assert (verdict.state, codes(verdict)) == ("ARCHIVED", [])


@pytest.mark.sampled(5)
@pytest.mark.parametrize("slug", FURTHER)
def test_a_scanned_document_is_filed_with_the_values_of_the_printed_one(slug, readings):
    reading = readings[f"{slug} scanned"]
    assert reading.used_ocr
    assert classify(reading).slug == slug
    verdict = checked(reading, declared=slug)
    assert (verdict.state, codes(verdict)) == ("ARCHIVED", [])
    printed = checked(readings[slug], declared=slug)
    assert [(each.name, each.value) for each in verdict.fields] == [
        (each.name, each.value) for each in printed.fields
    ]


@pytest.mark.parametrize("slug", SIGNED)
def test_an_unsigned_document_is_rejected(slug, readings):
    verdict = checked(readings[f"{slug} unsigned"], declared=slug)
    assert (verdict.state, verdict.primary.code) == ("REJECTED", "SIGNATURE_MISSING")
