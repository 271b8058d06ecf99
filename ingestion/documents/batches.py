"""The moves of a batch: its state and its ledger entry, in one transaction.

The only place that changes a batch's state. Each move is an UPDATE that is fenced by the state and
number of the last entry that were seen, so that whoever comes late changes nothing: a worker that
ends a batch that somebody cancelled cannot make it COMPLETED.

    SUBMITTED ─ QUEUED ─ IN_PROGRESS ─ COMPLETED   all its documents are settled
                  │           └─────── CANCELLED   all are, and somebody asked for it
                  └─────────────────── FAILED      no shift took anything up for the whole time

Cancelling is asked for by one column, and carried out by whoever has the documents: those that
wait are cancelled at once, in bounded transactions; a running shift hears of it within a second,
starts nothing more, and cancels what it has not begun when it gives the chunk back (`close_chunk`).
What dies in between is found by the dispatcher's next tick (`carry_out_cancelling`).
"""

import logging
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db.models import Count, QuerySet, Sum
from django.utils import timezone

from audit.ledger import actors
from audit.ledger.actors import OPERATIONS, Actor
from audit.ledger.log import ledger
from audit.verification import runs
from ingestion.core import completion
from ingestion.core.errors import LeaseLost
from ingestion.core.states import BatchState, ChunkState, DocumentState, check_move
from ingestion.documents import transitions
from ingestion.documents.transitions import WORKER_ACTOR
from ingestion.models import Batch, Chunk
from ingestion.rules.findings import RuleFinding
from sites.models import User

logger = logging.getLogger(__name__)

AT_ONCE = 500  # documents that one transaction moves
NAMED = 100  # unfinished documents that an entry names; the result manifest names all


class AlreadyFinal(Exception):
    """The batch has ended: there is nothing to cancel."""


def queue_batch(batch: Batch, by: Actor, *, documents: int) -> None:
    """SUBMITTED, then QUEUED: both are on record. Inside ledger(), with its rows in place."""
    detail = {"source": str(batch.source), "documents": documents, "priority": batch.priority}
    batch.record_at_revision("batch.submitted", by=by, to_state=BatchState.SUBMITTED, detail=detail)
    first_look = timezone.now() + timedelta(seconds=completion.poll_delay_seconds(documents))
    _move(batch, BatchState.QUEUED, by=by, next_poll_at=first_look)


def begin_batch(batch_id: int) -> None:
    """A shift has taken up its first chunk. Inside ledger()."""
    # Nearly always it was begun long ago, and the row need not be locked to know that.
    if Batch.objects.filter(pk=batch_id, state=BatchState.QUEUED).exists():
        batch = Batch.lock(batch_id)
        if batch.state == BatchState.QUEUED:
            _move(batch, BatchState.IN_PROGRESS, started_at=timezone.now())


def end_if_settled(batch_id: int) -> bool:
    """To its end, when its last document is settled. Inside ledger(). Answers whether it did.

    The batch's row is locked before the count, so that of two last chunks one sees the other.
    """
    batch = Batch.lock(batch_id)
    if BatchState(batch.state).is_final or batch.documents.unsettled().exists():
        return False
    state, by = _ending(batch)
    left = _out_of_room(batch)
    _move(
        batch,
        state,
        by=by,
        detail={"unfinished": left} if left else {},
        finished_at=timezone.now(),
        next_poll_at=None,
        error_code="CAPACITY" if left else "",
        summary=summarise_batch(batch),
    )
    runs.check_after_batch()
    return True


def _ending(batch: Batch) -> tuple[BatchState, Actor]:
    if batch.cancel_requested_at:
        return BatchState.CANCELLED, _canceller(batch)
    if batch.state == BatchState.QUEUED:
        return BatchState.FAILED, WORKER_ACTOR
    return BatchState.COMPLETED, WORKER_ACTOR


def can_cancel(batch: Batch, *, user: User | None = None, actor: str = "") -> bool:
    """Whoever submitted it, or operations.

    Who asks is what the server knows of the session or token, never what the request says.
    """
    if user is not None and user.is_active:
        own = batch.submitted_by_id is not None and batch.submitted_by_id == user.pk
        return own or user.has_perm("ingestion.cancel_batch")
    return bool(actor) and actor == batch.submitted_as


def cancel_batch(batch: Batch, *, by: Actor) -> None:
    """Ask for it, and cancel what waits. Raises AlreadyFinal. A second time it changes nothing.

    When this returns, no worker takes up anything of the batch any more. It is CANCELLED at once
    if no shift has a chunk of it, else as soon as the last shift has given its chunk back.
    """
    with ledger():
        locked = Batch.lock(batch.pk)
        if BatchState(locked.state).is_final:
            raise AlreadyFinal(f"batch {locked.reference} is {locked.state} already")
        if locked.cancel_requested_at is None:
            _ask_to_cancel(locked, by)
    _carry_out(batch.pk)
    batch.refresh_from_db()


def continue_cancellations() -> int:
    """Go on where a cancelling process died, or a chunk came back late. For the tick."""
    being = list(Batch.objects.being_cancelled().values_list("pk", flat=True))
    return sum(unless_moved(_carry_out, batch_id) for batch_id in being)


