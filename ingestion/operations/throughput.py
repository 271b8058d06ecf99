"""Counts documents that were settled or waited in the last hours, for the dashboard.

No samples are stored. The queue depth of an earlier minute follows from the current depth and from
the documents that arrived and were settled since.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.db.models import Count, Q

from ingestion.core.states import STATES_NEEDING_SITE, DocumentState
from ingestion.models import Document
from ingestion.operations.event_times import HOUR, MINUTE, TruncatedTime

HOURS, MINUTES = 24, 60
FILED_STATES = (DocumentState.ARCHIVED, DocumentState.DEDUPED)
_ALL_STATES = list(DocumentState)
# These are conditional counts, because SQLite would scan all documents to group them by state.
_OUTCOMES = {
    "filed": Count("pk", filter=Q(state__in=FILED_STATES)),
    "rejected": Count("pk", filter=Q(state__in=STATES_NEEDING_SITE)),
}


@dataclass(frozen=True, slots=True)
class HourlyThroughput:
    """The documents that were filed and rejected in one hour."""

    began: datetime
    filed: int
    rejected: int


def count_by_hour(now: datetime) -> list[HourlyThroughput]:
    """Return the figures of the last 24 hours, with the current one, the oldest first."""
    last = now.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
    hours = [last - timedelta(hours=back) for back in reversed(range(HOURS))]
    settled = Document.objects.filter(settled_at__gte=hours[0]).order_by()
    rows = settled.values_list(TruncatedTime("settled_at", length=HOUR)).annotate(**_OUTCOMES)
    counts = {hour: (filed, rejected) for hour, filed, rejected in rows}
    return [HourlyThroughput(at, *counts.get(f"{at:%Y-%m-%d %H}", (0, 0))) for at in hours]


def count_today(now: datetime) -> tuple[int, int]:
    """Return how many documents were filed and rejected since midnight, UTC."""
    midnight = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    counts = Document.objects.filter(settled_at__gte=midnight).aggregate(**_OUTCOMES)
    return counts["filed"], counts["rejected"]


def compute_queue_depth(now: datetime, waiting: int) -> list[tuple[datetime, int]]:
    """Return the number of unsettled documents at the end of each of the last 60 minutes.

    `waiting` is the current number. A held document that was retried counts from its arrival, which
    is precise enough for a chart.
    """
    last = now.astimezone(UTC).replace(second=0, microsecond=0)
    since = last - timedelta(minutes=MINUTES - 1)
    # The states are listed because the index has the times of each state in order.
    received = _count_by_minute("received_at", state__in=_ALL_STATES, received_at__gte=since)
    settled = _count_by_minute("settled_at", settled_at__gte=since)
    depths = []
    for minutes_ago in range(MINUTES):
        at = last - timedelta(minutes=minutes_ago)
        depths.append((at, max(0, waiting)))
        minute = f"{at:%Y-%m-%d %H:%M}"
        waiting += settled.get(minute, 0) - received.get(minute, 0)
    return depths[::-1]


def _count_by_minute(column: str, **lookups: object) -> dict[str, int]:
    rows = Document.objects.filter(**lookups).order_by()
    return dict(rows.values_list(TruncatedTime(column, length=MINUTE)).annotate(Count("pk")))
