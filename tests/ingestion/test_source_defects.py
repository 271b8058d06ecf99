"""Demonstrates each defect of the two source designs once, beside SiteLedger.

A test runs twice: with the code of the source, which is strictly expected to fail, and with ours.
The code of the first source is `bench.sides.plain`. The code of the second source, the job layer,
is in this module, shortened to the wrong lines. The details of SiteLedger are tested with its
modules.
"""

import asyncio
import contextlib
import multiprocessing
import threading
import tracemalloc
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import timedelta

import httpx2 as httpx
import pytest
from django.db import connections
from django.utils import timezone

from audit.ledger.actors import Actor
from bench.installation import process
from bench.sides import plain
from ingestion.core import retry
from ingestion.core.completion import (
    BatchCounts,
    PollOutcome,
    PollState,
    StallLimit,
    decide_next_poll,
)
from ingestion.core.errors import PortalFailing, PortalThrottled
from ingestion.core.limiter import RequestRate
from ingestion.core.portal_limits import LocalPortalLimit
from ingestion.core.portal_queues import PortalQueues
from ingestion.core.retry import RetryRules
from ingestion.dispatch import leases
from ingestion.dispatch.shift import work_shift
from ingestion.documents import batches, progress
from ingestion.intake import admission, manifest
from ingestion.models import Batch, Chunk, Document
from ingestion.reading.limits import ReadingLimits
from ingestion.reading.processes.parser_processes import ParserProcesses, ProcessKilled
from tests import steps
from tests.factories import make_batch, make_leased, make_site, make_user, verdict
from tests.ingestion import deadly
from tests.ingestion.core.fakes import House, make_item

ITEM = plain.Item("1001", "cv", "https://portal.example/cv.pdf")
WAIT_SECONDS = 0.5  # for an event that never occurs


def for_both_designs(source, ours):
    """Run the test with `way` as each of the two. The source's way is expected to fail."""
    fails = pytest.mark.xfail(strict=True, raises=AssertionError, reason="the design of the source")
    ways = [pytest.param(source, id="source", marks=fails), pytest.param(ours, id="ours")]
    return pytest.mark.parametrize("way", ways)


@contextlib.asynccontextmanager
async def source_core(
    answer=lambda _: httpx.Response(200, content=b"%PDF-"), *, pool=None, **options
):
    """Run the core of the source with a function as its portal and a thread as its pool."""
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


async def source_after_a_fault():
    answers = [httpx.Response(503), httpx.Response(200, content=b"%PDF-")]

    def answer(_request):
        return answers.pop(0)

    async with source_core(answer) as core:
        await plain.run([ITEM], core)
    return state_of(core)


async def ours_after_a_fault():
    house = House()
    house.fail(1, PortalFailing())
    await house.ingest([make_item(1)])
    return house.recorder.moves[1][-1]


@for_both_designs(source_after_a_fault, ours_after_a_fault)
async def test_a_document_survives_one_failed_request(way):
    assert await way() == "ARCHIVED"


# A portal that names the time


async def source_wait_before_the_next_request():
    waits = []

    async def sleep(seconds):
        waits.append(seconds)

    throttled = httpx.Response(429, headers={"Retry-After": "60"})
    async with source_core(lambda _: throttled) as core:
        core._sleep = sleep
        await plain.run([ITEM], core)
    return max(waits, default=0.0)


async def our_wait_before_the_next_request():
    error = PortalThrottled()
    error.retry_after = 60
    decision = retry.decide_after_failure(
        error, make_item(1), RetryRules(), is_portal_down=False, now=0.0
    )
    return decision.wait_seconds


@for_both_designs(source_wait_before_the_next_request, our_wait_before_the_next_request)
async def test_retry_after_is_respected(way):
    assert await way() >= 60


# A herd that failed together


def source_pause():
    return plain.pause(3)


def our_pause():
    return RetryRules().document_policy.draw_backoff(3)


@for_both_designs(source_pause, our_pause)
def test_documents_that_failed_together_are_retried_at_different_times(way):
    pauses = [way() for _ in range(200)]
    assert min(pauses) < max(pauses) / 4


# A slow site


async def source_beside_a_slow_site():
    slow = [plain.Item("slow", f"doc-{n}", ITEM.url) for n in range(6)]
    buckets = {"slow": plain.Bucket(0.001, 1), "1001": plain.Bucket(1e6, 1e6)}
    async with source_core(buckets=buckets, at_once=4) as core:
        working = asyncio.create_task(plain.run([*slow, ITEM], core))
        await asyncio.wait({working}, timeout=WAIT_SECONDS)
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


