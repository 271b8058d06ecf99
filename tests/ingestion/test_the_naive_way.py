"""What the usual way gets wrong, and ours does not: one sentence each, asked of both.

The naive side is `bench.plain`, and strictly expected to fail: a sentence that it could keep would
prove nothing.
"""

import asyncio
import contextlib
import multiprocessing
import threading
import tracemalloc
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from datetime import timedelta

import httpx2 as httpx
import pytest
from django.utils import timezone

from bench import plain, process
from ingestion.core.errors import (
    BodyTruncated,
    PortalFailing,
    PortalThrottled,
    PortalUnreachable,
)
from ingestion.core.limiter import RequestRate
from ingestion.core.portal_limits import LocalPortalLimit
from ingestion.core.portal_queues import PortalQueues
from ingestion.core.retry import RetryRules, decide
from ingestion.dispatch import leases
from ingestion.dispatch.shift import work_shift
from ingestion.models import Chunk, Document
from ingestion.reading.limits import ReadingLimits
from ingestion.reading.processes.parser_processes import Children, Killed
from tests import steps
from tests.factories import make_batch, make_leased, make_site, verdict
from tests.ingestion import deadly
from tests.ingestion.core.fakes import House, make_item

ITEM = plain.Item("1001", "cv", "https://portal.example/cv.pdf")
PATIENCE = 0.5  # seconds given to what never comes


def asked_of_both(naive, ours):
    """The test's `way` is one of the two; it fails for the naive one or is an error."""
    fails = pytest.mark.xfail(strict=True, raises=AssertionError, reason="the naive way")
    ways = [pytest.param(naive, id="naive", marks=fails), pytest.param(ours, id="ours")]
    return pytest.mark.parametrize("way", ways)


@contextlib.asynccontextmanager
async def naive(answer=lambda _: httpx.Response(200, content=b"%PDF-"), *, pool=None, **options):
    """The whole of it over a portal that is a function, with a thread for a pool."""
    options = {"buckets": {"1001": plain.Bucket(1e6, 1e6)}, "read": deadly.read} | options
    transport = httpx.MockTransport(answer)
    with pool or ThreadPoolExecutor(1) as executor:
        async with httpx.AsyncClient(transport=transport) as client:
            yield plain.Plain(client, executor, sleep=no_wait, **options)


async def no_wait(seconds):
    pass


def state_of(core, item=ITEM):
    record = core.chain.final.get(item)
    return record.state if record else "no record"


# A portal that fails once


FAULTS = {
    "429": (httpx.Response(429), PortalThrottled()),
    "503": (httpx.Response(503), PortalFailing()),
    "refused": (httpx.ConnectError("refused"), PortalUnreachable()),
    "cut off": (httpx.RemoteProtocolError("peer closed"), BodyTruncated()),
}


async def naively_after_a_fault(fault):
    answers = [FAULTS[fault][0], httpx.Response(200, content=b"%PDF-")]

    def answer(_request):
        if isinstance(given := answers.pop(0), Exception):
            raise given
        return given

    async with naive(answer) as core:
        await plain.run([ITEM], core)
    return state_of(core)


async def ours_after_a_fault(fault):
    house = House()
    house.fail(1, FAULTS[fault][1])
    await house.ingest([make_item(1)])
    return house.recorder.moves[1][-1]


@asked_of_both(naively_after_a_fault, ours_after_a_fault)
@pytest.mark.parametrize("fault", FAULTS)
async def test_a_portal_that_fails_once_costs_no_document(way, fault):
    assert await way(fault) == "ARCHIVED"


# A portal that names the time


async def naive_wait_before_the_next_request():
    waits = []

    async def sleep(seconds):
        waits.append(seconds)

    throttled = httpx.Response(429, headers={"Retry-After": "60"})
    async with naive(lambda _: throttled) as core:
        core._sleep = sleep
        await plain.run([ITEM], core)
    return max(waits, default=0.0)


