"""The matrix of sites and required documents, `/sites/`, with its filters and as CSV.

The cells of a page are computed when it is opened. For many sites, the order and the filters use
summaries that a worker renews every few minutes (docs/adr/0025).
"""

import csv
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.core.paginator import Page, Paginator
from django.db.models import Min, QuerySet
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from audit.files.csv_export import escape_formula
from ingestion.documents.site_readiness import SiteReadiness, get_readiness_by_site
from ingestion.models import SiteSummary
from ingestion.models.requirements import type_name
from ingestion.operations import site_summaries
from ingestion.rules.site_file.requirements import RequirementStatus
from sites.models import Site, Study, User
from web.shell.state_display import STANDING_DISPLAYS, StateDisplay
from web.sites.required_documents import RequirementLine, list_requirements

SITES_PER_PAGE = 50
DUE_SOON = timedelta(days=30)
PLACE_HEADINGS = ("Site", "Name", "Country", "Study")
COUNT_HEADINGS = ("In order", "Needed", "As of")
LEGEND = (
    (STANDING_DISPLAYS[RequirementStatus.CURRENT], _("Filed")),
    (STANDING_DISPLAYS[RequirementStatus.EXPIRING], _("Due soon")),
    (STANDING_DISPLAYS[RequirementStatus.PENDING], _("Sent, being checked")),
    (STANDING_DISPLAYS[RequirementStatus.RETURNED], _("Rejected or expired")),
    (STANDING_DISPLAYS[RequirementStatus.MISSING], _("Missing or waived")),
)


@dataclass(frozen=True, slots=True)
class MatrixCell:
    """One document type at one site. For several people, the most urgent requirement decides."""

    name: str  # of the type
    display: StateDisplay
    word: str
    count: str  # "2 of 3" where there are several; else ""
    url: str
    is_missing: bool


@dataclass(frozen=True, slots=True)
class CompletenessRow:
    stand: SiteReadiness
    cells: Sequence[MatrixCell | None]  # None: not required there


@dataclass(frozen=True, slots=True)
class Matrix:
    columns: Sequence[str]  # names of types
    rows: Sequence[CompletenessRow]


class SiteFilterForm(forms.Form):
    """The filters of the matrix. Invalid filter values are ignored."""

    study = forms.ModelChoiceField(
        Study.objects.none(),
        label=_("Study"),
        to_field_name="protocol_number",
        required=False,
        empty_label=_("All"),
    )
    country = forms.ChoiceField(label=_("Country"), required=False)
    incomplete = forms.BooleanField(label=_("Incomplete only"), required=False)
    due = forms.BooleanField(label=_("Renewal due in 30 days"), required=False)

    def __init__(self, data: Mapping[str, Any], sites: "QuerySet[Site]") -> None:
        super().__init__(data)
        studies = Study.objects.filter(pk__in=sites.order_by().values("study"))
        countries = sites.order_by("country").values_list("country", flat=True).distinct()
        named = [("", _("All")), *((name, name) for name in countries)]
        self.fields["study"].queryset = studies  # type: ignore[attr-defined] # as declared above
        self.fields["country"].choices = named  # type: ignore[attr-defined] # as declared above
        for name in ("study", "country"):
            self.fields[name].widget.attrs["class"] = "sl-input"
        self.full_clean()

    @property
    def given(self) -> dict[str, Any]:
        return {name: value for name, value in self.cleaned_data.items() if value}

    def of_places(self, sites: "QuerySet[Site]") -> "QuerySet[Site]":
        named = {name: self.given[name] for name in ("study", "country") if name in self.given}
        return sites.filter(**named)

    @property
    def query(self) -> str:
        """The filters as a query string for other pages and for the CSV, ending in "&"."""
        given = {name: "on" if value is True else str(value) for name, value in self.given.items()}
        return f"{urlencode(given)}&" if given else ""


@dataclass(frozen=True, slots=True)
class SiteSelection:
    """The selected sites, in the order of the list: computed now, or by their last summaries."""

    sites: Sequence[SiteReadiness] | QuerySet[Site]
    as_of: datetime | None  # None: counted just now

    def page(self, number: str | None) -> Page[Any]:
        return Paginator(self.sites, SITES_PER_PAGE).get_page(number)

    def stands(self, sites: Iterable[Any]) -> list[SiteReadiness]:
        if self.as_of is None:
            return list(sites)
        rows = list(sites)
        found = get_readiness_by_site(rows)
        return [found[site.pk] for site in rows]

    def in_pages(self) -> Iterator[list[SiteReadiness]]:
        rows = list(self.sites)
        for page in site_summaries.split_into_batches(rows, SITES_PER_PAGE):
            yield self.stands(page)


