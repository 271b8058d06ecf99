"""Tests of completion polls: a batch without progress ends after its deadline."""

import hashlib
import uuid
from datetime import timedelta
from itertools import count

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from audit.ledger.actors import Actor
from audit.ledger.queries import list_entries
from ingestion.core.ports import Fetched
from ingestion.core.states import BatchState, DocumentState
from ingestion.dispatch import completion_polls, leases
from ingestion.dispatch.completion_polls import CompletionPolls
from ingestion.dispatch.processes import worker_host
from ingestion.documents import batches, progress
from ingestion.intake import retrying
from ingestion.models import Batch, Chunk, Document
from ingestion.storage import finished_stages, spool
from tests import steps
from tests.factories import make_batch

pytestmark = pytest.mark.django_db
DEADLINE = timedelta(hours=1)


@pytest.fixture(autouse=True)
def _folders(settings, tmp_path):
    settings.SPOOL_DIR = tmp_path
    settings.DISPATCH_DEADLINE_SECONDS = DEADLINE.total_seconds()


@pytest.fixture
def poll_until():
    """A function that polls once per minute of a simulated clock, as one host does.

    It polls until the time `at`, and returns the last time.
    """
    polls = make_polls()

    def poll_until(at, *, since=None):
        now = since or timezone.now()
        while now < at:
            now += timedelta(minutes=1)
            polls.poll_due_batches(now)
        return now

    return poll_until


def make_polls():
    """Return the polls of a host that searches for batches each time."""
    times = count(step=completion_polls.LIST_SECONDS)
    return CompletionPolls(clock=lambda: next(times))


def states(batch):
    batch.refresh_from_db()
    return batch.state, batch.counts()


def test_documents_without_capacity_are_held_at_the_deadline_and_not_before(poll_until):
    batch = make_batch(documents=2)
    began = batch.created_at
    now = poll_until(began + DEADLINE - timedelta(minutes=5))
    assert states(batch) == (BatchState.QUEUED, {DocumentState.RECEIVED: 2})
    poll_until(began + DEADLINE + timedelta(minutes=10), since=now)
    assert states(batch) == (BatchState.FAILED, {DocumentState.HELD: 2})
    assert set(batch.documents.values_list("code", flat=True)) == {"CAPACITY"}
    assert progress.get_progress(batch).error.startswith("No worker had capacity for all documents")


def test_a_batch_without_room_ends_with_an_entry_that_names_its_unfinished_documents(
    poll_until, settings
):
    settings.CHUNK_SIZE = 1
    batch = make_batch(documents=2)
    [lease] = leases.claim_due_chunks(1, by="here:1:1")
    [item] = lease.items
    steps.give_up(item.document, lease.lease_id, "DOWNLOAD_FAILED", {}, held=False)
    leases.return_chunk(lease.chunk, lease.lease_id)
    poll_until(batch.created_at + DEADLINE + timedelta(minutes=10))
    assert states(batch)[0] == BatchState.COMPLETED
    entry = list_entries(batch.subject)[-1]
    site = batch.documents.first().site.site_id
    assert (entry.code, entry.detail["unfinished"]) == ("CAPACITY", [f"{site}/doc-2"])


def test_progress_restarts_the_deadline(poll_until, settings):
    settings.CHUNK_SIZE = 1
    batch = make_batch(documents=2)
    now = poll_until(batch.created_at + DEADLINE - timedelta(minutes=10))
    [lease] = leases.claim_due_chunks(1, by="here:1:1")
    steps.give_up(lease.items[0].document, lease.lease_id, "DOWNLOAD_FAILED", {}, held=False)
    leases.return_chunk(lease.chunk, lease.lease_id)
    poll_until(now + DEADLINE - timedelta(minutes=10), since=now)
    assert states(batch)[0] == BatchState.IN_PROGRESS


def test_documents_that_wait_for_their_portal_are_held_as_portal_unavailable(poll_until):
    batch = make_batch()
    Document.objects.update(failing_since=timezone.now())
    poll_until(batch.created_at + DEADLINE + timedelta(minutes=10))
    assert batch.documents.get().code == "PORTAL_UNAVAILABLE"


def test_documents_of_a_running_shift_are_not_held(poll_until):
    batch = make_batch()
    leases.claim_due_chunks(1, by="here:1:1")
    now = poll_until(batch.created_at + DEADLINE + timedelta(minutes=10))
    assert states(batch) == (BatchState.IN_PROGRESS, {DocumentState.RECEIVED: 1})
    Chunk.objects.update(lease_expires_at=timezone.now() - DEADLINE)
    leases.recover_expired()
    poll_until(now + timedelta(minutes=5), since=now)
    assert states(batch) == (BatchState.COMPLETED, {DocumentState.HELD: 1})


