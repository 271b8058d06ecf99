"""What does not go on by itself: held documents, ones past their deadline, leases nobody renews.

Looks, and names what a person may do about each; that is done by `retrying` and
`dispatch.recovery`, on record.
"""

from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import Count, Q, QuerySet

from ingestion.dispatch.clock import database_now
from ingestion.models import Chunk, Document


def held() -> "QuerySet[Document]":
    """The longest wait first."""
    rows = Document.objects.held().select_related("site", "packet")
    return rows.order_by("settled_at", "pk")


def overdue(now: datetime) -> "QuerySet[Document]":
    """Asked for in vain for longer than DOCUMENT_DEADLINE_SECONDS, and nobody came to hold them."""
    deadline = timedelta(seconds=settings.INGEST_LIMITS.deadline_seconds)
    late = Document.objects.unsettled().filter(failing_since__lt=now - deadline)
    return late.select_related("site", "packet").order_by("failing_since", "pk")


def silent() -> "QuerySet[Chunk]":
    """Leased by workers that gave no sign before their lease ran out."""
    unsettled = Count("documents", filter=Q(documents__settled_at=None))
    chunks = Chunk.objects.orphaned(database_now()).annotate(unsettled=unsettled)
    return chunks.select_related("site", "batch").order_by("lease_expires_at")


def left_lying(now: datetime) -> int:
    """Chunks that are due for longer than READY_QUEUE_SECONDS, and no worker takes them."""
    since = now - timedelta(seconds=settings.READY_QUEUE_SECONDS)
    return Chunk.objects.due(since).order_by().count()


def count(now: datetime) -> int:
    """Everything of it. Four queries."""
    orphaned = Chunk.objects.orphaned(database_now()).count()
    return held().count() + overdue(now).count() + orphaned + left_lying(now)