def select_sites(sites: "QuerySet[Site]", wishes: SiteFilterForm) -> SiteSelection:
    """Return the sites that match the filter, the least complete first."""
    places = wishes.of_places(sites).select_related("study")
    few = list(places.order_by("site_id")[: SITES_PER_PAGE + 1])
    if len(few) <= SITES_PER_PAGE:
        stands = [
            stand
            for stand in get_readiness_by_site(few).values()
            if _is_wished(stand, wishes.given)
        ]
        return SiteSelection(sorted(stands, key=_part), None)
    today = timezone.now().date()
    if "incomplete" in wishes.given:
        places = site_summaries.filter_incomplete(places)
    if "due" in wishes.given:
        places = site_summaries.filter_expiring(places, today, DUE_SOON)
    counted = SiteSummary.objects.aggregate(Min("counted_at"))["counted_at__min"]
    return SiteSelection(site_summaries.order_by_completeness(places), counted or timezone.now())


def _is_wished(stand: SiteReadiness, given: Mapping[str, Any]) -> bool:
    today = timezone.now().date()
    is_left_out = "incomplete" in given and stand.is_complete
    return not is_left_out and (
        "due" not in given or site_summaries.is_expiring(stand, today, DUE_SOON)
    )


def _part(stand: SiteReadiness) -> tuple[float, str]:
    return (stand.met / len(stand.required) if stand.required else 1.0), stand.site.site_id


def build_matrix(stands: Sequence[SiteReadiness], needed: Sequence[str], reader: User) -> Matrix:
    """Return the rows of the matrix. `needed` are the document types that have a column."""
    names = [type_name(kind) for kind in needed]
    return Matrix(
        names, [CompletenessRow(stand, _cells(stand, needed, reader)) for stand in stands]
    )


def _cells(stand: SiteReadiness, needed: Sequence[str], reader: User) -> list[MatrixCell | None]:
    own: dict[str, list[RequirementLine]] = {}
    for line in list_requirements(stand):
        own.setdefault(line.kind, []).append(line)
    return [_cell(own[kind], stand.site, reader) if kind in own else None for kind in needed]


def _cell(found: Sequence[RequirementLine], site: Site, reader: User) -> MatrixCell:
    worst = min(found, key=lambda line: _URGENCY.index(line.standing))
    met = sum(line.standing.is_met for line in found)
    return MatrixCell(
        name=worst.name,
        display=worst.display,
        # A column is narrow; the year of what runs out soon goes without saying.
        word=worst.word.removesuffix(f" {timezone.now().year}"),
        count=gettext("{n} of {total}").format(n=met, total=len(found)) if len(found) > 1 else "",
        url=_url(worst, site, reader),
        is_missing=worst.standing is RequirementStatus.MISSING,
    )


_URGENCY = (
    RequirementStatus.EXPIRED,
    RequirementStatus.RETURNED,
    RequirementStatus.MISSING,
    RequirementStatus.PENDING,
    RequirementStatus.EXPIRING,
    RequirementStatus.WAIVED,
    RequirementStatus.CURRENT,
)


def _url(line: RequirementLine, site: Site, reader: User) -> str:
    """Return the address of the document or of its upload form; for staff of the requirement."""
    if line.document:
        return reverse("document", args=[line.document.pk])
    if line.is_open and not reader.is_staff:
        given = {"site": site.site_id, "type": line.kind, "person": line.person}
        return f"{reverse('upload')}?{urlencode(given)}"
    return f"{reverse('required_of', args=[site.site_id])}#{line.kind}"


def generate_csv(found: SiteSelection, needed: Sequence[str], reader: User) -> Iterator[str]:
    """Yield the lines of the CSV file, for all chosen sites and not for one page of them.

    The headings are not translated, because programs read the file by them.
    """
    writer = csv.writer(_Echo())
    names = [type_name(kind) for kind in needed]
    now = f"{timezone.now():%Y-%m-%d %H:%M} UTC"
    yield _line(writer.writerow, [*PLACE_HEADINGS, *names, *COUNT_HEADINGS])
    for stands in found.in_pages():
        for row in build_matrix(stands, needed, reader).rows:
            site = row.stand.site
            words = [_worded(cell) for cell in row.cells]
            counts = [row.stand.met, len(row.stand.required), now]
            place = [site.site_id, site.name, site.country, site.study.protocol_number]
            yield _line(writer.writerow, [*place, *words, *counts])


def _worded(cell: MatrixCell | None) -> str:
    if cell is None:
        return gettext("Not required")
    return f"{cell.word} ({cell.count})" if cell.count else cell.word


def _line(write: Callable[[list[Any]], str], values: list[Any]) -> str:
    # A site's name is typed by people: a spreadsheet must show it, and not run it.
    return write([escape_formula(value) for value in values])


class _Echo:
    """A file for the csv module that returns each line instead of storing it."""

    def write(self, line: str) -> str:
        return line
