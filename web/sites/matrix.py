"""Builds the matrix of sites and required documents, `/sites/`, with its filters and as CSV.

The cells are computed for each request. If there are many sites, their order and the filters use
summaries that a worker updates every few minutes (docs/adr/0025).
"""

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
from ingestion.models.requirements import get_type_name
from ingestion.operations import site_summaries
from ingestion.rules.site_file.requirements import RequirementStatus
from sites.models import Site, Study, User
from web.shell.state_display import REQUIREMENT_DISPLAYS, StateDisplay
from web.sites.required_documents import RequirementLine, list_requirements

SITES_PER_PAGE = 50
DUE_SOON = timedelta(days=30)
# Headings of the CSV file, which are not translated because programs use them.
SITE_HEADINGS = ("Site", "Name", "Country", "Study")
TOTAL_HEADINGS = ("In order", "Needed", "As of")
LEGEND = (
    (REQUIREMENT_DISPLAYS[RequirementStatus.CURRENT], _("Filed")),
    (REQUIREMENT_DISPLAYS[RequirementStatus.EXPIRING], _("Due soon")),
    (REQUIREMENT_DISPLAYS[RequirementStatus.PENDING], _("Sent, being checked")),
    (REQUIREMENT_DISPLAYS[RequirementStatus.RETURNED], _("Rejected or expired")),
    (REQUIREMENT_DISPLAYS[RequirementStatus.MISSING], _("Missing or waived")),
)
# The order of statuses by urgency: the cell of several people shows the most urgent one.
_BY_URGENCY = (
    RequirementStatus.EXPIRED,
    RequirementStatus.RETURNED,
    RequirementStatus.MISSING,
    RequirementStatus.PENDING,
    RequirementStatus.EXPIRING,
    RequirementStatus.WAIVED,
    RequirementStatus.CURRENT,
)


@dataclass(frozen=True, slots=True)
class MatrixCell:
    """One document type at one site. For several people, the most urgent requirement decides."""

    name: str  # of the document type
    display: StateDisplay
    label: str
    count: str  # for example "2 of 3"; "" if only one person needs the document
    url: str
    is_missing: bool


@dataclass(frozen=True, slots=True)
class CompletenessRow:
    """Describes a site with one cell for each column of the matrix."""

    readiness: SiteReadiness
    cells: Sequence[MatrixCell | None]  # None if the document is not required at the site


@dataclass(frozen=True, slots=True)
class Matrix:
    """Describes the matrix of sites and document types."""

    columns: Sequence[str]  # names of document types
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
        choices = [("", _("All")), *((name, name) for name in countries)]
        self.fields["study"].queryset = studies  # type: ignore[attr-defined] # as declared above
        self.fields["country"].choices = choices  # type: ignore[attr-defined] # as declared above
        for name in ("study", "country"):
            self.fields[name].widget.attrs["class"] = "sl-input"
        self.full_clean()

    @property
    def active_filters(self) -> dict[str, Any]:
        """Return the filters with a value, by name."""
        return {name: value for name, value in self.cleaned_data.items() if value}

    def filter_sites(self, sites: "QuerySet[Site]") -> "QuerySet[Site]":
        """Return the sites of the selected study and country."""
        active = self.active_filters
        return sites.filter(
            **{name: active[name] for name in ("study", "country") if name in active}
        )

    @property
    def query(self) -> str:
        """Return the filters as a query string for other pages and for the CSV, ending in "&"."""
        values = {
            name: "on" if value is True else str(value)
            for name, value in self.active_filters.items()
        }
        return f"{urlencode(values)}&" if values else ""


@dataclass(frozen=True, slots=True)
class SiteSelection:
    """The selected sites in the order of the list.

    They are already evaluated, or are rows in the order of their last summaries.
    """

    sites: Sequence[SiteReadiness] | QuerySet[Site]
    as_of: datetime | None  # the age of the summaries; None if they were not used

    def page(self, number: str | None) -> Page[Any]:
        """Return a page of the sites.

        An invalid number gives the first page, a large one the last.
        """
        return Paginator(self.sites, SITES_PER_PAGE).get_page(number)

    def evaluate(self, sites: Iterable[Any]) -> list[SiteReadiness]:
        """Return the readiness of some of the selected sites."""
        if self.as_of is None:
            return list(sites)
        rows = list(sites)
        by_key = get_readiness_by_site(rows)
        return [by_key[site.pk] for site in rows]

    def evaluate_in_pages(self) -> Iterator[list[SiteReadiness]]:
        """Yield the readiness of all selected sites, in lists of up to SITES_PER_PAGE."""
        rows = list(self.sites)
        for batch in site_summaries.split_into_batches(rows, SITES_PER_PAGE):
            yield self.evaluate(batch)


