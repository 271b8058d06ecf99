"""The downloader against a real HTTP server that answers as portals do."""

import asyncio
import hashlib
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from ingestion.core.errors import (
    AccessRefused,
    BodyTruncated,
    NotServed,
    PortalFailing,
    PortalThrottled,
    PortalUnreachable,
    StorageUnavailable,
    TooLarge,
)
from ingestion.core.ports import WorkItem
from ingestion.sources.document_source import DocumentSource
from ingestion.storage import spool
from tests.ingestion.sources.http.conftest import make_item
from tests.ingestion.sources.http.servers import (
    chunked,
    give,
    hang_up,
    ranged,
    silent,
    unending,
)

BODY = b"%PDF-1.7 " + b"x" * 700_000


async def test_the_bytes_come_to_the_disk_hashed_and_counted(portal, fetch):
    portal.on("/cv.pdf", give(BODY))
    fetched = await fetch(portal.url("/cv.pdf"))
    assert fetched.path.read_bytes() == BODY
    assert (fetched.sha256, fetched.size) == (hashlib.sha256(BODY).hexdigest(), len(BODY))


@pytest.fixture
def file_work(tmp_path):
    """(what, which thread) for every file that is opened, moved or removed below `tmp_path`."""
    seen = FILE_WORK[str(tmp_path)] = []
    yield seen
    del FILE_WORK[str(tmp_path)]


FILE_WORK: dict[str, list[tuple[str, str]]] = {}


def _note(event, args):
    if FILE_WORK and event in {"open", "os.rename", "os.remove"}:
        for folder, seen in FILE_WORK.items():
            if str(args[0]).startswith(folder):
                seen.append((event, threading.current_thread().name))


sys.addaudithook(_note)  # for good: hooks cannot be taken out, so this one sleeps between tests


async def test_files_are_touched_by_the_files_threads_alone(portal, portals, file_work):
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


async def test_a_portal_is_asked_for_plain_bytes_and_their_digest(portal, fetch):
    portal.on("/cv.pdf", give(BODY))
    await fetch(portal.url("/cv.pdf"))
    (asked,) = portal.headers("/cv.pdf")
    assert asked["Accept-Encoding"] == "identity"
    assert asked["Want-Repr-Digest"] == "sha-256=10"
    assert {"Cookie", "Authorization", "Range"}.isdisjoint(asked)


@pytest.mark.parametrize("status", [401, 403, 407])
async def test_a_portal_that_does_not_let_us_in_is_not_asked_again(portal, fetch, status):
    portal.on("/cv.pdf", give(b"", status))
    with pytest.raises(AccessRefused) as caught:
        await fetch(portal.url("/cv.pdf"))
    assert (caught.value.code, caught.value.facts) == ("DOWNLOAD_FAILED", {"status": status})


@pytest.mark.parametrize("status", [400, 404, 410, 418, 204, 304])
async def test_any_other_answer_is_permanent_and_names_its_status(portal, fetch, status):
    portal.on("/cv.pdf", give(b"", status))
    with pytest.raises(NotServed) as caught:
        await fetch(portal.url("/cv.pdf"))
    assert caught.value.facts == {"status": status}


@pytest.mark.parametrize("status", [408, 425, 500, 502, 503, 504])
async def test_an_answer_that_may_heal_is_worth_another_try(portal, fetch, status):
    portal.on("/cv.pdf", give(b"", status, Retry_After="3"))
    with pytest.raises(PortalFailing) as caught:
        await fetch(portal.url("/cv.pdf"))
    assert caught.value.retry_after == 3


async def test_a_portal_that_says_when_is_asked_no_sooner(portal, fetch):
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
        # Not a word of an answer, as from whatever stands before a portal that is down.
        (hang_up, PortalUnreachable),
    ],
    ids=["announced", "endless", "short", "zipped", "without length", "hung up"],
)
async def test_a_bad_body_is_told_apart_and_leaves_no_bytes(portal, fetch, tmp_path, answer, error):
    portal.on("/cv.pdf", answer)
    with pytest.raises(error):
        await fetch(portal.url("/cv.pdf"))
    assert not list(tmp_path.iterdir())


async def test_what_is_announced_too_large_is_never_read(portal, fetch):
    portal.on("/cv.pdf", give(b"", length=999_999_999))
    with pytest.raises(TooLarge) as caught:
        await fetch(portal.url("/cv.pdf"))
    assert caught.value.facts == {"size_mb": 1000, "limit_mb": 1}


async def test_a_body_without_a_length_is_taken_when_the_manifest_names_its_digest(portal, fetch):
    portal.on("/cv.pdf", unending(BODY))
    sha256 = hashlib.sha256(BODY).hexdigest()
    fetched = await fetch(portal.url("/cv.pdf"), expected_sha256=sha256)
    assert fetched.sha256 == sha256


async def test_chunks_end_by_themselves_and_need_no_length(portal, fetch):
    portal.on("/cv.pdf", chunked(BODY[:1000], BODY[1000:]))
    assert (await fetch(portal.url("/cv.pdf"))).size == len(BODY)