def unless_moved(act: Callable[[int], int], batch_id: int) -> int:
    """For loops that come round again: what was moved under our hands waits for the next time."""
    try:
        return act(batch_id)
    except LeaseLost as error:
        logger.info("batch %d is looked at again: %s", batch_id, error)
        return 0


def close_chunk(chunk: Chunk) -> bool:
    """Inside ledger(), with the chunk's row locked. False: it has documents that still wait.

    What is left of a batch that is being cancelled is cancelled here.
    """
    if chunk.batch.is_being_cancelled:
        _cancel_documents(chunk, _canceller(chunk.batch))
        return True
    return not chunk.documents.unsettled().exists()


def hold_unfinished(batch_id: int) -> int:
    """Nothing has moved for the whole time: hold what waits, with its reason (decision 5).

    Chunks that a shift has in hand are left to it. Answers how many documents are held.
    """
    held = 0
    while chunks := list(_waiting(batch_id)[: _chunks_at_once()]):
        with ledger():
            for chunk in _still_waiting(chunks):
                held += _hold_documents(chunk)
                _done(chunk)
            end_if_settled(batch_id)
    return held


def look_again(batch_ids: set[int]) -> None:
    """Documents of these were put back into the queue: their time starts afresh."""
    at = timezone.now() + timedelta(seconds=completion.poll_delay_seconds(0))
    Batch.objects.filter(pk__in=batch_ids).update(
        next_poll_at=at, polled_count=None, poll_retries=0
    )


def prune_batch(batch: Batch, told: dict[str, Any]) -> None:
    """Its chunks are gone; what they told stays as its summary. Inside ledger()."""
    _change(batch, pruned_at=timezone.now(), summary=told)
    batch.record_at_revision("batch.pruned", by=Actor.software("prune", OPERATIONS))


def summarise_batch(batch: Batch) -> dict[str, Any]:
    """What stays on the batch when its chunks are gone."""
    codes = batch.documents.exclude(code="").order_by("code").values_list("code")
    work = batch.chunks.aggregate(chunks=Count("pk"), leases=Sum("attempts"))
    return {
        "documents": {str(state): n for state, n in sorted(batch.counts().items())},
        "codes": dict(codes.annotate(Count("pk"))),
        "chunks": work["chunks"],
        "leases": work["leases"] or 0,
    }


def _ask_to_cancel(batch: Batch, by: Actor) -> None:
    _change(
        batch,
        cancel_requested_at=timezone.now(),
        # Carried out by whichever process has the documents: who asked stays who asked.
        cancel_requested_by=actors.add_process(by.name),
        cancel_requested_role=by.role,
    )
    batch.record_at_revision("batch.cancel_requested", by=by)


def _canceller(batch: Batch) -> Actor:
    return Actor(batch.cancel_requested_by, batch.cancel_requested_role)


def _carry_out(batch_id: int) -> bool:
    """Cancel what waits, and end the batch if that was all. Answers whether it has ended."""
    while chunks := list(_waiting(batch_id)[: _chunks_at_once()]):
        with ledger():
            for chunk in _still_waiting(chunks):
                _cancel_documents(chunk, _canceller(chunk.batch))
                _done(chunk)
    with ledger():
        return end_if_settled(batch_id)


def _waiting(batch_id: int) -> "QuerySet[Chunk, int]":
    chunks = Chunk.objects.waiting().filter(batch=batch_id).order_by("pk")
    return chunks.values_list("pk", flat=True)


def _chunks_at_once() -> int:
    return max(1, AT_ONCE // int(settings.CHUNK_SIZE))


def _still_waiting(chunks: list[int]) -> list[Chunk]:
    """Locked, without those that a shift has taken meanwhile."""
    rows = Chunk.objects.waiting().filter(pk__in=chunks).order_by("pk")
    return list(rows.select_for_update(of=("self",), no_key=True).select_related("batch"))


def _cancel_documents(chunk: Chunk, by: Actor) -> None:
    rows = chunk.documents.unsettled().order_by("pk").select_related("site")
    if documents := list(rows.select_for_update(of=("self",), no_key=True)):
        transitions.move_documents(documents, DocumentState.CANCELLED, by=by)


def _hold_documents(chunk: Chunk) -> int:
    """CAPACITY where we never came to it; where its portal failed it last, that is the reason."""
    documents = list(chunk.documents.unsettled().select_related("site").order_by("pk"))
    for document in documents:
        code = "PORTAL_UNAVAILABLE" if document.failing_since else "CAPACITY"
        seen = RuleFinding(code, facts={"tries": document.fetch_tries})
        transitions.move_document(document, DocumentState.HELD, findings=[seen], primary=seen)
    return len(documents)


def _done(chunk: Chunk) -> None:
    Chunk.objects.filter(pk=chunk.pk, state=ChunkState.WAITING).update(state=ChunkState.DONE)


def _out_of_room(batch: Batch) -> list[str]:
    """Whom we never came to, by name."""
    held = batch.documents.held().filter(code="CAPACITY").order_by("pk")
    names = held.values_list("site__site_id", "doc_id")[:NAMED]
    return [f"{site}/{doc_id}" for site, doc_id in names]


def _move(
    batch: Batch,
    state: BatchState,
    *,
    by: Actor = WORKER_ACTOR,
    detail: Mapping[str, Any] | None = None,
    **columns: Any,
) -> None:
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
