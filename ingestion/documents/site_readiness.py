"""Compares the documents of sites with their expected document lists.

The result is computed from the rows each time, in a fixed number of queries for any number of
sites. It is not stored, so it is never out of date.
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
from ingestion.rules.checks.validity import get_last_valid_day
from ingestion.rules.checks.validity_terms import TermsOverride, ValidityTerms
from ingestion.rules.document_types import TYPES
from ingestion.rules.site_file import cross_checks, requirements
from ingestion.rules.site_file.cross_checks import Gap
from ingestion.rules.site_file.requirements import (
    DEFAULT_EXPECTED_DOCUMENTS,
    DocumentRequirement,
    ExpectedDocument,
    RequiredFor,
    SiteDocument,
    WaivedRequirement,
)
from sites.models import Site

_COUNTED_STATES = (DocumentState.ARCHIVED, DocumentState.IN_REVIEW)


@dataclass(frozen=True, slots=True)
class SiteReadiness:
    """Describes which required documents a site has.

    `documents` holds the rows of `papers` by their primary keys.
    """

    site: Site
    wanted: tuple[ExpectedDocument, ...]
    required: tuple[DocumentRequirement, ...]
    papers: tuple[SiteDocument, ...]
    documents: Mapping[int, Document]

    @property
    def gaps(self) -> list[Gap]:
        """Return what is missing, and what contradicts.

        It is computed on demand, because lists of many sites do not display it.
        """
        protocol = self.site.study.protocol_number
        return cross_checks.find_gaps(self.wanted, self.papers, self.required, protocol=protocol)

    @property
    def contradictions(self) -> list[Gap]:
        """Return the gaps between two existing documents. `required` names missing documents."""
        return [gap for gap in self.gaps if gap.other]

    @property
    def met(self) -> int:
        """Return the number of requirements that are met."""
        return sum(each.status.is_met for each in self.required)

    @property
    def is_complete(self) -> bool:
        """Return whether every requirement of the site is met."""
        return self.met == len(self.required)


def get_readiness(site: Site, *, today: date | None = None) -> SiteReadiness:
    """Return the readiness of one site, as of `today`."""
    return get_readiness_by_site([site], today=today)[site.pk]


def get_readiness_by_site(
    sites: Sequence[Site], *, today: date | None = None
) -> dict[int, SiteReadiness]:
    """Return the readiness of sites, as of `today`, by their primary keys.

    Select the sites with their study; otherwise each study costs a query.
    """
    today = today or timezone.now().date()
    wanted = _list_expected(sites, today)
    waived: defaultdict[int, list[WaivedRequirement]] = defaultdict(list)
    for row in Waiver.objects.in_force().filter(site__in=sites):
        waived[row.site_id].append(WaivedRequirement(row.document_type, row.reason, row.whose))
    documents = _find_documents(sites)
    papers = _describe_papers(documents.values(), {site.pk: site for site in sites}, today)
    readiness = {}
    for site in sites:
        expected, present = wanted[site.pk], papers[site.pk]
        required = requirements.list_requirements(expected, present, waived[site.pk], today)
        readiness[site.pk] = SiteReadiness(
            site, tuple(expected), tuple(required), tuple(present), documents
        )
    return readiness


def list_required_types(sites: Sequence[Site], *, today: date | None = None) -> list[str]:
    """Return the document types that any of these sites needs, in the order of the catalogue.

    It takes two queries.
    """
    found = _list_expected(sites, today or timezone.now().date()).values()
    needed = {wanted.document_type for of_site in found for wanted in of_site}
    return sorted(needed, key=lambda slug: list(TYPES).index(slug) if slug in TYPES else len(TYPES))


def _list_expected(sites: Iterable[Site], today: date) -> dict[int, list[ExpectedDocument]]:
    """Return the expected documents by site.

    They are those of the study's list, or of the default list if the study has none, with the
    differences of the site.
    """
    studies: dict[int, list[ExpectedDocument]] = {}
    for row in RequiredDocument.objects.filter(study__in={site.study_id for site in sites}):
        listed = studies.setdefault(row.study_id, [])
        if row.required_from is None or row.required_from <= today:
            listed.append(ExpectedDocument(row.document_type, RequiredFor(row.each)))
    differences = defaultdict(list)
    for difference in SiteRequirement.objects.filter(site__in=sites):
        differences[difference.site_id].append(difference)
    expected = {}
    for site in sites:
        own = differences[site.pk]
        changed = {row.document_type for row in own}
        listed = studies.get(site.study_id, list(DEFAULT_EXPECTED_DOCUMENTS))
        expected[site.pk] = [wanted for wanted in listed if wanted.document_type not in changed]
        expected[site.pk] += [
            ExpectedDocument(row.document_type, RequiredFor(row.each))
            for row in own
            if row.is_required
        ]
    return expected


def _find_documents(sites: Iterable[Site]) -> dict[int, Document]:
    """Return the newest version of each document, and the newest one that is filed or in review.

    Each is one probe of an index that holds the versions of a document in order, so the number of
    versions does not matter.
    """
    own = Document.objects.filter(site__in=sites).order_by()
    newest = own.values("site", "doc_id").annotate(last=Max("pk")).values("last")
    versions = Document.objects.filter(
        site=OuterRef("site"), doc_id=OuterRef("doc_id"), document_type__in=TYPES
    ).order_by("-pk")
    last = Subquery(versions.values("pk")[:1])
    counted = Subquery(versions.filter(state__in=_COUNTED_STATES).values("pk")[:1])
    pairs = Document.objects.filter(pk__in=newest).order_by().values_list(last, counted)
    keys = {key for pair in pairs for key in pair if key}
    return Document.objects.select_related("site").in_bulk(keys)


def _describe_papers(
    documents: Iterable[Document], sites: Mapping[int, Site], today: date
) -> defaultdict[int, list[SiteDocument]]:
    """Return the documents as the rules see them, by site."""
    documents = list(documents)
    extractions = Extraction.objects.filter(document__in=documents)
    extractions = extractions.order_by("document_id", "attempt")  # so that the last one remains
    read = {row.document_id: row for row in extractions.only("document", "attempt", "fields")}
    overrides: defaultdict[int, dict[str, TermsOverride]] = defaultdict(dict)
    studies = {site.study_id for site in sites.values()}
    for row in ValidityOverride.objects.filter(study__in=studies):
        overrides[row.study_id][row.document_type] = row.override
    papers = defaultdict(list)
    for document in documents:
        site = sites[document.site_id]
        terms = ValidityTerms.of(
            TYPES[document.document_type],
            overrides[site.study_id].get(document.document_type),
            site.activated_on,
        )
        papers[site.pk].append(make_site_document(document, read.get(document.pk), terms, today))
    return papers


def make_site_document(
    document: Document, extraction: Extraction | None, terms: ValidityTerms, today: date
) -> SiteDocument:
    """Return a document as the rules see it, under the validity terms of its study and site."""
    values = extraction.values if extraction else ()
    last = get_last_valid_day(terms, {value.name: value for value in values})
    return SiteDocument(
        key=document.pk,
        document_type=document.document_type,
        state=DocumentState(document.state),
        values=values,
        person=document.declared_person,
        expires=last,
        expires_soon=last is not None and terms.due_warning((last - today).days) is not None,
        is_accepted_after_expiry=terms.warns_only,
    )
