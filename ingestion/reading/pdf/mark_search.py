"""Searches an open document's pages for marks, check boxes, forms and separator codes, lazily."""

from collections.abc import Sequence

from ingestion.reading.forms.registration import find_form, may_be_form
from ingestion.reading.images.binarise import ANALYSIS_DPI, flatten_background
from ingestion.reading.images.marks import MIN_RULE_PIXELS, find_marks, find_marks_in_area
from ingestion.reading.images.normalise.tone import measure_tone, normalise_tone
from ingestion.reading.images.render import POINTS_PER_INCH, PageRaster, render_page
from ingestion.reading.images.separator_codes import CODES_DPI, PREFIX, read_separator_codes
from ingestion.reading.images.squares import (
    MAX_SIDE_POINTS,
    SQUARES_DPI,
    find_empty_squares,
)
from ingestion.reading.limits import ReadingLimits
from ingestion.reading.reading_stages import Stage
from ingestion.reading.results import Box, PageReading, RegisteredPage, Word

from .lazy import LazyCodes, LazyForms, LazyMarks, LazySquares
from .pages import OpenPages, limit_deferred_work
from .unaccounted_ink import find_unaccounted_areas

# Around a searched area, so that the raster shows whether a stroke belongs to a rule.
SQUARES_BORDER_POINTS = 2 * MAX_SIDE_POINTS  # what is cut off is not near the place
AREA_BORDER_POINTS = MIN_RULE_PIXELS / 2 * POINTS_PER_INCH / ANALYSIS_DPI


def lazy_marks(
    pages: OpenPages,
    number: int,
    words: Sequence[Word],
    limits: ReadingLimits,
    *,
    may_be_skewed: bool,
) -> LazyMarks:
    """Return the marks of a born-digital page, which are those of a raster of the whole page.

    Only the areas in which a mark is possible are rendered. `words` are the printed words of the
    page, and `may_be_skewed` says that it contains an image, which may be a scan.
    """

    def find_areas() -> Sequence[Box]:
        with limit_deferred_work(number, Stage.MARKS, limits):
            return find_unaccounted_areas(pages.load(number), words)

    def find(area: Box) -> Sequence[Box]:
        border = AREA_BORDER_POINTS
        left, top = area.left - border, area.top - border
        right, bottom = area.right + border, area.bottom + border
        # Most words are elsewhere, which is found out without a call for each of them.
        near = [
            word
            for word in words
            for x0, y0, x1, y1 in (word.box,)
            if x0 < right and left < x1 and y0 < bottom and top < y1
        ]
        wider = Box(left, top, right, bottom)
        with limit_deferred_work(number, Stage.MARKS, limits):
            raster = render_page(pages.load(number), ANALYSIS_DPI, limits, wider)
            return find_marks_in_area(raster, area, near, may_be_skewed=may_be_skewed)

    return LazyMarks(find_areas, find)


def lazy_empty_squares(pages: OpenPages, number: int, limits: ReadingLimits) -> LazySquares:
    """Return the empty check boxes of a page."""

    def find() -> Sequence[Box]:
        with limit_deferred_work(number, Stage.CHECK_BOXES, limits):
            return find_empty_squares(render_page(pages.load(number), SQUARES_DPI, limits))

    def find_near(place: Box) -> Sequence[Box]:
        left, top, right, bottom = place
        border = SQUARES_BORDER_POINTS
        wider = Box(left - border, top - border, right + border, bottom + border)
        with limit_deferred_work(number, Stage.CHECK_BOXES, limits):
            return find_empty_squares(render_page(pages.load(number), SQUARES_DPI, limits, wider))

    return LazySquares(find, find_near)


def lazy_forms(
    pages: OpenPages, page: PageReading, limits: ReadingLimits
) -> Sequence[RegisteredPage]:
    """Return the page of a registered form that a page is, or nothing."""
    if not may_be_form(page.text):
        return ()

    def find() -> Sequence[RegisteredPage]:
        def render() -> PageRaster:
            return render_page(pages.load(page.number), SQUARES_DPI, limits)

        with limit_deferred_work(page.number, Stage.FORM, limits):
            return find_form(page.words, render)

    return LazyForms(find)


def lazy_separator_codes(
    pages: OpenPages, page: PageReading, limits: ReadingLimits, *, is_scan: bool
) -> Sequence[str]:
    """Return the separator codes of a page.

    A born-digital page is rendered only if it has the text that is printed below each code.
    """
    if not is_scan and PREFIX not in page.text:
        return ()

    def find() -> Sequence[str]:
        with limit_deferred_work(page.number, Stage.CODES, limits):
            return read_separator_codes(render_page(pages.load(page.number), CODES_DPI, limits))

    return LazyCodes(find)


def lazy_scan_marks(
    pages: OpenPages, number: int, words: Sequence[Word], limits: ReadingLimits
) -> LazyMarks:
    """Return the marks of a page that is one image, which is searched as a whole."""

    def find_areas() -> Sequence[Box]:
        with limit_deferred_work(number, Stage.MARKS, limits):
            return [Box(0.0, 0.0, *pages.load(number).get_size())]

    def find(_: Box) -> Sequence[Box]:
        with limit_deferred_work(number, Stage.MARKS, limits):
            raster = render_page(pages.load(number), ANALYSIS_DPI, limits)
            tone = measure_tone(raster)
            return find_marks(flatten_background(normalise_tone(raster, tone)), words)

    return LazyMarks(find_areas, find)
