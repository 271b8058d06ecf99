"""Changes the states of batches, each change together with its ledger entry.

No other module changes the state of a batch. Each change is an UPDATE that is fenced by the number
of the last entry that was read (`RecordedRow.change_if_current`). So an outdated change does
nothing: a worker that ends a batch which was cancelled meanwhile cannot make it COMPLETED.

    SUBMITTED ─ QUEUED ─ IN_PROGRESS ─ COMPLETED   all its documents are settled
                  │           └─────── CANCELLED   all are settled, and it was cancelled
                  └─────────────────── FAILED      no shift had room for it until its deadline

A cancellation is requested by columns of the batch, and carried out by the process that has the
documents. Waiting documents are cancelled at once, in transactions of limited size. A running shift
finds the request within a second, begins no more documents, and cancels the rest when it returns
the chunk (`close_chunk`). If a process dies meanwhile, the next tick of a host continues
(`continue_cancellations`).
"""

import logging
from collections.abc import Callable, Mapping
from typing import Any

from django.conf import settings
from django.db.models import Count, Sum
from django.utils import timezone

from audit.ledger import actors
from audit.ledger.actors import OPERATIONS, Actor
from audit.ledger.log import ledger
from audit.verification import runs
from ingestion.core.errors import LeaseLost
from ingestion.core.states import BatchState, ChunkState, DocumentState, check_move
from ingestion.documents import transitions
from ingestion.documents.stuck_sites import StuckSite
from ingestion.documents.transitions import WORKER_ACTOR
from ingestion.models import Batch, Chunk
from ingestion.rules.findings import RuleFinding
from sites.models import User

logger = logging.getLogger(__name__)

MAX_DOCUMENTS_PER_TRANSACTION = 500  # so that other processes do not wait long for the locks
MAX_NAMED_DOCUMENTS = 100  # unfinished documents in one entry; the results of the batch name all


class AlreadyFinal(Exception):
    """The batch has ended, so it cannot be cancelled."""


def queue_batch(batch: Batch, by: Actor, *, documents: int) -> None:
    """Record the submission of a batch, and queue it.

    Call it inside `ledger()`, after the batch and its documents were inserted.
    """
    detail = {"source": str(batch.source), "documents": documents, "priority": batch.priority}
    batch.record_at_revision("batch.submitted", by=by, to_state=BatchState.SUBMITTED, detail=detail)
    _move(batch, BatchState.QUEUED, by=by)


def begin_batch(batch_id: int) -> None:
    """Move a batch to IN_PROGRESS when its first chunk is leased. Call it inside `ledger()`."""
    # Most batches have begun already, which can be seen without locking the row.
    if Batch.objects.filter(pk=batch_id, state=BatchState.QUEUED).exists():
        batch = Batch.lock(batch_id)
        if batch.state == BatchState.QUEUED:
            _move(batch, BatchState.IN_PROGRESS, started_at=timezone.now())


def end_if_settled(batch_id: int) -> bool:
    """End a batch if all its documents are settled. Returns whether it did.

    Call it inside `ledger()`. The batch is locked before the documents are counted, so that of two
    last chunks that are returned at the same time, one finds the batch settled.
    """
    batch = Batch.lock(batch_id)
    if BatchState(batch.state).is_final or batch.documents.unsettled().exists():
        return False
    state, by = BatchState.COMPLETED, WORKER_ACTOR
    if batch.cancel_requested_at:
        state, by = BatchState.CANCELLED, _canceller(batch)
    elif batch.state == BatchState.QUEUED:
        state = BatchState.FAILED
    held = batch.documents.held().filter(code="CAPACITY").order_by("pk")
    names = held.values_list("site__site_id", "doc_id")[:MAX_NAMED_DOCUMENTS]
    unfinished = [f"{site}/{doc_id}" for site, doc_id in names]
    _move(
        batch,
        state,
        by=by,
        detail={"unfinished": unfinished} if unfinished else {},
        finished_at=timezone.now(),
        error_code="CAPACITY" if unfinished else "",
        summary=summarise_batch(batch),
    )
    runs.check_after_batch()
    return True


