"""Stores the recent completeness of sites, for the order and the filters of long lists.

A page can count 50 sites while it is requested, but not thousands in order to sort them. So a
worker counts the sites that have changed every few minutes. The ledger tells which have changed,
because nothing of a site changes without an entry that names the site. All sites are counted when
the day or the requirements of studies and sites change (docs/adr/0025).
"""

import hashlib
from collections.abc import Iterator, Sequence
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
SITES_PER_BATCH = 50  # sites that are counted together, so that memory does not grow
_REQUIREMENT_MODELS = (RequiredDocument, SiteRequirement, ValidityOverride, Waiver, Study, Site)


def refresh_summaries(*, today: date | None = None) -> int:
    """Count the sites that may have changed since the last run. Returns how many.

    `seq` is read first, so that what is recorded during the run is counted by the next one.
    """
    today = today or timezone.now().date()
    seq, _head = queries.get_last_entry() or (0, "")
    stamp = _compute_stamp(today)
    current = SiteSummary.objects.filter(stamp=stamp)
    since: int | None = current.aggregate(Min("seq"))["seq__min"]
    changed = set() if since is None else queries.list_sites_after(since)
    stale = list(
        Site.objects.exclude(Q(pk__in=current.values("pk")) & ~Q(site_id__in=changed))
        .order_by("pk")
        .values_list("pk", flat=True)
    )
    for keys in split_into_batches(stale, SITES_PER_BATCH):
        page = list(Site.objects.filter(pk__in=keys).select_related("study"))
        rows = [
            SiteSummary(
                site=readiness.site,
                stamp=stamp,
                seq=seq,
                met=readiness.met,
                needed=len(readiness.required),
                runs_out_on=find_next_expiry(readiness, today),
                counted_at=timezone.now(),
            )
            for readiness in get_readiness_by_site(page, today=today).values()
        ]
        columns = ["stamp", "seq", "met", "needed", "runs_out_on", "counted_at"]
        SiteSummary.objects.bulk_create(
            rows, update_conflicts=True, unique_fields=["site"], update_fields=columns
        )
    SiteSummary.objects.filter(stamp=stamp, seq__lt=seq).update(seq=seq)
    return len(stale)


def _compute_stamp(today: date) -> str:
    """Return a digest of the day, the rules, and the revisions of all requirements."""
    parts = [f"{today} {settings.SOFTWARE_VERSION} {RULES_VERSION}"]
    for model in _REQUIREMENT_MODELS:
        rows = model._default_manager.aggregate(n=Count("pk"), last=Max("pk"), sum=Sum("revision"))
        parts.append(f"{rows['n']}.{rows['last'] or 0}.{rows['sum'] or 0}")
    return hashlib.sha256(" ".join(parts).encode()).hexdigest()


def find_next_expiry(readiness: SiteReadiness, today: date) -> date | None:
    """Return the next expiry date, from today on, of a required document of the site."""
    days = (
        each.document.expires for each in readiness.required if each.status.is_met and each.document
    )
    return min((day for day in days if day and day >= today), default=None)


def is_expiring(readiness: SiteReadiness, today: date, within: timedelta) -> bool:
    """Return whether a required document expires within this period."""
    day = find_next_expiry(readiness, today)
    return day is not None and day <= today + within


def order_by_completeness(sites: "QuerySet[Site]") -> "QuerySet[Site]":
    """Sort sites by their completeness as last counted. Sites without a count come first."""
    share = Cast("summary__met", FloatField()) / Cast("summary__needed", FloatField())
    part = Case(When(summary=None, then=-1.0), When(summary__needed=0, then=1.0), default=share)
    return sites.annotate(part=part).order_by("part", "site_id")


def filter_incomplete(sites: "QuerySet[Site]") -> "QuerySet[Site]":
    """Return sites that were incomplete as last counted, and sites without a count."""
    return sites.filter(Q(summary=None) | Q(summary__met__lt=F("summary__needed")))


def filter_expiring(sites: "QuerySet[Site]", today: date, within: timedelta) -> "QuerySet[Site]":
    """Return sites with a document that expires in the period, as last counted."""
    return sites.filter(summary__runs_out_on__range=(today, today + within))


def split_into_batches(rows: Sequence[Row], size: int) -> Iterator[Sequence[Row]]:
    """Yield parts of `rows` of at most `size` rows."""
    for start in range(0, len(rows), size):
        yield rows[start : start + size]
