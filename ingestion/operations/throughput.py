"""What went through in the last hours, and what waited: for the dashboard, counted from the rows.

Nothing is sampled. How many waited a while ago follows from how many wait now, what came in since,
and what was settled since.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.db.models import Count, Q

from ingestion.core.states import STATES_NEEDING_SITE, DocumentState
from ingestion.models import Document
from ingestion.operations.event_times import HOUR, MINUTE, TruncatedTime

HOURS, MINUTES = 24, 60
FILED_STATES = (DocumentState.ARCHIVED, DocumentState.DEDUPED)
_EVERY = list(DocumentState)
# Not grouped by state: SQLite would go through all documents in that order.
_OUTCOMES = {
    "filed": Count("pk", filter=Q(state__in=FILED_STATES)),
    "rejected": Count("pk", filter=Q(state__in=STATES_NEEDING_SITE)),
}


@dataclass(frozen=True, slots=True)
class HourlyThroughput:
    began: datetime
    filed: int
    rejected: int


def count_by_hour(now: datetime) -> list[HourlyThroughput]:
    """The last 24 hours, the one that runs included."""
    last = now.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
    hours = [last - timedelta(hours=back) for back in reversed(range(HOURS))]
    settled = Document.objects.filter(settled_at__gte=hours[0]).order_by()
    rows = settled.values_list(TruncatedTime("settled_at", length=HOUR)).annotate(**_OUTCOMES)
    counts = {hour: (filed, rejected) for hour, filed, rejected in rows}
    return [HourlyThroughput(at, *counts.get(f"{at:%Y-%m-%d %H}", (0, 0))) for at in hours]


def count_today(now: datetime) -> tuple[int, int]:
    """Filed and rejected since midnight, UTC."""
    midnight = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    counts = Document.objects.filter(settled_at__gte=midnight).aggregate(**_OUTCOMES)
    return counts["filed"], counts["rejected"]


def compute_queue_depth(now: datetime, waiting: int) -> list[tuple[datetime, int]]:
    """How many documents were unsettled at the end of each of the last 60 minutes.

    A held document that was put back counts from when it first came: close enough for a picture.
    """
    last = now.astimezone(UTC).replace(second=0, microsecond=0)
    since = last - timedelta(minutes=MINUTES - 1)
    # By every state: the index has the moments of each in order.
    came = _by_minute("received_at", state__in=_EVERY, received_at__gte=since)
    went = _by_minute("settled_at", settled_at__gte=since)
    return list(reversed(list(_backwards(last, waiting, came, went))))


def _backwards(
    last: datetime, waiting: int, came: dict[str, int], went: dict[str, int]
) -> Iterator[tuple[datetime, int]]:
    for back in range(MINUTES):
        at = last - timedelta(minutes=back)
        yield at, max(0, waiting)
        minute = f"{at:%Y-%m-%d %H:%M}"
        waiting += went.get(minute, 0) - came.get(minute, 0)


def _by_minute(moment: str, **which: object) -> dict[str, int]:
    rows = Document.objects.filter(**which).order_by()
    return dict(rows.values_list(TruncatedTime(moment, length=MINUTE)).annotate(Count("pk")))
