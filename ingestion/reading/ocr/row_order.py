"""Puts the cells of a row behind each other, where the engine read a table column by column.

Tesseract follows the columns of a table without rules, and of a form whose values stand far from
their captions. Such cells are short lines with much space above and below them, and the cells of a
row are level. Lines of a text in columns are close to each other, and keep their order.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby

from .engines import OcrWord
from .small_print import BLOCKS_PER_AREA

MIN_SPACE_HEIGHTS = 0.55  # between a cell and the lines above and below it, in its own height
MAX_OFFSET_HEIGHTS = 0.6  # between the middles of the cells of a row; lines are a little askew
MAX_SLOPE = 0.03  # of a row, added to the offset for its gaps
MAX_FIRST_WORDS = 8  # of a cell that has another one to its right; a line of a text has more
MIN_ROWS = 3  # that are read column by column, of a page that is changed
MAX_LINES = 400  # of a page that is searched


@dataclass(slots=True)
class _Line:
    """A line as the engine read it, in pixels."""

    words: list[OcrWord]
    left: int = field(init=False)
    top: int = field(init=False)
    right: int = field(init=False)
    bottom: int = field(init=False)

    def __post_init__(self) -> None:
        self.left = min(word.left for word in self.words)
        self.top = min(word.top for word in self.words)
        self.right = max(word.left + word.width for word in self.words)
        self.bottom = max(word.top + word.height for word in self.words)

    @property
    def sheet_page(self) -> int:
        """Return the number of the page on a sheet, if the pages were read one by one."""
        return self.words[0].line[0] // BLOCKS_PER_AREA

    @property
    def height(self) -> int:
        """Return the height of the line."""
        return self.bottom - self.top

    @property
    def middle(self) -> float:
        """Return the level of the middle of the line."""
        return (self.top + self.bottom) / 2


def order_rows(words: Sequence[OcrWord], width: int, height: int) -> list[OcrWord]:
    """Return the words of a page of this size in pixels, with the cells of each row together."""
    lines = [_Line(list(line)) for _, line in groupby(words, key=lambda word: word.line)]
    if not MIN_ROWS <= len(lines) <= MAX_LINES:
        return list(words)
    fold = width / 2 if _is_folded(lines, width, height) else None
    cells = [line for line in lines if _is_apart(line, lines)]
    following: dict[int, _Line] = {}
    for cell in cells:
        if len(cell.words) <= MAX_FIRST_WORDS and (other := _find_next(cell, cells, fold)):
            following[id(cell)] = other
    places = {id(line): place for place, line in enumerate(lines)}
    moved = {
        id(after): after
        for before, after in following.items()
        if places[id(after)] != places[before] + 1
    }
    if len(moved) < MIN_ROWS:
        return list(words)
    behind = {id(line) for line in following.values()}
    ordered: list[OcrWord] = []
    for line in lines:
        if id(line) in behind:
            continue
        row: _Line | None = line
        while row is not None:
            ordered += row.words
            row = following.get(id(row))
    return ordered


def _is_folded(lines: Sequence[_Line], width: int, height: int) -> bool:
    """Return whether a landscape sheet has two pages side by side, whose lines do not meet."""
    return width > height and not any(line.left < width / 2 < line.right for line in lines)


def _is_apart(line: _Line, lines: Sequence[_Line]) -> bool:
    """Return whether a line has as much space above and below it as a cell of a table."""
    return not any(
        other is not line
        and other.left < line.right
        and line.left < other.right
        and other.top - line.bottom < MIN_SPACE_HEIGHTS * line.height
        and line.top - other.bottom < MIN_SPACE_HEIGHTS * line.height
        for other in lines
    )


def _find_next(cell: _Line, cells: Sequence[_Line], fold: float | None) -> _Line | None:
    """Return the nearest cell to the right in the same row. No row crosses the fold of a sheet."""
    level = [
        other
        for other in cells
        if other.left >= cell.right
        and other.sheet_page == cell.sheet_page
        and abs(other.middle - cell.middle)
        <= MAX_OFFSET_HEIGHTS * min(cell.height, other.height)
        + MAX_SLOPE * (other.left - cell.right)
        and not (fold is not None and cell.right <= fold <= other.left)
    ]
    return min(level, key=lambda other: other.left, default=None)