def select_sites(sites: "QuerySet[Site]", filter_form: SiteFilterForm) -> SiteSelection:
    """Return the sites that match the filters, the least complete first."""
    rows = filter_form.filter_sites(sites).select_related("study")
    active, today = filter_form.active_filters, timezone.now().date()
    first_rows = list(rows.order_by("site_id")[: SITES_PER_PAGE + 1])
    if len(first_rows) <= SITES_PER_PAGE:
        matching = [
            readiness
            for readiness in get_readiness_by_site(first_rows).values()
            if not ("incomplete" in active and readiness.is_complete)
            and ("due" not in active or site_summaries.is_expiring(readiness, today, DUE_SOON))
        ]
        return SiteSelection(sorted(matching, key=_get_completeness), None)
    if "incomplete" in active:
        rows = site_summaries.filter_incomplete(rows)
    if "due" in active:
        rows = site_summaries.filter_expiring(rows, today, DUE_SOON)
    oldest = SiteSummary.objects.aggregate(Min("counted_at"))["counted_at__min"]
    return SiteSelection(site_summaries.order_by_completeness(rows), oldest or timezone.now())


def _get_completeness(readiness: SiteReadiness) -> tuple[float, str]:
    """Return the sort key of a site: its share of complete documents, then its number."""
    share = readiness.met / len(readiness.required) if readiness.required else 1.0
    return share, readiness.site.site_id


def build_matrix(
    sites: Sequence[SiteReadiness], document_types: Sequence[str], reader: User
) -> Matrix:
    """Return the matrix. `document_types` are the slugs of the types that have a column."""
    rows = []
    for readiness in sites:
        by_type: dict[str, list[RequirementLine]] = {}
        for line in list_requirements(readiness):
            by_type.setdefault(line.document_type, []).append(line)
        cells = [
            _build_cell(by_type[slug], readiness.site, reader) if slug in by_type else None
            for slug in document_types
        ]
        rows.append(CompletenessRow(readiness, cells))
    return Matrix([get_type_name(slug) for slug in document_types], rows)


def _build_cell(lines: Sequence[RequirementLine], site: Site, reader: User) -> MatrixCell:
    line = min(lines, key=lambda line: _BY_URGENCY.index(line.status))
    met = sum(line.status.is_met for line in lines)
    # The cell leads to the document, to the upload form, or for staff to the requirement.
    if line.document:
        url = reverse("document", args=[line.document.pk])
    elif line.is_open and not reader.is_staff:
        query = {"site": site.site_id, "type": line.document_type, "person": line.person}
        url = f"{reverse('upload')}?{urlencode(query)}"
    else:
        url = f"{reverse('required_of', args=[site.site_id])}#{line.document_type}"
    return MatrixCell(
        name=line.name,
        display=line.display,
        # The column is narrow. A date without a year is in the current year.
        label=line.label.removesuffix(f" {timezone.now().year}"),
        count=gettext("{n} of {total}").format(n=met, total=len(lines)) if len(lines) > 1 else "",
        url=url,
        is_missing=line.status is RequirementStatus.MISSING,
    )


def generate_csv(
    selection: SiteSelection, document_types: Sequence[str], reader: User
) -> Iterator[str]:
    """Yield the lines of the CSV file of all selected sites."""
    write = csv.writer(_Echo()).writerow
    names = [get_type_name(slug) for slug in document_types]
    now = f"{timezone.now():%Y-%m-%d %H:%M} UTC"
    yield write(map(escape_formula, [*SITE_HEADINGS, *names, *TOTAL_HEADINGS]))
    for sites in selection.evaluate_in_pages():
        for row in build_matrix(sites, document_types, reader).rows:
            site = row.readiness.site
            values: list[Any] = [
                site.site_id, site.name, site.country, site.study.protocol_number
            ]  # fmt: skip
            for cell in row.cells:
                label = cell.label if cell else gettext("Not required")
                values.append(f"{label} ({cell.count})" if cell and cell.count else label)
            values += [row.readiness.met, len(row.readiness.required), now]
            # People type the name of a site. A spreadsheet must show it and not run it.
            yield write(map(escape_formula, values))


class _Echo:
    """A file for the csv module that returns each line instead of storing it."""

    def write(self, line: str) -> str:
        return line
