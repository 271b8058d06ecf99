"""Which documents the corpus holds: in what shape, and which of them are faulty."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from samples.faults import Fault
from samples.pages import FILLABLE, PAGES, PER_PERSON
from samples.people_and_sites import SITES, SampleSite
from samples.renditions import Rendition

_SCANNED = frozenset({0, 4, 7})  # of ten documents; which ones moves on with each site

FAULTS: Mapping[tuple[str, str], Fault] = MappingProxyType(
    {
        ("1002", "form-fda-1572"): Fault.UNSIGNED,
        ("1003", "medical-licence"): Fault.EXPIRED,
        ("1004", "cv"): Fault.WRONG_SITE,
        ("1004", "gcp-certificate"): Fault.A_WEB_PAGE,
        ("1005", "irb-approval"): Fault.TRUNCATED,
        ("1006", "financial-disclosure"): Fault.ENCRYPTED,
        ("1006", "lab-normal-ranges"): Fault.TRUNCATED,
        ("1007", "delegation-log"): Fault.A_WORD_FILE,
        ("1008", "cv"): Fault.BLANK_PAGE,
        ("1009", "protocol-signature-page"): Fault.UNSIGNED,
        ("1010", "irb-approval"): Fault.EXPIRED,
        ("1010", "form-fda-1572"): Fault.BLANK_PAGE,
        ("1011", "lab-certification"): Fault.EXPIRED,
        ("1012", "financial-disclosure"): Fault.UNSIGNED,
        ("1012", "delegation-log"): Fault.WRONG_SITE,
    }
)


@dataclass(frozen=True, slots=True)
class Planned:
    """A document before it is made."""

    site: SampleSite
    document_type: str
    rendition: Rendition
    fault: Fault | None

    @property
    def doc_id(self) -> str:
        if self.document_type in PER_PERSON:
            return f"{self.document_type}-{self.site.investigator.family_name.lower()}"
        return self.document_type


def plan(sites: int) -> list[Planned]:
    """Raises ValueError for more sites than there are, or for none."""
    if not 1 <= sites <= len(SITES):
        raise ValueError(f"there are 1 to {len(SITES)} sample sites, not {sites}")
    return [
        Planned(
            site, document_type, _rendition(row, place), FAULTS.get((site.site_id, document_type))
        )
        for row, site in enumerate(SITES[:sites])
        for place, document_type in enumerate(PAGES)
    ]


def _rendition(row: int, place: int) -> Rendition:
    if (3 * row + place) % 10 in _SCANNED:
        return Rendition.SCAN
    if list(PAGES)[place] in FILLABLE and row % 2 == 0:
        return Rendition.FILLABLE_FORM
    return Rendition.BORN_DIGITAL
