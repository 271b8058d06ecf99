"""Tests of continued downloads: bytes of different versions are never combined."""

import hashlib
import os

import pytest

from ingestion.core.errors import BodyTruncated, NotServed, TooLarge
from tests.ingestion.sources.http.conftest import make_item
from tests.ingestion.sources.http.servers import chunked, give, ranged

BODY = b"%PDF-1.7 " + os.urandom(600_000)
HALF = BODY[:300_000]
SHA256 = hashlib.sha256(BODY).hexdigest()


def broken(etag='"v1"', body=HALF, **headers):
    tag = {"ETag": etag} if etag else {}
    return give(body, length=len(BODY), **tag, **headers)


@pytest.fixture
def try_all(portal, portals):
    """Fetch until the file is complete, as the core does.

    Returns the file, and the Range header of each request.
    """

    async def try_all(*answers, expected_sha256=""):
        portal.on("/cv.pdf", *answers)
        item = make_item(portal.url("/cv.pdf"), expected_sha256=expected_sha256)
        async with portals() as opened:
            for _ in answers[1:]:
                with pytest.raises(BodyTruncated):
                    await opened.fetch(item)
            fetched = await opened.fetch(item)
        return fetched, [headers["Range"] for headers in portal.headers("/cv.pdf")]

    return try_all


async def test_only_the_rest_is_requested_and_the_hash_covers_the_whole_file(try_all, portal):
    fetched, asked = await try_all(broken(), ranged(BODY))
    assert asked == [None, f"bytes={len(HALF)}-"]
    assert portal.headers("/cv.pdf")[1]["If-Range"] == '"v1"'
    assert fetched.path.read_bytes() == BODY
    assert (fetched.sha256, fetched.size) == (SHA256, len(BODY))


async def test_a_download_survives_several_interruptions(try_all):
    def next_piece(handler):
        start = int(handler.headers["Range"].removeprefix("bytes=").rstrip("-"))
        span = f"bytes {start}-{len(BODY) - 1}/{len(BODY)}"
        piece = BODY[start : start + 100_000]
        give(piece, 206, length=len(BODY) - start, ETag='"v1"', Content_Range=span)(handler)

    fetched, asked = await try_all(broken(), next_piece, next_piece, ranged(BODY))
    assert asked[1:] == ["bytes=300000-", "bytes=400000-", "bytes=500000-"]
    assert fetched.sha256 == SHA256


async def test_a_file_that_changed_meanwhile_is_downloaded_from_the_start(try_all):
    new = b"%PDF-1.7 the new version" * 100
    fetched, _ = await try_all(broken(), ranged(new, etag='"v2"'))
    assert fetched.path.read_bytes() == new


@pytest.mark.parametrize("etag", ["", 'W/"v1"', "v1"], ids=["none", "weak", "malformed"])
async def test_without_a_strong_etag_the_whole_file_is_requested_again(try_all, etag):
    fetched, asked = await try_all(broken(etag), give(BODY))
    assert asked == [None, None]
    assert fetched.sha256 == SHA256


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Content_Range": "bytes 0-600008/600009"},
        {"Content_Range": "bytes 299999-600008/600009"},
        {"Content_Range": "bytes 300001-600008/600009"},
        {"Content_Range": "bytes 300000-600008/600010"},
        {"Content_Range": "bytes 300000-500000/600009"},
        {"Content_Range": "bytes 300000-600008/*"},
        {"Content_Range": "bytes 300000-600008/600009", "ETag": '"v2"'},
    ],
)
async def test_a_part_that_does_not_fit_is_discarded_with_the_kept_bytes(try_all, headers):
    odd = give(BODY[300_000:], 206, **({"ETag": '"v1"'} | headers))
    fetched, asked = await try_all(broken(), odd, ranged(BODY))
    assert asked == [None, "bytes=300000-", None]
    assert fetched.sha256 == SHA256


async def test_status_416_with_the_same_size_completes_the_file(try_all):
    # The body had no length, so only the portal knows that it is complete.
    all_but_the_end = chunked_break(BODY)
    fetched, asked = await try_all(all_but_the_end, ranged(BODY))
    assert asked == [None, f"bytes={len(BODY)}-"]
    assert fetched.sha256 == SHA256


async def test_status_416_of_a_shorter_file_starts_the_download_again(try_all):
    shorter = give(b"", 416, Content_Range="bytes */1000")
    fetched, asked = await try_all(broken(), shorter, ranged(BODY))
    assert asked[2] is None
    assert fetched.sha256 == SHA256


@pytest.mark.parametrize("status", [206, 416])
async def test_a_part_of_a_file_that_was_requested_as_a_whole_is_refused(portal, fetch, status):
    portal.on("/cv.pdf", give(HALF, status, Content_Range="bytes 0-9/10"))
    with pytest.raises(NotServed) as caught:
        await fetch(portal.url("/cv.pdf"))
    assert caught.value.facts == {"status": status}


async def test_the_digest_of_the_first_response_applies_to_the_complete_file(
    try_all, portal, portals
):
    wrong = "sha-256=:" + "A" * 43 + "=:"
    portal.on("/cv.pdf", broken(Repr_Digest=wrong), ranged(BODY))
    item = make_item(portal.url("/cv.pdf"))
    async with portals() as opened:
        with pytest.raises(BodyTruncated):
            await opened.fetch(item)
        with pytest.raises(Exception, match="not those that were announced"):
            await opened.fetch(item)


async def test_the_digest_of_the_manifest_applies_to_all_pieces_together(try_all):
    fetched, _ = await try_all(broken(), ranged(BODY), expected_sha256=SHA256)
    assert fetched.sha256 == SHA256


async def test_kept_bytes_count_against_the_size_limit(portal, portals):
    def rest(handler):
        start = handler.headers["Range"].removeprefix("bytes=").rstrip("-")
        handler.send_response(206)
        handler.send_header("Content-Range", f"bytes {start}-899999/900000")
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        for _ in range(20):
            handler.wfile.write(b"%x\r\n%s\r\n" % (50_000, b"x" * 50_000))

    portal.on("/cv.pdf", chunked_break(HALF), rest)
    item = make_item(portal.url("/cv.pdf"))
    async with portals() as opened:
        with pytest.raises(BodyTruncated):
            await opened.fetch(item)
        with pytest.raises(TooLarge):
            await opened.fetch(item)


def chunked_break(body):
    def answer(handler):
        handler.send_response(200)
        handler.send_header("ETag", '"v1"')
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        handler.wfile.write(b"%x\r\n%s\r\n" % (len(body), body))
        handler.close_connection = True

    return answer


async def test_the_bytes_received_before_the_total_timeout_are_kept(portal, portals, tmp_path):
    pieces = [BODY[at : at + 3000] for at in range(0, 300_000, 3000)]

    def slowly(handler):
        chunked(*pieces, every=0.02)(with_etag(handler))

    portal.on("/cv.pdf", slowly, ranged(BODY))
    item = make_item(portal.url("/cv.pdf"), timeout_seconds=1)
    async with portals(bytes_per_second=100_000_000) as opened:
        with pytest.raises(Exception, match="no answer within"):
            await opened.fetch(item)
        kept = (tmp_path / "1.part").stat().st_size
        assert kept % 3000 == 0
        assert (await opened.fetch(item)).sha256 == SHA256
    assert portal.headers("/cv.pdf")[1]["Range"] == f"bytes={kept}-"


def with_etag(handler):
    send = handler.send_response

    def send_response(status):
        send(status)
        handler.send_header("ETag", '"v1"')

    handler.send_response = send_response
    return handler
