"""Removes what finished work leaves: chunks, spooled files, page previews, old verifications.

Documents, findings, decisions, ledger entries and the archive are never removed. The
figures of removed chunks are in the batch's `summary`, and the ledger records the removal.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.conf import settings
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone
from django_q.models import Success

from audit import background_jobs, outbox
from audit.ledger.log import ledger
from audit.verification import runs
from ingestion.core.states import UNSETTLED_STATES, ChunkState, DocumentState
from ingestion.documents import batches, page_previews
from ingestion.intake import drafts, open_packets
from ingestion.models import Batch, Chunk, Document, DraftFile, ReceivedPart, Upload
from ingestion.operations import alerts
from ingestion.storage import spool

MAX_CHUNKS_PER_STEP = 200  # chunks that are removed together
ORPHAN_AGE = timedelta(days=1)  # the age from which an unneeded file of the spool is removed
_WAITING = ~Q(state=DocumentState.CANCELLED) & (
    Q(state__in=(*UNSETTLED_STATES, DocumentState.HELD)) | Q(sha256="")
)  # documents whose bytes may be in the spool only


@dataclass(frozen=True, slots=True)
class PruneResult:
    """Counts the batches, chunks and files that one run removed."""

    batches: int
    chunks: int
    files: int  # uploads in the spool


def prune(*, days: int | None = None, dry_run: bool = False) -> PruneResult:
    """Remove what is older than `days`, by default RETENTION_DAYS. 0: keep all finished work.

    Drafts and open packets that were not submitted are removed after their own periods. The
    function is idempotent and may be interrupted.
    """
    days = settings.RETENTION_DAYS if days is None else days
    finished = list(_find_finished_batches(days)) if days else []
    # Uploads that were never registered, were cancelled long ago, or were left by a crash. What
    # shifts fetched is removed by `dispatch.recovery` when its lease ends.
    old = datetime.now(UTC) - max(ORPHAN_AGE, timedelta(days=days))
    leftovers = [key for key in spool.list_uploads_before(old) if not _is_needed(key)]
    if dry_run:
        chunks = Chunk.objects.filter(batch__in=finished, state=ChunkState.DONE).count()
        return PruneResult(len(finished), chunks, len(leftovers))
    chunks = sum(_prune_chunks(batch) for batch in finished)
    drafts.drop_expired_drafts()
    open_packets.drop_expired_packets()
    for upload in leftovers:
        spool.drop_upload(upload)
    if kept_days := settings.JOB_RETENTION_DAYS:
        background_jobs.remove_expired_jobs(timezone.now() - timedelta(days=kept_days))
    if days:
        before = timezone.now() - timedelta(days=days)
        background_jobs.remove_old_jobs(before)
        runs.remove_old_runs(before)
        page_previews.prune_previews(before)
        alerts.prune_messages(before)
        outbox.prune_dead(before)
        Success.objects.filter(success=True, stopped__lt=before).delete()
    return PruneResult(len(finished), chunks, len(leftovers))


def list_needed_uploads() -> Iterator[tuple[str, str, int]]:
    """Yield key, SHA-256 and size in bytes of each file of the spool that is still needed."""
    documents = Document.objects.filter(_WAITING).exclude(spooled="").order_by("pk")
    rows = documents.values_list("spooled", "expected_sha256", "size")
    yield from ((key, sha256, size or 0) for key, sha256, size in rows.iterator())
    for model in (DraftFile, ReceivedPart):
        yield from model.objects.values_list("spooled", "sha256", "size").iterator()
    uploads = Upload.objects.exclude(spooled="")
    yield from uploads.values_list("spooled", "sha256", "length").iterator()


def _find_finished_batches(days: int) -> "QuerySet[Batch]":
    """Return the batches that ended before, except those with a document in progress again."""
    before = timezone.now() - timedelta(days=days)
    working = Chunk.objects.filter(batch=OuterRef("pk")).exclude(state=ChunkState.DONE)
    ended = Batch.objects.exclude(pk__in=Batch.objects.open().values("pk"))
    return ended.filter(finished_at__lt=before, pruned_at=None).exclude(Exists(working))


def _prune_chunks(batch: Batch) -> int:
    """Remove the chunks of a batch. Returns how many.

    The chunk with the highest rank stays, because it keeps the virtual time of the queue: without
    it, new chunks would rank before all others.
    """
    removed, summary = 0, batch.summary or batches.summarise_batch(batch)
    dispatched = Chunk.objects.filter(attempts__gt=0).order_by("-rank")
    highest_ranked = list(dispatched.values_list("pk", flat=True)[:1])
    done = batch.chunks.filter(state=ChunkState.DONE).exclude(pk__in=highest_ranked)
    removable = done.order_by("pk").values_list("pk", flat=True)
    while keys := list(removable[:MAX_CHUNKS_PER_STEP]):
        Document.objects.filter(chunk__in=keys).update(chunk=None)
        Chunk.objects.filter(pk__in=keys).delete()
        removed += len(keys)
    if not batch.chunks.exists():
        with ledger():
            batches.prune_batch(batch, summary)
    return removed


def _is_needed(key: str) -> bool:
    """Return whether an upload's bytes are only in the spool and may still be used."""
    not_submitted = (
        model._default_manager.filter(spooled=key).exists()
        for model in (DraftFile, ReceivedPart, Upload)
    )
    return any(not_submitted) or Document.objects.filter(_WAITING, spooled=key).exists()
