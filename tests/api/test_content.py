"""Downloads of originals: whole, as a range, conditional, and recorded in the ledger."""

import base64
import hashlib
from contextlib import ExitStack

import pytest
from django.conf import settings
from django.core.files.base import ContentFile
from django.test import override_settings

from api.http.ranges import ByteRange, RangeNotSatisfiable, parse_range
from audit.ledger.log import ledger
from audit.ledger.queries import list_entries
from ingestion.core.renditions import RenderedFile, RenditionKind
from ingestion.documents import renditions
from ingestion.intake.registration import UploadedDocument, register_upload
from ingestion.models import Document
from ingestion.rules.findings import RuleFinding
from ingestion.storage.archive import get_archive
from tests.api.conftest import check_problem
from tests.api.servers import send_request, web_server
from tests.factories import make_user, verdict
from tests.web.scenes import (
    FILED,
    IN_REVIEW,
    REJECTED,
    settle,
)

BYTES = bytes(range(256)) * 1000
SHA256 = hashlib.sha256(BYTES).hexdigest()
ETAG = f'"{SHA256}"'
LOCKED = verdict("ARCHIVED", RuleFinding("ACTIVE_CONTENT", facts={"kinds": "javascript"}))


def make_document(site, tmp_path, verdict=FILED):
    """Return an uploaded letter whose bytes are in the archive, with this verdict."""
    letter = UploadedDocument("Lettre d'\u00e9thique.pdf", "irb-approval", "", ContentFile(BYTES))
    packet = register_upload(site=site, user=make_user(), files=[letter])
    source = tmp_path / "letter"
    source.write_bytes(BYTES)
    get_archive().put(source, SHA256)
    settle(packet, verdict)
    return packet.documents.get()


@pytest.fixture
def document(request, site, tmp_path):
    return make_document(site, tmp_path, LOCKED if "locked" in request.fixturenames else FILED)


@pytest.fixture(scope="module")
def served(django_db_setup, tmp_path_factory):
    """A real server for all tests of this module: its address and its archive folder."""
    folder = tmp_path_factory.mktemp("archive")
    with ExitStack() as stack:
        with override_settings(ARCHIVE_DIR=folder):
            address = stack.enter_context(web_server(settings))
        yield address, folder


@pytest.fixture
def request_content(transactional_db, program, served, request, settings):
    """A function that requests the bytes of the document from a real server.

    Example: `request_content("GET", range="bytes=0-9")`.
    """
    address, settings.ARCHIVE_DIR = served
    document = request.getfixturevalue("document")

    def send(method, query="", **headers):
        headers = {"authorization": f"Bearer {program.secret}"} | headers
        path = f"/api/v1/documents/{document.pk}/content{query}"
        return send_request(address, method, path, **headers)

    return send


def test_a_download_has_the_digest_and_security_headers(request_content):
    answer = request_content("GET", accept_encoding="gzip")
    digest = base64.b64encode(hashlib.sha256(BYTES).digest()).decode()
    assert (answer.status, answer.body) == (200, BYTES)
    assert answer.headers["ETag"] == ETAG
    assert answer.headers["Repr-Digest"] == f"sha-256=:{digest}:"
    assert answer.headers["Accept-Ranges"] == "bytes"
    assert answer.headers["Content-Type"] == "application/pdf"
    assert answer.headers["Content-Disposition"].startswith("attachment; filename*=utf-8''Lettre")
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert "sandbox" in answer.headers["Content-Security-Policy"]
    assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
    assert answer.headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert "camera=()" in answer.headers["Permissions-Policy"]
    assert answer.headers["Cache-Control"] == "no-store"
    assert "Content-Encoding" not in answer.headers


def test_a_range_has_status_206_and_content_range(request_content):
    answer = request_content("GET", range="bytes=1000-1999")
    assert (answer.status, answer.body) == (206, BYTES[1000:2000])
    assert answer.headers["Content-Range"] == f"bytes 1000-1999/{len(BYTES)}"
    assert answer.headers["Content-Length"] == "1000"
    assert answer.headers["ETag"] == ETAG
    assert answer.headers["Repr-Digest"].startswith("sha-256=:"), "the digest of the whole file"
    assert request_content("GET", range="bytes=-10").body == BYTES[-10:]