def can_cancel(batch: Batch, *, user: User | None = None, actor: str = "") -> bool:
    """Return whether a person or a client may cancel the batch: its submitter, or operations.

    `user` and `actor` have to come from the session or token, never from the request itself.
    """
    if user is not None and user.is_active:
        own = batch.submitted_by_id is not None and batch.submitted_by_id == user.pk
        return own or user.has_perm("ingestion.cancel_batch")
    return bool(actor) and actor == batch.submitted_as


def cancel_batch(batch: Batch, *, by: Actor) -> None:
    """Request the cancellation of a batch, and cancel its waiting documents.

    When it returns, workers begin no more documents of the batch. The batch is CANCELLED at once if
    no shift has a chunk of it, and otherwise when the last shift returns its chunk. A second call
    changes nothing. Raises AlreadyFinal if the batch has ended.
    """
    with ledger():
        row = Batch.lock(batch.pk)
        if BatchState(row.state).is_final:
            raise AlreadyFinal(f"batch {row.reference} is {row.state} already")
        if row.cancel_requested_at is None:
            _change(
                row,
                cancel_requested_at=timezone.now(),
                # Another process may carry it out, and its entries name this actor.
                cancel_requested_by=actors.add_process(by.name),
                cancel_requested_role=by.role,
            )
            row.record_at_revision("batch.cancel_requested", by=by)
    _cancel_waiting_documents(batch.pk)
    batch.refresh_from_db()


def continue_cancellations() -> int:
    """Continue all cancellations, for example after a process died. Returns how many ended.

    Every host calls it in each tick.
    """
    cancelled = list(Batch.objects.being_cancelled().values_list("pk", flat=True))
    return sum(skip_if_moved(_cancel_waiting_documents, batch_id) for batch_id in cancelled)


def skip_if_moved(act: Callable[[int], int], batch_id: int) -> int:
    """Call `act`, and return 0 if another process moved a row of the batch meanwhile.

    It is for loops that are repeated: the next turn handles the batch.
    """
    try:
        return act(batch_id)
    except LeaseLost as error:
        logger.info("batch %d is handled in the next turn: %s", batch_id, error)
        return 0


def close_chunk(chunk: Chunk) -> bool:
    """Return whether a chunk is done, when its lease ends.

    If its batch is being cancelled, its unfinished documents are cancelled. Call it inside
    `ledger()`, with the row of the chunk locked.
    """
    if chunk.batch.is_being_cancelled:
        _cancel_documents(chunk)
        return True
    return not chunk.documents.unsettled().exists()


def hold_unfinished(batch_id: int, stuck: StuckSite | None = None) -> int:
    """Hold the waiting documents of a batch that made no progress until its deadline.

    With `stuck`, only those of this site are held, because the others move. A document whose portal
    failed last is held as PORTAL_UNAVAILABLE, another one as CAPACITY. Running chunks are left to
    their shift. Returns how many documents were held.
    """
    held = 0
    while chunks := _list_waiting_chunks(batch_id, stuck):
        with ledger():
            for chunk in _lock_waiting_chunks(chunks):
                documents = (
                    chunk.documents.unsettled()
                    .select_related("site__study", "packet", "batch")
                    .order_by("pk")
                )
                for document in list(documents):
                    code = "PORTAL_UNAVAILABLE" if document.failing_since else "CAPACITY"
                    finding = RuleFinding(code, facts={"tries": document.fetch_tries})
                    transitions.move_document(
                        document, DocumentState.HELD, findings=[finding], primary=finding
                    )
                    held += 1
                _end_chunk(chunk)
            end_if_settled(batch_id)
    return held


