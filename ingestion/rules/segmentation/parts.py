"""Proposes how a file is divided into documents, and selects the reading of one part.

A file may hold several documents, and pages of none: blank backs of sheets, and separator sheets.
Each page of a file is in exactly one part, or is a separator, or is blank. A sheet onto which
several pages were copied belongs to several parts, each with its region; together they cover it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise

from audit.translation import gettext
from ingestion.core.file_parts import Region
from ingestion.reading.results import DocumentReading
from ingestion.rules.segmentation.document_starts import DocumentStart, find_document_starts
from ingestion.rules.segmentation.page_regions import cut_out
from ingestion.rules.segmentation.separators import (
    SeparatedPages,
    Separator,
    find_doubts,
    split_at_sheets,
)


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
    separator: Separator | None = None  # what the separator sheet before it announces


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
        """Return whether the whole file is one document, apart from blank pages."""
        return len(self.parts) <= 1 and not self.separators

    @property
    def has_sheet_for_each_part(self) -> bool:
        """Return whether a separator sheet is before each part.

        With fewer sheets, a person confirms.
        """
        return bool(self.parts) and all(part.separator for part in self.parts)

    @property
    def needs_no_confirmation(self) -> bool:
        """Return whether the parts may be filed without a person who confirms the division."""
        return self.is_certain and not self.is_one_document and self.has_sheet_for_each_part


def propose_cut(reading: DocumentReading, *, site_id: str = "") -> ProposedCut:
    """Return the proposed division of a file.

    A digitally signed file is one part, because a part of it would lose the signature. A file with
    separator sheets is divided at the sheets. They are certain unless something contradicts them.
    `site_id` is the number of the site that sent the file; "" if it is not known.
    """
    if not reading.pages:
        return ProposedCut(())
    split = split_at_sheets(reading.pages)
    has_sheets = any(each.sheet_page for each in split)
    cut = _cut_at_sheets(reading, split, site_id) if has_sheets else _cut_by_content(reading)
    is_signed = bool(reading.signatures) or "digital-signature" in reading.flags
    if is_signed and not cut.is_one_document:
        whole = PagePart(reading.pages[0].number, reading.pages[-1].number)
        return ProposedCut((whole,), is_certain=False, reasons=("signed-file",))
    return cut


def _cut_at_sheets(
    reading: DocumentReading, split: Sequence[SeparatedPages], site_id: str
) -> ProposedCut:
    """Return the division at separator sheets."""
    cuts = [_cut_between_sheets(reading, each) for each in split]
    reasons = dict.fromkeys(chain(find_doubts(split, site_id), *(cut.reasons for cut in cuts)))
    return ProposedCut(
        tuple(part for cut in cuts for part in cut.parts),
        separators=tuple(each.sheet_page for each in split if each.sheet_page),
        blanks=tuple(number for cut in cuts for number in cut.blanks),
        is_certain=not reasons,
        reasons=tuple(reasons),
    )


def _cut_between_sheets(reading: DocumentReading, separated: SeparatedPages) -> ProposedCut:
    """Return the documents after one sheet, or before the first one.

    Blank pages before and after a document are in no part. The content of the pages decides how
    many documents there are only if no readable sheet announces one.
    """
    filled = [index for index, page in enumerate(separated.pages) if not page.is_blank]
    start, end = (filled[0], filled[-1] + 1) if filled else (0, 0)
    around = (*separated.pages[:start], *separated.pages[end:])
    blanks = tuple(page.number for page in around)
    pages, announced = separated.pages[start:end], separated.separator
    if not pages:
        reasons = ("empty-separator",) if separated.sheet_page else ()
        return ProposedCut((), blanks=blanks, reasons=reasons)
    found = _cut_by_content(replace(reading, pages=pages))
    blanks += found.blanks
    if announced is None:
        reasons = () if separated.sheet_page else ("pages-before-separator",)
        return ProposedCut(found.parts, blanks=blanks, reasons=reasons)
    document = PagePart(
        pages[0].number,
        pages[-1].number,
        type=announced.type,
        probability=1.0,
        evidence=gettext("A separator sheet"),
        separator=announced,
    )
    if len(found.parts) == 1:
        blanks = tuple(page.number for page in around)  # those within the document belong to it
        return ProposedCut((document,), blanks=blanks)
    first, *others = found.parts
    document = replace(document, last=first.last, region=first.region)
    return ProposedCut((document, *others), blanks=blanks, reasons=("separator-missing",))


def _cut_by_content(reading: DocumentReading) -> ProposedCut:
    """Return the division that the content of the pages suggests."""
    first_page, last_page = reading.pages[0].number, reading.pages[-1].number
    found = find_document_starts(reading)
    if len(found.starts) == 1:
        whole = PagePart(first_page, last_page, probability=1.0)
        reasons = () if found.is_certain else ("unsure-starts",)
        return ProposedCut((whole,), is_certain=found.is_certain, reasons=reasons)
    parts = tuple(
        PagePart(
            start.page,
            max(start.page, following.page - 1),
            start.region,
            start.slug,
            min(start.probability, following.probability),
        )
        for start, following in pairwise((*found.starts, DocumentStart(last_page + 1)))
    )
    return ProposedCut(parts, is_certain=False, reasons=("unsure-starts",))


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
