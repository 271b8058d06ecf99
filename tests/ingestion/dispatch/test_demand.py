"""Tests of when another worker is needed beside the running shifts."""

import time
from datetime import timedelta

import pytest
from django.utils import timezone
from django_q.models import OrmQ
from django_q.signing import SignedPackage

from ingestion.dispatch import demand, leases, wakeup
from ingestion.dispatch.completion_polls import CompletionPolls
from ingestion.dispatch.processes import worker_host
from ingestion.models import Batch, Chunk
from tests.factories import make_batch

pytestmark = pytest.mark.django_db(transaction=True)
URGENT = 1


@pytest.fixture(autouse=True)
def _folders(settings, tmp_path):
    settings.SPOOL_DIR, settings.SHIFT_MAX_CHUNKS = tmp_path, 2


def make_running(chunks=1, age_seconds=0.0, owner="", **columns):
    """Let a shift of this age hold chunks, each of a site of its own. Returns its owner."""
    owner = owner or f"here:1:{time.time_ns() - int(age_seconds * 1e9)}"
    for _ in range(chunks):
        make_batch(**columns)
        assert leases.claim_due_chunks(1, by=owner, urgent=columns.get("priority") == URGENT)
    OrmQ.objects.all().delete()
    return owner


def was_worker_woken():
    return OrmQ.objects.exists()


def wait_longer(seconds):
    """Let the chunks that wait have been due for so long."""
    due_at = timezone.now() - timedelta(seconds=seconds)
    Chunk.objects.waiting().update(next_dispatch_at=due_at)


def test_a_submission_wakes_a_worker_if_no_shift_runs():
    make_batch()
    assert was_worker_woken()
    assert demand.find_batch_without_worker()


def test_a_submission_wakes_no_worker_while_a_shift_has_room():
    make_running()
    make_batch()
    assert not was_worker_woken()
    assert not demand.find_batch_without_worker()


@pytest.mark.parametrize(
    "shift", [{"chunks": 2}, {"age_seconds": 6_000}], ids=["full", "about to end"]
)
def test_a_submission_wakes_a_worker_if_no_running_shift_has_room(shift):
    make_running(**shift)
    make_batch()
    assert was_worker_woken()
    assert demand.find_batch_without_worker()


def test_a_limit_of_zero_fills_one_shift(settings):
    settings.SHIFT_MAX_CHUNKS = 0
    make_running(chunks=5)
    make_batch()
    assert not was_worker_woken()


def test_an_urgent_submission_uses_the_room_that_other_chunks_cannot_fill():
    owner = make_running(chunks=2)
    make_batch(priority=URGENT)
    assert not was_worker_woken()
    make_running(chunks=2, owner=owner, priority=URGENT)
    make_batch(priority=URGENT)
    assert was_worker_woken()


def test_a_chunk_that_no_shift_claims_needs_another_worker_although_one_has_room():
    make_running()
    make_batch()
    wait_longer(5)
    assert demand.find_batch_without_worker()


def test_the_host_wakes_a_worker_for_the_batch_that_no_shift_claims():
    """Also if a shift seems to have room, because it is overloaded or hangs."""
    make_running()
    batch = make_batch()
    worker_host.run_tick(CompletionPolls())
    assert not was_worker_woken()
    wait_longer(5)
    worker_host.run_tick(CompletionPolls())
    [wakeup_row] = OrmQ.objects.all()
    assert SignedPackage.loads(wakeup_row.payload)["group"] == batch.reference


def test_the_host_wakes_a_worker_for_the_batch_of_a_crashed_worker():
    owner = make_running()
    worker_host.run_tick(CompletionPolls())
    assert not was_worker_woken()
    leases.recover_leases_of(owner)
    worker_host.run_tick(CompletionPolls())
    [wakeup_row] = OrmQ.objects.all()
    assert SignedPackage.loads(wakeup_row.payload)["group"] == Batch.objects.get().reference


def test_an_expired_lease_offers_no_room():
    make_running()
    Chunk.objects.update(lease_expires_at=timezone.now() - timedelta(seconds=1))
    make_batch()
    assert was_worker_woken()


def test_a_wakeup_is_not_held_back_by_an_error_of_the_database(monkeypatch):
    monkeypatch.setattr(wakeup, "is_served_by_running_shifts", lambda: 1 / 0)
    make_batch()  # The host wakes a worker in its next tick.
    assert demand.find_batch_without_worker()


def test_the_backlog_is_as_old_as_its_oldest_chunk_that_could_be_claimed(settings):
    assert demand.get_oldest_claimable_seconds() == 0
    batch = make_batch()
    wait_longer(100)
    assert 100 <= demand.get_oldest_claimable_seconds() < 200
    settings.SITE_MAX_CHUNKS = 1
    leases.claim_due_chunks(1, by="here:1:1")
    make_batch(batch.packets.get().site)
    wait_longer(100)
    assert demand.get_oldest_claimable_seconds() == 0  # Its site is at its limit.
