"""Originals over the wire: whole, in part, resumed, unchanged; and each time on record."""

import base64
import hashlib
from contextlib import ExitStack

import pytest
from django.conf import settings
from django.core.files.base import ContentFile
from django.test import override_settings

from api.ranges import NotSatisfiable, Part, asked_part
from audit.ledger.queries import timeline
from ingestion.intake.registration import UploadedDocument, register_upload
from ingestion.models import Document
from ingestion.storage.archive import get_archive
from tests.api.servers import ask, web_server
from tests.api.test_problems import problem
from tests.factories import make_user
from tests.web.scenes import (
    FILED,
    IN_REVIEW,
    REJECTED,
    settle,
)

BYTES = bytes(range(256)) * 1000
SHA256 = hashlib.sha256(BYTES).hexdigest()
ETAG = f'"{SHA256}"'


def make_document(site, tmp_path, verdict=FILED):
    """An uploaded letter whose bytes are in the archive, decided as `verdict` says."""
    letter = UploadedDocument("Lettre d'\u00e9thique.pdf", "irb-approval", "", ContentFile(BYTES))
    packet = register_upload(site=site, user=make_user(), files=[letter])
    source = tmp_path / "letter"
    source.write_bytes(BYTES)
    get_archive().put(source, SHA256)
    settle(packet, verdict)
    return packet.documents.get()


@pytest.fixture
def document(site, tmp_path):
    return make_document(site, tmp_path)


@pytest.fixture(scope="module")
def served(django_db_setup, tmp_path_factory):
    """One real server for all of them: its address, and where it looks for the bytes."""
    folder = tmp_path_factory.mktemp("archive")
    with ExitStack() as stack:
        with override_settings(ARCHIVE_DIR=folder):
            address = stack.enter_context(web_server(settings))
        yield address, folder


@pytest.fixture
def over_the_wire(transactional_db, program, served, request, settings):
    """`over_the_wire("GET", range="bytes=0-9")`: asks a real server for the document's bytes."""
    address, settings.ARCHIVE_DIR = served
    document = request.getfixturevalue("document")

    def asked(method, **headers):
        headers = {"authorization": f"Bearer {program.secret}"} | headers
        return ask(address, method, f"/api/v1/documents/{document.pk}/content", **headers)

    return asked


def test_the_whole_comes_with_what_proves_it(over_the_wire):
    answer = over_the_wire("GET", accept_encoding="gzip")
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


def test_a_part_is_206_and_says_which(over_the_wire):
    answer = over_the_wire("GET", range="bytes=1000-1999")
    assert (answer.status, answer.body) == (206, BYTES[1000:2000])
    assert answer.headers["Content-Range"] == f"bytes 1000-1999/{len(BYTES)}"
    assert answer.headers["Content-Length"] == "1000"
    assert answer.headers["ETag"] == ETAG
    assert answer.headers["Repr-Digest"].startswith("sha-256=:"), "of the whole"
    assert over_the_wire("GET", range="bytes=-10").body == BYTES[-10:]


def test_a_broken_download_goes_on_where_it_stopped(over_the_wire):
    got = over_the_wire("GET", range="bytes=0-99999").body
    rest = over_the_wire("GET", range=f"bytes={len(got)}-", if_range=ETAG)
    assert rest.status == 206
    assert hashlib.sha256(got + rest.body).hexdigest() == SHA256


def test_a_part_of_something_else_is_answered_with_the_whole(over_the_wire):
    for other in ('"0000"', f"W/{ETAG}", "Sat, 21 Nov 2026 10:00:00 GMT"):
        answer = over_the_wire("GET", range="bytes=10-", if_range=other)
        assert (answer.status, len(answer.body)) == (200, len(BYTES))


def test_a_range_behind_the_end_is_416(over_the_wire):
    answer = over_the_wire("GET", range=f"bytes={len(BYTES)}-")
    assert answer.status == 416
    assert answer.headers["Content-Range"] == f"bytes */{len(BYTES)}"
    assert answer.headers["Content-Type"] == "application/problem+json"


def test_head_is_get_without_the_bytes(over_the_wire, document):
    answer = over_the_wire("HEAD", range="bytes=0-9")
    assert (answer.status, answer.body) == (200, b"")
    assert answer.headers["Content-Length"] == str(len(BYTES))
    assert answer.headers["ETag"] == ETAG
    assert answer.headers["Repr-Digest"]
    refused = over_the_wire("HEAD", authorization="Bearer x")
    assert (refused.status, refused.body) == (401, b"")


