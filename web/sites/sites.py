"""All sites that one sees: `/sites/` by required documents, and `/figures/` by how it goes."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, F, Q, QuerySet, Sum
from django.http import HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from ingestion.documents.site_readiness import list_required_types
from ingestion.models import Document, SiteSummary
from ingestion.operations import metrics as counted
from ingestion.rules.finding_texts import reason
from sites.models import Site
from web.shell import charts
from web.shell.access import READ, SignedIn, page
from web.shell.charts import Bar
from web.shell.request_limits import whole_number
from web.sites.matrix import (
    LEGEND,
    SiteFilterForm,
    SiteSelection,
    build_matrix,
    generate_csv,
    select_sites,
)

PERIODS = (30, 90, 365)  # days
MAX_SITES_IN_CHART = 10  # sites in one chart


@page(READ)
def required_documents_page(request: SignedIn) -> HttpResponse:
    visible = Site.objects.visible_to(request.user)
    if not request.GET and len(only := list(visible[:2])) == 1:
        return redirect("required_of", only[0].site_id)
    wishes = SiteFilterForm(request.GET, visible)
    found = select_sites(visible, wishes)
    page = found.page(request.GET.get("page"))
    stands = found.stands(page)
    context = {
        "matrix": build_matrix(
            stands, list_required_types([stand.site for stand in stands]), request.user
        ),
        "wishes": wishes,
        "page": page,
        "as_of": found.as_of,
        "legend": LEGEND,
        "has_sites": bool(stands) or visible.exists(),
    }
    return render(request, "sites/list.html", context)


@page(READ)
def required_documents_csv(request: SignedIn) -> StreamingHttpResponse:
    visible = Site.objects.visible_to(request.user)
    wishes = SiteFilterForm(request.GET, visible)
    needed = list_required_types(list(wishes.of_places(visible)))
    lines = generate_csv(select_sites(visible, wishes), needed, request.user)
    answer = StreamingHttpResponse(lines, content_type="text/csv; charset=utf-8")
    named = f"required-documents-{timezone.now():%Y-%m-%d}.csv"
    answer["Content-Disposition"] = f'attachment; filename="{named}"'
    return answer


@page(READ)
def metrics_page(request: SignedIn) -> HttpResponse:
    visible = Site.objects.visible_to(request.user)
    wishes = SiteFilterForm(request.GET, visible)
    places = wishes.of_places(visible)
    days = _days(request.GET.get("days", ""))
    since = timezone.now() - timedelta(days=days)
    documents = _documents(request, wishes, places)
    context = {
        "wishes": wishes,
        "days": days,
        "periods": PERIODS,
        "complete": _completeness(places),
        **_of_documents(documents, since),
        "has_sites": visible.exists(),
    }
    return render(request, "sites/metrics.html", context)


def _days(given: str) -> int:
    days = whole_number(given)
    return days if days in PERIODS else 90


def _documents(
    request: SignedIn, wishes: SiteFilterForm, places: "QuerySet[Site]"
) -> "QuerySet[Document]":
    """Staff who narrow nothing see every document: no list of sites has to be compared with."""
    if request.user.sees_all_sites and not wishes.given:
        return Document.objects.all()
    return Document.objects.filter(site__in=places.order_by().values("pk"))


def _of_documents(documents: "QuerySet[Document]", since: datetime) -> dict[str, Any]:
    timeliness = counted.measure_timeliness(documents, since)
    codes = counted.count_rejections_by_code(documents, since)
    sites = counted.count_rejections_by_site(documents, since, MAX_SITES_IN_CHART)
    return {
        "timeliness": timeliness,
        "timeliness_bars": charts.build_bars(
            [(n, v, "") for n, v in timeliness.steps.items()], "c1"
        ),
        "first_pass": counted.measure_first_pass(documents, since),
        "rejected": sum(codes.values()),
        "code_bars": charts.build_bars([(reason(code), n, "") for code, n in codes.items()], "c2"),
        "site_bars": _site_bars(sites),
    }


def _site_bars(sites: Sequence[counted.SiteRejections]) -> list[Bar]:
    most = max((site.rejected for site in sites), default=0)
    return [
        Bar(
            f"{site.site_id} {site.name}",
            filled=max(1, round(100 * site.rejected / most)),
            text=_("{n} of {total} ({percent}%)").format(
                n=f"{site.rejected:,}", total=f"{site.decided:,}", percent=site.percent
            ),
            tone="c2",
            url=reverse("required_of", args=[site.site_id]),
        )
        for site in sites
    ]


@dataclass(frozen=True, slots=True)
class Completeness:
    """`least`: the least complete sites. `as_of`: when they were counted; None: just now."""

    sites: int
    complete: int
    met: int
    needed: int
    least: Sequence[Bar]
    as_of: datetime | None

    @property
    def percent(self) -> int | None:
        return counted.compute_percentage(self.met, self.needed)


def _completeness(places: "QuerySet[Site]") -> Completeness:
    found = select_sites(places, SiteFilterForm({}, places))
    stands = found.stands(found.sites[:MAX_SITES_IN_CHART])
    least = [_complete_bar(stand.site, stand.met, len(stand.required)) for stand in stands]
    numbers = _summed(places) if found.as_of else _added(found)
    return Completeness(*numbers, least, found.as_of)


def _added(found: SiteSelection) -> tuple[int, int, int, int]:
    stands = [stand for page in found.in_pages() for stand in page]
    complete = sum(stand.is_complete for stand in stands)
    needed = sum(len(stand.required) for stand in stands)
    return len(stands), complete, sum(stand.met for stand in stands), needed


def _summed(places: "QuerySet[Site]") -> tuple[int, int, int, int]:
    rows = SiteSummary.objects.filter(site__in=places.order_by().values("pk"))
    sums = rows.aggregate(
        all=Count("pk"),
        complete=Count("pk", filter=Q(met__gte=F("needed"))),
        met=Sum("met"),
        needed=Sum("needed"),
    )
    return sums["all"], sums["complete"], sums["met"] or 0, sums["needed"] or 0


def _complete_bar(site: Site, met: int, needed: int) -> Bar:
    return Bar(
        f"{site.site_id} {site.name}",
        filled=counted.compute_percentage(met, needed) or 0,
        text=_("{n} of {total}").format(n=met, total=needed),
        url=reverse("required_of", args=[site.site_id]),
    )