def test_the_next_poll_continues_one_that_died_while_holding_documents(
    poll_until, settings, monkeypatch
):
    settings.CHUNK_SIZE = 1
    monkeypatch.setattr(batches, "MAX_DOCUMENTS_PER_TRANSACTION", 2)
    batch = make_batch(documents=6)
    settling, calls = batches.end_if_settled, []

    def die_at_the_second(batch_id):
        calls.append(batch_id)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return settling(batch_id)

    monkeypatch.setattr(batches, "end_if_settled", die_at_the_second)
    with pytest.raises(KeyboardInterrupt):
        poll_until(batch.created_at + DEADLINE + timedelta(minutes=10))
    assert states(batch)[1] == {DocumentState.HELD: 2, DocumentState.RECEIVED: 4}
    make_polls().poll_due_batches(batch.created_at + DEADLINE + timedelta(minutes=10))
    assert states(batch) == (BatchState.FAILED, {DocumentState.HELD: 6})


def test_two_hosts_that_poll_at_once_hold_each_document_once(poll_until):
    batch = make_batch(documents=2)
    other = make_polls()
    poll_until(batch.created_at + DEADLINE - timedelta(minutes=5))
    end = batch.created_at + DEADLINE + timedelta(minutes=10)
    other.poll_due_batches(end)
    poll_until(end)
    assert states(batch) == (BatchState.FAILED, {DocumentState.HELD: 2})
    for document in batch.documents.all():
        events = [entry.event for entry in list_entries(document.subject)]
        assert events.count("document.held") == 1


def test_a_host_that_is_started_again_does_not_start_the_deadline_again():
    batch = make_batch()
    for minutes in range(0, 60, 7):
        make_polls().poll_due_batches(batch.created_at + timedelta(minutes=minutes))
    assert states(batch)[0] == BatchState.QUEUED
    make_polls().poll_due_batches(batch.created_at + DEADLINE + timedelta(minutes=1))
    assert states(batch) == (BatchState.FAILED, {DocumentState.HELD: 1})


def test_the_first_tick_holds_an_orphan_past_its_deadline_and_keeps_its_finished_stages():
    batch = make_batch()
    began = timezone.now() - DEADLINE - timedelta(minutes=1)
    [lease] = leases.claim_due_chunks(1, by="dead:1:1")
    path = spool.get_attempt_folder(lease.lease_id) / "1"
    path.write_bytes(b"%PDF-1.7")
    [document] = [item.document for item in lease.items]
    fetched = Fetched(path, hashlib.sha256(b"%PDF-1.7").hexdigest(), 8)
    finished_stages.keep_fetched(document, fetched)
    Chunk.objects.update(created_at=began, lease_expires_at=began)
    Batch.objects.update(created_at=began)
    worker_host.run_tick(make_polls())
    held = batch.documents.get()
    assert (held.state, held.code, held.attempts) == (DocumentState.HELD, "CAPACITY", 0)
    assert not path.exists()  # the folder of the attempt
    assert finished_stages.open_fetched(document, spool.get_attempt_folder(uuid.uuid4()))


def test_a_poll_that_finds_nothing_to_do_writes_nothing():
    batch = make_batch()
    polls = make_polls()
    for minutes in (2, 4, 6):
        with CaptureQueriesContext(connection) as queries:
            polls.poll_due_batches(batch.created_at + timedelta(minutes=minutes))
        statements = {query["sql"].split()[0] for query in queries}
        assert statements == {"SELECT"}


def test_a_batch_whose_end_was_missed_is_ended_by_the_next_poll(poll_until):
    batch = make_batch()
    [lease] = leases.claim_due_chunks(1, by="here:1:1")
    steps.give_up(lease.items[0].document, lease.lease_id, "DOWNLOAD_FAILED", {}, held=False)
    assert states(batch)[0] == BatchState.IN_PROGRESS
    poll_until(batch.created_at + timedelta(minutes=5))
    assert states(batch)[0] == BatchState.COMPLETED
    leases.return_chunk(lease.chunk, lease.lease_id)
    assert make_polls().poll_due_batches(timezone.now() + DEADLINE * 9) == 0


def test_retried_documents_have_a_new_deadline(poll_until):
    batch = make_batch()
    poll_until(batch.created_at + DEADLINE + timedelta(minutes=10))
    assert retrying.retry_held(Document.objects.all(), by=Actor("system:tests", "ops")) == 1
    now = timezone.now()
    poll_until(now + DEADLINE + timedelta(minutes=10), since=now)
    assert states(batch) == (BatchState.FAILED, {DocumentState.HELD: 1})


def test_many_due_batches_are_polled_a_few_at_a_time():
    for _ in range(completion_polls.MAX_BATCHES_PER_POLL + 3):
        make_batch()
    polls, now = make_polls(), timezone.now() + timedelta(minutes=30)
    assert [polls.poll_due_batches(now), polls.poll_due_batches(now)] == [
        completion_polls.MAX_BATCHES_PER_POLL,
        3,
    ]
