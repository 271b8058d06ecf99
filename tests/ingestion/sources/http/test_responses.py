"""Tests of responses: sign-in pages, waiting times, clocks, and compressed bombs."""

import gzip
import tracemalloc
from datetime import UTC, datetime, timedelta

import httpx2 as httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingestion.core.errors import AccessRefused, NotServed, TooLarge
from ingestion.sources.http.responses import (
    check_not_sign_in_page,
    get_clock_skew,
    parse_retry_after,
)
from tests.ingestion.sources.http.servers import chunked, give

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
PAGE = b"<!DOCTYPE html><html><body>Please sign in" + b" " * 5000


def http(moment):
    return moment.strftime("%a, %d %b %Y %H:%M:%S GMT")


@pytest.mark.parametrize(
    ("body", "media_type"),
    [
        (PAGE, "application/pdf"),
        (PAGE, "text/html; charset=utf-8"),
        (b"\xef\xbb\xbf\r\n  <HTML>", "application/octet-stream"),
        (b"<!-- portal 4.2 --><div>Sign in</div>", "text/html"),
        (b"<?xml version='1.0'?><html xmlns='x'>", "application/xhtml+xml"),
        (b"<html>how to write %PDF-1.7 by hand", "application/pdf"),
        (b"", "text/html"),
    ],
)
async def test_a_sign_in_page_is_never_a_document(portal, fetch, tmp_path, body, media_type):
    portal.on("/cv.pdf", give(body, Content_Type=media_type))
    with pytest.raises(AccessRefused, match="sign-in page") as caught:
        await fetch(portal.url("/cv.pdf"))
    assert caught.value.facts == {"status": "a sign-in page"}
    assert not list(tmp_path.iterdir())


async def test_a_sign_in_page_is_recognised_even_if_it_arrives_byte_by_byte(portal, fetch):
    portal.on("/cv.pdf", chunked(*[bytes([byte]) for byte in PAGE[:60]]))
    with pytest.raises(AccessRefused):
        await fetch(portal.url("/cv.pdf"))


@pytest.mark.parametrize(
    ("body", "media_type"),
    [
        (b"%PDF-1.7 " + b"x" * 2000, "text/html"),  # a portal that states the wrong media type
        (b"\n\n%PDF-1.4 ", "text/html"),
        (b"\x89PNG\r\n\x1a\n", "text/html"),
        (b"PK\x03\x04", "application/zip"),  # the reader names the format and the remedy
        (b"just text", "text/plain"),
        (b"", "application/pdf"),
    ],
)
def test_all_other_content_is_left_to_the_reader(body, media_type):
    check_not_sign_in_page(body, httpx.Headers({"Content-Type": media_type}))


async def test_a_compressed_bomb_is_neither_unpacked_nor_kept(portal, fetch, tmp_path):
    bomb = gzip.compress(bytes(300_000_000), 9)
    portal.on("/cv.pdf", give(bomb, Content_Encoding="gzip"), give(bomb))
    tracemalloc.start()
    with pytest.raises(NotServed, match="encoding"):
        await fetch(portal.url("/cv.pdf"))
    # Without the header it is an ordinary file of its own size, which the reader rejects.
    fetched = await fetch(portal.url("/cv.pdf"))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert fetched.size == len(bomb)
    assert peak < 5_000_000


async def test_memory_does_not_grow_with_the_document(portal, fetch):
    piece = b"%PDF-" + bytes(99_995)
    portal.on("/cv.pdf", chunked(*[piece] * 400))
    tracemalloc.start()
    fetched = await fetch(portal.url("/cv.pdf"), with_={"max_bytes": 50_000_000})
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert fetched.size == 40_000_000
    assert peak < 5_000_000


async def test_the_size_limit_applies_to_the_bytes_received(portal, fetch):
    portal.on("/cv.pdf", chunked(*[b"%PDF-" + bytes(99_995)] * 400))
    with pytest.raises(TooLarge):
        await fetch(portal.url("/cv.pdf"))


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"Retry-After": "30"}, 30),
        ({"Retry-After": "Fri, 20 Nov 2026 12:00:45 GMT"}, 45),
        ({"Retry-After": "Fri, 20 Nov 2026 11:00:00 GMT"}, 0),
        ({"Retry-After": "soon"}, None),
    ],
)
def test_both_forms_of_retry_after_are_understood(headers, seconds):
    assert parse_retry_after(headers, now=NOW) == seconds


@given(st.integers(-86_400, 86_400))
def test_a_wrong_clock_of_the_portal_does_not_change_the_waiting_time(skew):
    portal_now = NOW + timedelta(seconds=skew)
    headers = {"Date": http(portal_now), "Retry-After": http(portal_now + timedelta(seconds=90))}
    assert parse_retry_after(headers, now=NOW) == 90


@given(st.integers(-86_400, 86_400), st.integers(0, 3600))
def test_the_clock_skew_accounts_for_the_age_of_cached_responses(skew, age):
    headers = {"Date": http(NOW + timedelta(seconds=skew - age)), "Age": str(age)}
    assert get_clock_skew(headers, now=NOW) == skew


@pytest.mark.parametrize("headers", [{}, {"Date": "yesterday"}])
def test_there_is_no_clock_skew_without_a_valid_date(headers):
    assert get_clock_skew(headers, now=NOW) is None


async def test_a_large_clock_skew_is_among_the_facts(portal, fetch):
    def wrong_clock(handler):
        handler.date_time_string = lambda timestamp=None: http(
            datetime.now(UTC) + timedelta(hours=2)
        )
        give(b"%PDF-1.7 " + b"x" * 2000)(handler)

    portal.on("/cv.pdf", wrong_clock)
    skew = (await fetch(portal.url("/cv.pdf"))).facts["clock_skew_seconds"]
    assert 7100 < skew < 7300
