"""Looking for marks on the pages of an open document, late: where and when somebody asks."""

from collections.abc import Sequence

from ingestion.reading.images.binarise import (
    SHEET_DPI,
    normalised,
    sheet,
    tone_of,
)
from ingestion.reading.images.marks import RULE, find_marks, marks_within
from ingestion.reading.images.render import POINTS, page_picture
from ingestion.reading.images.squares import SQUARES_DPI, empty_squares
from ingestion.reading.limits import ReadingLimits
from ingestion.reading.results import Box, Word

from .lazy import LateMarks, LateSquares
from .pages import OpenPages, looking
from .unaccounted_ink import unread_areas

EDGE = RULE / 2 * POINTS / SHEET_DPI  # points around an area: a rule shows where it goes on


def drawn_marks(
    pages: OpenPages, number: int, words: Sequence[Word], limits: ReadingLimits, *, askew: bool
) -> LateMarks:
    """The same marks as in a picture of the whole page; only where one may be is it drawn."""

    def areas() -> Sequence[Box]:
        with looking(number, limits):
            return unread_areas(pages.load(number), words)

    def look(area: Box) -> Sequence[Box]:
        around = Box(area.left - EDGE, area.top - EDGE, area.right + EDGE, area.bottom + EDGE)
        near = [word for word in words if word.box.touches(around)]
        with looking(number, limits):
            picture = page_picture(pages.load(number), SHEET_DPI, limits, around)
            return marks_within(picture, area, near, askew=askew)

    return LateMarks(areas, look)


def drawn_squares(pages: OpenPages, number: int, limits: ReadingLimits) -> LateSquares:
    def look() -> Sequence[Box]:
        with looking(number, limits):
            return empty_squares(page_picture(pages.load(number), SQUARES_DPI, limits))

    return LateSquares(look)


def scanned_marks(
    pages: OpenPages, number: int, words: Sequence[Word], limits: ReadingLimits
) -> LateMarks:
    """Of a page that is one picture, which is looked at as a whole."""

    def areas() -> Sequence[Box]:
        with looking(number, limits):
            return [Box(0.0, 0.0, *pages.load(number).get_size())]

    def look(_: Box) -> Sequence[Box]:
        with looking(number, limits):
            picture = page_picture(pages.load(number), SHEET_DPI, limits)
            return find_marks(sheet(normalised(picture, tone_of(picture))), words)

    return LateMarks(areas, look)