def test_an_interrupted_download_can_be_continued(request_content):
    beginning = request_content("GET", range="bytes=0-99999").body
    rest = request_content("GET", range=f"bytes={len(beginning)}-", if_range=ETAG)
    assert rest.status == 206
    assert hashlib.sha256(beginning + rest.body).hexdigest() == SHA256


def test_a_range_of_another_version_is_answered_with_the_whole_file(request_content):
    for other in ('"0000"', f"W/{ETAG}", "Sat, 21 Nov 2026 10:00:00 GMT"):
        answer = request_content("GET", range="bytes=10-", if_range=other)
        assert (answer.status, len(answer.body)) == (200, len(BYTES))


def test_a_range_after_the_end_has_status_416(request_content):
    answer = request_content("GET", range=f"bytes={len(BYTES)}-")
    assert answer.status == 416
    assert answer.headers["Content-Range"] == f"bytes */{len(BYTES)}"
    assert answer.headers["Content-Type"] == "application/problem+json"


def test_head_has_the_headers_of_get_without_a_body(request_content, document):
    answer = request_content("HEAD", range="bytes=0-9")
    assert (answer.status, answer.body) == (200, b"")
    assert answer.headers["Content-Length"] == str(len(BYTES))
    assert answer.headers["ETag"] == ETAG
    assert answer.headers["Repr-Digest"]
    refused = request_content("HEAD", authorization="Bearer x")
    assert (refused.status, refused.body) == (401, b"")


def test_conditional_requests_return_304_and_412(request_content):
    for tag in (ETAG, f'"a", W/{ETAG}', "*"):
        answer = request_content("GET", if_none_match=tag, range="bytes=0-9")
        assert (answer.status, answer.body) == (304, b"")
        assert answer.headers["ETag"] == ETAG
    assert request_content("GET", if_match='"other"').status == 412
    assert request_content("GET", if_match=ETAG).status == 200


def test_downloads_are_recorded_and_requests_without_bytes_are_not(
    request_content, program, document
):
    before = len(list_entries(document.subject))
    request_content("HEAD")
    request_content("GET", if_none_match=ETAG)
    request_content("GET", range=f"bytes={len(BYTES)}-")
    assert len(list_entries(document.subject)) == before
    request_content("GET", x_request_id="trace-1")
    request_content("GET", range="bytes=0-99")
    whole, part = list_entries(document.subject)[before:]
    assert (whole.event, whole.actor, whole.site) == (
        "document.downloaded",
        program.token.actor_name,
        "0203",
    )
    assert (whole.sha256, whole.to_state) == (SHA256, "")
    assert (whole.detail["range"], whole.detail["request_id"]) == ("", "trace-1")
    assert whole.detail["printed_name"] == str(program.token)
    assert whole.detail["address"] == "127.0.0.1"
    assert part.detail["range"] == f"bytes 0-99/{len(BYTES)}"
    assert Document.objects.get().state == "ARCHIVED"


@pytest.mark.requirement("R07")
def test_a_download_in_several_ranges_is_recorded_once(request_content, document):
    before = len(list_entries(document.subject))
    ranges = ("bytes=0-99", "bytes=100-199", "bytes=200-", "bytes=-10")
    assert {request_content("GET", range=range_).status for range_ in ranges} == {206}
    assert len(list_entries(document.subject)) == before + 1
    request_content("GET", range="bytes=0-99")
    assert len(list_entries(document.subject)) == before + 2, "a new download begins"


@pytest.mark.requirement("R07")
def test_a_range_from_the_middle_is_recorded_if_no_download_began_before(request_content, document):
    before = len(list_entries(document.subject))
    request_content("GET", range="bytes=100-199")
    (entry,) = list_entries(document.subject)[before:]
    assert entry.detail["range"] == f"bytes 100-199/{len(BYTES)}"


@pytest.mark.requirement("R07")
def test_a_download_that_cannot_be_recorded_sends_no_bytes(program, document, settings):
    settings.AUDIT_TRAIL = "another"  # the ledger cannot be continued under another name
    check_problem(program.get(f"documents/{document.pk}/content"), 500)


@pytest.mark.parametrize("verdict", [REJECTED, IN_REVIEW], ids=["rejected", "in review"])
def test_the_bytes_of_a_document_that_is_not_filed_are_not_found(
    program, ops, site, tmp_path, verdict
):
    withheld = make_document(site, tmp_path, verdict)
    for client in (program, ops):
        check_problem(client.get(f"documents/{withheld.pk}/content"), 404)
    assert [each.event for each in list_entries(withheld.subject)][-1] != "document.downloaded"


