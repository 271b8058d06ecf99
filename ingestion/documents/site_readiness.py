"""How far sites are: their documents against what is laid down for them, as it is now.

Counted from the rows at each look, in a handful of queries for any number of sites: nothing is
stored, so nothing is ever out of date.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from django.db.models import Max, OuterRef, Subquery
from django.utils import timezone

from ingestion.core.states import DocumentState
from ingestion.models import (
    Document,
    Extraction,
    RequiredDocument,
    SiteRequirement,
    ValidityOverride,
    Waiver,
)
from ingestion.rules.checks.validity import last_day
from ingestion.rules.checks.validity_terms import Override, Terms
from ingestion.rules.document_types import TYPES
from ingestion.rules.site_file import cross_checks, requirements
from ingestion.rules.site_file.cross_checks import Gap
from ingestion.rules.site_file.requirements import (
    USUAL,
    DocumentRequirement,
    ExpectedDocument,
    Paper,
    RequiredFor,
    Waived,
)
from sites.models import Site

_LIVE = (DocumentState.ARCHIVED, DocumentState.IN_REVIEW)


@dataclass(frozen=True, slots=True)
class SiteReadiness:
    """`documents` are the rows behind the papers, by their keys."""

    site: Site
    wanted: tuple[ExpectedDocument, ...]
    required: tuple[DocumentRequirement, ...]
    papers: tuple[Paper, ...]
    documents: Mapping[int, Document]

    @property
    def gaps(self) -> list[Gap]:
        """Compared when it is asked for: a list of many sites shows none."""
        protocol = self.site.study.protocol_number
        return cross_checks.gaps(self.wanted, self.papers, self.required, protocol=protocol)

    @property
    def contradictions(self) -> list[Gap]:
        """The gaps between two documents that are there; what is missing stands in `required`."""
        return [gap for gap in self.gaps if gap.other]

    @property
    def met(self) -> int:
        return sum(each.standing.is_met for each in self.required)

    @property
    def is_complete(self) -> bool:
        return self.met == len(self.required)


def get_readiness(site: Site, *, today: date | None = None) -> SiteReadiness:
    return get_readiness_by_site([site], today=today)[site.pk]


def get_readiness_by_site(
    sites: Sequence[Site], *, today: date | None = None
) -> dict[int, SiteReadiness]:
    """By the sites' keys. Sites come with their study, or it is looked up one by one."""
    today = today or timezone.now().date()
    wanted, waived = _wanted(sites, today), _waived(sites)
    documents = _documents(sites)
    papers = _papers(documents.values(), {site.pk: site for site in sites}, today)
    return {
        site.pk: _of(site, wanted[site.pk], papers[site.pk], waived[site.pk], documents, today)
        for site in sites
    }


def list_required_types(sites: Sequence[Site], *, today: date | None = None) -> list[str]:
    """Whatever any of these sites needs, in the catalogue's order: two queries."""
    found = _wanted(sites, today or timezone.now().date()).values()
    needed = {wanted.kind for of_site in found for wanted in of_site}
    return sorted(needed, key=lambda kind: list(TYPES).index(kind) if kind in TYPES else len(TYPES))


def _of(
    site: Site,
    wanted: Sequence[ExpectedDocument],
    papers: Sequence[Paper],
    waived: Sequence[Waived],
    documents: Mapping[int, Document],
    today: date,
) -> SiteReadiness:
    required = requirements.requirements(wanted, papers, waived, today)
    return SiteReadiness(site, tuple(wanted), tuple(required), tuple(papers), documents)


def _wanted(sites: Iterable[Site], today: date) -> dict[int, list[ExpectedDocument]]:
    """A study's own list or the usual one, and where a site differs from it."""
    studies, differences = defaultdict(list), defaultdict(list)
    for row in RequiredDocument.objects.filter(study__in={site.study_id for site in sites}):
        studies[row.study_id].append(row)
    for difference in SiteRequirement.objects.filter(site__in=sites):
        differences[difference.site_id].append(difference)
    return {
        site.pk: _differing(_listed(studies.get(site.study_id), today), differences[site.pk])
        for site in sites
    }


