"""Measures the quality and timeliness of the documents of sites.

Each function takes the documents that count, restricted to those that the reader may see. A
document counts by its last decision, in the period in which that was made. Nothing is stored.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from django.db.models import Count, Exists, Min, OuterRef, Q, QuerySet

from ingestion.core.states import STATES_NEEDING_SITE, DocumentState
from ingestion.models import Document, Extraction
from ingestion.operations.event_times import DAY, TruncatedTime
from ingestion.rules.codes import CODES, FindingOwner
from sites.models import Site

FILED_STATES = (DocumentState.ARCHIVED,)
_MAX_DAYS_BY_STEP = {  # days from a document's date to its filing
    "Within 7 days": 7,
    "8 to 30 days": 30,
    "31 to 60 days": 60,
    "More than 60 days": None,
}
UNDATED = "No date could be read"
OWNERS_PERIOD = timedelta(days=7)  # of the statistics by owner that have no period of their own
_UNFILED_STATES = (*STATES_NEEDING_SITE, DocumentState.IN_REVIEW, DocumentState.HELD)
_OWNERS_BY_STATE = {  # of documents whose code is not registered
    DocumentState.IN_REVIEW: FindingOwner.QA,
    DocumentState.HELD: FindingOwner.OPERATIONS,
}
TIMELY_DAYS = 30  # days: a common requirement of sponsors for filing into a trial master file


@dataclass(frozen=True, slots=True)
class Timeliness:
    """Measures the days from the date of a document to its filing."""

    steps: Mapping[str, int]  # documents in each step, in the order of the steps
    dated: int  # documents with a date
    in_time: int  # of these
    median: int | None  # days; None without dated documents

    @property
    def percent(self) -> int | None:
        """Return the share of dated documents in time, in per cent, or None without any."""
        return compute_percentage(self.in_time, self.dated)


@dataclass(frozen=True, slots=True)
class FirstPass:
    """Counts the decided documents of first submissions, and those of them that were filed."""

    decided: int
    filed: int

    @property
    def percent(self) -> int | None:
        """Return the share of decided documents that were filed, in per cent, or None."""
        return compute_percentage(self.filed, self.decided)


@dataclass(frozen=True, slots=True)
class SiteRejections:
    """Counts the decided documents of a site, and those of them that were rejected."""

    site_id: str
    name: str
    rejected: int
    decided: int

    @property
    def percent(self) -> int | None:
        """Return the share of rejected documents in per cent, or None without decisions."""
        return compute_percentage(self.rejected, self.decided)


def compute_percentage(part: int, whole: int) -> int | None:
    """Return whole percent, or None if `whole` is 0. 100 means all, and is never rounded up to."""
    if not whole:
        return None
    return 100 if part == whole else min(99, round(100 * part / whole))


def measure_timeliness(documents: "QuerySet[Document]", since: datetime) -> Timeliness:
    """Measure the time from the date on a document, as last read, to its filing since then."""
    later = Extraction.objects.filter(
        document=OuterRef("document"), attempt__gt=OuterRef("attempt")
    )
    filed = documents.filter(state__in=FILED_STATES, settled_at__gte=since).order_by()
    read = Extraction.objects.filter(document__in=filed).exclude(Exists(later)).order_by()
    grouped = read.values_list("dated", TruncatedTime("document__settled_at", length=DAY))
    undated, days_and_counts = 0, []
    for dated, day, number in grouped.annotate(Count("pk")):
        if dated is None:
            undated += number
        else:
            days = max(0, (date.fromisoformat(day) - dated).days)
            days_and_counts.append((days, number))
    steps, in_time, passed = dict.fromkeys(_MAX_DAYS_BY_STEP, 0), 0, 0
    total, median = sum(number for _, number in days_and_counts), None
    for days, number in sorted(days_and_counts):
        name = next(
            name for name, limit in _MAX_DAYS_BY_STEP.items() if limit is None or days <= limit
        )
        steps[name] += number
        in_time += number if days <= TIMELY_DAYS else 0
        passed += number
        if median is None and 2 * passed >= total:
            median = days
    return Timeliness(steps | {UNDATED: undated}, total, in_time, median)


def measure_first_pass(documents: "QuerySet[Document]", since: datetime) -> FirstPass:
    """Measure the first submissions that were decided since then."""
    firsts = documents.order_by().values("site", "doc_id").annotate(first=Min("pk"))
    decided = Document.objects.filter(
        pk__in=firsts.values("first"),
        settled_at__gte=since,
        state__in=(*FILED_STATES, *STATES_NEEDING_SITE),
    ).order_by()
    counts = decided.aggregate(all=Count("pk"), filed=Count("pk", filter=Q(state__in=FILED_STATES)))
    return FirstPass(counts["all"], counts["filed"])


def count_rejections_by_code(documents: "QuerySet[Document]", since: datetime) -> dict[str, int]:
    """Return the number of rejected documents by code, the most frequent first."""
    rejected = documents.filter(state__in=STATES_NEEDING_SITE, settled_at__gte=since)
    counted = rejected.order_by().values_list("code").annotate(n=Count("pk"))
    return dict(counted.order_by("-n", "code"))


def count_unfiled_by_owner(
    documents: "QuerySet[Document]", since: datetime
) -> dict[FindingOwner, int]:
    """Return the number of documents that were not filed, by the owner of their code.

    These are documents that were rejected, returned, held or put in review since then, by their
    last decision. A document that QA returned waits for its site, whatever was found before.
    """
    unfiled = documents.filter(state__in=_UNFILED_STATES, settled_at__gte=since).order_by()
    counts = dict.fromkeys(FindingOwner, 0)
    for state, code, number in unfiled.values_list("state", "code").annotate(Count("pk")):
        owner = _OWNERS_BY_STATE.get(DocumentState(state), FindingOwner.SITE)
        if code in CODES and state != DocumentState.RETURNED:
            owner = CODES[code].owner
        counts[owner] += number
    return counts


def count_rejections_by_site(
    documents: "QuerySet[Document]", since: datetime, max_sites: int
) -> list[SiteRejections]:
    """Return the sites with rejections, those with the most first, at most `max_sites`."""
    decided = documents.filter(
        state__in=(*FILED_STATES, *STATES_NEEDING_SITE), settled_at__gte=since
    ).order_by()
    rejected = Count("pk", filter=Q(state__in=STATES_NEEDING_SITE))
    counted = decided.values_list("site").annotate(n=rejected, all=Count("pk"))
    rows = list(counted.filter(n__gt=0).order_by("-n", "site")[:max_sites])
    sites = Site.objects.in_bulk([key for key, _, _ in rows])
    return [SiteRejections(sites[key].site_id, sites[key].name, n, of) for key, n, of in rows]
