"""Requests and files that are too large are refused before they fill the disk."""

import pytest
from django.test import Client
from django.test.client import BOUNDARY, MULTIPART_CONTENT, encode_multipart

from ingestion.models import DraftFile
from tests.web.scenes import pdf, send
from web.shell.request_limits import LimitedUploadHandler

A_TERABYTE = str(10**12)


def declare(client, path, length=A_TERABYTE):
    """Send a form with this Content-Length but without a body."""
    return client.generic("POST", path, b"x", content_type=MULTIPART_CONTENT, CONTENT_LENGTH=length)


@pytest.fixture
def small(settings):
    settings.MAX_DOCUMENT_MB = settings.MAX_UPLOAD_FILES = 1


@pytest.mark.parametrize("path", ["/login/", "/session/", "/logout/", "/help/"])
def test_a_stranger_cannot_send_more_than_a_small_form(db, path):
    assert declare(Client(), path).status_code == 413


def test_an_upload_by_a_stranger_is_redirected_to_sign_in_before_its_body_is_read(db):
    answer = declare(Client(), "/packets/new/")
    assert answer.url == "/login/?next=/packets/new/"


@pytest.mark.parametrize("path", ["/packets/new/", "/packets/new/files/"])
def test_a_body_larger_than_a_packet_is_not_read(signed_in, path):
    answer = declare(signed_in, path)
    assert answer.status_code == 413
    assert "larger than a packet can be" in answer.content.decode()


def test_a_packet_of_many_large_files_is_accepted(signed_in, small, settings):
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1000
    sent = send(signed_in, **{"file-0": pdf(content=b"%PDF-1.7 " + bytes(900_000))})
    assert DraftFile.objects.exists() or sent.status_code == 302


def test_bytes_of_a_file_that_is_too_large_are_counted_but_not_stored(signed_in, small):
    body = encode_multipart(BOUNDARY, {"file": pdf(content=b"%PDF-1.7 " + bytes(1_900_000))})
    answer = signed_in.generic("POST", "/packets/new/files/", body, content_type=MULTIPART_CONTENT)
    assert answer.status_code == 422
    assert "The file is 1.9 MB. The limit is 1 MB" in answer.json()["message"]
    assert not DraftFile.objects.exists()


def test_the_temporary_file_never_exceeds_the_size_of_a_document(small):
    """A gigabyte arrives in blocks, which are not stored."""
    file, block = LimitedUploadHandler(), bytes(64 * 1024)
    file.new_file("file", "large.pdf", "application/pdf", None)
    sizes = set()
    for start in range(0, 10**9, len(block)):
        file.receive_data_chunk(block, start)
        sizes.add(file.file.tell())
    assert max(sizes) <= 1_000_000
    assert file.file.tell() == 0
    assert file.file_complete(10**9).size == 10**9
    file.file.close()
