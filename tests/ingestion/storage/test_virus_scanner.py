"""Tests of virus scanning, with clamd's protocol over real sockets."""

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
def write_file(tmp_path):
    """Return a function that writes a file with these bytes and returns its path."""

    def write(content):
        path = tmp_path / "file.pdf"
        path.write_bytes(content)
        return path

    return write


def test_without_a_setting_there_is_no_scanner(settings):
    settings.CLAMD = ""
    assert get_scanner() is None


@pytest.mark.parametrize("content", [b"%PDF-1.7", b"", b"a" * (2 * CHUNK_BYTES + 1)])
def test_a_clean_file_is_sent_completely_and_has_no_virus(content, write_file):
    with clamd() as server:
        assert scan(server, write_file(content)) == ""
    assert server.scanned == [content]


def test_a_virus_is_reported_with_the_name_that_the_scanner_uses(write_file):
    with clamd() as server:
        assert scan(server, write_file(b"%PDF-1.7\n" + EICAR)) == FOUND


def test_a_unix_socket_is_supported(write_file, tmp_path):
    with clamd(tmp_path / "clamd.ctl") as server:
        assert scan(server, write_file(EICAR)) == FOUND


def test_a_file_over_clamds_size_limit_counts_as_not_scanned(write_file):
    with (
        clamd(longest=1000) as server,
        pytest.raises(ScannerUnavailable, match=r"size limit|StreamMaxLength"),
    ):
        scan(server, write_file(b"a" * (20 * CHUNK_BYTES)))


@pytest.mark.parametrize("answer", ["stream: Can't allocate memory ERROR", "", "Hello", None])
def test_an_unknown_answer_does_not_count_as_a_clean_file(answer, write_file):
    with clamd(answer=answer) as server, pytest.raises(ScannerUnavailable):
        scan(server, write_file(b"%PDF-1.7"))


def test_a_scanner_that_does_not_answer_times_out(write_file):
    with clamd(answer=None, silence=2.0) as server, pytest.raises(ScannerUnavailable):
        scan(server, write_file(b"%PDF-1.7"), timeout_seconds=0.2)


def test_a_missing_socket_raises_scanner_unavailable(write_file, tmp_path):
    with pytest.raises(ScannerUnavailable):
        asyncio.run(ClamdScanner.at(f"unix:{tmp_path / 'none.ctl'}").scan(write_file(b"%PDF-1.7")))


@pytest.fixture
def process(settings, tmp_path):
    """Return a function that uploads these bytes, processes them and returns the document."""
    settings.SPOOL_DIR, settings.ARCHIVE_DIR = tmp_path / "spool", tmp_path / "archive"
    site, user = make_site("1001"), make_user()

    def upload_and_work(content):
        file = registration.UploadedDocument("cv.pdf", "cv", "Ada", ContentFile(content, "cv.pdf"))
        packet = registration.register_upload(site=site, user=user, files=[file])
        work_shift()
        return packet.documents.get()

    return upload_and_work


@pytest.mark.django_db(transaction=True)
def test_an_infected_file_is_not_read_and_goes_to_qa_with_the_name_of_the_virus(settings, process):
    with clamd() as server:
        settings.CLAMD = server.address
        document = process(b"%PDF-1.7\n" + EICAR)
    assert (document.state, document.code) == (DocumentState.IN_REVIEW, "MALWARE_SUSPECTED")
    [finding] = document.findings.all()
    assert finding.facts == {"signature": FOUND}
    assert document.pages is None


@pytest.mark.django_db(transaction=True)
def test_documents_are_held_while_the_scanner_is_down_and_can_be_retried_later(settings, process):
    with clamd() as server:
        settings.CLAMD = server.address
        port = server.server_address[1]
    content = make_pdf()
    document = process(content)
    assert (document.state, document.code) == (DocumentState.HELD, "SCANNER_UNAVAILABLE")
    with clamd(port=port) as server:
        assert retrying.retry_held(Document.objects.filter(pk=document.pk), by=OPS) == 1
        work_shift()
        assert server.scanned == [content]
    document.refresh_from_db()
    assert document.state != DocumentState.HELD
    assert document.pages == 1
