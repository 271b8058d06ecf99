"""Postpones the chunks of a portal that is down, and holds documents that waited too long.

While a mirror of the portal responds, its documents are fetched there at once.
"""

from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import Min

from ingestion.core.states import DocumentState
from ingestion.documents import portal_sources, transitions
from ingestion.documents.portal_sources import make_mirror_address
from ingestion.models import Chunk, PortalLimitState
from ingestion.rules.findings import RuleFinding
from sites.models import Portal


def postpone_if_portal_down(chunk: Chunk, now: datetime) -> datetime:
    """Return when the portal of the chunk may be asked: now, or at its next probe if it is down.

    If it is down, a document that has waited for DOCUMENT_DEADLINE_SECONDS since its first failure
    is held as PORTAL_UNAVAILABLE, and the returned time is not later than the next such deadline.
    Only the chunk stores the returned time: when the portal answers again, the chunk is made due
    and all its documents are fetched at once.

    Call it inside `ledger()`, with the row of the chunk locked.
    """
    portal = Portal.objects.get(sites=chunk.site_id)
    next_attempt_at = portal_sources.find_next_attempt(portal, now)
    if next_attempt_at is None and portal_sources.choose_source(portal, now) != portal:
        next_attempt_at = _find_next_attempt_at_portal(chunk, portal)
    if next_attempt_at is None:
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
    return min(next_attempt_at, earliest + deadline) if earliest else now


def _find_next_attempt_at_portal(chunk: Chunk, portal: Portal) -> datetime | None:
    """Return when the portal itself is asked, or None if its mirror has a document of the chunk."""
    mirrors = portal_sources.list_sources(portal)[1:]
    urls = (
        chunk.documents.waiting().filter(spooled="").exclude(url="").values_list("url", flat=True)
    )
    if any(make_mirror_address(url, portal, mirror) for url in urls for mirror in mirrors):
        return None
    return PortalLimitState.objects.get(portal=portal).next_probe_at
