"""What the sources of the job layer get wrong, and ours does not: one sentence each, asked of both.

The naive side is the code of the four sources, as short as it can be, and strictly expected to
fail: a sentence that it could keep would prove nothing.
"""

import asyncio
import contextlib
import subprocess
import sys
import threading
from dataclasses import dataclass, replace

import pytest
from django.db import connections

from ingestion.core.completion import PollOutcome, PollState, StallLimit, decide_next_poll
from ingestion.dispatch import leases
from ingestion.documents import batches, progress
from ingestion.documents.transitions import By
from ingestion.intake import registration
from ingestion.models import Batch, Chunk, Document
from tests import steps
from tests.factories import make_batch, make_site, make_user
from tests.ingestion.hosts import environment
from tests.ingestion.test_the_naive_way import asked_of_both

pytestmark = pytest.mark.django_db
MARA = By("user:1", "site coordinator")


@pytest.fixture(autouse=True)
def _folders(settings, tmp_path):
    settings.SPOOL_DIR = tmp_path


@dataclass
class Job:
    """Source 1, down to what the sentences are about."""

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


def naively_cancelled_while_it_runs():
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
    batches.cancel(batch, by=MARA)
    settle(lease)
    batch.refresh_from_db()
    return batch.state.lower()


@asked_of_both(naively_cancelled_while_it_runs, ours_cancelled_while_it_runs)
def test_a_worker_does_not_make_completed_of_what_was_cancelled(way):
    assert way() == "cancelled"


# Source 1: whoever asks says who asks


def naive_stranger_cancels():
    invoker = Invoker()
    invoker.save(Job("job", "mara"))
    query = "requester_id=mara"  # DELETE /jobs/job?requester_id=mara, sent by a stranger
    return asyncio.run(invoker.cancel("job", **dict([query.split("=")])))


def our_stranger_cancels():
    batch = make_batch()
    Batch.objects.update(submitted_by=make_user("mara"))
    batch.refresh_from_db()
    return batches.may_cancel(batch, user=make_user("stranger"))


@asked_of_both(naive_stranger_cancels, our_stranger_cancels)
def test_a_stranger_who_names_the_submitter_may_not_cancel(way):
    assert not way()


# Source 1: a stream of urgent jobs


def naive_turns_until_the_patient_one():
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


@asked_of_both(naive_turns_until_the_patient_one, our_turns_until_the_patient_one)
def test_a_stream_of_the_most_urgent_does_not_starve_the_least_urgent(way):
    assert way() <= 10


# Source 1: a state that is only in memory


def naively_queued():
    invoker = Invoker()
    asyncio.run(invoker.submit(Job("job", "mara")))
    return invoker.store["job"].status


def ours_queued():
    return Batch.objects.values_list("state", flat=True).get(pk=make_batch().pk).lower()


@asked_of_both(naively_queued, ours_queued)
def test_what_is_queued_is_saved_as_queued(way):
    assert way() == "queued"


# Sources 1 and 3: the process ends

NAIVE_PROCESS = """
import asyncio
from tests.ingestion.test_the_naive_jobs import Invoker, Job
asyncio.run(Invoker().submit(Job("job", "mara")))
"""
OUR_PROCESS = """
from tests.factories import make_batch
make_batch(documents=2)
"""


def process(script, settings):
    script = f"import django; django.setup()\n{script}"
    subprocess.run([sys.executable, "-c", script], check=True, env=environment(settings))


def jobs_after_naive_process(settings):
    process(NAIVE_PROCESS, settings)
    return len(Invoker().store)


def jobs_after_our_process(settings):
    process(OUR_PROCESS, settings)
    return Batch.objects.count()


@asked_of_both(jobs_after_naive_process, jobs_after_our_process)
@pytest.mark.django_db(transaction=True)
def test_work_outlives_the_process_that_took_it_in(way, settings):
    assert way(settings) == 1


# Source 2: more chunks than the limit


def naively_dispatched(documents, size, most):
    """`documents` registered, and how many are in a chunk."""
    chunks = [range(at, min(at + size, documents)) for at in range(0, documents, size)][:most]
    return documents, sum(len(chunk) for chunk in chunks)


def ours_dispatched(documents, size, most):
    with contextlib.suppress(registration.Refused):
        make_batch(documents=documents)
    return Document.objects.count(), Document.objects.filter(chunk__isnull=False).count()


@asked_of_both(naively_dispatched, ours_dispatched)
def test_nothing_is_registered_that_no_chunk_will_work(way, settings):
    settings.CHUNK_SIZE, settings.MAX_CHUNKS = 10, 3
    registered, in_chunks = way(45, 10, 3)
    assert registered == in_chunks


# Source 2: a count that jumps over its target, and one that goes up again


def naive_scenario(current, previous, retries, target):
    if current == target:
        return "all_processed"
    return "progress_made" if current > previous else "retry_needed"


def our_scenario(current, previous, retries, target):
    polled = PollState(previous, retries)
    return decide_next_poll(current, polled, StallLimit(3600), target=target).outcome.name.lower()


@asked_of_both(naive_scenario, our_scenario)
def test_more_than_was_waited_for_is_enough(way):
    assert way(11, 9, 0, 10) == PollOutcome.ALL_PROCESSED.name.lower()


# Source 3: a wait with a time limit


async def naive_wait_cancels():
    job = asyncio.create_task(asyncio.sleep(60))
    try:
        await asyncio.wait_for(job, timeout=0.01)
    except TimeoutError:
        return job.cancelled()


async def our_wait_cancels():
    def wait():
        batch = make_batch()
        progress.wait_until_final(batch, 0.01)
        gone = Chunk.objects.waiting().count() == 0
        connections.close_all()
        return gone

    return await asyncio.to_thread(wait)


@asked_of_both(naive_wait_cancels, our_wait_cancels)
@pytest.mark.django_db(transaction=True)
async def test_whoever_waits_no_longer_has_not_cancelled_what_was_waited_for(way):
    assert not await way()


# Source 4: a ceiling, and many at once

CEILING, AT_ONCE = 3, 8


def naively_admitted(start):
    """Count, then insert, each on its own: the barrier stands where the others come in between."""
    active, seen = [], []

    def submit():
        start.wait(10)
        count = len(active)
        seen.append(count)
        start.wait(10)
        if count < CEILING:
            active.append("job")

    in_threads(submit)
    return len(active)


def ours_admitted(start):
    sites = [make_site() for _ in range(AT_ONCE)]

    def submit():
        start.wait(10)
        try:
            make_batch(sites.pop())
        except registration.AtCapacity:
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
        thread.join(60)


@asked_of_both(naively_admitted, ours_admitted)
@pytest.mark.django_db(transaction=True)
def test_many_at_once_do_not_pass_the_ceiling_together(way, settings):
    settings.MAX_UNFINISHED_DOCUMENTS = CEILING
    assert way(threading.Barrier(AT_ONCE)) == CEILING


# Source 4: the same work again, at the ceiling


def naively_asked_again():
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
    except registration.AtCapacity:
        return "429"
    return "attached"


@asked_of_both(naively_asked_again, ours_asked_again)
def test_the_same_work_attaches_although_there_is_no_room(way, settings):
    settings.MAX_UNFINISHED_DOCUMENTS = 1
    assert way() == "attached"
