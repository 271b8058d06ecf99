"""Defines the pages of a file that belong to one document, and the account of a file's pages.

A file may hold several documents. Each of them is a part of the file: a range of its pages or, if
several pages were copied onto one sheet, a region of one page. The account of a divided file is
complete if each of its pages belongs to exactly one part, or is excluded for a stated reason.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations
from typing import Any, Self

Region = tuple[float, float, float, float]

WHOLE_PAGE: Region = (0.0, 0.0, 1.0, 1.0)
# The regions of sheets onto which two or four pages were copied.
SIDE_BY_SIDE: tuple[Region, ...] = ((0.0, 0.0, 0.5, 1.0), (0.5, 0.0, 1.0, 1.0))
ONE_ABOVE_THE_OTHER: tuple[Region, ...] = ((0.0, 0.0, 1.0, 0.5), (0.0, 0.5, 1.0, 1.0))
# In reading order.
QUARTERS: tuple[Region, ...] = (
    (0.0, 0.0, 0.5, 0.5), (0.5, 0.0, 1.0, 0.5), (0.0, 0.5, 0.5, 1.0), (0.5, 0.5, 1.0, 1.0),
)  # fmt: skip
AREA_TOLERANCE = 0.001  # share of a page that rounded sides of regions may leave or share


class PageUse(StrEnum):
    """Says why a page of a divided file belongs to no document."""

    BLANK = "blank"  #: The page has neither text nor ink.
    SEPARATOR = "separator"  #: The page only separates documents.
    COVER = "cover"  #: The page only says that a viewer is needed that shows portfolios.
    SET_ASIDE = "set_aside"  #: A person decided that the page belongs to no document.


@dataclass(frozen=True, slots=True)
class FilePart:
    """A range of the pages of a file, or a region of one page.

    Pages count from 1, and `last` is included. The sides of `region` (left, top, right and bottom)
    are shares of the page's width and height, from 0 to 1.
    """

    first: int
    last: int
    region: Region | None = None

    def __post_init__(self) -> None:
        """Raise ValueError if this is no part of a file."""
        if not 1 <= self.first <= self.last:
            raise ValueError(f"pages {self.first} to {self.last} are no range of pages")
        if self.region is None:
            return
        left, top, right, bottom = self.region
        is_inside = 0 <= left < right <= 1 and 0 <= top < bottom <= 1
        if self.first != self.last or not is_inside:
            raise ValueError(f"{self.region} is no region of one page")

    @classmethod
    def parse(cls, first: int, last: int, region: str) -> Self:
        """Return the part from its columns in the database. Raises ValueError."""
        return cls(first, last, parse_region(region))

    @property
    def numbers(self) -> range:
        """Return the numbers of the pages."""
        return range(self.first, self.last + 1)

    @property
    def region_text(self) -> str:
        """Return the region as the database stores it, for example "0,0,0.5,1", or ""."""
        return ",".join(f"{round(side, 4):g}" for side in self.region) if self.region else ""

    @property
    def suffix(self) -> str:
        """Return what the doc_id of the part adds to that of its file.

        It is "#3-5" for pages 3 to 5. A region adds its sides in percent: "#3-3@0,0,50,100".
        """
        percent = ",".join(f"{100 * side:.0f}" for side in self.region or ())
        return f"#{self.first}-{self.last}" + (f"@{percent}" if percent else "")


def parse_region(text: str) -> Region | None:
    """Return the region that `FilePart.region_text` wrote, or None for "". Raises ValueError."""
    if not text:
        return None
    left, top, right, bottom = map(float, text.split(","))
    return left, top, right, bottom


@dataclass(frozen=True, slots=True)
class AccountFault:
    """Says that a page is counted too seldom (`is_missing`) or more than once."""

    page: int
    is_missing: bool


def find_account_faults(
    pages: Collection[int], parts: Iterable[FilePart], excluded: Iterable[FilePart]
) -> Iterator[AccountFault]:
    """Yield the pages that are not counted exactly once, in their order.

    `pages` are the numbers of the pages to account for, `parts` belong to documents, and `excluded`
    belong to none. A page that is not among `pages` is counted too often. The regions of one page
    must not overlap, and together they have to cover it.
    """
    regions: defaultdict[int, list[Region]] = defaultdict(list)
    for part in (*parts, *excluded):
        for number in part.numbers:
            regions[number].append(part.region or WHOLE_PAGE)
    for number in sorted({*pages, *regions}):
        own = regions[number]
        overlap = max((_shared_area(a, b) for a, b in combinations(own, 2)), default=0.0)
        if overlap > AREA_TOLERANCE or number not in pages:
            yield AccountFault(number, is_missing=False)
        elif sum((right - left) * (bottom - top) for left, top, right, bottom in own) < (
            1 - AREA_TOLERANCE
        ):
            yield AccountFault(number, is_missing=True)


def _shared_area(a: Region, b: Region) -> float:
    """Return the area that two regions have in common, as a share of the page."""
    width = min(a[2], b[2]) - max(a[0], b[0])
    height = min(a[3], b[3]) - max(a[1], b[1])
    return max(0.0, width) * max(0.0, height)


@dataclass(frozen=True, slots=True)
class DocumentPart:
    """A part of a file that becomes a document.

    `document_type` is a slug. `person` is the person whose document it is. Both are declared by a
    person or by a separator sheet; "" if not.
    """

    pages: FilePart
    document_type: str = ""
    person: str = ""

    def as_json(self) -> dict[str, Any]:
        """Return the part as it is stored: its pages, its type and, if known, its person."""
        person = {"person": self.person} if self.person else {}
        return {**_pages_as_json(self.pages), "type": self.document_type, **person}


@dataclass(frozen=True, slots=True)
class PageExclusion:
    """A page, or a region of one, that belongs to no document. A person gives a `reason`."""

    page: FilePart
    use: PageUse
    reason: str = ""

    def as_json(self) -> dict[str, Any]:
        """Return the exclusion as it is stored: its page, its use and its reason."""
        return {**_pages_as_json(self.page), "use": str(self.use), "reason": self.reason}


@dataclass(frozen=True, slots=True)
class Division:
    """The division of a file into documents, and its other pages."""

    parts: tuple[DocumentPart, ...]
    excluded: tuple[PageExclusion, ...] = ()

    def find_faults(self, pages: Collection[int]) -> list[AccountFault]:
        """Return the pages that this division does not count exactly once."""
        parts = (part.pages for part in self.parts)
        return list(find_account_faults(pages, parts, (each.page for each in self.excluded)))

    def as_json(self) -> dict[str, Any]:
        """Return the division as it is stored and recorded. Its keys must not change."""
        return {
            "parts": [part.as_json() for part in self.parts],
            "excluded": [each.as_json() for each in self.excluded],
        }

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """Return the division that `as_json` described. Raises ValueError, KeyError, TypeError."""
        return cls(
            tuple(
                DocumentPart(_pages_from_json(each), each.get("type", ""), each.get("person", ""))
                for each in stored["parts"]
            ),
            tuple(
                PageExclusion(_pages_from_json(each), PageUse(each["use"]), each.get("reason", ""))
                for each in stored["excluded"]
            ),
        )


def _pages_as_json(part: FilePart) -> dict[str, Any]:
    region = {"region": part.region_text} if part.region else {}
    return {"pages": [part.first, part.last], **region}


def _pages_from_json(stored: Mapping[str, Any]) -> FilePart:
    first, last = stored["pages"]
    return FilePart.parse(first, last, stored.get("region", ""))
