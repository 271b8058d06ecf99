"""Records failed requests, and holds the documents of a portal that stays unavailable.

The entry and the columns that decide when the document is tried again are written in one
transaction.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import Min

from audit.ledger.log import ledger
from ingestion.core.errors import LeaseLost
from ingestion.core.states import DocumentState
from ingestion.dispatch import worker_steps
from ingestion.documents import transitions
from ingestion.models import Chunk, Document
from ingestion.rules.findings import Finding as Seen


def fetch_failed(  # noqa: PLR0913 - what is on record of a failed request
    document_id: int,
    lease: UUID,
    code: str,
    facts: Mapping[str, str | int],
    *,
    tries: int,
    counted_tries: int,
    now: datetime,
    wait: float,
    later: bool,
) -> None:
    """Record a failed request and for how many seconds the document waits. It stays RECEIVED.

    `later`: it leaves its worker's hands in good order, so its attempt is not charged.
    """
    with ledger():
        document = worker_steps.ours(document_id, lease)
        if document.state != DocumentState.RECEIVED:
            raise LeaseLost(f"{document.subject} was moved by somebody else")
        document.transitions += 1
        Document.objects.filter(pk=document_id).update(
            transitions=document.transitions,
            fetch_tries=tries,
            counted_tries=counted_tries,
            failing_since=document.failing_since or now,
            next_attempt_at=now + timedelta(seconds=wait),
            attempts=max(0, document.attempts - 1) if later else document.attempts,
        )
        detail = {**facts, "tries": tries, "wait_ms": round(wait * 1000)}
        transitions.enter(document, "document.fetch_failed", code=code, detail=detail)


def postpone(chunk: Chunk, now: datetime, *, until: datetime, patience: float) -> datetime:
    """The portal of the chunk's documents is down. Inside ledger(), with the chunk's row locked.

    Whoever has waited for `patience` seconds since its first failure is held. Answers when the
    others should be looked at again: at `until`, or sooner, at the first deadline. The rows of the
    documents do not say so: when the portal is back sooner, they are due at once.
    """
    waiting = chunk.documents.waiting().filter(spooled="")
    waiting.filter(failing_since=None).update(failing_since=now)
    overdue = waiting.filter(failing_since__lte=now - timedelta(seconds=patience))
    for document in overdue.select_related("site"):
        silent = Seen("PORTAL_UNAVAILABLE", facts={"tries": document.fetch_tries})
        transitions.move(document, DocumentState.HELD, findings=[silent], primary=silent)
    longest = waiting.aggregate(Min("failing_since"))["failing_since__min"]
    return min(until, longest + timedelta(seconds=patience)) if longest else now
