"""How good and how quick the documents of sites are: counted from the rows when it is asked.

Each function takes the documents that count, already narrowed to what somebody may see. A document
counts by its last decision, in the period in which that was made.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime

from django.db.models import Count, Exists, Min, OuterRef, Q, QuerySet

from ingestion.core.states import STATES_NEEDING_SITE, DocumentState
from ingestion.models import Document, Extraction
from ingestion.operations.event_times import DAY, TruncatedTime
from sites.models import Site

FILED_STATES = (DocumentState.ARCHIVED,)
_STEPS = {  # days from a document's date to its filing, at most
    "Within 7 days": 7,
    "8 to 30 days": 30,
    "31 to 60 days": 60,
    "More than 60 days": None,
}
UNDATED = "No date could be read"
TIMELY_DAYS = 30  # days: what sponsors commonly lay down for filing into a trial master file


@dataclass(frozen=True, slots=True)
class Timeliness:
    steps: Mapping[str, int]  # documents by how long it took
    dated: int
    in_time: int  # of these
    median: int | None  # days; None without any

    @property
    def percent(self) -> int | None:
        return compute_percentage(self.in_time, self.dated)


@dataclass(frozen=True, slots=True)
class FirstPass:
    """Of documents that were sent for the first time: decided on, and filed at once."""

    decided: int
    filed: int

    @property
    def percent(self) -> int | None:
        return compute_percentage(self.filed, self.decided)


@dataclass(frozen=True, slots=True)
class SiteRejections:
    site_id: str
    name: str
    rejected: int
    decided: int

    @property
    def percent(self) -> int | None:
        return compute_percentage(self.rejected, self.decided)


def compute_percentage(part: int, whole: int) -> int | None:
    """In whole percent; None of nothing. 100 is said of all alone."""
    if not whole:
        return None
    return 100 if part == whole else min(99, round(100 * part / whole))


def measure_timeliness(documents: "QuerySet[Document]", since: datetime) -> Timeliness:
    """From the date on a document, as its last reading has it, to its filing."""
    later = Extraction.objects.filter(
        document=OuterRef("document"), attempt__gt=OuterRef("attempt")
    )
    filed = documents.filter(state__in=FILED_STATES, settled_at__gte=since).order_by()
    read = Extraction.objects.filter(document__in=filed).exclude(Exists(later)).order_by()
    grouped = read.values_list("dated", TruncatedTime("document__settled_at", length=DAY))
    undated, taken = 0, []
    for dated, day, number in grouped.annotate(Count("pk")):
        if dated is None:
            undated += number
        else:
            taken.append((max(0, (date.fromisoformat(day) - dated).days), number))
    return _timeliness(sorted(taken), undated)


def _timeliness(taken: list[tuple[int, int]], undated: int) -> Timeliness:
    """`taken`: days, and of how many documents, in order."""
    steps = dict.fromkeys(_STEPS, 0)
    for days, number in taken:
        name = next(name for name, most in _STEPS.items() if most is None or days <= most)
        steps[name] += number
    dated = sum(number for _, number in taken)
    in_time = sum(number for days, number in taken if days <= TIMELY_DAYS)
    return Timeliness(steps | {UNDATED: undated}, dated, in_time, _median(taken, dated))


def _median(taken: list[tuple[int, int]], total: int) -> int | None:
    passed = 0
    for days, number in taken:
        passed += number
        if 2 * passed >= total:
            return days
    return None


def measure_first_pass(documents: "QuerySet[Document]", since: datetime) -> FirstPass:
    firsts = documents.order_by().values("site", "doc_id").annotate(first=Min("pk"))
    decided = Document.objects.filter(
        pk__in=firsts.values("first"),
        settled_at__gte=since,
        state__in=(*FILED_STATES, *STATES_NEEDING_SITE),
    ).order_by()
    counts = decided.aggregate(all=Count("pk"), filed=Count("pk", filter=Q(state__in=FILED_STATES)))
    return FirstPass(counts["all"], counts["filed"])


def count_rejections_by_code(documents: "QuerySet[Document]", since: datetime) -> dict[str, int]:
    """The most frequent first."""
    rejected = documents.filter(state__in=STATES_NEEDING_SITE, settled_at__gte=since)
    counted = rejected.order_by().values_list("code").annotate(n=Count("pk"))
    return dict(counted.order_by("-n", "code"))


def count_rejections_by_site(
    documents: "QuerySet[Document]", since: datetime, most: int
) -> list[SiteRejections]:
    """At most so many: those with the most rejections first, without those that have none."""
    decided = documents.filter(
        state__in=(*FILED_STATES, *STATES_NEEDING_SITE), settled_at__gte=since
    ).order_by()
    rejected = Count("pk", filter=Q(state__in=STATES_NEEDING_SITE))
    counted = decided.values_list("site").annotate(n=rejected, all=Count("pk"))
    rows = list(counted.filter(n__gt=0).order_by("-n", "site")[:most])
    sites = Site.objects.in_bulk([key for key, _, _ in rows])
    return [SiteRejections(sites[key].site_id, sites[key].name, n, of) for key, n, of in rows]
