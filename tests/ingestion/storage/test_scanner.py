"""A virus scanner sees every file first: clamd's protocol over real sockets."""

import asyncio
import dataclasses

import pytest
from django.core.files.base import ContentFile

from audit.ledger.actors import Actor
from ingestion.core.errors import ScannerUnavailable
from ingestion.core.states import DocumentState
from ingestion.dispatch.shift import work_shift
from ingestion.intake import registration, retrying
from ingestion.models import Document
from ingestion.storage.virus_scanner import CHUNK_BYTES, ClamdScanner, get_scanner
from tests.factories import make_site, make_user
from tests.ingestion.clamd import EICAR, FOUND, clamd
from tests.ingestion.reading.documents import make_pdf

OPS = Actor("system:tests", "ops")


def scan(server, path, **changes):
    return asyncio.run(dataclasses.replace(ClamdScanner.at(server.address), **changes).scan(path))


@pytest.fixture
def file(tmp_path):
    """Writes a file with these bytes."""

    def file(content):
        path = tmp_path / "file.pdf"
        path.write_bytes(content)
        return path

    return file


def test_without_a_setting_there_is_no_scanner(settings):
    settings.CLAMD = ""
    assert get_scanner() is None


@pytest.mark.parametrize("content", [b"%PDF-1.7", b"", b"a" * (2 * CHUNK_BYTES + 1)])
def test_a_clean_file_arrives_whole_and_nothing_is_found(content, file):
    with clamd() as server:
        assert scan(server, file(content)) == ""
    assert server.scanned == [content]


def test_what_is_found_has_the_scanners_own_name(file):
    with clamd() as server:
        assert scan(server, file(b"%PDF-1.7\n" + EICAR)) == FOUND


def test_debians_clamd_listens_on_a_unix_socket(file, tmp_path):
    with clamd(tmp_path / "clamd.ctl") as server:
        assert scan(server, file(EICAR)) == FOUND


def test_a_file_that_is_longer_than_clamd_takes_was_not_scanned(file):
    with (
        clamd(longest=1000) as server,
        pytest.raises(ScannerUnavailable, match=r"size limit|Connection"),
    ):
        scan(server, file(b"a" * (20 * CHUNK_BYTES)))


@pytest.mark.parametrize("answer", ["stream: Can't allocate memory ERROR", "", "Hello", None])
def test_any_other_answer_is_not_taken_for_a_clean_file(answer, file):
    with clamd(answer=answer) as server, pytest.raises(ScannerUnavailable):
        scan(server, file(b"%PDF-1.7"))


def test_a_scanner_that_is_silent_is_not_waited_for_for_ever(file):
    with clamd(answer=None, silence=2.0) as server, pytest.raises(ScannerUnavailable):
        scan(server, file(b"%PDF-1.7"), timeout_seconds=0.2)


def test_nobody_listens(file, tmp_path):
    with pytest.raises(ScannerUnavailable):
        asyncio.run(ClamdScanner.at(f"unix:{tmp_path / 'none.ctl'}").scan(file(b"%PDF-1.7")))


@pytest.fixture
def send(settings, tmp_path):
    """Uploads these bytes and has them worked. Answers the document."""
    settings.SPOOL_DIR, settings.ARCHIVE_DIR = tmp_path / "spool", tmp_path / "archive"
    site, user = make_site("1001"), make_user()

    def send(content):
        file = registration.UploadedDocument("cv.pdf", "cv", "Ada", ContentFile(content, "cv.pdf"))
        packet = registration.register_upload(site=site, user=user, files=[file])
        work_shift()
        return packet.documents.get()

    return send


@pytest.mark.django_db(transaction=True)
def test_a_file_with_a_virus_is_not_opened_and_waits_for_qa_with_its_name(settings, send):
    with clamd() as server:
        settings.CLAMD = server.address
        document = send(b"%PDF-1.7\n" + EICAR)
    assert (document.state, document.code) == (DocumentState.IN_REVIEW, "MALWARE_SUSPECTED")
    [finding] = document.findings.all()
    assert finding.facts == {"signature": FOUND}
    assert document.pages is None


@pytest.mark.django_db(transaction=True)
def test_while_the_scanner_is_away_documents_are_held_and_go_on_when_it_is_back(settings, send):
    with clamd() as server:
        settings.CLAMD = server.address
        port = server.server_address[1]
    content = make_pdf()
    document = send(content)
    assert (document.state, document.code) == (DocumentState.HELD, "SCANNER_UNAVAILABLE")
    with clamd(port=port) as server:
        assert retrying.retry_held(Document.objects.filter(pk=document.pk), by=OPS) == 1
        work_shift()
        assert server.scanned == [content]
    document.refresh_from_db()
    assert document.state != DocumentState.HELD
    assert document.pages == 1
