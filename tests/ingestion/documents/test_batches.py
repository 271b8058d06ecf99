"""Tests of the states of batches and of cancelling."""

import pytest
from django.contrib.auth.models import Group
from django.db import connection
from django.test.utils import CaptureQueriesContext

from audit import job_runs
from audit.background_jobs import AuditJob
from audit.ledger.actors import Actor
from audit.ledger.queries import list_entries
from audit.outbox import OutboxMessage
from ingestion.core.errors import LeaseLost
from ingestion.core.states import BatchState, ChunkState, DocumentState
from ingestion.dispatch import leases
from ingestion.documents import batches
from ingestion.intake import retrying
from ingestion.models import Batch, Chunk, Document
from tests import steps
from tests.factories import make_batch, make_site, make_user, verdict

pytestmark = pytest.mark.django_db
MARA = Actor("user:1", "site coordinator")
CANCELLED, RECEIVED = DocumentState.CANCELLED, DocumentState.RECEIVED


@pytest.fixture(autouse=True)
def _folders(settings, tmp_path):
    settings.SPOOL_DIR = tmp_path


def claim():
    [lease] = leases.claim_due_chunks(1, by="here:1:1")
    return lease


def settle(lease, items=None):
    for item in lease.items if items is None else items:
        steps.give_up(item.document, lease.lease_id, "DOWNLOAD_FAILED", {}, held=False)


def events(batch):
    return [(entry.event, entry.to_state) for entry in list_entries(batch.subject)]


def state_of(batch):
    batch.refresh_from_db()
    return batch.state


def test_every_state_is_saved_and_recorded():
    batch = make_batch()
    assert state_of(batch) == BatchState.QUEUED
    lease = claim()
    assert state_of(batch) == BatchState.IN_PROGRESS
    settle(lease)
    leases.return_chunk(lease.chunk, lease.lease_id)
    assert state_of(batch) == BatchState.COMPLETED
    assert events(batch) == [
        ("batch.submitted", "SUBMITTED"),
        ("batch.queued", "QUEUED"),
        ("batch.in_progress", "IN_PROGRESS"),
        ("batch.completed", "COMPLETED"),
    ]


def test_waiting_documents_and_their_batch_are_cancelled_at_once():
    batch = make_batch(documents=3)
    batches.cancel_batch(batch, by=MARA)
    assert batch.state == BatchState.CANCELLED
    assert batch.counts() == {CANCELLED: 3}
    assert set(batch.chunks.values_list("state", flat=True)) == {ChunkState.DONE}
    assert leases.claim_due_chunks(10, by="here:1:1") == []


def test_the_entry_of_each_cancelled_document_names_the_person():
    batch = make_batch(documents=2)
    batches.cancel_batch(batch, by=MARA)
    document = list_entries(batch.documents.first().subject)[-1]
    asked, cancelled = list_entries(batch.subject)[-2:]
    assert (asked.event, cancelled.event) == ("batch.cancel_requested", "batch.cancelled")
    assert {entry.actor for entry in (document, asked, cancelled)} == {MARA.name}


def test_settled_documents_of_a_cancelled_batch_keep_their_state(settings):
    settings.CHUNK_SIZE = 1
    batch = make_batch(documents=3)
    lease = claim()
    settle(lease)
    leases.return_chunk(lease.chunk, lease.lease_id)
    batches.cancel_batch(batch, by=MARA)
    assert batch.counts() == {CANCELLED: 2, DocumentState.REJECTED: 1}
    assert batch.state == BatchState.CANCELLED


def test_a_running_chunk_finishes_its_current_documents_and_cancels_the_rest():
    batch = make_batch(documents=3)
    lease = claim()
    batches.cancel_batch(batch, by=MARA)
    assert batch.state == BatchState.IN_PROGRESS
    assert leases.find_chunks_being_cancelled([lease.lease_id]) == {lease.chunk}
    settle(lease, lease.items[:1])
    leases.return_chunk(lease.chunk, lease.lease_id)
    assert state_of(batch) == BatchState.CANCELLED
    assert batch.counts() == {CANCELLED: 2, DocumentState.REJECTED: 1}


def test_a_worker_cannot_complete_a_cancelled_batch():
    batch = make_batch()
    lease = claim()
    batches.cancel_batch(batch, by=MARA)
    settle(lease)
    leases.return_chunk(lease.chunk, lease.lease_id)
    assert state_of(batch) == BatchState.CANCELLED
    assert "batch.completed" not in dict(events(batch))


def test_a_move_based_on_an_outdated_row_changes_nothing():
    batch = make_batch()
    stale = Batch.objects.get(pk=batch.pk)
    batches.cancel_batch(batch, by=MARA)
    with pytest.raises(LeaseLost), batches.ledger():
        batches._move(stale, BatchState.IN_PROGRESS)
    assert state_of(batch) == BatchState.CANCELLED


def test_the_next_tick_cancels_a_chunk_whose_worker_died():
    batch = make_batch(documents=2)
    lease = claim()
    steps.start_checking(lease.items[0].document, lease.lease_id, sha256="a" * 64, size=1)
    batches.cancel_batch(batch, by=MARA)
    Chunk.objects.update(lease_expires_at="2026-01-01T00:00:00Z")
    leases.recover_expired()
    assert leases.claim_due_chunks(1, by="there:2:2") == []
    assert batches.continue_cancellations() == 1
    assert state_of(batch) == BatchState.CANCELLED
    assert batch.counts() == {CANCELLED: 2}