async def test_a_portal_that_is_not_there_is_unreachable(fetch):
    with pytest.raises(PortalUnreachable):
        await fetch("http://127.0.0.1:9/x.pdf")


async def test_a_name_without_an_address_is_unreachable(fetch):
    async def nothing(host, port):
        raise OSError("no such name")

    with pytest.raises(PortalUnreachable, match="has no address"):
        await fetch("http://portal.example/x.pdf", with_={"resolve": nothing})


async def test_a_spool_that_refuses_is_our_fault_and_not_the_portals(portal, fetch, tmp_path):
    portal.on("/cv.pdf", give(BODY))
    with pytest.raises(StorageUnavailable):
        await fetch(portal.url("/cv.pdf"), with_={"folder": tmp_path / "nowhere"})


async def test_a_silent_portal_is_left_at_the_total_timeout(portal, fetch):
    portal.on("/cv.pdf", silent)
    with pytest.raises(PortalUnreachable, match="no answer within"):
        await fetch(portal.url("/cv.pdf"), timeout_seconds=0.2)


async def test_the_read_timeout_names_the_fault_before_the_total_one(portal, fetch):
    portal.on("/cv.pdf", silent)
    with pytest.raises(PortalUnreachable, match="ReadTimeout"):
        await fetch(portal.url("/cv.pdf"), with_={"read_seconds": 0.2})


async def test_a_portal_that_drips_outlives_no_window(portal, fetch):
    # Each byte is in time for the read timeout, and the total one allows for the size.
    portal.on("/cv.pdf", chunked(*[b"%"] * 500, every=0.02))
    with pytest.raises(PortalUnreachable, match="too slow"):
        await fetch(portal.url("/cv.pdf"), with_={"pace_seconds": 0.2})


async def test_a_portal_that_drips_outlives_no_total_timeout(portal, fetch):
    portal.on("/cv.pdf", chunked(*[b"%"] * 500, every=0.02))
    limits = {"bytes_per_second": 10_000_000}  # the size allows for a tenth of a second
    with pytest.raises(PortalUnreachable, match="no answer within"):
        await fetch(portal.url("/cv.pdf"), timeout_seconds=0.2, with_=limits)


async def test_a_large_file_has_more_time_than_a_request(portal, fetch):
    portal.on("/cv.pdf", chunked(*[b"%PDF-" + b"x" * 1000] * 20, every=0.1))
    fetched = await fetch(portal.url("/cv.pdf"), timeout_seconds=1.5)
    assert fetched.size == 20 * 1005


async def test_no_pool_dies_when_requests_are_cancelled_under_contention(portal, portals):
    # httpcore #1093: with httpx 0.28 none of ten requests worked afterwards.
    portal.on("/slow.pdf", silent)
    portal.on("/cv.pdf", give(BODY))
    async with portals() as opened:
        one_line = {"base_url": portal.url()}
        slow = [make_item(portal.url("/slow.pdf"), document=n, **one_line) for n in range(20)]
        tasks = [asyncio.ensure_future(opened.fetch(item)) for item in slow]
        for task in tasks:
            await asyncio.sleep(0.005)
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        good = [make_item(portal.url("/cv.pdf"), document=n, **one_line) for n in range(10)]
        fetched = await asyncio.gather(*(opened.fetch(item) for item in good))
        assert [one.size for one in fetched] == [len(BODY)] * 10
        assert len(opened._lines) == 1


async def test_no_more_connections_are_open_than_documents_in_flight(portal, portals):
    portal.on("/cv.pdf", give(BODY))
    item = make_item(portal.url("/cv.pdf"), max_in_flight=3)
    async with portals() as opened:
        for _ in range(6):
            await opened.fetch(item)
        (line,) = opened._lines.values()
        pool = line.home._pool
        assert (pool._max_connections, len(pool.connections)) == (3, 1)


async def test_an_upload_comes_from_the_spool_without_asking_anybody(tmp_path, portals, settings):
    settings.SPOOL_DIR = tmp_path
    (tmp_path / "uploads").mkdir()
    (tmp_path / "uploads" / "x").write_bytes(b"%PDF")
    values = {"document": 1, "chunk": 1, "site_id": "1", "doc_id": "cv", "url": "", "terms": None}
    item = WorkItem(**values, spooled="uploads/x", expected_sha256="a" * 64, size=4)
    with ThreadPoolExecutor(1) as files:
        async with portals() as opened:
            sources = DocumentSource(opened, lambda _: tmp_path, files, spool.open_local)
            fetched = await sources.fetch(item)
            assert (fetched.path, fetched.size) == (tmp_path / "uploads" / "x", 4)
            (tmp_path / "uploads" / "x").unlink()
            with pytest.raises(StorageUnavailable, match="lost"):
                await sources.fetch(item)
            with pytest.raises(NotServed, match="no portal"):
                await opened.fetch(item)
