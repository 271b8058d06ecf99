"""Finds the pages of a file on which documents begin.

For each page, a statistical model (`boundary_model`) gives the probability that a document begins
with it, from what the page shows (`page_evidence`) and from how it differs from the page before it
and from the first page of the document before (`page_comparison`). Blank pages begin no document.
Two or four documents may also share one sheet (`shared_sheets`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from statistics import fmean

from ingestion.core.file_parts import Region
from ingestion.reading.results import DocumentReading, PageReading
from ingestion.rules.segmentation.boundary_model import BoundaryModel, load_boundary_model
from ingestion.rules.segmentation.page_comparison import (
    ROW_FEATURES,
    compare_pages,
    compare_rows,
    compare_without_rows,
    continues_log,
)
from ingestion.rules.segmentation.page_evidence import (
    PageEvidence,
    collect_evidence,
    find_running_lines,
)
from ingestion.rules.segmentation.page_regions import WordPlaces, cut_out
from ingestion.rules.segmentation.shared_sheets import find_reduced_pages, split_shared_sheet
from ingestion.rules.segmentation.titles import recognise_type

MIN_PROBABILITY = 0.5  # from which a document begins with a page
DOUBT_FROM_IN_NUMBERING = 0.1  # probability from which a later page of a numbering is in doubt
DOUBT_FROM_IN_SAME_LINE = 0.25  # the same, if the numbers are in lines that are otherwise equal
MIN_NUMBERED_LINE_LETTERS = 16  # as "Curriculum vitae, page 2 of 3"
MAX_DOUBTED_PROBABILITY = 0.4  # of a page that may belong to the document before
MIN_LEAD = 2  # points by which the type of a page leads that of the document before it clearly
MIN_LEAD_IN_NUMBERING = 4  # the same, for a page that continues the numbering of the page before


@dataclass(frozen=True, slots=True)
class DocumentStart:
    """The page on which a document begins, and its type; "" if the type was not recognised."""

    page: int
    slug: str = ""
    region: Region | None = None  # of the sheet, if it contains several documents
    probability: float = 1.0  # that a document begins here


@dataclass(frozen=True, slots=True)
class DocumentStarts:
    """The starts in the order of the pages, and whether the file is one document without doubt.

    The first page is always a start. Several starts on one page mean that the sheet contains
    several documents. If there is only one start, its type is left open.
    """

    starts: tuple[DocumentStart, ...]
    is_certain: bool = True


def find_document_starts(
    reading: DocumentReading, *, model: BoundaryModel | None = None
) -> DocumentStarts:
    """Return where documents begin. By default, `model` is the built-in one.

    The file is one document without doubt only if no page has the probability
    `model.doubt_from`, or a higher one as a later page of a numbering, and none shows clearly that
    another document begins.
    """
    search = _Search(model or load_boundary_model(), reading.pages)
    for page in reading.pages:
        search.add(page)
    if len(search.starts) == 1:
        ((page, _, _),) = search.starts
        return DocumentStarts((DocumentStart(page.number),), search.is_certain)
    starts = (
        DocumentStart(
            page.number,
            recognise_type(cut_out(page, region) if region else page),
            region,
            probability,
        )
        for page, region, probability in search.starts
    )
    return DocumentStarts(tuple(starts), is_certain=False)


@dataclass(slots=True)
class _Search:
    """The starts of documents among the pages so far, and what the next page is compared with."""

    model: BoundaryModel
    pages: Sequence[PageReading]  # of the file
    starts: list[tuple[PageReading, Region | None, float]] = field(default_factory=list)
    is_certain: bool = True
    earlier: list[PageEvidence] = field(default_factory=list)  # of the document before
    length: int = 0  # of the document before, in pages
    blanks: int = 0  # after the page before
    running: frozenset[str] = field(init=False)
    bound: BoundaryModel = field(init=False)  # the model without the features of all rows

    def __post_init__(self) -> None:
        self.running = find_running_lines(self.pages)
        self.bound = _bound_without_rows(self.model)

    def add(self, page: PageReading) -> None:
        """Add the next page of the file."""
        is_unread = page.is_blank or not page.words or page.error
        if self.starts and is_unread:  # such a page begins no document
            self.blanks += 1
            return
        places = WordPlaces(page.words)
        reduced = find_reduced_pages(page, places)
        regions = split_shared_sheet(page, places)
        if len(reduced) > len(regions):
            regions = reduced if self._are_documents(page, reduced) else ()
            self.is_certain = False
        if regions:
            self.starts += ((page, region, MIN_PROBABILITY) for region in regions)
            self.earlier = []
        elif len(self.pages) == 1:
            self.starts.append((page, None, 1.0))
        else:
            self._add_whole(page, places)
        self.length += 1 + self.blanks
        self.blanks = 0

    def _add_whole(self, page: PageReading, places: WordPlaces) -> None:
        one = collect_evidence(page, self.running, places)
        probability = self._probability(one)
        if probability >= MIN_PROBABILITY:
            self.starts.append((page, None, probability))
            self.earlier, self.length = [], 0
        self.earlier.append(one)

    def _probability(self, one: PageEvidence) -> float:
        """Return the probability that a document begins with the next page.

        If it is so low that the page certainly continues the document, the result is an upper
        bound of it.
        """
        if not self.earlier:  # even after a shared sheet
            return 1.0
        features = compare_without_rows(one, self.earlier, length=self.length, blanks=self.blanks)
        if features["form"] > 1 or self._are_instructions(one):
            return 0.0
        doubt_from = self.model.doubt_from
        if _is_numbered_on(features):
            is_same = features["continues"] and _has_same_numbered_line(one, self.earlier[-1])
            doubt_from = DOUBT_FROM_IN_SAME_LINE if is_same else DOUBT_FROM_IN_NUMBERING
        probability = self.bound.probability(features)
        if probability >= doubt_from:
            features |= compare_rows(one, self.earlier)
            probability = self.model.probability(features)
        if probability >= doubt_from or _shows_another_document(features):
            self.is_certain = False
        if probability < MIN_PROBABILITY:
            return probability
        if _may_belong(features, is_log_page=continues_log(one, self.earlier[0])):
            return MAX_DOUBTED_PROBABILITY
        return probability

    def _are_instructions(self, one: PageEvidence) -> bool:
        """Return whether the next page has the instructions for a registered form."""
        has_form = any(each.page.forms for each in self.earlier)
        return has_form and bool(one.lines) and one.lines[0].casefold().startswith("instructions")

    def _are_documents(self, page: PageReading, regions: Sequence[Region]) -> bool:
        """Return whether the reduced pages on a sheet are documents, and not pages of one."""
        pages = [collect_evidence(cut_out(page, region)) for region in regions]
        return (
            fmean(
                self.model.probability(compare_pages(one, [before], length=1, blanks=0))
                for before, one in pairwise(pages)
            )
            >= MIN_PROBABILITY
        )


@lru_cache(maxsize=4)
def _bound_without_rows(model: BoundaryModel) -> BoundaryModel:
    """Return a model that gives an upper bound without the features of all rows."""
    return model.bound(ROW_FEATURES)


def _is_numbered_on(features: Mapping[str, float]) -> bool:
    """Return whether a page has a later number in the numbering of the page before it."""
    is_later = features["number two"] and not features["number one"]
    return bool(is_later and not features["numbers start"] and not features["other total"])


def _has_same_numbered_line(one: PageEvidence, before: PageEvidence) -> bool:
    """Return whether the line with the number of a page has the same letters on the page before."""
    return any(
        "page" in letters and len(letters) >= MIN_NUMBERED_LINE_LETTERS
        for letters in one.heads & before.heads
    )


def _may_belong(features: Mapping[str, float], *, is_log_page: bool) -> bool:
    """Return whether a page may belong to the document before, whatever the model says.

    It continues the numbering of its pages, or the document as a log (`is_log_page`), and does not
    clearly show another document; or its title is that of an attachment, as "Appendix A:", or ends
    with "(continued)"; or it is that of a type that the document before lists.
    """
    if features["number one"]:
        return False
    if (_is_numbered_on(features) or is_log_page) and not _shows_another_document(features):
        return True
    is_listed = features["other type"] and features["mentioned"] and not features["prominent"]
    return bool(features["attached"] or features["continued title"] or is_listed)


def _shows_another_document(features: Mapping[str, float]) -> bool:
    """Return whether a page is numbered as a first one, or clearly differs in type or person."""
    min_lead = MIN_LEAD_IN_NUMBERING if _is_numbered_on(features) else MIN_LEAD
    shows_type = (
        features["titled"]
        and not features["same type"]
        and features["type lead"] >= min_lead
        and (features["prominent"] or not features["mentioned"])
    )
    return bool(features["number one"] or features["differs"] or shows_type)
