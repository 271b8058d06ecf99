"""Tests of the HTTP client, against a real server that answers as portals do."""

import asyncio
import hashlib
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from ingestion.core.errors import (
    AccessRefused,
    BodyTruncated,
    Misconfigured,
    NotServed,
    PortalFailing,
    PortalThrottled,
    PortalUnreachable,
    StorageUnavailable,
    TooLarge,
)
from ingestion.core.file_parts import FilePart
from ingestion.core.ports import WorkItem
from ingestion.sources import document_source
from ingestion.sources.document_source import DocumentSource
from ingestion.sources.http.connections import PortalConnection
from ingestion.sources.http.redirects import skip_wait
from ingestion.storage import archive, spool
from tests.ingestion.sources.http.conftest import LIMITS, make_item
from tests.ingestion.sources.http.servers import (
    chunked,
    close_without_response,
    give,
    ranged,
    silent,
    unending,
)

BODY = b"%PDF-1.7 " + b"x" * 700_000


async def test_the_bytes_are_stored_with_their_hash_and_size(portal, fetch):
    portal.on("/cv.pdf", give(BODY))
    fetched = await fetch(portal.url("/cv.pdf"))
    assert fetched.path.read_bytes() == BODY
    assert (fetched.sha256, fetched.size) == (hashlib.sha256(BODY).hexdigest(), len(BODY))


@pytest.fixture
def file_work(tmp_path):
    """Return (event, thread) for each file that is opened, moved or removed below `tmp_path`."""
    seen = FILE_WORK[str(tmp_path)] = []
    yield seen
    del FILE_WORK[str(tmp_path)]


FILE_WORK: dict[str, list[tuple[str, str]]] = {}


def _record_file_event(event, args):
    if FILE_WORK and event in {"open", "os.rename", "os.remove"}:
        for folder, seen in FILE_WORK.items():
            if str(args[0]).startswith(folder):
                seen.append((event, threading.current_thread().name))


# Audit hooks cannot be removed, so this one does nothing between tests.
sys.addaudithook(_record_file_event)


async def test_only_the_threads_for_files_touch_files(portal, portals, file_work):
    half = give(BODY[: len(BODY) // 2], length=len(BODY), ETag='"v1"')
    portal.on("/cv.pdf", half, ranged(BODY))
    item = make_item(portal.url("/cv.pdf"))
    async with portals() as opened:
        with pytest.raises(BodyTruncated):
            await opened.fetch(item)
        await opened.fetch(item)
    assert {event for event, _ in file_work} == {"open", "os.rename", "os.remove"}
    assert all(thread.startswith("files") for _, thread in file_work)


async def test_an_empty_file_is_fetched_like_any_other(portal, fetch):
    portal.on("/cv.pdf", give(b""))
    fetched = await fetch(portal.url("/cv.pdf"))
    assert (fetched.path.read_bytes(), fetched.size) == (b"", 0)


async def test_a_request_asks_for_uncompressed_bytes_and_their_digest(portal, fetch):
    portal.on("/cv.pdf", give(BODY))
    await fetch(portal.url("/cv.pdf"))
    (sent,) = portal.headers("/cv.pdf")
    assert sent["Accept-Encoding"] == "identity"
    assert sent["Want-Repr-Digest"] == "sha-256=10"
    assert {"Cookie", "Authorization", "Range"}.isdisjoint(sent)


@pytest.mark.parametrize("status", [401, 403, 407])
async def test_refused_credentials_are_a_permanent_error(portal, fetch, status):
    portal.on("/cv.pdf", give(b"", status))
    with pytest.raises(AccessRefused) as caught:
        await fetch(portal.url("/cv.pdf"))
    assert (caught.value.code, caught.value.facts) == ("DOWNLOAD_FAILED", {"status": status})


@pytest.mark.parametrize("status", [400, 404, 410, 418, 204, 304])
async def test_any_other_status_is_a_permanent_error_that_names_it(portal, fetch, status):
    portal.on("/cv.pdf", give(b"", status))
    with pytest.raises(NotServed) as caught:
        await fetch(portal.url("/cv.pdf"))
    assert caught.value.facts == {"status": status}


@pytest.mark.parametrize("status", [408, 425, 500, 502, 503, 504])
async def test_a_transient_status_is_a_transient_error(portal, fetch, status):
    portal.on("/cv.pdf", give(b"", status, Retry_After="3"))
    with pytest.raises(PortalFailing) as caught:
        await fetch(portal.url("/cv.pdf"))
    assert caught.value.retry_after == 3


async def test_status_429_keeps_the_waiting_time_of_the_portal(portal, fetch):
    portal.on("/cv.pdf", give(b"", 429, Retry_After="7"))
    with pytest.raises(PortalThrottled) as caught:
        await fetch(portal.url("/cv.pdf"))
    assert caught.value.retry_after == 7


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (give(b"%PDF-", length=999_999_999), TooLarge),
        (chunked(*[b"%PDF-" + b"y" * 65_536] * 40), TooLarge),
        (give(BODY[:100], length=len(BODY)), BodyTruncated),
        (give(b"\x1f\x8b", Content_Encoding="gzip"), NotServed),
        (unending(BODY), NotServed),
        # No response at all, as from a load balancer whose portal is down.
        (close_without_response, PortalUnreachable),
    ],
    ids=["announced", "endless", "short", "zipped", "without length", "no response"],
)
async def test_each_kind_of_bad_body_has_its_own_error_and_leaves_no_file(
    portal, fetch, tmp_path, answer, error
):
    portal.on("/cv.pdf", answer)
    with pytest.raises(error):
        await fetch(portal.url("/cv.pdf"))
    assert not list(tmp_path.iterdir())