@for_both_designs(source_beside_a_slow_site, ours_beside_a_slow_site)
async def test_a_slow_site_does_not_delay_other_sites(way):
    assert await way() == "ARCHIVED"


# A crash between the first look and the archive


def source_after_a_crash():
    reading, release = threading.Event(), threading.Event()

    def read(payload):
        reading.set()
        return release.wait(5)

    async def crash_and_deliver_again():
        async with source_core(read=read) as core:
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


@for_both_designs(source_after_a_crash, ours_after_a_crash)
@pytest.mark.django_db
def test_a_document_is_filed_when_it_is_delivered_again_after_a_crash(way):
    assert way() == "ARCHIVED"


# A child that dies


async def source_behind():
    """Return the state of a sound document behind one that kills its process."""
    pool = ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn"))
    bodies = iter([b"kills", b"%PDF-"])
    neighbour = plain.Item("1001", "neighbour", ITEM.url)
    async with source_core(lambda _: httpx.Response(200, content=next(bodies)), pool=pool) as core:
        deadly_one = asyncio.create_task(core.work(ITEM))
        while not core.chain.records:  # noqa: ASYNC110 - until it is in the pool
            await asyncio.sleep(0.01)
        working = asyncio.gather(deadly_one, core.work(neighbour))
        await working
    return state_of(core, neighbour)


async def ours_behind():
    children = ParserProcesses(ReadingLimits(processes=1))
    try:
        deadly_one, neighbour = await asyncio.gather(
            children.run(deadly.read, b"kills"), children.run(deadly.read, b"%PDF-")
        )
    finally:
        await children.close()
    assert isinstance(deadly_one, ProcessKilled)
    return "ARCHIVED" if neighbour == 5 else neighbour


@for_both_designs(source_behind, ours_behind)
async def test_a_killed_parser_process_does_not_affect_other_documents(way):
    assert await way() == "ARCHIVED"


# A large body

LARGE = 24_000_000  # bytes


async def _source_download(url):
    async with httpx.AsyncClient() as client:
        with ThreadPoolExecutor(1) as pool:
            core = plain.Plain(client, pool, {"1001": plain.Bucket(1e6, 1e6)}, read=len)
            await core.work(plain.Item("1001", "doc-1", url))


def source_download(base_url):
    asyncio.run(_source_download(f"{base_url}/1001/doc-1.pdf"))


def our_download(base_url):
    make_batch(make_site("1001", base_url=f"{base_url}/1001/"))
    work_shift()
    assert Document.objects.get().size == LARGE


@for_both_designs(source_download, our_download)
@pytest.mark.django_db(transaction=True)
@pytest.mark.slow  # test_answers.py counts the memory of a download without a portal's process
def test_a_response_body_is_never_in_memory_as_a_whole(way, tmp_path, settings):
    settings.SPOOL_DIR, settings.ARCHIVE_DIR = tmp_path / "spool", tmp_path / "archive"
    (tmp_path / "files" / "1001").mkdir(parents=True)
    (tmp_path / "files" / "1001" / "doc-1.pdf").write_bytes(b"%PDF-".ljust(LARGE, b"x"))
    (tmp_path / "sites.json").write_text("[]")
    port = process.free_port()
    with process.portal(tmp_path, port, faults=0.0):
        tracemalloc.start()
        try:
            way(f"http://127.0.0.1:{port}")
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert peak < LARGE / 2


# More tokens than the bucket holds


def source_waits():
    waits = []

    async def sleep(seconds):
        waits.append(seconds)
        assert len(waits) < 1000, "it waits for ever"

    asyncio.run(plain.Bucket(1e6, 1, sleep=sleep).acquire(2))
    return waits


def our_waits():
    pace = RequestRate.of(1e6, 1)
    return pace.start_times(pace.spend(0.0, 0.0, 2), 0.0, 2)[1:]


@for_both_designs(source_waits, our_waits)
def test_more_tokens_than_the_burst_are_granted_after_a_wait(way):
    assert len(way()) == 1


# A stop


async def source_after_a_stop():
    stop = asyncio.Event()
    stop.set()
    items = [plain.Item("1001", f"doc-{n}", ITEM.url) for n in range(5)]
    async with source_core() as core:
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


