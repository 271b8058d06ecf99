"""Tests of retrying held documents, and of recording failed requests."""

import dataclasses
import uuid

import pytest
from django.utils import timezone

from audit.ledger.actors import Actor
from audit.ledger.queries import list_entries
from ingestion.core.errors import LeaseLost
from ingestion.core.ports import FetchFailure
from ingestion.core.states import BatchState, ChunkState, DocumentState
from ingestion.dispatch import leases, worker_steps
from ingestion.intake import retrying
from ingestion.models import Chunk, Document
from tests import steps
from tests.factories import make_batch, make_leased, make_site

pytestmark = pytest.mark.django_db
INES = Actor("user:7", "staff")


@pytest.fixture(autouse=True)
def _folders(settings, tmp_path):
    settings.SPOOL_DIR = tmp_path


def settle(batch, code="PORTAL_UNAVAILABLE", *, held=True):
    """Reject or hold all documents, as after failed requests, which ends the batch."""
    for lease in leases.claim_due_chunks(10, by="here:1:1"):
        for item in lease.items:
            steps.start_attempt(item.document, lease.lease_id, max_attempts=5)
            steps.give_up(item.document, lease.lease_id, code, {"tries": 4}, held=held)
        leases.return_chunk(lease.chunk, lease.lease_id)
    return batch.documents.all()


def fail(document, lease, **changes):
    values = {
        "code": "DOWNLOAD_FAILED",
        "facts": {"status": 503},
        "tries": 2,
        "counted_tries": 1,
        "deadline": 0.0,
        "wait_seconds": 60.0,
        "leaves_shift": True,
    }
    failure = FetchFailure(**values | changes)
    worker_steps.apply_step(
        worker_steps.RecordFetchFailure(document=document.pk, lease=lease, failure=failure)
    )
    document.refresh_from_db()


def test_a_held_document_is_queued_again_with_new_attempts():
    held = settle(make_batch(documents=2))
    held.update(fetch_tries=9, counted_tries=4, failing_since=timezone.now())
    assert retrying.retry_held(held, by=INES) == 2
    document = Document.objects.first()
    assert (document.state, document.code, document.settled_at) == ("RECEIVED", "", None)
    assert (document.attempts, document.fetch_tries, document.failing_since) == (0, 0, None)
    [lease] = leases.claim_due_chunks(10, by="here:1:1")
    assert {item.document for item in lease.items} == set(held.values_list("pk", flat=True))


def test_the_ledger_names_the_person_who_retried():
    held = settle(make_batch())
    retrying.retry_held(held, by=INES)
    entry = list_entries(held.get().subject)[-1]
    assert (entry.event, entry.from_state, entry.to_state) == (
        "document.tried_again",
        "HELD",
        "RECEIVED",
    )
    assert (entry.actor, entry.role) == ("user:7", "staff")


def test_documents_that_are_not_held_are_skipped():
    rejected = settle(make_batch(), "DOWNLOAD_FAILED", held=False)
    assert retrying.retry_held(rejected, by=INES) == 0
    assert not Chunk.objects.exclude(state=ChunkState.DONE).exists()


def test_retried_documents_are_queued_in_chunks_of_one_site(settings):
    batches = [make_batch(make_site(), documents=3) for _ in range(2)]
    for batch in batches:
        settle(batch)
    settings.CHUNK_SIZE = 2
    assert retrying.retry_held(Document.objects.all(), by=INES) == 6
    waiting = Chunk.objects.filter(state=ChunkState.WAITING)
    assert sorted(chunk.documents.count() for chunk in waiting) == [1, 1, 2, 2]
    assert all(chunk.documents.values("site").distinct().count() == 1 for chunk in waiting)


def test_a_retry_does_not_reopen_a_finished_batch():
    batch = make_batch()
    retrying.retry_held(settle(batch), by=INES)
    batch.refresh_from_db()
    assert batch.state == BatchState.COMPLETED


def test_a_failed_request_is_recorded_without_a_change_of_state():
    chunk, lease = make_leased()
    document = chunk.documents.get()
    fail(document, lease)
    assert document.state == "RECEIVED"
    entry = list_entries(document.subject)[-1]
    assert (entry.event, entry.from_state, entry.to_state) == ("document.fetch_failed", "", "")
    assert entry.detail == {"status": 503, "tries": 2, "wait_ms": 60_000}


def test_the_attempt_of_a_document_that_leaves_its_shift_is_taken_back():
    chunk, lease = make_leased()
    document = chunk.documents.get()
    for later, attempts in ((False, 1), (True, 1)):
        steps.start_attempt(document.pk, lease, max_attempts=5)
        fail(document, lease, leaves_shift=later)
        assert document.attempts == attempts


def test_the_deadline_counts_from_the_first_failure():
    chunk, lease = make_leased()
    document = chunk.documents.get()
    fail(document, lease)
    since = document.failing_since
    fail(document, lease)
    assert document.failing_since == since


def test_a_worker_without_the_lease_cannot_record_a_failure():
    chunk, _ = make_leased()
    document = chunk.documents.get()
    with pytest.raises(LeaseLost):
        fail(document, uuid.uuid4())
    assert list_entries(document.subject)[-1].event == "document.received"


def test_a_failure_of_a_document_that_was_moved_is_not_recorded():
    chunk, lease = make_leased()
    document = chunk.documents.get()
    steps.start_checking(document.pk, lease, sha256="a" * 64, size=1)
    with pytest.raises(LeaseLost):
        fail(document, lease)


def test_documents_are_read_again_once_their_language_is_installed(settings):
    batch = make_batch(make_site(), documents=2)
    for lease in leases.claim_due_chunks(10, by="here:1:1"):
        for item, language in zip(lease.items, ("fra", "jpn"), strict=True):
            steps.start_attempt(item.document, lease.lease_id, max_attempts=5)
            facts = {"language": language, "data": language, "page": 1}
            steps.give_up(item.document, lease.lease_id, "LANGUAGE_NOT_INSTALLED", facts, held=True)
        leases.return_chunk(lease.chunk, lease.lease_id)
    assert retrying.retry_installed_languages(by=INES) == 0
    limits = settings.READING_LIMITS
    settings.READING_LIMITS = dataclasses.replace(limits, languages="eng+fra")
    assert retrying.retry_installed_languages(by=INES) == 1
    states = [document.state for document in batch.documents.order_by("pk")]
    assert states == [DocumentState.RECEIVED, DocumentState.HELD]