def test_a_batch_that_moved_during_a_tick_is_handled_by_the_next_one(monkeypatch):
    lost, kept = make_batch(), make_batch()
    for batch in (lost, kept):
        lease = claim()
        batches.cancel_batch(batch, by=MARA)
        Chunk.objects.filter(pk=lease.chunk).update(lease_expires_at="2026-01-01T00:00:00Z")
    leases.recover_expired()
    end = batches.end_if_settled

    def moved_meanwhile(batch_id):
        if batch_id == lost.pk:
            raise LeaseLost
        return end(batch_id)

    monkeypatch.setattr(batches, "end_if_settled", moved_meanwhile)
    assert batches.continue_cancellations() == 1
    assert (state_of(lost), state_of(kept)) == (BatchState.IN_PROGRESS, BatchState.CANCELLED)
    monkeypatch.undo()
    assert batches.continue_cancellations() == 1


def test_a_second_cancellation_changes_nothing():
    batch = make_batch()
    lease = claim()
    for _ in range(2):
        batches.cancel_batch(batch, by=MARA)
    assert [name for name, _ in events(batch)].count("batch.cancel_requested") == 1
    leases.return_chunk(lease.chunk, lease.lease_id)
    with pytest.raises(batches.AlreadyFinal, match="is CANCELLED already"):
        batches.cancel_batch(batch, by=MARA)


def test_a_completed_batch_cannot_be_cancelled():
    batch = make_batch()
    lease = claim()
    settle(lease)
    leases.return_chunk(lease.chunk, lease.lease_id)
    with pytest.raises(batches.AlreadyFinal, match="is COMPLETED already"):
        batches.cancel_batch(batch, by=MARA)


def test_a_large_batch_is_cancelled_in_portions(settings, monkeypatch):
    settings.CHUNK_SIZE = 5
    monkeypatch.setattr(batches, "MAX_DOCUMENTS_PER_TRANSACTION", 20)
    batch = make_batch(documents=100)
    with CaptureQueriesContext(connection) as asked:
        batches.cancel_batch(batch, by=MARA)
    moved = [n for n, query in enumerate(asked) if 'UPDATE "ingestion_document"' in query["sql"]]
    ends = [n for n, query in enumerate(asked) if "RELEASE" in query["sql"]]
    assert len(moved) == 20  # one for each chunk
    # A test runs in a transaction, so each transaction of the product is a savepoint.
    assert sum(1 for n in ends if moved[0] < n < moved[-1]) >= 4
    assert batch.counts() == {CANCELLED: 100}


def test_a_held_document_of_a_cancelled_batch_can_be_retried():
    batch = make_batch(documents=2)
    lease = claim()
    steps.give_up(lease.items[0].document, lease.lease_id, "INTERNAL_ERROR", {}, held=True)
    batches.cancel_batch(batch, by=MARA)
    leases.return_chunk(lease.chunk, lease.lease_id)
    assert batch.counts() == {CANCELLED: 1, DocumentState.HELD: 1}
    retrying.retry_held(Document.objects.all(), by=Actor("system:tests", "ops"))
    retried = claim()
    steps.start_checking(retried.items[0].document, retried.lease_id, sha256="a" * 64, size=1)
    steps.conclude(retried.items[0].document, retried.lease_id, verdict(), pages=1)
    leases.return_chunk(retried.chunk, retried.lease_id)
    assert batch.counts() == {CANCELLED: 1, DocumentState.ARCHIVED: 1}
    assert state_of(batch) == BatchState.CANCELLED


def cancellers(batch_of):
    ops = make_user(is_staff=True)
    ops.groups.set(Group.objects.filter(name="Operations"))
    qa = make_user(is_staff=True)
    qa.groups.set(Group.objects.filter(name="QA reviewers"))
    inactive = make_user(is_active=False)
    return {
        "its submitter": batch_of,
        "ops": ops,
        "QA": qa,
        "inactive": inactive,
        "other": make_user(),
    }


def test_only_its_submitter_and_operations_may_cancel():
    batch = make_batch()
    people = cancellers(make_user())
    Batch.objects.update(submitted_by=people["its submitter"])
    batch.refresh_from_db()
    may = {name for name, user in people.items() if batches.can_cancel(batch, user=user)}
    assert may == {"its submitter", "ops"}


@pytest.mark.parametrize(
    ("actor", "may"), [("system:tests", True), ("token:9", False), ("", False)]
)
def test_a_client_may_cancel_its_own_batch(actor, may):
    assert batches.can_cancel(make_batch(make_site()), actor=actor) is may


def test_a_batch_without_a_stored_submitter_belongs_to_no_client():
    batch = make_batch()
    Batch.objects.update(submitted_as="")
    batch.refresh_from_db()
    assert not batches.can_cancel(batch, actor="")


def test_batches_that_end_together_request_one_verification():
    for _ in range(3):
        batches.cancel_batch(make_batch(), by=MARA)
    (job,) = AuditJob.objects.all()
    assert (job.kind, job.arguments["mode"], job.state) == ("verify", "incremental", "waiting")
    assert OutboxMessage.objects.get().due_at > job.created_at
    OutboxMessage.objects.update(due_at=job.created_at)
    assert job_runs.run_next_job()
    job.refresh_from_db()
    assert (job.state, job.result["result"]) == ("done", "unanchored")
