"""The types that no sample is made of: printed, signed, scanned, and read as the product reads."""

import pytest

from ingestion.rules.classification.classify import classify
from ingestion.rules.document_types import TYPES
from samples.pages import PAGES
from tests.ingestion.rules.documents import SOUND
from tests.ingestion.rules.pages import checked, codes
from tests.ingestion.rules.papers import make_paper, read_papers

FURTHER = sorted(TYPES.keys() - PAGES.keys())
SIGNED = [slug for slug in FURTHER if SOUND[slug][1]]


def papers():
    for slug in FURTHER:
        lines, caption = SOUND[slug]
        yield slug, make_paper(*lines, signed=caption)
        yield f"{slug} scanned", make_paper(*lines, signed=caption, scanned=True)
        yield f"{slug} unsigned", make_paper(*lines)


@pytest.fixture(scope="module")
def readings(tmp_path_factory):
    return read_papers(tmp_path_factory.mktemp("papers"), dict(papers()))


@pytest.mark.parametrize("slug", FURTHER)
def test_a_printed_one_is_recognised_and_filed(slug, readings):
    assert classify(readings[slug]).slug == slug
    verdict = checked(readings[slug], declared=slug)
    assert (verdict.state, codes(verdict)) == ("ARCHIVED", [])


@pytest.mark.parametrize("slug", FURTHER)
def test_a_scanned_one_is_recognised_and_filed(slug, readings):
    reading = readings[f"{slug} scanned"]
    assert reading.used_ocr
    assert classify(reading).slug == slug
    verdict = checked(reading, declared=slug)
    assert (verdict.state, codes(verdict)) == ("ARCHIVED", [])


@pytest.mark.parametrize("slug", SIGNED)
def test_an_unsigned_one_is_returned(slug, readings):
    verdict = checked(readings[f"{slug} unsigned"], declared=slug)
    assert (verdict.state, verdict.primary.code) == ("REJECTED", "SIGNATURE_MISSING")


@pytest.mark.parametrize("slug", FURTHER)
def test_the_scan_gives_the_same_values_as_the_print(slug, readings):
    printed, scanned = (checked(readings[name]) for name in (slug, f"{slug} scanned"))
    assert [(each.name, each.value) for each in scanned.fields] == [
        (each.name, each.value) for each in printed.fields
    ]
