"""Puts the cells of a row behind each other, where the engine read a table column by column.

Tesseract follows the columns of a table without rules, and of a form whose values stand far from
their captions. Such cells are short lines with much space above and below them, and the cells of a
row are level. Lines of a text in columns are close to each other, and keep their order. If a page
without such columns has a line that was read after one below it, its lines are put in order from
top to bottom.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, groupby
from statistics import fmean, median

from .engines import OcrWord
from .print_size import BLOCKS_PER_AREA

MIN_PITCH_HEIGHTS = 1.6  # between a cell and the lines above and below it, in its own height
MAX_HEIGHT_RATIO = 1.25  # of a line's height to that of the page's words
MAX_OFFSET_HEIGHTS = 0.5  # between the levels of the cells of a row
MAX_FIRST_WORDS = 12  # of a cell that has another one to its right; a line of a text has more
MIN_ROWS = 3  # that are read column by column, of a page that is changed
MAX_LINES = 400  # of a page that is searched
MIN_SHARED_WIDTH = 0.5  # of the narrower one of two lines, one of which is above the other
MIN_SLOPE_WORDS = 3  # of a line from which the slope of the page is measured


@dataclass(frozen=True, slots=True)
class _Line:
    """A line as the engine read it, in pixels. Its level is that of a page without slope."""

    words: Sequence[OcrWord]
    level: float
    height: float
    left: int  # its edges
    right: int

    @classmethod
    def of(cls, words: Sequence[OcrWord], slope: float, usual_height: float) -> "_Line":
        """Return a line. Its height is limited, because some boxes are higher than the print."""
        level = fmean(_middle(word) - slope * (word.left + word.width / 2) for word in words)
        max_height = MAX_HEIGHT_RATIO * usual_height
        height = min(median(word.height for word in words), max_height)
        left, right = (
            min(word.left for word in words),
            max(word.left + word.width for word in words),
        )
        return cls(words, level, height, left, right)

    @property
    def sheet_page(self) -> int:
        """Return the number of the page on a sheet, if the pages were read one by one."""
        return self.words[0].line[0] // BLOCKS_PER_AREA


def order_rows(words: Sequence[OcrWord], width: int, height: int) -> list[OcrWord]:
    """Return the words of a page of this size in pixels, with the cells of each row together."""
    groups = [list(line) for _, line in groupby(words, key=lambda word: word.line)]
    if not MIN_ROWS <= len(groups) <= MAX_LINES:
        return list(words)
    slope = _measure_slope(groups)
    usual_height = median(word.height for word in words)
    lines = [_Line.of(group, slope, usual_height) for group in groups]
    fold = width / 2 if _is_folded(lines, width, height) else None
    cells = [line for line in lines if _is_apart(line, lines)]
    following: dict[int, _Line] = {}
    preceding: dict[int, _Line] = {}
    for cell in sorted(cells, key=lambda line: -line.right):  # the nearest before the others
        other = _find_next(cell, cells, fold) if len(cell.words) <= MAX_FIRST_WORDS else None
        if other is not None and id(other) not in preceding:
            following[id(cell)], preceding[id(other)] = other, cell
    places = {id(line): place for place, line in enumerate(lines)}
    moved = [
        before for before, after in following.items() if places[id(after)] != places[before] + 1
    ]
    columns = [line for line in lines if not any(line is cell for cell in cells)]
    beside = [(line, _find_next(line, columns, fold)) for line in columns]
    in_columns = sum(
        other is not None and places[id(other)] != places[id(line)] + 1 for line, other in beside
    )
    if len(moved) < max(MIN_ROWS, in_columns):
        following, preceding = {}, {}
    rows = [list(_follow(line, following)) for line in lines if id(line) not in preceding]
    if in_columns < MIN_ROWS and any(_is_above(row, other) for other, row in combinations(rows, 2)):
        rows.sort(key=lambda row: (row[0].sheet_page, row[0].level))
    return [word for row in rows for line in row for word in line.words]


def _follow(line: _Line, following: Mapping[int, _Line]) -> Iterator[_Line]:
    cell: _Line | None = line
    while cell is not None:
        yield cell
        cell = following.get(id(cell))


def _is_above(row: Sequence[_Line], other: Sequence[_Line]) -> bool:
    """Return whether a row is above another one, and most of the narrower one is in its column."""
    if row[0].sheet_page != other[0].sheet_page:
        return False
    lefts, rights = (row[0].left, other[0].left), (row[-1].right, other[-1].right)
    shared = min(rights) - max(lefts)
    narrower = min(right - left for left, right in zip(lefts, rights, strict=True))
    pitch = max(row[0].height, other[0].height)
    return shared > MIN_SHARED_WIDTH * narrower and row[0].level < other[0].level - pitch


def _middle(word: OcrWord) -> float:
    return word.top + word.height / 2


def _measure_slope(lines: Sequence[Sequence[OcrWord]]) -> float:
    """Return how far the lines of a page go down for each pixel to the right."""
    slopes = [
        (_middle(line[-1]) - _middle(line[0])) / (line[-1].left - line[0].left)
        for line in lines
        if len(line) >= MIN_SLOPE_WORDS and line[-1].left > line[0].left
    ]
    return median(slopes) if slopes else 0.0


def _is_folded(lines: Sequence[_Line], width: int, height: int) -> bool:
    """Return whether a landscape sheet has two pages side by side, whose lines do not meet."""
    return width > height and not any(line.left < width / 2 < line.right for line in lines)


def _is_apart(line: _Line, lines: Sequence[_Line]) -> bool:
    """Return whether a line has as much space above and below it as a cell of a table."""
    left, right, pitch = line.left, line.right, MIN_PITCH_HEIGHTS * line.height
    return not any(
        other is not line
        and abs(other.level - line.level) < pitch
        and other.left < right
        and left < other.right
        for other in lines
    )


def _find_next(cell: _Line, cells: Sequence[_Line], fold: float | None) -> _Line | None:
    """Return the nearest cell to the right in the same row. No row crosses the fold of a sheet."""
    right = cell.right
    level = [
        other
        for other in cells
        if abs(other.level - cell.level) <= MAX_OFFSET_HEIGHTS * min(cell.height, other.height)
        and other.left >= right
        and other.sheet_page == cell.sheet_page
        and not (fold is not None and right <= fold <= other.left)
    ]
    return min(level, key=lambda other: other.left, default=None)