async def our_wait_before_the_next_request():
    error = PortalThrottled()
    error.retry_after = 60
    return decide(error, make_item(), RetryRules(), is_portal_down=False, now=0.0).wait_seconds


@asked_of_both(naive_wait_before_the_next_request, our_wait_before_the_next_request)
async def test_a_portal_that_names_a_time_is_asked_again_and_no_sooner(way):
    assert await way() >= 60


# A herd that failed together


def naive_pause():
    return plain.pause(3)


def our_pause():
    return RetryRules().document_policy.draw_backoff(3)


@asked_of_both(naive_pause, our_pause)
def test_those_who_failed_together_come_back_at_different_times(way):
    pauses = [way() for _ in range(200)]
    assert min(pauses) < max(pauses) / 4


# A slow site


async def naively_beside_a_slow_site():
    slow = [plain.Item("slow", f"doc-{n}", ITEM.url) for n in range(6)]
    buckets = {"slow": plain.Bucket(0.001, 1), "1001": plain.Bucket(1e6, 1e6)}
    async with naive(buckets=buckets, at_once=4) as core:
        working = asyncio.create_task(plain.run([*slow, ITEM], core))
        await asyncio.wait({working}, timeout=PATIENCE)
        working.cancel()
        await asyncio.wait({working})
    return state_of(core)


async def ours_beside_a_slow_site():
    house = House()
    slow = make_item(1, site="slow")
    house.queues.open(slow.queue, LocalPortalLimit(0.001, 1), 4)
    house.queues.open(make_item().queue, None, 4)
    async with asyncio.TaskGroup() as group:
        group.create_task(house.core.run())
        for number in range(1, 7):
            group.create_task(house.core.feed(make_item(number, site="slow")))
        await house.core.feed(make_item(7))
        while 7 not in house.recorder.ended:  # noqa: ASYNC110 - a fake sets no event
            await asyncio.sleep(0)
        house.queues.abandon()
    return house.recorder.moves[7][-1]


@asked_of_both(naively_beside_a_slow_site, ours_beside_a_slow_site)
async def test_a_slow_site_takes_nobody_elses_place(way):
    assert await way() == "ARCHIVED"


# A crash between the first look and the archive


def naively_after_a_crash():
    reading, release = threading.Event(), threading.Event()

    def read(payload):
        reading.set()
        return release.wait(5)

    async def crash_and_deliver_again():
        async with naive(read=read) as core:
            crashing = asyncio.create_task(core.work(ITEM))
            await asyncio.to_thread(reading.wait, 5)
            crashing.cancel()
            release.set()
            await asyncio.wait({crashing})
            await core.work(ITEM)
        return state_of(core)

    return asyncio.run(crash_and_deliver_again())


def ours_after_a_crash():
    chunk, lost = make_leased()
    document = chunk.documents.get().pk
    steps.start_checking(document, lost, sha256="a" * 64, size=1)
    Chunk.objects.update(lease_expires_at=timezone.now() - timedelta(1))
    leases.recover_expired()
    [lease] = leases.claim_due_chunks(1, by="there:2:2")
    assert steps.start_checking(document, lease.lease_id, sha256="a" * 64, size=1)
    return steps.conclude(document, lease.lease_id, verdict(), pages=1)


@asked_of_both(naively_after_a_crash, ours_after_a_crash)
@pytest.mark.django_db
def test_a_document_that_is_delivered_again_after_a_crash_is_filed(way):
    assert way() == "ARCHIVED"


# A child that hangs, and one that dies


