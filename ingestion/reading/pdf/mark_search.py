"""Looking for marks on the pages of an open document, late: where and when somebody asks."""

from collections.abc import Sequence

from ingestion.reading.images.binarise import (
    ANALYSIS_DPI,
    flatten_background,
    measure_tone,
    normalise_tone,
)
from ingestion.reading.images.marks import MIN_RULE_PIXELS, find_marks, find_marks_in_area
from ingestion.reading.images.render import POINTS_PER_INCH, render_page
from ingestion.reading.images.squares import SQUARES_DPI, find_empty_squares
from ingestion.reading.limits import ReadingLimits
from ingestion.reading.results import Box, Word

from .lazy import LazyMarks, LazySquares
from .pages import OpenPages, deferred_work
from .unaccounted_ink import find_unaccounted_areas

EDGE = (
    MIN_RULE_PIXELS / 2 * POINTS_PER_INCH / ANALYSIS_DPI
)  # points around an area: a rule shows where it goes on


def lazy_marks(
    pages: OpenPages, number: int, words: Sequence[Word], limits: ReadingLimits, *, askew: bool
) -> LazyMarks:
    """The same marks as in a picture of the whole page; only where one may be is it drawn."""

    def areas() -> Sequence[Box]:
        with deferred_work(number, limits):
            return find_unaccounted_areas(pages.load(number), words)

    def look(area: Box) -> Sequence[Box]:
        around = Box(area.left - EDGE, area.top - EDGE, area.right + EDGE, area.bottom + EDGE)
        near = [word for word in words if word.box.intersects(around)]
        with deferred_work(number, limits):
            picture = render_page(pages.load(number), ANALYSIS_DPI, limits, around)
            return find_marks_in_area(picture, area, near, askew=askew)

    return LazyMarks(areas, look)


def lazy_empty_squares(pages: OpenPages, number: int, limits: ReadingLimits) -> LazySquares:
    def look() -> Sequence[Box]:
        with deferred_work(number, limits):
            return find_empty_squares(render_page(pages.load(number), SQUARES_DPI, limits))

    return LazySquares(look)


def lazy_scan_marks(
    pages: OpenPages, number: int, words: Sequence[Word], limits: ReadingLimits
) -> LazyMarks:
    """Of a page that is one picture, which is looked at as a whole."""

    def areas() -> Sequence[Box]:
        with deferred_work(number, limits):
            return [Box(0.0, 0.0, *pages.load(number).get_size())]

    def look(_: Box) -> Sequence[Box]:
        with deferred_work(number, limits):
            picture = render_page(pages.load(number), ANALYSIS_DPI, limits)
            return find_marks(
                flatten_background(normalise_tone(picture, measure_tone(picture))), words
            )

    return LazyMarks(areas, look)
