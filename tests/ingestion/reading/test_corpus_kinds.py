"""All real documents in one queue, each compared with the expectation for its kind."""

import asyncio
import json

import pypdf
import pytest

from ingestion.reading.processes.pool import Reader
from ingestion.reading.results import DocumentReading, TextSource, Unreadable
from tests.ingestion.reading.documents import LIMITS, make_pdf, save
from tests.ingestion.reading.pool_processes import group_members, record_children, wait_until

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
    "portfolio": {"portfolio", "javascript"},
    "javascript": {"javascript"},
}


@pytest.fixture(scope="module")
def documents(corpus):
    return json.loads((corpus / "manifest.json").read_text())


@pytest.fixture(scope="module")
def outcomes(corpus, documents, tmp_path_factory):
    """Return each document's outcome by name, and those of an innocent document after each."""
    innocent = save(tmp_path_factory.mktemp("innocent"), make_pdf())
    return asyncio.run(read_all([corpus / each["file"] for each in documents], innocent))


async def read_all(paths, innocent):
    async with Reader(LIMITS) as reader, record_children() as leaders:
        reads = [reader.read(path, SHA256) for each in paths for path in (each, innocent)]
        outcomes = await asyncio.gather(*reads)
    await wait_until(lambda: not group_members(leaders))
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


def test_born_digital_documents_are_read_by_their_text_layer(of_kind):
    readings = {name: read for name, read in of_kind("born-digital").items() if name not in DRAWN}
    assert all_read(readings)
    assert {name for name, page in pages(readings) if page.source not in TYPED} == set()
    silent = [name for name, page in pages(readings) if not page.text]
    assert len(silent) <= len(pages(readings)) / 50
    assert all(reading.text for reading in readings.values())


def test_documents_without_a_text_layer_are_read_by_ocr(of_kind, outcomes):
    readings = of_kind("scanned", "image") | {name: outcomes[0][name] for name in DRAWN}
    assert all_read(readings)
    read = [(name, page) for name, page in pages(readings) if not page.is_blank]
    assert {name for name, page in read if page.source is not TextSource.OCR} == set()
    assert {name for name, page in read if not page.text} == set()
    assert {name for name, page in pages(readings) if page.is_blank} == {"ocrmypdf__blank.pdf"}


def test_an_existing_ocr_layer_is_used_and_recorded_as_such(of_kind):
    readings = of_kind("scanned+text")
    assert all_read(readings)
    assert {page.source for _, page in pages(readings)} == {TextSource.OCR_LAYER}
    assert all(page.text for _, page in pages(readings))


def test_every_page_of_a_mixed_document_is_read(of_kind):
    readings = of_kind("mixed")
    assert all_read(readings)
    assert all(page.text and not page.error for _, page in pages(readings))
    assert TextSource.OCR in {page.source for _, page in pages(readings)}


def test_an_encrypted_document_is_read_if_the_empty_password_opens_it(of_kind, corpus):
    for name, outcome in of_kind("encrypted").items():
        opens = pypdf.PdfReader(corpus / name).decrypt("") != pypdf.PasswordType.NOT_DECRYPTED
        if opens:
            assert outcome.text, name
        else:
            assert outcome == Unreadable("ENCRYPTED_DOCUMENT"), name


def test_a_corrupt_document_is_repaired_or_reported_as_corrupt(of_kind):
    for name, outcome in of_kind("corrupt").items():
        if isinstance(outcome, Unreadable):
            assert outcome.code == "CORRUPT_DOCUMENT", name
        else:
            assert outcome.text, name


def test_a_hostile_document_is_read_or_refused_with_a_code(of_kind):
    for name, outcome in of_kind("hostile").items():
        assert isinstance(outcome, DocumentReading) or outcome.code in CODES, name


def test_active_content_is_flagged(documents, outcomes):
    for document in documents:
        outcome = outcomes[0][document["file"]]
        if document["doctype"] in ACTIVE and isinstance(outcome, DocumentReading):
            assert outcome.flags == ACTIVE[document["doctype"]], document["file"]


def test_a_document_has_its_known_number_of_pages(documents, outcomes):
    for document in documents:
        outcome = outcomes[0][document["file"]]
        if document["pages"] and isinstance(outcome, DocumentReading):
            assert len(outcome.pages) == document["pages"], document["file"]


def test_no_document_affects_the_document_after_it(outcomes):
    assert all(isinstance(reading, DocumentReading) for reading in outcomes[1])
    assert {reading.text for reading in outcomes[1]} == {outcomes[1][0].text}


def test_an_image_file_is_read_nearly_word_for_word(documents, outcomes, corpus):
    for document in documents:
        if truth := document.get("ground_truth"):
            expected = set((corpus / truth).read_text().split())
            found = set(outcomes[0][document["file"]].text.split())
            share = 0.85 if "eurotext" in truth else 0.9  # it is in six languages
            assert len(expected & found) > share * len(expected), document["file"]