def _listed(rows: Sequence[RequiredDocument] | None, today: date) -> list[ExpectedDocument]:
    if rows is None:
        return list(USUAL)
    due = (row for row in rows if row.required_from is None or row.required_from <= today)
    return [ExpectedDocument(row.document_type, RequiredFor(row.each)) for row in due]


def _differing(
    listed: Sequence[ExpectedDocument], differences: Sequence[SiteRequirement]
) -> list[ExpectedDocument]:
    own = {row.document_type for row in differences}
    more = (row for row in differences if row.is_required)
    return [
        *(wanted for wanted in listed if wanted.kind not in own),
        *(ExpectedDocument(row.document_type, RequiredFor(row.each)) for row in more),
    ]


def _waived(sites: Iterable[Site]) -> defaultdict[int, list[Waived]]:
    waived = defaultdict(list)
    for row in Waiver.objects.in_force().filter(site__in=sites):
        waived[row.site_id].append(Waived(row.document_type, row.reason, row.whose))
    return waived


def _documents(sites: Iterable[Site]) -> dict[int, Document]:
    """Of each identity the newest version, and the newest whose content counts.

    Each is one probe of an index that has the versions of a document in order: how many there are
    of it does not matter.
    """
    own = Document.objects.filter(site__in=sites).order_by()
    newest = own.values("site", "doc_id").annotate(last=Max("pk")).values("last")
    versions = Document.objects.filter(
        site=OuterRef("site"), doc_id=OuterRef("doc_id"), document_type__in=TYPES
    ).order_by("-pk")
    last = Subquery(versions.values("pk")[:1])
    live = Subquery(versions.filter(state__in=_LIVE).values("pk")[:1])
    pairs = Document.objects.filter(pk__in=newest).order_by().values_list(last, live)
    keys = {key for pair in pairs for key in pair if key}
    return Document.objects.select_related("site").in_bulk(keys)


def _papers(
    documents: Iterable[Document], sites: Mapping[int, Site], today: date
) -> defaultdict[int, list[Paper]]:
    documents = list(documents)
    read = _extractions([document.pk for document in documents])
    overrides = _overrides(sites.values())
    papers = defaultdict(list)
    for document in documents:
        site = sites[document.site_id]
        terms = Terms.of(
            TYPES[document.document_type],
            overrides[site.study_id].get(document.document_type),
            site.activated_on,
        )
        papers[site.pk].append(paper_of(document, read.get(document.pk), terms, today))
    return papers


def paper_of(document: Document, extraction: Extraction | None, terms: Terms, today: date) -> Paper:
    values = extraction.values if extraction else ()
    last = last_day(terms, {value.name: value for value in values})
    kind = document.document_type
    # Decision 12: an upload's doc_id is its type, and the person where it is per person.
    of, _, person = document.doc_id.partition(".")
    return Paper(
        key=document.pk,
        kind=kind,
        state=DocumentState(document.state),
        values=values,
        person=person.replace("-", " ").title() if of == kind else "",
        expires=last,
        is_due=last is not None and terms.step((last - today).days) is not None,
        may_run_out=terms.warns_only,
    )


def _extractions(keys: Iterable[int]) -> dict[int, Extraction]:
    """The last of each document, without the words that an engine read."""
    rows = Extraction.objects.filter(document__in=keys).order_by("document_id", "attempt")
    return {row.document_id: row for row in rows.only("document", "attempt", "fields")}


def _overrides(sites: Iterable[Site]) -> defaultdict[int, dict[str, Override]]:
    overrides: defaultdict[int, dict[str, Override]] = defaultdict(dict)
    for row in ValidityOverride.objects.filter(study__in={site.study_id for site in sites}):
        overrides[row.study_id][row.document_type] = row.override
    return overrides