@for_both_designs(source_after_a_stop, ours_after_a_stop)
async def test_every_document_is_accounted_for_after_a_stop(way):
    assert await way() == 5


# The job layer: what the tests below pass as the first of two ways is the code of its sources

MARA = Actor("user:1", "site coordinator")


@pytest.fixture(autouse=True)
def _folders(settings, tmp_path):
    settings.SPOOL_DIR = tmp_path


@dataclass
class Job:
    """The job of source 1, reduced to what the tests need."""

    id: str
    submitter_id: str
    priority: int = 5
    status: str = "submitted"


class Invoker:
    def __init__(self):
        self.store, self.queue = {}, asyncio.PriorityQueue()

    def save(self, job):
        self.store[job.id] = replace(job)

    async def submit(self, job):
        self.save(job)
        await self.queue.put((job.priority, job.id))
        job.status = "queued"

    async def cancel(self, job_id, requester_id):
        job = self.store[job_id]
        if job.submitter_id != requester_id:
            return False
        job.status = "cancelled"
        self.save(job)
        return True

    async def execute(self, job, work):
        job.status = "in_progress"
        self.save(job)
        await work
        job.status = "completed"
        self.save(job)


def settle(lease):
    for item in lease.items:
        steps.give_up(item.document, lease.lease_id, "DOWNLOAD_FAILED", {}, held=False)
    leases.return_chunk(lease.chunk, lease.lease_id)


# Source 1: a job is cancelled while it runs


def source_cancelled_while_it_runs():
    async def run():
        invoker, job, work = Invoker(), Job("job", "mara"), asyncio.Event()
        running = asyncio.create_task(invoker.execute(job, work.wait()))
        await asyncio.sleep(0)
        assert await invoker.cancel("job", "mara")
        work.set()
        await running
        return invoker.store["job"].status

    return asyncio.run(run())


def ours_cancelled_while_it_runs():
    batch = make_batch()
    [lease] = leases.claim_due_chunks(1, by="here:1:1")
    batches.cancel_batch(batch, by=MARA)
    settle(lease)
    batch.refresh_from_db()
    return batch.state.lower()


@pytest.mark.django_db
@for_both_designs(source_cancelled_while_it_runs, ours_cancelled_while_it_runs)
def test_a_worker_does_not_complete_a_cancelled_job(way):
    assert way() == "cancelled"


# Source 1: the server believes what a caller states about their identity


def source_stranger_cancels():
    invoker = Invoker()
    invoker.save(Job("job", "mara"))
    query = "requester_id=mara"  # DELETE /jobs/job?requester_id=mara, sent by a stranger
    return asyncio.run(invoker.cancel("job", **dict([query.split("=")])))


def our_stranger_cancels():
    batch = make_batch()
    Batch.objects.update(submitted_by=make_user("mara"))
    batch.refresh_from_db()
    return batches.can_cancel(batch, user=make_user("stranger"))


@pytest.mark.django_db
@for_both_designs(source_stranger_cancels, our_stranger_cancels)
def test_another_client_that_names_the_submitter_cannot_cancel(way):
    assert not way()


# Source 1: a stream of urgent jobs


def source_turns_until_the_patient_one():
    async def run():
        invoker = Invoker()
        await invoker.submit(Job("patient", "mara", priority=10))
        for turn in range(MANY):
            await invoker.submit(Job(f"stream {turn}", "jo", priority=1))
            _, served = await invoker.queue.get()
            if served == "patient":
                return turn
        return MANY

    return asyncio.run(run())


def our_turns_until_the_patient_one():
    patient = make_batch(priority=10)
    for turn in range(MANY):
        make_batch(priority=1)
        served = Chunk.objects.waiting().order_by("rank", "pk").first()
        if served.batch == patient:
            return turn
        Chunk.objects.filter(pk=served.pk).update(state="DONE", attempts=1)
    return MANY


MANY = 50


@pytest.mark.django_db
@for_both_designs(source_turns_until_the_patient_one, our_turns_until_the_patient_one)
def test_urgent_work_does_not_starve_other_work(way):
    assert way() <= 10


# Source 1: a state that is only in memory


def source_queued():
    invoker = Invoker()
    asyncio.run(invoker.submit(Job("job", "mara")))
    return invoker.store["job"].status


def ours_queued():
    return Batch.objects.values_list("state", flat=True).get(pk=make_batch().pk).lower()


