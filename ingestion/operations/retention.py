"""What work leaves behind goes after a while: chunk rows, spooled files, pictures, old checks.

Never documents, findings, decisions, ledger entries or the archive (decision 7). What the chunks
could tell is in the batch's `summary` by then, and the ledger keeps that they were removed.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.conf import settings
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from audit import background_jobs, outbox
from audit.ledger.log import ledger
from audit.verification import runs
from ingestion.core.states import UNSETTLED_STATES, ChunkState, DocumentState
from ingestion.documents import batches, page_previews
from ingestion.intake import drafts, open_packets
from ingestion.models import Batch, Chunk, Document, DraftFile, ReceivedPart, Upload
from ingestion.operations import alerts
from ingestion.storage import spool

MAX_ROWS_PER_STEP = 200  # chunks that one transaction removes
ORPHAN_AGE = timedelta(days=1)  # a file in the spool that nobody has touched for so long
_WAITING = ~Q(state=DocumentState.CANCELLED) & (
    Q(state__in=(*UNSETTLED_STATES, DocumentState.HELD)) | Q(sha256="")
)  # documents whose bytes may be nowhere but in the spool


@dataclass(frozen=True, slots=True)
class PruneResult:
    batches: int
    chunks: int
    files: int  # uploads in the spool


def prune(*, days: int | None = None, dry_run: bool = False) -> PruneResult:
    """Remove what is older than `days` (RETENTION_DAYS). Idempotent; may be interrupted.

    And drafts and open packets that nobody has submitted, by their own time.
    """
    days = settings.RETENTION_DAYS if days is None else days
    finished = list(_finished(days)) if days else []
    leftovers = list(_leftovers(days))
    if dry_run:
        chunks = Chunk.objects.filter(batch__in=finished, state=ChunkState.DONE).count()
        return PruneResult(len(finished), chunks, len(leftovers))
    chunks = sum(_prune(batch) for batch in finished)
    drafts.drop_expired_drafts()
    open_packets.drop_expired_packets()
    for upload in leftovers:
        spool.drop_upload(upload)
    if days:
        before = timezone.now() - timedelta(days=days)
        background_jobs.remove_old_jobs(before)
        runs.remove_old_runs(before)
        page_previews.prune_previews(before)
        alerts.prune_messages(before)
        outbox.prune_dead(before)
    return PruneResult(len(finished), chunks, len(leftovers))


def list_needed_uploads() -> Iterator[tuple[str, str, int]]:
    """Keys in the spool of what somebody may still go on with; its SHA-256, and its bytes."""
    documents = Document.objects.filter(_WAITING).exclude(spooled="").order_by("pk")
    rows = documents.values_list("spooled", "expected_sha256", "size")
    yield from ((key, sha256, size or 0) for key, sha256, size in rows.iterator())
    for model in (DraftFile, ReceivedPart):
        yield from model.objects.values_list("spooled", "sha256", "size").iterator()
    uploads = Upload.objects.exclude(spooled="")
    yield from uploads.values_list("spooled", "sha256", "length").iterator()


def _finished(days: int) -> "QuerySet[Batch]":
    """Without those of which a document goes round once more."""
    before = timezone.now() - timedelta(days=days)
    working = Chunk.objects.filter(batch=OuterRef("pk")).exclude(state=ChunkState.DONE)
    ended = Batch.objects.exclude(pk__in=Batch.objects.open().values("pk"))
    return ended.filter(finished_at__lt=before, pruned_at=None).exclude(Exists(working))


def _prune(batch: Batch) -> int:
    removed, told = 0, batch.summary or batches.summarise_batch(batch)
    while keys := list(_removable(batch)[:MAX_ROWS_PER_STEP]):
        Document.objects.filter(chunk__in=keys).update(chunk=None)
        Chunk.objects.filter(pk__in=keys).delete()
        removed += len(keys)
    if not batch.chunks.exists():
        with ledger():
            batches.prune_batch(batch, told)
    return removed


def _removable(batch: Batch) -> "QuerySet[Chunk, int]":
    """All but the one that keeps the virtual time: without it, newcomers would rank before all."""
    dispatched = Chunk.objects.filter(attempts__gt=0).order_by("-rank")
    clock = list(dispatched.values_list("pk", flat=True)[:1])
    done = batch.chunks.filter(state=ChunkState.DONE).exclude(pk__in=clock)
    return done.order_by("pk").values_list("pk", flat=True)


def _leftovers(days: int) -> Iterator[str]:
    """Uploads that no work needs: never registered, cancelled long ago, or left by a crash.

    What shifts fetched is swept by `dispatch.recovery`, as soon as its lease is over.
    """
    before = datetime.now(UTC) - max(ORPHAN_AGE, timedelta(days=days))
    for upload in spool.list_uploads_before(before):
        if not _needed(upload):
            yield upload


def _needed(upload: str) -> bool:
    """Its bytes are nowhere else, and somebody may still go on with them."""
    not_submitted = (
        model._default_manager.filter(spooled=upload).exists()
        for model in (DraftFile, ReceivedPart, Upload)
    )
    if any(not_submitted):
        return True
    return Document.objects.filter(_WAITING, spooled=upload).exists()