def test_bytes_that_are_missing_in_the_archive_are_not_found(program, document, settings, tmp_path):
    settings.ARCHIVE_DIR = tmp_path / "elsewhere"
    check_problem(program.get(f"documents/{document.pk}/content"), 404)


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("", None),
        ("bytes=0-0", ByteRange(0, 0, 10)),
        ("bytes=5-", ByteRange(5, 9, 10)),
        ("bytes=5-99", ByteRange(5, 9, 10)),
        ("bytes=-3", ByteRange(7, 9, 10)),
        ("bytes=-99", ByteRange(0, 9, 10)),
        ("bytes=5-4", None),
        ("bytes=-", None),
        ("bytes=0-1,3-4", None),
        ("bytes=a-b", None),
        ("lines=0-1", None),
    ],
)
def test_only_a_single_valid_range_is_used(header, expected):
    assert parse_range(header, "", etag='"e"', size=10) == expected


@pytest.mark.parametrize(("header", "size"), [("bytes=10-", 10), ("bytes=-0", 10), ("bytes=-5", 0)])
def test_an_empty_range_is_not_satisfiable(header, size):
    with pytest.raises(RangeNotSatisfiable):
        parse_range(header, "", etag='"e"', size=size)


def test_a_rendition_is_sent_with_its_own_name_type_and_digest(document, request_content, tmp_path):
    pages = b"%PDF-1.7 pages"
    sha256 = hashlib.sha256(pages).hexdigest()
    (tmp_path / "pages.pdf").write_bytes(pages)
    rendered = RenderedFile(
        RenditionKind.OFFICE_PDF, tmp_path / "pages.pdf", sha256, len(pages), "application/pdf", "x"
    )
    renditions.store_rendition(rendered)
    with ledger():
        renditions.record_rendition(Document.lock(document.pk), rendered)
    answer = request_content("GET", f"?rendition={sha256}")
    assert (answer.status, answer.body) == (200, pages)
    assert answer.headers["Content-Type"] == "application/pdf"
    assert answer.headers["ETag"] == f'"{sha256}"'
    assert "rendition.pdf" in answer.headers["Content-Disposition"]
    assert request_content("GET", f"?rendition={'0' * 64}").status == 404


@pytest.fixture
def locked(request_content, document):
    """Return a filed document with active content. Its address is that of `request_content`."""
    return document


def make_pictures(document, tmp_path, content=b"%PDF-1.7 " + b"pictures of the pages " * 100):
    (tmp_path / "inert.pdf").write_bytes(content)
    sha256 = hashlib.sha256(content).hexdigest()
    rendered = RenderedFile(
        RenditionKind.INERT, tmp_path / "inert.pdf", sha256, len(content), "application/pdf", "x"
    )
    renditions.store_rendition(rendered)
    with ledger():
        renditions.record_rendition(Document.lock(document.pk), rendered)
    return content, sha256


def test_pictures_are_sent_in_the_place_of_an_original_under_lock(
    locked, request_content, tmp_path
):
    """Whole, as a range, and in the headers of HEAD; and each download says what it was."""
    content, sha256 = make_pictures(locked, tmp_path)
    answer = request_content("GET")
    assert (answer.status, answer.body) == (200, content)
    assert answer.headers["ETag"] == f'"{sha256}"'
    digest = base64.b64encode(bytes.fromhex(sha256)).decode()
    assert answer.headers["Repr-Digest"] == f"sha-256=:{digest}:"
    assert answer.headers["Content-Type"] == "application/pdf"
    assert "rendition.pdf" in answer.headers["Content-Disposition"]
    head = request_content("HEAD")
    assert (head.status, head.headers["Content-Length"]) == (200, str(len(content)))
    assert head.headers["ETag"] == answer.headers["ETag"]
    part = request_content("GET", range="bytes=5-99")
    assert (part.status, part.body) == (206, content[5:100])
    assert request_content("GET", if_none_match=f'"{sha256}"').status == 304
    assert request_content("GET", f"?rendition={sha256}").body == content
    downloads = [e for e in list_entries(locked.subject) if e.event == "document.downloaded"]
    assert {entry.detail["rendition"] for entry in downloads} == {sha256}


def test_pictures_that_are_not_made_yet_are_announced(locked, request_content):
    answer = request_content("GET")
    assert (answer.status, answer.headers["Retry-After"]) == (503, "60")
    assert BYTES not in answer.body
