"""Tests of pruning: which leftovers of finished batches are removed, and which records remain."""

import os
import uuid
from datetime import timedelta

import pytest
from django.core.management import call_command
from django.utils import timezone

from audit.ledger.actors import Actor
from audit.ledger.queries import list_entries
from audit.models import Entry
from ingestion.core.states import BatchState
from ingestion.dispatch import leases
from ingestion.documents import batches
from ingestion.intake import retrying
from ingestion.models import Batch, Chunk, Document, Finding
from ingestion.operations import retention
from ingestion.storage import spool
from tests import steps
from tests.factories import make_batch

pytestmark = pytest.mark.django_db
LONG_AGO = timezone.now() - timedelta(days=400)
OPS = Actor("system:tests", "ops")


@pytest.fixture(autouse=True)
def folders(settings, tmp_path):
    settings.SPOOL_DIR = tmp_path


def finish(batch, *, held=False):
    for lease in leases.claim_due_chunks(8, by="here:1:1"):
        for item in lease.items:
            steps.give_up(item.document, lease.lease_id, "DOWNLOAD_FAILED", {}, held=held)
        leases.return_chunk(lease.chunk, lease.lease_id)
    Batch.objects.filter(pk=batch.pk).update(finished_at=LONG_AGO)
    batch.refresh_from_db()
    assert batch.state == BatchState.COMPLETED
    return batch


@pytest.fixture
def batch():
    """Return a batch that finished long ago. A later batch determines the virtual time."""
    batch = finish(make_batch(documents=3))
    make_batch()
    leases.claim_due_chunks(1, by="here:1:1")
    return batch


def write_upload(key, *, old=True):
    path = spool.get_path(key)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"x")
    if old:
        os.utime(path, (LONG_AGO.timestamp(), LONG_AGO.timestamp()))
    return path


def test_the_chunks_of_a_batch_that_finished_long_ago_are_removed_and_a_summary_remains(batch):
    records = [Document.objects.count(), Finding.objects.count()]
    assert retention.prune() == retention.PruneResult(batches=1, chunks=1, files=0)
    assert not batch.chunks.exists()
    batch.refresh_from_db()
    assert batch.pruned_at
    assert batch.summary == {
        "documents": {"REJECTED": 3},
        "codes": {"DOWNLOAD_FAILED": 3},
        "chunks": 1,
        "leases": 1,
    }
    assert [Document.objects.count(), Finding.objects.count()] == records


def test_the_ledger_keeps_every_entry_and_gets_one_for_the_pruning(batch):
    before = list(Entry.objects.order_by("seq").values_list("hash", flat=True))
    retention.prune()
    after = list(Entry.objects.order_by("seq").values_list("hash", flat=True))
    assert after[: len(before)] == before
    assert list_entries(batch.subject)[-1].event == "batch.pruned"
    assert len(after) == len(before) + 1


def test_pruning_twice_removes_nothing_more(batch):
    retention.prune()
    assert retention.prune() == retention.PruneResult(0, 0, 0)
    assert batch.documents.count() == 3


@pytest.mark.parametrize("days", [0, 500])
def test_a_batch_is_not_pruned_before_its_time_or_with_zero_days(batch, days):
    assert retention.prune(days=days).chunks == 0
    assert batch.chunks.exists()


def test_a_batch_with_a_retried_document_is_not_pruned():
    batch = finish(make_batch(documents=2), held=True)
    retrying.retry_held(batch.documents.all(), by=OPS)
    retention.prune()
    assert batch.chunks.count() == 2


def test_pruning_keeps_the_virtual_time():
    finish(make_batch(documents=2, priority=7))
    retention.prune()
    assert Chunk.objects.virtual_time() == 7.0


def test_only_unneeded_files_are_removed_from_the_spool(batch):
    unknown = write_upload(f"uploads/{uuid.uuid4()}")
    fresh = write_upload(f"uploads/{uuid.uuid4()}", old=False)
    waiting, cancelled = (write_upload(f"uploads/{uuid.uuid4()}") for _ in range(2))
    make_upload_batch(waiting)
    batches.cancel_batch(make_upload_batch(cancelled), by=OPS)
    assert retention.prune().files == 2
    assert [path.exists() for path in (fresh, waiting)] == [True, True]
    assert [path.exists() for path in (unknown, cancelled)] == [False, False]


def make_upload_batch(path):
    batch = make_batch()
    batch.documents.update(url="", spooled=f"uploads/{path.name}")
    return batch


def test_the_file_of_a_held_upload_is_kept_for_a_retry():
    path = write_upload(f"uploads/{uuid.uuid4()}")
    batch = make_upload_batch(path)
    finish(batch, held=True)
    retention.prune()
    assert path.exists()


def test_a_dry_run_counts_and_removes_nothing(batch, capsys):
    call_command("prune", dry_run=True)
    output = capsys.readouterr().out
    assert output == (
        "1 chunks of 1 finished batches and 0 leftovers in the spool would be removed.\n"
    )
    assert batch.chunks.exists()
    call_command("prune", days=30)
    assert not batch.chunks.exists()
