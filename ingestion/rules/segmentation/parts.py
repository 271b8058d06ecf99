"""The division of a file into documents: the proposed parts, and the reading of one part.

A file may hold several documents, and pages of none: blank backs of sheets, and separator sheets.
Each page of a file is in exactly one part, or is a separator, or is blank. A sheet onto which
several pages were copied belongs to several parts, each with its region; together they cover it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from ingestion.reading.results import DocumentReading, PageReading
from ingestion.rules.classification.classify import classify
from ingestion.rules.document_types import TYPES
from ingestion.rules.segmentation.page_evidence import collect_evidence
from ingestion.rules.segmentation.page_regions import Region, cut_out
from ingestion.rules.segmentation.page_sequence import Boundary, describe, find_boundaries
from ingestion.rules.segmentation.page_titles import recognise_type
from ingestion.rules.segmentation.separators import Separator, find_separator
from ingestion.rules.segmentation.shared_sheets import may_be_shared_sheet, split_shared_sheet

MIN_START = 0.9  # probability with which a document must begin on a page to be cut without doubt
MAX_CONTINUATION = 0.15  # probability up to which a page continues a document without doubt
MAX_SAME_FORM = 0.5  # likeness of two pages above which they may be one form, filled in twice


@dataclass(frozen=True, slots=True)
class PagePart:
    """The pages of a file that belong to one document.

    Pages count from 1, and `last` is included. The sides of `region` (left, top, right, bottom) are
    shares of the width and height of the page as it is read, from 0 to 1. A part with a region is
    on one page.
    """

    first: int
    last: int
    region: Region | None = None
    type: str = ""  # the slug of its document type; "" if it was not recognised
    probability: float = 0.0  # that the document begins and ends here, from 0 to 1
    evidence: str = ""  # why the document begins here, in words for a reviewer


@dataclass(frozen=True, slots=True)
class ProposedCut:
    """The proposed division of a file into documents.

    If `is_certain`, and a separator sheet is before each part, the parts may be filed without a
    person who confirms the division. If it is not certain, `reasons` has the keys of
    `cut_reasons.REASONS` that say why.
    """

    parts: tuple[PagePart, ...]  # in reading order
    separators: tuple[int, ...] = ()  # pages that only separate documents
    blanks: tuple[int, ...] = ()  # blank pages that are in no part
    is_certain: bool = True
    reasons: tuple[str, ...] = ()

    @property
    def is_one_document(self) -> bool:
        """Whether the whole file is one document, apart from blank pages."""
        return len(self.parts) <= 1 and not self.separators

    @property
    def has_sheet_for_each_part(self) -> bool:
        """Whether a separator sheet is before each part. With fewer sheets, a person confirms."""
        return len(self.separators) >= len(self.parts)


def propose_cut(reading: DocumentReading) -> ProposedCut:
    """Return the proposed division of a file.

    A digitally signed file is one part, because a part of it would lose the signature.
    """
    pages = reading.pages
    if not pages:
        return ProposedCut(())
    is_signed = bool(reading.signatures) or "digital-signature" in reading.flags
    runs = tuple(_find_runs(pages))
    parts = tuple(part for run in runs for part in run.parts)
    reasons = dict.fromkeys(reason for run in runs for reason in run.reasons)
    if not parts or (len(parts) == 1 and not any(run.separator for run in runs)):
        whole = PagePart(pages[0].number, pages[-1].number, type="", probability=1.0)
        return ProposedCut(
            (replace(parts[0], first=whole.first, last=whole.last) if parts else whole,),
            is_certain=not reasons,
            reasons=tuple(reasons),
        )
    if is_signed:
        return ProposedCut(
            (PagePart(pages[0].number, pages[-1].number),),
            is_certain=False,
            reasons=("signed-file",),
        )
    in_parts = {number for part in parts for number in range(part.first, part.last + 1)}
    separators = tuple(run.separator for run in runs if run.separator)
    return ProposedCut(
        tuple(part if part.type else _recognise(reading, part) for part in parts),
        separators,
        blanks=tuple(
            page.number
            for page in pages
            if page.number not in in_parts and page.number not in separators
        ),
        is_certain=not reasons,
        reasons=tuple(reasons),
    )


def _recognise(reading: DocumentReading, part: PagePart) -> PagePart:
    """Return a part with the type that its pages show, if they show one clearly."""
    return replace(part, type=classify(select_pages(reading, part)).slug)


@dataclass(frozen=True, slots=True)
class _Run:
    """Neighbouring pages that are divided together, and the separator sheet before them."""

    parts: tuple[PagePart, ...]
    reasons: tuple[str, ...] = ()
    separator: int = 0  # its page; 0 if there is none


def _find_runs(pages: Sequence[PageReading]) -> Iterator[_Run]:
    """Yield the runs of a file. Separator sheets and shared sheets are always boundaries."""
    gathered: list[PageReading] = []
    separator: tuple[int, Separator] | None = None
    for page in pages:
        if found := find_separator(page):
            if gathered or separator:
                yield _divide(gathered, separator)
            gathered, separator = [], (page.number, found)
        elif page.is_blank:
            continue
        elif regions := split_shared_sheet(page):
            if gathered or separator:
                yield _divide(gathered, separator)
            gathered, separator = [], None
            yield _divide_sheet(page, regions)
        else:
            gathered.append(page)
    if gathered or separator:
        yield _divide(gathered, separator)


def _divide_sheet(page: PageReading, regions: Sequence[Region]) -> _Run:
    parts = []
    for region in regions:
        slug = recognise_type(cut_out(page, region))
        evidence = f"the title of {TYPES[slug].noun} on a part of the sheet"
        parts.append(PagePart(page.number, page.number, region, slug, 1.0, evidence))
    return _Run(tuple(parts))


def _divide(pages: Sequence[PageReading], separator: tuple[int, Separator] | None) -> _Run:
    """Divide a run. After a separator sheet it is one document, whose type the sheet names."""
    number, sheet = separator or (0, None)
    if not pages:
        return _Run((), ("empty-separator",), number)
    evidence = [collect_evidence(page) for page in pages] if len(pages) > 1 else []
    boundaries = find_boundaries(evidence)
    if sheet:
        part = PagePart(
            pages[0].number, pages[-1].number, None, sheet.type, 1.0, "a separator sheet"
        )
        reasons = ("separator-missing",) if any(each.is_start for each in boundaries[1:]) else ()
        return _Run((part,), reasons, number)
    starts = [0, *(index for index in range(1, len(pages)) if boundaries[index].is_start)]
    parts = []
    for start, following in pairwise((*starts, len(pages))):
        edges = (index for index in (start, following) if index < len(boundaries))
        ends = [boundaries[index].probability for index in edges]
        parts.append(
            PagePart(
                pages[start].number,
                pages[following - 1].number,
                probability=min(ends, default=1.0),
                evidence="; ".join(describe(boundaries[start].evidence)) if boundaries else "",
            )
        )
    doubts = dict.fromkeys(_find_doubts(boundaries))
    if any(map(may_be_shared_sheet, pages)):
        doubts["shared-sheet"] = None
    return _Run(tuple(parts), tuple(doubts))


def _find_doubts(boundaries: Sequence[Boundary]) -> Iterator[str]:
    """Yield the reasons for which a division is not certain."""
    for boundary in boundaries[1:]:
        if boundary.is_start:
            if boundary.probability < MIN_START:
                yield "unsure-starts"
            continue
        if boundary.probability > MAX_CONTINUATION:
            yield "unsure-starts"
        evidence = boundary.evidence
        if evidence["same form"] > MAX_SAME_FORM and not evidence["numbering continues"]:
            yield "repeated-form"


def select_pages(reading: DocumentReading, part: PagePart) -> DocumentReading:
    """Return the reading of one part, as if it were a file of its own.

    Its pages keep the numbers that they have in the file, so that each finding and each value names
    the page of the file. A rule that needs the position of a page in its document takes it from the
    order of `pages`. If the part has a region, its positions are relative to the corner of that
    region. The values of form fields are left out if the part is not the whole file, because it
    is not known on which page a field is.
    """
    pages = tuple(page for page in reading.pages if part.first <= page.number <= part.last)
    if part.region is None and len(pages) == len(reading.pages):
        return reading
    if part.region is not None:
        pages = tuple(cut_out(page, part.region) for page in pages)
    return replace(reading, pages=pages, fields={})
