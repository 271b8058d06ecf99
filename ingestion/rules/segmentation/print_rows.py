"""Finds the rows in which the words of a page are printed, and what they show of a beginning.

OCR may read the columns of a table one after the other, and it measures the heights of words
inexactly. So rows are found by position, even on a skewed scan, and their sizes are compared by the
widths of characters.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice, pairwise
from operator import sub
from statistics import fmean, median
from typing import NamedTuple

from ingestion.reading.results import PageReading, Word
from ingestion.rules.fields.levelled_lines import measure_slope
from ingestion.rules.segmentation.page_regions import WordPlaces

HEAD_ROWS = 4
MIN_ROW_CHARACTERS, MIN_MEASURED_CHARACTERS = 3, 5
MAX_ROW_DROP = 0.5  # of the height of a word, between the centres of the words of a row
MIN_WORD_HEIGHT = 3.0  # points; a word that is lower, as a dash, counts as so high
MIN_CENTRED_MARGIN, MAX_CENTRED_DIFFERENCE = 0.15, 0.08  # shares of the width of a page
MIN_COLUMN_GAP = 3.0  # characters of white space between two columns
USUAL_COLUMN_GAP = 14.0  # points of it if the page has no character width
MIN_TABLE_GAPS = 2  # of a row of a table
MAX_WIDTH_RATIO, MAX_GAP_RATIO, MAX_GAPS = 3.0, 6.0, 5


class PrintRow(NamedTuple):
    """The words of a row from left to right, and the height of their centres on the level page."""

    words: Sequence[Word]
    centre: float

    @property
    def text(self) -> str:
        """Return the words, separated by spaces."""
        return " ".join(word.text for word in self.words)

    @property
    def characters(self) -> int:
        """Return the number of characters without spaces."""
        return sum([len(text) for text, *_ in self.words])

    @property
    def left(self) -> float:
        """Return the left edge of the first word, in points."""
        return self.words[0].box.left

    @property
    def right(self) -> float:
        """Return the right edge of the last word, in points."""
        return self.words[-1].box.right

    @property
    def character_width(self) -> float:
        """Return the mean width of a character, in points."""
        return sum(word.box.right - word.box.left for word in self.words) / self.characters

    def is_centred(self, width: float) -> bool:
        """Return whether the row is in the middle of a page of this width."""
        before, after = self.left, width - self.right
        return (
            min(before, after) > MIN_CENTRED_MARGIN * width
            and abs(before - after) < MAX_CENTRED_DIFFERENCE * width
        )

    def count_gaps(self, min_gap: float) -> int:
        """Return the number of gaps between columns, of more than `min_gap` points."""
        sides = [(left, right) for _, (left, _, right, _), *_ in self.words]
        return sum([left - right > min_gap for (_, right), (left, _) in pairwise(sides)])


class PageRows:
    """The rows of a page from top to bottom, which are found as far down as they are needed."""

    def __init__(self, rows: Iterable[PrintRow]) -> None:
        self._found: list[PrintRow] = []
        self._others = iter(rows)

    def first(self, count: int) -> Sequence[PrintRow]:
        """Return so many rows at the top, or fewer if the page has no more."""
        self._found += islice(self._others, max(count - len(self._found), 0))
        return self._found[:count]

    def all(self) -> Sequence[PrintRow]:
        """Return all rows."""
        self._found += self._others
        return self._found


def find_rows(page: PageReading, places: WordPlaces | None = None) -> Iterator[PrintRow]:
    """Yield the rows of a page from top to bottom, without very short ones.

    `places` are those of the words of the page, if they were listed already.
    """
    places = places or WordPlaces(page.words)
    slope = measure_slope(page)
    tops, bottoms = places.tops, places.bottoms
    centres = [(top + bottom) / 2 for top, bottom in zip(tops, bottoms, strict=True)]
    if slope:
        sides = zip(centres, places.lefts, places.rights, strict=True)
        centres = [centre - slope * (left + right) / 2 for centre, left, right in sides]
    heights = list(map(sub, bottoms, tops))
    order = sorted(range(len(centres)), key=centres.__getitem__)
    group: list[int] = []
    for each in order:
        if group:
            before = group[len(group) // 2]
            height = max(min(heights[each], heights[before]), MIN_WORD_HEIGHT)
            if centres[each] - centres[before] >= MAX_ROW_DROP * height:
                yield from _row_of(group, places, centres)
                group = []
        group.append(each)
    if group:
        yield from _row_of(group, places, centres)


def _row_of(
    group: Sequence[int], places: WordPlaces, centres: Sequence[float]
) -> Iterator[PrintRow]:
    """Yield the row with these words, unless it is very short."""
    lengths, words = places.lengths, places.words
    if sum([lengths[each] for each in group]) >= MIN_ROW_CHARACTERS:
        ordered = sorted(group, key=places.lefts.__getitem__)
        yield PrintRow([words[each] for each in ordered], centres[group[len(group) // 2]])


def describe_head(
    page: PageReading, head: Sequence[PrintRow], character_width: float
) -> Mapping[str, float]:
    """Return the features of the first HEAD_ROWS rows of a page for the model of boundaries.

    `character_width` is the usual width of a character on the page, in points; 0.0 if unknown.
    The first rows of a document are often larger or centred. Those of a later page may continue a
    table.
    """
    widths = [
        row.character_width / character_width
        for row in head
        if character_width and row.characters >= MIN_MEASURED_CHARACTERS
    ]
    gaps = count_gaps(head[: HEAD_ROWS - 1], character_width)
    return {
        "wide head": min(max(widths, default=0.0), MAX_WIDTH_RATIO),
        "centred head": float(sum(row.is_centred(page.width) for row in head)),
        "first row width": (head[0].right - head[0].left) / page.width if head else 0.0,
        "first gaps": float(min(gaps[0], MAX_GAPS)) if gaps else 0.0,
        "head gaps": float(min(max(gaps, default=0), MAX_GAPS)),
    }


def describe_rows(rows: Sequence[PrintRow], character_width: float) -> Mapping[str, float]:
    """Return the features of all rows of a page for the model of boundaries.

    The first rows of a document often have white space below them. The rows of a later page may be
    those of a table. `character_width` is as in `describe_head`.
    """
    gaps = count_gaps(rows, character_width)
    pitches = [below.centre - row.centre for row, below in pairwise(rows)]
    usual_pitch = median(pitches) if pitches else 0.0
    return {
        "head space": min(max(pitches[: HEAD_ROWS - 1]) / usual_pitch, MAX_GAP_RATIO)
        if usual_pitch
        else 0.0,
        "last gaps": float(min(max(gaps[1 - HEAD_ROWS :], default=0), MAX_GAPS)),
        "table rows": fmean(each >= MIN_TABLE_GAPS for each in gaps) if gaps else 0.0,
    }


def count_gaps(rows: Iterable[PrintRow], character_width: float) -> list[int]:
    """Return the number of gaps between columns of each row. 0.0 is an unknown width."""
    min_gap = MIN_COLUMN_GAP * character_width or USUAL_COLUMN_GAP
    return [row.count_gaps(min_gap) for row in rows]
