"""Plans the sample corpus: which documents, in which rendition, with which fault."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from samples.faults import DocumentFault
from samples.pages import FILLABLE, PAGES, PER_PERSON
from samples.people_and_sites import SITES, SampleSite
from samples.renditions import Rendition

_SCANNED = frozenset({0, 4, 7})  # of ten documents; the offset changes with each site

FAULTS: Mapping[tuple[str, str], DocumentFault] = MappingProxyType(
    {
        ("1002", "form-fda-1572"): DocumentFault.UNSIGNED,
        ("1003", "medical-licence"): DocumentFault.EXPIRED,
        ("1004", "cv"): DocumentFault.WRONG_SITE,
        ("1004", "gcp-certificate"): DocumentFault.A_WEB_PAGE,
        ("1005", "irb-approval"): DocumentFault.TRUNCATED,
        ("1006", "financial-disclosure"): DocumentFault.ENCRYPTED,
        ("1006", "lab-normal-ranges"): DocumentFault.TRUNCATED,
        ("1007", "delegation-log"): DocumentFault.A_SPREADSHEET,
        ("1008", "cv"): DocumentFault.BLANK_PAGE,
        ("1009", "protocol-signature-page"): DocumentFault.UNSIGNED,
        ("1010", "irb-approval"): DocumentFault.EXPIRED,
        ("1010", "form-fda-1572"): DocumentFault.BLANK_PAGE,
        ("1011", "lab-certification"): DocumentFault.EXPIRED,
        ("1012", "financial-disclosure"): DocumentFault.UNSIGNED,
        ("1012", "delegation-log"): DocumentFault.WRONG_SITE,
    }
)


@dataclass(frozen=True, slots=True)
class PlannedDocument:
    """A document that is to be made."""

    site: SampleSite
    document_type: str
    rendition: Rendition
    fault: DocumentFault | None

    @property
    def doc_id(self) -> str:
        """Return the document's id at its site.

        It is the type, with the family name if the document is about a person.
        """
        if self.document_type in PER_PERSON:
            return f"{self.document_type}-{self.site.investigator.family_name.lower()}"
        return self.document_type


def plan_corpus(sites: int, *, has_scans: bool = True) -> list[PlannedDocument]:
    """Return the documents of the first `sites` sample sites.

    Scans take most of the time of reading. Without them, these documents are born digital. Raises
    ValueError unless `sites` is between 1 and the number of sample sites.
    """
    if not 1 <= sites <= len(SITES):
        raise ValueError(f"there are 1 to {len(SITES)} sample sites, not {sites}")
    return [
        PlannedDocument(
            site,
            document_type,
            _choose_rendition(row, place, has_scans=has_scans),
            FAULTS.get((site.site_id, document_type)),
        )
        for row, site in enumerate(SITES[:sites])
        for place, document_type in enumerate(PAGES)
    ]


def _choose_rendition(row: int, place: int, *, has_scans: bool) -> Rendition:
    if has_scans and (3 * row + place) % 10 in _SCANNED:
        return Rendition.SCAN
    if list(PAGES)[place] in FILLABLE and row % 2 == 0:
        return Rendition.FILLABLE_FORM
    return Rendition.BORN_DIGITAL