async def test_a_body_that_is_announced_as_too_large_is_not_read(portal, fetch):
    portal.on("/cv.pdf", give(b"", length=999_999_999))
    with pytest.raises(TooLarge) as caught:
        await fetch(portal.url("/cv.pdf"))
    assert caught.value.facts == {"size_mb": 1000, "limit_mb": 1}


async def test_a_body_without_a_length_is_accepted_if_the_manifest_has_its_digest(portal, fetch):
    portal.on("/cv.pdf", unending(BODY))
    sha256 = hashlib.sha256(BODY).hexdigest()
    fetched = await fetch(portal.url("/cv.pdf"), expected_sha256=sha256)
    assert fetched.sha256 == sha256


async def test_a_chunked_body_needs_no_length(portal, fetch):
    portal.on("/cv.pdf", chunked(BODY[:1000], BODY[1000:]))
    assert (await fetch(portal.url("/cv.pdf"))).size == len(BODY)


async def test_a_port_without_a_server_is_unreachable(fetch):
    with pytest.raises(PortalUnreachable):
        await fetch("http://127.0.0.1:9/x.pdf")


async def test_a_name_without_an_address_is_unreachable(fetch):
    async def nothing(host, port):
        raise OSError("no such name")

    with pytest.raises(PortalUnreachable, match="has no address"):
        await fetch("http://portal.example/x.pdf", with_={"resolve": nothing})


async def test_a_full_spool_is_not_blamed_on_the_portal(portal, fetch, tmp_path):
    portal.on("/cv.pdf", give(BODY))
    with pytest.raises(StorageUnavailable):
        await fetch(portal.url("/cv.pdf"), with_={"folder": tmp_path / "nowhere"})


async def test_a_silent_portal_ends_at_the_total_timeout(portal, fetch):
    portal.on("/cv.pdf", silent)
    with pytest.raises(PortalUnreachable, match="no answer within"):
        await fetch(portal.url("/cv.pdf"), timeout_seconds=0.2)


async def test_a_shorter_read_timeout_is_named_in_the_error(portal, fetch):
    portal.on("/cv.pdf", silent)
    with pytest.raises(PortalUnreachable, match="ReadTimeout"):
        await fetch(portal.url("/cv.pdf"), with_={"read_seconds": 0.2})


async def test_a_slow_portal_ends_after_one_window_of_low_throughput(portal, fetch):
    # Each byte arrives within the read timeout, and the total timeout allows for the size.
    portal.on("/cv.pdf", chunked(*[b"%"] * 500, every=0.02))
    with pytest.raises(PortalUnreachable, match="too slow"):
        await fetch(portal.url("/cv.pdf"), with_={"pace_seconds": 0.2})