def prune_batch(batch: Batch, summary: dict[str, Any]) -> None:
    """Record that the chunks of a batch were removed, and store its summary.

    Call it inside `ledger()`.
    """
    _change(batch, pruned_at=timezone.now(), summary=summary)
    batch.record_at_revision("batch.pruned", by=Actor.software("prune", OPERATIONS))


def summarise_batch(batch: Batch) -> dict[str, Any]:
    """Return what the batch stores about its documents and chunks, which may be removed later."""
    codes = batch.documents.exclude(code="").order_by("code").values_list("code")
    work = batch.chunks.aggregate(chunks=Count("pk"), leases=Sum("attempts"))
    return {
        "documents": {str(state): n for state, n in sorted(batch.counts().items())},
        "codes": dict(codes.annotate(Count("pk"))),
        "chunks": work["chunks"],
        "leases": work["leases"] or 0,
    }


def _canceller(batch: Batch) -> Actor:
    return Actor(batch.cancel_requested_by, batch.cancel_requested_role)


def _cancel_waiting_documents(batch_id: int) -> bool:
    """Cancel the waiting documents of a batch. Returns whether the batch has ended with it."""
    while chunks := _list_waiting_chunks(batch_id):
        with ledger():
            for chunk in _lock_waiting_chunks(chunks):
                _cancel_documents(chunk)
                _end_chunk(chunk)
    with ledger():
        return end_if_settled(batch_id)


def _list_waiting_chunks(batch_id: int, stuck: StuckSite | None = None) -> list[int]:
    """Return the primary keys of so many waiting chunks as one transaction may change.

    With `stuck`, they are those of its site that were queued before it made its last progress.
    """
    chunks = Chunk.objects.waiting().filter(batch=batch_id).order_by("pk")
    if stuck:
        chunks = chunks.filter(site=stuck.site_key, created_at__lte=stuck.since)
    number = max(1, MAX_DOCUMENTS_PER_TRANSACTION // int(settings.CHUNK_SIZE))
    return list(chunks.values_list("pk", flat=True)[:number])


def _lock_waiting_chunks(chunks: list[int]) -> list[Chunk]:
    """Lock the chunks, and return those that no shift has leased meanwhile."""
    rows = Chunk.objects.waiting().filter(pk__in=chunks).order_by("pk")
    return list(rows.select_for_update(of=("self",), no_key=True).select_related("batch"))


def _cancel_documents(chunk: Chunk) -> None:
    """Cancel the unfinished documents of a chunk in the name of the person who cancelled."""
    rows = chunk.documents.unsettled().order_by("pk")
    rows = rows.select_related("site__study", "packet", "batch")
    if documents := list(rows.select_for_update(of=("self",), no_key=True)):
        transitions.move_documents(documents, DocumentState.CANCELLED, by=_canceller(chunk.batch))


def _end_chunk(chunk: Chunk) -> None:
    Chunk.objects.filter(pk=chunk.pk, state=ChunkState.WAITING).update(state=ChunkState.DONE)


def _move(
    batch: Batch,
    state: BatchState,
    *,
    by: Actor = WORKER_ACTOR,
    detail: Mapping[str, Any] | None = None,
    **columns: Any,
) -> None:
    """Change the state of a batch and record it. `columns` change together with the state."""
    old = BatchState(batch.state)
    check_move(old, state)
    _change(batch, state=state, **columns)
    counts = {str(name).lower(): n for name, n in batch.counts().items()}
    batch.record_at_revision(
        f"batch.{state.name.lower()}",
        by=by,
        from_state=old,
        to_state=state,
        code=batch.error_code,
        detail={**counts, **(detail or {})},
    )


def _change(batch: Batch, **columns: Any) -> None:
    """Change the row and take its next number. Raises LeaseLost if the row has moved meanwhile."""
    if not batch.change_if_current(columns):
        raise LeaseLost(f"{batch.subject} was moved by another process")
