"""Shows all visible sites: required documents at `/sites/`, and metrics at `/figures/`."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, F, Q, QuerySet, Sum
from django.db.models.functions import Coalesce
from django.http import HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from ingestion.documents.site_readiness import list_required_types
from ingestion.models import Document, SiteSummary
from ingestion.operations import metrics
from ingestion.rules.finding_texts import get_short_text
from sites.models import Site
from web.shell import charts
from web.shell.access import READ, SignedIn, restrict_page
from web.shell.charts import Bar
from web.shell.request_limits import parse_whole_number
from web.sites.matrix import (
    LEGEND,
    SiteFilterForm,
    build_matrix,
    generate_csv,
    select_sites,
)

PERIODS = (30, 90, 365)  # days
DEFAULT_PERIOD = 90  # days
MAX_SITES_IN_CHART = 10


@restrict_page(READ)
def required_documents_page(request: SignedIn) -> HttpResponse:
    """Show the matrix of sites, or redirect to the only site that the person can see."""
    visible = Site.objects.visible_to(request.user)
    if not request.GET and len(sites := list(visible[:2])) == 1:
        return redirect("required_of", sites[0].site_id)
    filter_form = SiteFilterForm(request.GET, visible)
    selection = select_sites(visible, filter_form)
    selected = selection.page(request.GET.get("page"))
    readiness = selection.evaluate(selected)
    document_types = list_required_types([each.site for each in readiness])
    context = {
        "matrix": build_matrix(readiness, document_types, request.user),
        "filter_form": filter_form,
        "page": selected,
        "as_of": selection.as_of,
        "legend": LEGEND,
        "has_sites": bool(readiness) or visible.exists(),
    }
    return render(request, "sites/list.html", context)


@restrict_page(READ)
def required_documents_csv(request: SignedIn) -> StreamingHttpResponse:
    """Return the matrix of all selected sites as a CSV file."""
    visible = Site.objects.visible_to(request.user)
    filter_form = SiteFilterForm(request.GET, visible)
    document_types = list_required_types(list(filter_form.filter_sites(visible)))
    lines = generate_csv(select_sites(visible, filter_form), document_types, request.user)
    filename = f"required-documents-{timezone.now():%Y-%m-%d}.csv"
    headers = {"Content-Disposition": f'attachment; filename="{filename}"'}
    return StreamingHttpResponse(lines, content_type="text/csv; charset=utf-8", headers=headers)


@restrict_page(READ)
def metrics_page(request: SignedIn) -> HttpResponse:
    """Show the metrics of the selected sites over a period, whose length is in days."""
    visible = Site.objects.visible_to(request.user)
    filter_form = SiteFilterForm(request.GET, visible)
    sites = filter_form.filter_sites(visible)
    days = parse_whole_number(request.GET.get("days", ""))
    days = days if days in PERIODS else DEFAULT_PERIOD
    documents = Document.objects.all()
    # People who see all sites and use no filter need no condition on the sites.
    if not request.user.sees_all_sites or filter_form.active_filters:
        documents = documents.filter(site__in=sites.order_by().values("pk"))
    context = {
        "filter_form": filter_form,
        "days": days,
        "periods": PERIODS,
        "completeness": _measure_completeness(sites),
        **_measure_documents(documents, since=timezone.now() - timedelta(days=days)),
        "has_sites": visible.exists(),
    }
    return render(request, "sites/metrics.html", context)


def _measure_documents(documents: "QuerySet[Document]", since: datetime) -> dict[str, Any]:
    """Return the timeliness and the rejections of the documents, with their bars."""
    timeliness = metrics.measure_timeliness(documents, since)
    codes = metrics.count_rejections_by_code(documents, since)
    sites = metrics.count_rejections_by_site(documents, since, MAX_SITES_IN_CHART)
    max_rejected = max((site.rejected for site in sites), default=0)
    site_bars = [
        Bar(
            f"{site.site_id} {site.name}",
            filled=max(1, round(100 * site.rejected / max_rejected)),
            text=_("{n} of {total} ({percent}%)").format(
                n=f"{site.rejected:,}", total=f"{site.decided:,}", percent=site.percent
            ),
            tone="c2",
            url=reverse("required_of", args=[site.site_id]),
        )
        for site in sites
    ]
    steps = [(label, number, "") for label, number in timeliness.steps.items()]
    return {
        "timeliness": timeliness,
        "timeliness_bars": charts.build_bars(steps, "c1"),
        "first_pass": metrics.measure_first_pass(documents, since),
        "rejected": sum(codes.values()),
        "code_bars": charts.build_bars(
            [(get_short_text(code), number, "") for code, number in codes.items()], "c2"
        ),
        "site_bars": site_bars,
    }


@dataclass(frozen=True, slots=True)
class Completeness:
    """The completeness of a selection of sites."""

    sites: int
    complete_sites: int
    met: int  # requirements that are met
    needed: int  # requirements
    least_complete: Sequence[Bar]
    as_of: datetime | None  # the age of the summaries; None if they were not used

    @property
    def percent(self) -> int | None:
        """Return the share of met requirements in per cent, or None if nothing is required."""
        return metrics.compute_percentage(self.met, self.needed)


def _measure_completeness(sites: "QuerySet[Site]") -> Completeness:
    selection = select_sites(sites, SiteFilterForm({}, sites))
    bars = []
    for readiness in selection.evaluate(selection.sites[:MAX_SITES_IN_CHART]):
        site, needed = readiness.site, len(readiness.required)
        bars.append(
            Bar(
                f"{site.site_id} {site.name}",
                filled=metrics.compute_percentage(readiness.met, needed) or 0,
                text=_("{n} of {total}").format(n=readiness.met, total=needed),
                url=reverse("required_of", args=[site.site_id]),
            )
        )
    if selection.as_of is None:
        evaluated = [each for batch in selection.evaluate_in_pages() for each in batch]
        return Completeness(
            sites=len(evaluated),
            complete_sites=sum(each.is_complete for each in evaluated),
            met=sum(each.met for each in evaluated),
            needed=sum(len(each.required) for each in evaluated),
            least_complete=bars,
            as_of=None,
        )
    summaries = SiteSummary.objects.filter(site__in=sites.order_by().values("pk"))
    sums = summaries.aggregate(
        sites=Count("pk"),
        complete_sites=Count("pk", filter=Q(met__gte=F("needed"))),
        total_met=Coalesce(Sum("met"), 0),
        total_needed=Coalesce(Sum("needed"), 0),
    )
    return Completeness(
        sites=sums["sites"],
        complete_sites=sums["complete_sites"],
        met=sums["total_met"],
        needed=sums["total_needed"],
        least_complete=bars,
        as_of=selection.as_of,
    )
