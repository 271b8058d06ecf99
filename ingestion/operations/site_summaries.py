"""How far sites were a moment ago, kept for the order and the filters of long lists.

Counting fifty sites takes a page's time, counting thousands to sort them does not: so a worker
counts again what has changed, every few minutes. What changed, the ledger tells: nothing of a site
changes without an entry that names the site. The other reasons are the day, and what is laid down
for studies and sites (docs/adr/0025).
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, timedelta
from typing import TypeVar

from django.conf import settings
from django.db.models import Case, Count, F, FloatField, Max, Min, Q, QuerySet, Sum, When
from django.db.models.functions import Cast
from django.utils import timezone

from audit.ledger import queries
from ingestion.documents.site_readiness import SiteReadiness, get_readiness_by_site
from ingestion.models import (
    RequiredDocument,
    SiteRequirement,
    SiteSummary,
    ValidityOverride,
    Waiver,
)
from ingestion.rules.document_types import RULES_VERSION
from sites.models import Site, Study

Row = TypeVar("Row")
SITES_PER_BATCH = 50  # sites that are counted together: memory does not grow with their number
_LAID_DOWN = (RequiredDocument, SiteRequirement, ValidityOverride, Waiver, Study, Site)


def refresh_summaries(*, today: date | None = None) -> int:
    """Count again what may have changed since the last time. Answers how many sites.

    Whatever is entered while it runs is counted the next time: `seq` is read first.
    """
    today = today or timezone.now().date()
    seq, _head = queries.last_entry() or (0, "")
    stamp = _stamp(today)
    stale = list(_stale(stamp).order_by("pk").values_list("pk", flat=True))
    for keys in split_into_batches(stale, SITES_PER_BATCH):
        page = list(Site.objects.filter(pk__in=keys).select_related("study"))
        _keep(get_readiness_by_site(page, today=today).values(), stamp, seq, today)
    SiteSummary.objects.filter(stamp=stamp, seq__lt=seq).update(seq=seq)
    return len(stale)


def _stamp(today: date) -> str:
    """Differs when a row of these was added, removed or changed: each change raises a revision."""
    parts = [f"{today} {settings.SOFTWARE_VERSION} {RULES_VERSION}"]
    for model in _LAID_DOWN:
        seen = model._default_manager.aggregate(n=Count("pk"), last=Max("pk"), sum=Sum("revision"))
        parts.append(f"{seen['n']}.{seen['last'] or 0}.{seen['sum'] or 0}")
    return hashlib.sha256(" ".join(parts).encode()).hexdigest()


def _stale(stamp: str) -> "QuerySet[Site]":
    own = SiteSummary.objects.filter(stamp=stamp)
    since: int | None = own.aggregate(Min("seq"))["seq__min"]
    changed = set() if since is None else queries.sites_after(since)
    return Site.objects.exclude(Q(pk__in=own.values("pk")) & ~Q(site_id__in=changed))


def _keep(stands: Iterable[SiteReadiness], stamp: str, seq: int, today: date) -> None:
    rows = [
        SiteSummary(
            site=stand.site,
            stamp=stamp,
            seq=seq,
            met=stand.met,
            needed=len(stand.required),
            runs_out_on=find_next_expiry(stand, today),
            counted_at=timezone.now(),
        )
        for stand in stands
    ]
    columns = ["stamp", "seq", "met", "needed", "runs_out_on", "counted_at"]
    SiteSummary.objects.bulk_create(
        rows, update_conflicts=True, unique_fields=["site"], update_fields=columns
    )


def find_next_expiry(stand: SiteReadiness, today: date) -> date | None:
    """The first day, today or later, that is the last one of something that is needed."""
    days = (
        each.document.expires for each in stand.required if each.status.is_met and each.document
    )
    return min((day for day in days if day and day >= today), default=None)


def is_expiring(stand: SiteReadiness, today: date, within: timedelta) -> bool:
    day = find_next_expiry(stand, today)
    return day is not None and day <= today + within


def order_by_completeness(sites: "QuerySet[Site]") -> "QuerySet[Site]":
    """As last counted; those that never were come first."""
    share = Cast("summary__met", FloatField()) / Cast("summary__needed", FloatField())
    part = Case(When(summary=None, then=-1.0), When(summary__needed=0, then=1.0), default=share)
    return sites.annotate(part=part).order_by("part", "site_id")


def filter_incomplete(sites: "QuerySet[Site]") -> "QuerySet[Site]":
    """As last counted, or never."""
    return sites.filter(Q(summary=None) | Q(summary__met__lt=F("summary__needed")))


def filter_expiring(sites: "QuerySet[Site]", today: date, within: timedelta) -> "QuerySet[Site]":
    """Something of theirs runs out by then, as last counted."""
    return sites.filter(summary__runs_out_on__range=(today, today + within))


def split_into_batches(rows: Sequence[Row], size: int) -> Iterator[Sequence[Row]]:
    for start in range(0, len(rows), size):
        yield rows[start : start + size]
