"""Postpones the chunks of a portal that is down, and holds documents that waited too long."""

from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import Min

from ingestion.core.states import DocumentState
from ingestion.documents import transitions
from ingestion.models import Chunk, PortalLimitState
from ingestion.rules.findings import RuleFinding


def postpone_if_portal_down(chunk: Chunk, now: datetime) -> datetime:
    """Return when the portal of the chunk may be asked: now, or at its next probe if it is down.

    If it is down, a document that has waited for DOCUMENT_DEADLINE_SECONDS since its first failure
    is held as PORTAL_UNAVAILABLE, and the returned time is not later than the next such deadline.
    Only the chunk stores the returned time: when the portal answers again, the chunk is made due
    and all its documents are fetched at once.

    Call it inside `ledger()`, with the row of the chunk locked.
    """
    portal_limit = PortalLimitState.objects.down().filter(portal__sites=chunk.site_id).first()
    if portal_limit is None:
        return now
    deadline = timedelta(seconds=settings.INGEST_LIMITS.retry.deadline_seconds)
    waiting = chunk.documents.waiting().filter(spooled="")
    waiting.filter(failing_since=None).update(failing_since=now)
    overdue = waiting.filter(failing_since__lte=now - deadline)
    for document in overdue.select_related("site__study", "packet", "batch"):
        unavailable = RuleFinding("PORTAL_UNAVAILABLE", facts={"tries": document.fetch_tries})
        transitions.move_document(
            document, DocumentState.HELD, findings=[unavailable], primary=unavailable
        )
    earliest = waiting.aggregate(Min("failing_since"))["failing_since__min"]
    return min(portal_limit.next_probe_at, earliest + deadline) if earliest else now