@pytest.mark.django_db
@for_both_designs(source_queued, ours_queued)
def test_a_queued_job_is_stored_as_queued(way):
    assert way() == "queued"


# Source 2: more chunks than the limit


def source_dispatched(documents, size, max_chunks):
    """Return the numbers of registered documents and of documents in a chunk."""
    chunks = [range(at, min(at + size, documents)) for at in range(0, documents, size)][:max_chunks]
    return documents, sum(len(chunk) for chunk in chunks)


def ours_dispatched(documents, size, max_chunks):
    with contextlib.suppress(manifest.SubmissionRefused):
        make_batch(documents=documents)
    return Document.objects.count(), Document.objects.filter(chunk__isnull=False).count()


@pytest.mark.django_db
@for_both_designs(source_dispatched, ours_dispatched)
def test_every_registered_document_is_in_a_chunk(way, settings):
    settings.CHUNK_SIZE, settings.MAX_CHUNKS = 10, 3
    registered, in_chunks = way(45, 10, 3)
    assert registered == in_chunks


# Source 2: a count that jumps over its target, and one that goes up again


def source_scenario(current, previous, retries, target):
    if current == target:
        return "all_processed"
    return "progress_made" if current > previous else "retry_needed"


def our_scenario(current, previous, retries, target):
    polled = PollState(BatchCounts(target - previous, previous), retries)
    counts = BatchCounts(target - current, current)
    return decide_next_poll(counts, polled, StallLimit(3600)).outcome.name.lower()


@for_both_designs(source_scenario, our_scenario)
def test_more_results_than_expected_end_the_wait(way):
    assert way(11, 9, 0, 10) == PollOutcome.ALL_PROCESSED.name.lower()


# Source 3: a wait with a time limit


async def source_wait_cancels():
    job = asyncio.create_task(asyncio.sleep(60))
    try:
        await asyncio.wait_for(job, timeout=0.01)
    except TimeoutError:
        return job.cancelled()


async def our_wait_cancels():
    def wait():
        batch = make_batch()
        progress.wait_until_final(batch, 0.01)
        has_no_waiting_chunk = Chunk.objects.waiting().count() == 0
        connections.close_all()
        return has_no_waiting_chunk

    return await asyncio.to_thread(wait)


@for_both_designs(source_wait_cancels, our_wait_cancels)
@pytest.mark.django_db(transaction=True)
async def test_a_client_that_stops_waiting_does_not_cancel_the_work(way):
    assert not await way()


# Source 4: a ceiling, and many at once

CEILING, AT_ONCE = 3, 8


def source_admitted(start):
    """Count and then insert in separate steps. The barrier lets others run in between."""
    active, seen = [], []

    def submit():
        start.wait(120)
        count = len(active)
        seen.append(count)
        start.wait(120)
        if count < CEILING:
            active.append("job")

    in_threads(submit)
    return len(active)


def ours_admitted(start):
    sites = [make_site() for _ in range(AT_ONCE)]

    def submit():
        start.wait(120)
        try:
            make_batch(sites.pop())
        except admission.AtCapacity:
            pass
        finally:
            connections.close_all()

    in_threads(submit)
    return Document.objects.count()


def in_threads(work):
    threads = [threading.Thread(target=work) for _ in range(AT_ONCE)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)


@for_both_designs(source_admitted, ours_admitted)
@pytest.mark.django_db(transaction=True)
def test_concurrent_submissions_do_not_exceed_the_limit(way, settings):
    settings.MAX_UNFINISHED_DOCUMENTS = CEILING
    assert way(threading.Barrier(AT_ONCE)) == CEILING


# Source 4: the same work again, at the ceiling


def source_asked_again():
    active, answers = set(), []
    for key in ("k-1", "k-1"):
        if len(active) >= 1:  # ensure_workflow counts before it looks for the job
            answers.append("429")
        else:
            active.add(key)
            answers.append("attached")
    return answers[-1]


def ours_asked_again():
    site = make_site()
    make_batch(site, idempotency_key="k-1")
    try:
        make_batch(site, idempotency_key="k-1")
    except admission.AtCapacity:
        return "429"
    return "attached"


@pytest.mark.django_db
@for_both_designs(source_asked_again, ours_asked_again)
def test_a_repeated_submission_returns_its_job_at_capacity(way, settings):
    settings.MAX_UNFINISHED_DOCUMENTS = 1
    assert way() == "attached"