async def naively_behind(payload):
    """What becomes of a sound document behind a deadly one."""
    pool = ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn"))
    bodies = iter([payload, b"%PDF-"])
    neighbour = plain.Item("1001", "neighbour", ITEM.url)
    async with naive(lambda _: httpx.Response(200, content=next(bodies)), pool=pool) as core:
        deadly_one = asyncio.create_task(core.work(ITEM))
        while not core.chain.records:  # noqa: ASYNC110 - until it is in the pool
            await asyncio.sleep(0.01)
        working = asyncio.gather(deadly_one, core.work(neighbour))
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(2):
                await working
        for child in multiprocessing.active_children():
            child.kill()
    return state_of(core, neighbour)


async def ours_behind(payload):
    children = Children(ReadingLimits(processes=1, task_seconds=0.5))
    try:
        deadly_one, neighbour = await asyncio.gather(
            children.run(deadly.read, payload), children.run(deadly.read, b"%PDF-")
        )
    finally:
        await children.close()
    assert isinstance(deadly_one, Killed)
    return "ARCHIVED" if neighbour == 5 else neighbour


@asked_of_both(naively_behind, ours_behind)
@pytest.mark.parametrize("payload", [b"hangs", b"kills"], ids=["hangs", "is killed"])
async def test_a_child_over_one_document_costs_its_neighbour_nothing(way, payload):
    assert await way(payload) == "ARCHIVED"


# A large body

LARGE = 24_000_000  # bytes


async def _naive_download(url):
    async with httpx.AsyncClient() as client:
        with ThreadPoolExecutor(1) as pool:
            core = plain.Plain(client, pool, {"1001": plain.Bucket(1e6, 1e6)}, read=len)
            await core.work(plain.Item("1001", "doc-1", url))


def naive_download(base_url):
    asyncio.run(_naive_download(f"{base_url}/1001/doc-1.pdf"))


def our_download(base_url):
    make_batch(make_site("1001", base_url=f"{base_url}/1001/"))
    work_shift()
    assert Document.objects.get().size == LARGE


@asked_of_both(naive_download, our_download)
@pytest.mark.django_db(transaction=True)
def test_a_body_is_never_in_memory_as_a_whole(way, tmp_path, settings):
    settings.SPOOL_DIR, settings.ARCHIVE_DIR = tmp_path / "spool", tmp_path / "archive"
    (tmp_path / "files" / "1001").mkdir(parents=True)
    (tmp_path / "files" / "1001" / "doc-1.pdf").write_bytes(b"%PDF-".ljust(LARGE, b"x"))
    (tmp_path / "sites.json").write_text("[]")
    port = process.free_port()
    with process.portal(tmp_path, port, faults=0.0):
        tracemalloc.start()
        try:
            way(f"http://127.0.0.1:{port}")
            most = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert most < LARGE / 2


# More tokens than the bucket holds


def naive_waits():
    waits = []

    async def sleep(seconds):
        waits.append(seconds)
        assert len(waits) < 1000, "it waits for ever"

    asyncio.run(plain.Bucket(1e6, 1, sleep=sleep).acquire(2))
    return waits


def our_waits():
    pace = RequestRate.of(1e6, 1)
    return pace.start_times(pace.spend(0.0, 0.0, 2), 0.0, 2)[1:]


@asked_of_both(naive_waits, our_waits)
def test_more_tokens_than_the_bucket_holds_come_after_a_wait(way):
    assert len(way()) == 1


# A stop


async def naively_after_a_stop():
    stop = asyncio.Event()
    stop.set()
    items = [plain.Item("1001", f"doc-{n}", ITEM.url) for n in range(5)]
    async with naive() as core:
        await plain.run(items, core, stop=stop)
    return len(core.chain.final)


async def ours_after_a_stop():
    queues: PortalQueues[int] = PortalQueues(10)
    queues.open("a", None, 1)
    for number in range(5):
        await queues.put("a", number)
    in_hand = [await queues.take()]
    queues.abandon()
    return len(in_hand + queues.waiting_items)


@asked_of_both(naively_after_a_stop, ours_after_a_stop)
async def test_after_a_stop_every_document_is_accounted_for(way):
    assert await way() == 5
