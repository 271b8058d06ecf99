"""Finds work that does not continue without action by a person.

These are held documents, documents past their retry deadline, expired leases, unclaimed chunks and
sites without progress.
`retrying` and `dispatch.recovery` act on them.
"""

from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import Count, Q, QuerySet

from ingestion.dispatch.clock import read_database_time
from ingestion.documents.stuck_sites import find_stuck_sites
from ingestion.models import Chunk, Document


def find_held() -> "QuerySet[Document]":
    """Return the held documents, the longest wait first."""
    rows = Document.objects.held().select_related("site", "packet")
    return rows.order_by("settled_at", "pk")


def find_past_deadline(now: datetime) -> "QuerySet[Document]":
    """Return documents whose download has failed for longer than DOCUMENT_DEADLINE_SECONDS."""
    deadline = timedelta(seconds=settings.INGEST_LIMITS.retry.deadline_seconds)
    overdue = Document.objects.unsettled().filter(failing_since__lt=now - deadline)
    return overdue.select_related("site", "packet").order_by("failing_since", "pk")


def find_expired_leases() -> "QuerySet[Chunk]":
    """Return chunks whose lease has expired without a heartbeat of its worker."""
    unsettled = Count("documents", filter=Q(documents__settled_at=None))
    chunks = Chunk.objects.orphaned(read_database_time()).annotate(unsettled=unsettled)
    return chunks.select_related("site", "batch").order_by("lease_expires_at")


def count_unclaimed_chunks(now: datetime) -> int:
    """Count the chunks that no worker claimed within READY_QUEUE_SECONDS after they became due."""
    since = now - timedelta(seconds=settings.READY_QUEUE_SECONDS)
    return Chunk.objects.due(since).order_by().count()


def count_stuck(now: datetime) -> int:
    """Count all stuck items. Five queries, and five more if a site is stuck."""
    orphaned = Chunk.objects.orphaned(read_database_time()).count()
    return (
        find_held().count()
        + find_past_deadline(now).count()
        + orphaned
        + count_unclaimed_chunks(now)
        + len(find_stuck_sites(now))
    )