def test_an_unchanged_document_is_304_and_a_changed_one_412(over_the_wire):
    for tag in (ETAG, f'"a", W/{ETAG}', "*"):
        answer = over_the_wire("GET", if_none_match=tag, range="bytes=0-9")
        assert (answer.status, answer.body) == (304, b"")
        assert answer.headers["ETag"] == ETAG
    assert over_the_wire("GET", if_match='"other"').status == 412
    assert over_the_wire("GET", if_match=ETAG).status == 200


def test_each_download_is_on_record_and_a_look_is_not(over_the_wire, program, document):
    before = len(timeline(document.subject))
    over_the_wire("HEAD")
    over_the_wire("GET", if_none_match=ETAG)
    over_the_wire("GET", range=f"bytes={len(BYTES)}-")
    assert len(timeline(document.subject)) == before
    over_the_wire("GET", x_request_id="trace-1")
    over_the_wire("GET", range="bytes=0-99")
    whole, part = timeline(document.subject)[before:]
    assert (whole.event, whole.actor, whole.site) == (
        "document.downloaded",
        program.token.actor,
        "0203",
    )
    assert (whole.sha256, whole.to_state) == (SHA256, "")
    assert (whole.detail["range"], whole.detail["request_id"]) == ("", "trace-1")
    assert whole.detail["printed_name"] == str(program.token)
    assert whole.detail["address"] == "127.0.0.1"
    assert part.detail["range"] == f"bytes 0-99/{len(BYTES)}"
    assert Document.objects.get().state == "ARCHIVED"


@pytest.mark.requirement("R07")
def test_a_download_in_pieces_is_one_entry(over_the_wire, document):
    before = len(timeline(document.subject))
    pieces = ("bytes=0-99", "bytes=100-199", "bytes=200-", "bytes=-10")
    assert {over_the_wire("GET", range=piece).status for piece in pieces} == {206}
    assert len(timeline(document.subject)) == before + 1
    over_the_wire("GET", range="bytes=0-99")
    assert len(timeline(document.subject)) == before + 2, "somebody begins anew"


@pytest.mark.requirement("R07")
def test_a_piece_from_the_middle_is_on_record_when_nothing_is_yet(over_the_wire, document):
    before = len(timeline(document.subject))
    over_the_wire("GET", range="bytes=100-199")
    (entry,) = timeline(document.subject)[before:]
    assert entry.detail["range"] == f"bytes 100-199/{len(BYTES)}"


@pytest.mark.requirement("R07")
def test_without_its_entry_not_a_byte_leaves(program, document, settings):
    settings.AUDIT_TRAIL = "another"  # the ledger refuses to be gone on with under another name
    problem(program.get(f"documents/{document.pk}/content"), 500)


@pytest.mark.parametrize("verdict", [REJECTED, IN_REVIEW], ids=["rejected", "in review"])
def test_bytes_that_are_withheld_do_not_exist(program, ops, site, tmp_path, verdict):
    withheld = make_document(site, tmp_path, verdict)
    for asking in (program, ops):
        problem(asking.get(f"documents/{withheld.pk}/content"), 404)
    assert [each.event for each in timeline(withheld.subject)][-1] != "document.downloaded"


def test_bytes_that_the_archive_lost_are_404(program, document, settings, tmp_path):
    settings.ARCHIVE_DIR = tmp_path / "elsewhere"
    problem(program.get(f"documents/{document.pk}/content"), 404)


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("", None),
        ("bytes=0-0", Part(0, 0, 10)),
        ("bytes=5-", Part(5, 9, 10)),
        ("bytes=5-99", Part(5, 9, 10)),
        ("bytes=-3", Part(7, 9, 10)),
        ("bytes=-99", Part(0, 9, 10)),
        ("bytes=5-4", None),
        ("bytes=-", None),
        ("bytes=0-1,3-4", None),
        ("bytes=a-b", None),
        ("lines=0-1", None),
    ],
)
def test_what_is_no_single_range_is_passed_over(header, expected):
    assert asked_part(header, "", etag='"e"', size=10) == expected


@pytest.mark.parametrize(("header", "size"), [("bytes=10-", 10), ("bytes=-0", 10), ("bytes=-5", 0)])
def test_a_range_with_nothing_in_it_is_not_satisfiable(header, size):
    with pytest.raises(NotSatisfiable):
        asked_part(header, "", etag='"e"', size=size)