async def test_a_slow_portal_ends_at_the_total_timeout(portal, fetch):
    portal.on("/cv.pdf", chunked(*[b"%"] * 500, every=0.02))
    limits = {"bytes_per_second": 10_000_000}  # the size allows for a tenth of a second
    with pytest.raises(PortalUnreachable, match="no answer within"):
        await fetch(portal.url("/cv.pdf"), timeout_seconds=0.2, with_=limits)


@pytest.mark.slow
async def test_a_large_file_extends_the_total_timeout(portal, fetch):
    portal.on("/cv.pdf", chunked(*[b"%PDF-" + b"x" * 1000] * 20, every=0.1))
    fetched = await fetch(portal.url("/cv.pdf"), timeout_seconds=1.5)
    assert fetched.size == 20 * 1005


async def test_the_pool_works_after_requests_were_cancelled_under_contention(portal, portals):
    # httpcore #1093: with httpx 0.28 none of ten requests worked afterwards.
    portal.on("/slow.pdf", silent)
    portal.on("/cv.pdf", give(BODY))
    async with portals() as opened:
        same_portal = {"base_url": portal.url()}
        slow = [make_item(portal.url("/slow.pdf"), document=n, **same_portal) for n in range(20)]
        tasks = [asyncio.ensure_future(opened.fetch(item)) for item in slow]
        for task in tasks:
            await asyncio.sleep(0.005)
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        good = [make_item(portal.url("/cv.pdf"), document=n, **same_portal) for n in range(10)]
        fetched = await asyncio.gather(*(opened.fetch(item) for item in good))
        assert [one.size for one in fetched] == [len(BODY)] * 10
        assert len(opened._connections) == 1


async def test_requests_of_one_thread_are_in_flight_at_the_same_time(portal, portals):
    """The portal answers none of three requests before it has received all of them."""
    all_received, answer = threading.Barrier(3), give(BODY)

    def answer_together(handler):
        all_received.wait(60)
        answer(handler)

    portal.on("/cv.pdf", answer_together)
    async with portals() as opened:
        fetched = await asyncio.gather(
            *(
                opened.fetch(make_item(portal.url("/cv.pdf"), document=number, max_in_flight=3))
                for number in range(3)
            )
        )
    assert [each.size for each in fetched] == [len(BODY)] * 3


async def test_there_are_no_more_connections_than_requests_in_flight(portal, portals):
    portal.on("/cv.pdf", give(BODY))
    item = make_item(portal.url("/cv.pdf"), max_in_flight=3)
    async with portals() as opened:
        for _ in range(6):
            await opened.fetch(item)
        (connection,) = opened._connections.values()
        pool = connection.portal_transport._pool
        assert (pool._max_connections, len(pool.connections)) == (3, 1)


async def test_an_upload_is_taken_from_the_spool_without_a_request(tmp_path, portals, settings):
    settings.SPOOL_DIR = tmp_path
    (tmp_path / "uploads").mkdir()
    (tmp_path / "uploads" / "x").write_bytes(b"%PDF")
    values = {"document": 1, "chunk": 1, "site_id": "1", "doc_id": "cv", "url": "", "terms": None}
    item = WorkItem(**values, spooled="uploads/x", expected_sha256="a" * 64, size=4)
    with ThreadPoolExecutor(1) as files:
        async with open_source(tmp_path, files) as source:
            fetched = await source.fetch(item)
            assert (fetched.path, fetched.size) == (tmp_path / "uploads" / "x", 4)
            (tmp_path / "uploads" / "x").unlink()
            with pytest.raises(StorageUnavailable, match="lost"):
                await source.fetch(item)
    async with portals() as opened:
        with pytest.raises(NotServed, match="no portal"):
            await opened.fetch(item)


def open_source(folder, files):
    return DocumentSource(
        lambda _: folder,
        LIMITS,
        files,
        open_upload=spool.open_local,
        open_archived=archive.open_local,
        keep=lambda _document, _fetched: None,
        wait_for_slot=skip_wait,
    )


