"""The lines of a page as they are printed, from top to bottom, with their positions and type size.

A line ends where the space to the next word is wider than in running text, so that the columns of a
page give lines of their own.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from statistics import median
from typing import NamedTuple

from ingestion.reading.results import Box, PageReading, Word
from ingestion.rules.fields import geometry

_MAX_ROW_GAP = 30.0  # points between the rows of a table
_MAX_SPACE = 0.9  # of the height of the words; more space separates two columns
_MIN_SPACE = 9.0  # points
_MAX_CAPTION_DROP = 26.0  # points from a caption to the text below it


class TextLine(NamedTuple):
    """A printed line, or the part of it that stands in one column."""

    text: str
    words: Sequence[Word]
    box: Box

    @property
    def size(self) -> float:
        """Return the median height of its words, in points."""
        return median([word.box.bottom - word.box.top for word in self.words])


def split_lines(page: PageReading) -> list[TextLine]:
    """Return the lines of a page from top to bottom, and from left to right."""
    runs: list[list[Word]] = []
    last: Box | None = None
    for word in page.words:
        box = word.box
        if last is not None and _continues(last, box):
            runs[-1].append(word)
        else:
            runs.append([word])
        last = box
    lines = [
        TextLine(" ".join([word.text for word in run]), run, geometry.bounding_box(run))
        for run in runs
    ]
    lines.sort(key=lambda line: (round(line.box.top / 3), line.box.left))
    return lines


def captions_of(box: Box, lines: Sequence[TextLine]) -> Iterator[TextLine]:
    """Yield the text to the left of a place in its line, and the text above it."""
    beside = [
        line
        for line in lines
        if line.box.right <= box.left and geometry.is_on_same_line(line.box, box)
    ]
    if beside:
        yield max(beside, key=lambda line: line.box.right)
    above = [
        line
        for line in lines
        if line.box.bottom <= box.top + 2
        and box.top - line.box.bottom < _MAX_CAPTION_DROP
        and line.box.left < box.right
        and line.box.right > box.left
    ]
    if above:
        yield max(above, key=lambda line: line.box.bottom)


def line_gap(lines: Sequence[TextLine]) -> float:
    """Return the usual space between a line and the next one below it, in points."""
    gaps = [
        after.box.top - line.box.bottom
        for line, after in pairwise(lines)
        if after.box.left < line.box.right and after.box.right > line.box.left
    ]
    return max(sorted(gaps)[len(gaps) // 4], 0.0) if gaps else 0.0  # wider ones end paragraphs


def body_size(lines: Sequence[TextLine]) -> float:
    """Return the type size of most of the text, in points; 0 without lines."""
    heights = sorted((line.size, len(line.text)) for line in lines)
    half, so_far = sum(count for _, count in heights) / 2, 0
    for size, count in heights:
        so_far += count
        if so_far >= half:
            return size
    return 0.0


def _continues(last: Box, box: Box) -> bool:
    last_left, last_top, last_right, last_bottom = last
    left, top, _, bottom = box
    if left <= last_left:
        return False  # at the end of a line
    height = max(last_bottom - last_top, bottom - top)
    is_near = -height < left - last_right < max(_MIN_SPACE, _MAX_SPACE * height)
    return is_near and geometry.is_on_same_line(last, box)


def find_column(head: TextLine, lines: Sequence[TextLine], *, max_offset: float) -> list[TextLine]:
    """Return the lines below the head of a column, each near the one above it.

    Their left edges are at most `max_offset` points from that of the head.
    """
    found: list[TextLine] = []
    last = head.box
    for line in sorted(lines, key=lambda each: each.box.top):
        if (
            line.box.top >= last.bottom - 1
            and line.box.top - last.bottom < _MAX_ROW_GAP
            and abs(line.box.left - head.box.left) < max_offset
        ):
            found.append(line)
            last = line.box
    return found
