"""All real documents in one queue, each held against what its kind promises."""

import asyncio
import json

import pypdf
import pytest

from ingestion.reading.processes.pool import Reader
from ingestion.reading.results import DocumentReading, TextSource, Unreadable
from tests.ingestion.reading.documents import LIMITS, save, typed
from tests.ingestion.reading.processes import groups, noted, until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

SHA256 = "0" * 64
TYPED = {TextSource.NATIVE, TextSource.FORM}
CODES = {
    "UNSUPPORTED_TYPE",
    "DYNAMIC_XFA_FORM",
    "ENCRYPTED_DOCUMENT",
    "CORRUPT_DOCUMENT",
    "PARSER_FAILURE",
}
DRAWN = {"ocrmypdf__acroform.pdf"}  # born digital, and its letters are a picture
ACTIVE = {
    "attachment": {"embedded-file"},
    "portfolio": {"embedded-file", "javascript"},
    "javascript": {"javascript"},
}


@pytest.fixture(scope="module")
def documents(corpus):
    return json.loads((corpus / "manifest.json").read_text())


@pytest.fixture(scope="module")
def outcomes(corpus, documents, tmp_path_factory):
    """Of each document by its name, and of an innocent one that was read after each."""
    innocent = save(tmp_path_factory.mktemp("innocent"), typed())
    return asyncio.run(read_all([corpus / each["file"] for each in documents], innocent))


async def read_all(paths, innocent):
    async with Reader(LIMITS) as reader, noted() as leaders:
        reads = [reader.read(path, SHA256) for each in paths for path in (each, innocent)]
        outcomes = await asyncio.gather(*reads)
    await until(lambda: not groups(leaders))
    return {path.name: read for path, read in zip(paths, outcomes[::2], strict=True)}, outcomes[
        1::2
    ]


@pytest.fixture
def of_kind(documents, outcomes):
    def chosen(*kinds):
        names = (each["file"] for each in documents if each["kind"] in kinds)
        return {name: outcomes[0][name] for name in names}

    return chosen


def pages(readings):
    return [(name, page) for name, reading in readings.items() for page in reading.pages]


def all_read(outcomes):
    return [
        name for name, outcome in outcomes.items() if not isinstance(outcome, DocumentReading)
    ] == []


def test_what_is_born_digital_is_read_from_its_letters(of_kind):
    readings = {name: read for name, read in of_kind("born-digital").items() if name not in DRAWN}
    assert all_read(readings)
    assert {name for name, page in pages(readings) if page.source not in TYPED} == set()
    silent = [name for name, page in pages(readings) if not page.text]
    assert len(silent) <= len(pages(readings)) / 50
    assert all(reading.text for reading in readings.values())


def test_what_is_drawn_and_what_is_photographed_is_read_by_ocr(of_kind, outcomes):
    readings = of_kind("scanned", "image") | {name: outcomes[0][name] for name in DRAWN}
    assert all_read(readings)
    read = [(name, page) for name, page in pages(readings) if not page.is_blank]
    assert {name for name, page in read if page.source is not TextSource.OCR} == set()
    assert {name for name, page in read if not page.text} == set()
    assert {name for name, page in pages(readings) if page.is_blank} == {"ocrmypdf__blank.pdf"}


def test_somebody_elses_ocr_is_kept_and_marked_as_such(of_kind):
    readings = of_kind("scanned+text")
    assert all_read(readings)
    assert {page.source for _, page in pages(readings)} == {TextSource.OCR_LAYER}
    assert all(page.text for _, page in pages(readings))


def test_of_a_mixed_document_no_page_is_passed_over(of_kind):
    readings = of_kind("mixed")
    assert all_read(readings)
    assert all(page.text and not page.error for _, page in pages(readings))
    assert TextSource.OCR in {page.source for _, page in pages(readings)}


def test_what_the_empty_password_opens_is_read_and_nothing_else(of_kind, corpus):
    for name, outcome in of_kind("encrypted").items():
        opens = pypdf.PdfReader(corpus / name).decrypt("") != pypdf.PasswordType.NOT_DECRYPTED
        if opens:
            assert outcome.text, name
        else:
            assert outcome == Unreadable("ENCRYPTED_DOCUMENT"), name


def test_what_is_corrupt_is_repaired_or_called_so(of_kind):
    for name, outcome in of_kind("corrupt").items():
        if isinstance(outcome, Unreadable):
            assert outcome.code == "CORRUPT_DOCUMENT", name
        else:
            assert outcome.text, name


def test_what_is_hostile_is_read_or_told_why_not(of_kind):
    for name, outcome in of_kind("hostile").items():
        assert isinstance(outcome, DocumentReading) or outcome.code in CODES, name


def test_what_could_do_more_than_show_pages_says_so(documents, outcomes):
    for document in documents:
        outcome = outcomes[0][document["file"]]
        if document["doctype"] in ACTIVE and isinstance(outcome, DocumentReading):
            assert outcome.flags == ACTIVE[document["doctype"]], document["file"]


def test_every_page_that_a_document_is_known_to_have_is_there(documents, outcomes):
    for document in documents:
        outcome = outcomes[0][document["file"]]
        if document["pages"] and isinstance(outcome, DocumentReading):
            assert len(outcome.pages) == document["pages"], document["file"]


def test_no_document_takes_a_neighbour_with_it(outcomes):
    assert all(isinstance(reading, DocumentReading) for reading in outcomes[1])
    assert {reading.text for reading in outcomes[1]} == {outcomes[1][0].text}


def test_a_picture_is_read_nearly_word_for_word(documents, outcomes, corpus):
    for document in documents:
        if truth := document.get("ground_truth"):
            expected = set((corpus / truth).read_text().split())
            found = set(outcomes[0][document["file"]].text.split())
            share = 0.85 if "eurotext" in truth else 0.9  # it is in six languages
            assert len(expected & found) > share * len(expected), document["file"]