async def test_a_part_of_a_file_is_taken_from_the_archive(tmp_path, settings):
    settings.ARCHIVE_DIR = tmp_path / "archive"
    (tmp_path / "file").write_bytes(b"%PDF")
    sha256 = hashlib.sha256(b"%PDF").hexdigest()
    archive.get_archive().put(tmp_path / "file", sha256)
    values = {"document": 1, "chunk": 1, "site_id": "1", "doc_id": "all#1-2", "url": ""}
    item = WorkItem(**values, terms=None, part=FilePart(1, 2), expected_sha256=sha256, size=4)
    with ThreadPoolExecutor(1) as files:
        async with open_source(tmp_path, files) as source:
            fetched = await source.fetch(item)
            assert (fetched.path.read_bytes(), fetched.sha256) == (b"%PDF", sha256)
            fetched.path.unlink()
            with pytest.raises(StorageUnavailable, match="lost"):
                await source.fetch(item)


class OtherSource:
    """A kind of source for tests, which keeps the addresses that it is asked for."""

    def __init__(self, *_arguments, **_options):
        self.fetched = []

    async def __aenter__(self):
        return self

    async def __aexit__(self, *exception):
        pass

    async def fetch(self, item):
        self.fetched.append(item.url)


async def test_no_kind_of_source_is_asked_before_the_address_of_its_portal_is_approved(
    tmp_path, monkeypatch
):
    other = OtherSource()
    kinds = {("sftp",): lambda *_arguments, **_options: other}
    monkeypatch.setattr(document_source, "SOURCE_KINDS", kinds)
    moved = make_item("sftp://portal.example/cv.pdf", approved_origin="sftp://other.example:0")
    with ThreadPoolExecutor(1) as files:
        async with open_source(tmp_path, files) as source:
            with pytest.raises(Misconfigured, match="not approved"):
                await source.fetch(moved)
            assert other.fetched == []
            await source.fetch(make_item("sftp://portal.example/cv.pdf"))
            assert other.fetched == ["sftp://portal.example/cv.pdf"]


async def test_preparing_opens_the_connection_that_the_first_request_uses(portal, portals):
    portal.on("/cv.pdf", give(BODY))
    item = make_item(portal.url("/cv.pdf"))
    async with portals() as opened:
        await opened.prepare(item.terms)
        (connection,) = opened._connections.values()
        assert not portal.seen
        await opened.fetch(item)
        assert list(opened._connections.values()) == [connection]


async def test_preparing_leaves_the_error_of_a_misconfigured_portal_to_the_first_request(portals):
    item = make_item("http://portal.example/cv.pdf", approved_origin="http://other.example:80")
    async with portals() as opened:
        await opened.prepare(item.terms)
        with pytest.raises(Misconfigured):
            await opened.fetch(item)


async def test_preparing_raises_no_error_whatever_fails(portals, monkeypatch):
    def fail(*_arguments):
        raise ValueError("unexpected")

    monkeypatch.setattr(PortalConnection, "open", fail)
    async with portals() as opened:
        await opened.prepare(make_item("http://portal.example/cv.pdf").terms)


async def test_preparing_ends_at_the_total_timeout(portals, monkeypatch):
    is_over = threading.Event()
    monkeypatch.setattr(PortalConnection, "open", lambda *_arguments: is_over.wait(60))
    async with portals() as opened:
        try:
            await opened.prepare(make_item("http://portal.example/", timeout_seconds=0.05).terms)
        finally:
            is_over.set()
        assert not opened._connections


async def test_a_document_is_fetched_by_the_client_for_the_scheme_of_its_portal(tmp_path, portal):
    portal.on("/cv.pdf", give(BODY))
    address, terms = portal.url("/cv.pdf", "localhost"), {"allow_private_hosts": True}
    with ThreadPoolExecutor(1) as files:
        async with open_source(tmp_path, files) as source:
            assert (await source.fetch(make_item(address, **terms))).size == len(BODY)
            with pytest.raises(NotServed, match="no client for gopher"):
                await source.fetch(make_item("gopher://portal.example/cv.pdf"))
