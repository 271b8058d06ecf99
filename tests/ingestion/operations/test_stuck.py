"""Tests of stuck work, and of the recorded actions that a person takes about it."""

from datetime import timedelta

import pytest
from django.utils import timezone

from audit.ledger import queries
from audit.ledger.actors import Actor
from ingestion.core.states import ChunkState
from ingestion.dispatch import leases, recovery
from ingestion.intake import retrying
from ingestion.models import Chunk, Document
from ingestion.operations import stuck
from tests import steps
from tests.factories import make_batch, make_leased

pytestmark = pytest.mark.django_db
OPS = Actor("user:7", "staff")


@pytest.fixture(autouse=True)
def folders(settings, tmp_path):
    settings.SPOOL_DIR = tmp_path


def silent_chunk():
    """Return a chunk whose lease has expired, and the lease. No host sends heartbeats."""
    chunk, lease = make_leased(2)
    expired_at = timezone.now() - timedelta(minutes=1)
    Chunk.objects.update(lease_expires_at=expired_at, attempts=1)
    chunk.refresh_from_db()
    return chunk, lease


def test_a_person_releases_an_expired_lease_and_this_is_recorded():
    chunk, lease = silent_chunk()
    [found] = stuck.find_expired_leases()
    assert (found, found.unsettled) == (chunk, 2)
    assert recovery.release_lease(found, by=OPS)
    chunk.refresh_from_db()
    assert (chunk.state, chunk.lease_id) == (ChunkState.WAITING, None)
    [entry] = queries.list_entries(f"chunk:{chunk.pk}")
    assert (entry.event, entry.actor, entry.role) == ("chunk.released", *(OPS.name, OPS.role))
    assert entry.detail["lease_owner"] == "here:1:1"
    assert leases.renew([lease]) == set(), "its former worker can no longer renew it"


def test_a_lease_that_was_renewed_meanwhile_is_not_released():
    chunk, lease = silent_chunk()
    [found] = stuck.find_expired_leases()
    leases.renew([lease])
    assert not recovery.release_lease(found, by=OPS)
    assert queries.list_entries(f"chunk:{chunk.pk}") == []
    assert not recovery.release_lease(found, by=OPS)


def test_the_same_chunk_can_be_released_several_times():
    chunk, _ = silent_chunk()
    for times in (1, 2):
        [found] = stuck.find_expired_leases()
        assert recovery.release_lease(found, by=OPS)
        assert len(queries.list_entries(f"chunk:{chunk.pk}")) == times
        Chunk.objects.update(next_dispatch_at=timezone.now())
        leases.claim_due_chunks(1, by="here:2:2")
        Chunk.objects.update(lease_expires_at=timezone.now() - timedelta(minutes=1))


def test_a_person_can_retry_documents_past_their_deadline_at_once():
    batch = make_batch(documents=2)
    now = timezone.now()
    overdue, _ = batch.documents.order_by("pk")
    columns = {
        "failing_since": now - timedelta(days=2),
        "next_attempt_at": now + timedelta(hours=1),
    }
    Document.objects.filter(pk=overdue.pk).update(**columns)
    Chunk.objects.update(next_dispatch_at=now + timedelta(hours=1))
    assert list(stuck.find_past_deadline(now)) == [overdue]
    assert retrying.retry_waiting_now(stuck.find_past_deadline(now), by=OPS) == 1
    [lease] = leases.claim_due_chunks(1, by="here:1:1")
    assert overdue.pk in {item.document for item in lease.items}
    last = queries.list_entries(overdue.subject)[-1]
    assert (last.event, last.actor) == ("document.tried_at_once", OPS.name)


def test_documents_that_are_being_checked_or_settled_are_not_retried():
    chunk, lease = make_leased(2)
    one, other = chunk.documents.order_by("pk")
    steps.start_checking(one.pk, lease, sha256="a" * 64, size=1)
    steps.give_up(other.pk, lease, "INTERNAL_ERROR", {}, held=True)
    assert retrying.retry_waiting_now(Document.objects.all(), by=OPS) == 0


def test_due_chunks_that_no_worker_claims_are_counted():
    make_batch()
    now = timezone.now()
    assert stuck.count_unclaimed_chunks(now) == 0
    Chunk.objects.update(next_dispatch_at=now - timedelta(hours=1))
    assert (stuck.count_unclaimed_chunks(now), stuck.count_stuck(now)) == (1, 1)
