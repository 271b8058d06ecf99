"""Splits a page into its printed lines from top to bottom, with their positions and type size.

A line ends where the space to the next word is wider than in running text, so that the columns of a
page give lines of their own.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from statistics import median
from typing import NamedTuple

from ingestion.reading.results import Box, PageReading, Word
from ingestion.rules.fields import geometry

_MAX_ROW_GAP = 30.0  # points between the rows of a table
_MAX_SPACE = 0.9  # of the height of the words; more space separates two columns
_MIN_SPACE = 9.0  # points
_MAX_CAPTION_DROP = 26.0  # points from a caption to the text below it
_MAX_CAPTION_RISE = 16.0  # points from a caption to the value above it
_MAX_CAPTION_RISE_OVER_RULE = 34.0  # points, if a line to write on is between them
_MIN_NEARER = 3.0  # points by which that value is nearer than the text below the caption
_MAX_OFFSET = 6.0  # points between the left edges of a value and its caption
_MAX_OFF_CENTRE = 24.0  # points, twice the distance of their centres
_MAX_CAPTION_WORDS = 6
_MAX_SHORT_WORD = 3  # letters of a word that need not begin with a capital letter in a title
_TITLE_CASE_SHARE = 0.8
_RULE = re.compile(r"[_.\u2026\s-]{4,}")  # a line to write on that is made of characters


class TextLine(NamedTuple):
    """A printed line, or the part of it that stands in one column."""

    text: str
    words: Sequence[Word]
    box: Box

    @property
    def size(self) -> float:
        """Return the median height of its words, in points."""
        return median([word.box.bottom - word.box.top for word in self.words])


def split_lines(page: PageReading) -> Sequence[TextLine]:
    """Return the lines of a page from top to bottom, and from left to right. They are kept."""
    words = page.words[:]  # a tuple, even of lazy words
    if isinstance(words, tuple):
        return _lines_of_known(geometry.WordsByIdentity(words))
    return _lines_of(words)


@lru_cache(maxsize=64)
def _lines_of_known(key: geometry.WordsByIdentity) -> Sequence[TextLine]:
    return _lines_of(key.words)


def _lines_of(words: Sequence[Word]) -> Sequence[TextLine]:
    runs: list[list[Word]] = []
    last: Box | None = None
    for word in words:
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
    return tuple(sorted(lines, key=lambda line: (round(line.box.top / 3), line.box.left)))


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


class ValueAbove(NamedTuple):
    """The text above its caption. `is_certain` if a rule or a row of captions shows that."""

    line: TextLine
    is_certain: bool


def find_value_above(caption: TextLine, lines: Sequence[TextLine]) -> ValueAbove | None:
    """Return the text of a caption that stands below it, as below a line to write on.

    The text is nearer than the one below the caption. In a row of captions, each has its own.
    """
    if not may_be_caption(caption):
        return None
    found = _text_above(caption, lines)
    if found is None:
        return None
    line, has_rule = found
    if has_rule:
        return ValueAbove(line, is_certain=True)
    if not _is_nearer_than_below(caption, line, lines):
        return None
    row = [
        each
        for each in lines
        if each is not caption and geometry.is_on_same_line(each.box, caption.box)
    ]
    is_row = bool(row) and all(may_be_caption(each) and _text_above(each, lines) for each in row)
    return ValueAbove(line, is_row)


def find_caption_below(line: TextLine, lines: Sequence[TextLine]) -> TextLine | None:
    """Return the caption below a text that is certainly its value, or None."""
    below = [
        each
        for each in lines
        if line.box.bottom - 2 <= each.box.top < line.box.bottom + _MAX_CAPTION_RISE_OVER_RULE
        and _is_in_column(each, line)
        and not _RULE.fullmatch(each.text)
    ]
    caption = min(below, key=lambda each: each.box.top, default=None)
    above = find_value_above(caption, lines) if caption else None
    return caption if above and above.line is line and above.is_certain else None


def may_be_caption(line: TextLine) -> bool:
    """Return whether a text is short, begins with a capital letter and has no digit or colon."""
    return (
        line.text[:1].isupper()
        and not any(sign.isdigit() for sign in line.text)
        and len(line.text.split()) <= _MAX_CAPTION_WORDS
        and not line.text.removesuffix("No.").endswith((":", ".", ","))
    )


def _text_above(caption: TextLine, lines: Sequence[TextLine]) -> tuple[TextLine, bool] | None:
    """Return the nearest text above a caption in its column, and whether a rule is between."""
    above = [
        each
        for each in lines
        if each.box.bottom <= caption.box.top + 2
        and caption.box.top - each.box.bottom < _MAX_CAPTION_RISE_OVER_RULE
        and _is_in_column(each, caption)
    ]
    texts = [each for each in above if not _RULE.fullmatch(each.text)]
    line = max(texts, key=lambda each: each.box.bottom, default=None)
    if line is None:
        return None
    has_rule = any(
        _RULE.fullmatch(each.text) and each.box.bottom > line.box.bottom for each in above
    )
    rise = _MAX_CAPTION_RISE_OVER_RULE if has_rule else _MAX_CAPTION_RISE
    is_near = caption.box.top - line.box.bottom < rise
    return (line, has_rule) if is_near and not line.text.endswith(":") else None


def _is_in_column(line: TextLine, caption: TextLine) -> bool:
    """Return whether a text has the left edge or the centre of a caption."""
    centres = line.box.left + line.box.right - caption.box.left - caption.box.right
    return abs(line.box.left - caption.box.left) < _MAX_OFFSET or abs(centres) < _MAX_OFF_CENTRE


def _is_nearer_than_below(caption: TextLine, line: TextLine, lines: Sequence[TextLine]) -> bool:
    """Return whether a text above a caption is nearer than the text below it in its column."""
    rise = caption.box.top - line.box.bottom
    return not any(
        caption.box.bottom - 2 <= each.box.top < caption.box.bottom + rise + _MIN_NEARER
        and each.box.left < caption.box.right
        and each.box.right > caption.box.left
        for each in lines
        if each is not caption
    )


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
    """Return whether a word at `box` is on the line of the word before it, and near it."""
    # Nothing else is called, because this is called for every word of a page.
    last_left, last_top, last_right, last_bottom = last
    left, top, _, bottom = box
    if left <= last_left:
        return False  # at the end of a line
    height, last_height = bottom - top, last_bottom - last_top
    larger = max(height, last_height)
    space = left - last_right
    is_near = -larger < space and (space < _MIN_SPACE or space < _MAX_SPACE * larger)
    return is_near and (
        last_top < (top + bottom) / 2 < last_bottom or top < (last_top + last_bottom) / 2 < bottom
    )


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


def is_in_title_case(lines: Sequence[TextLine]) -> bool:
    """Return whether the longer words of some lines begin with capital letters."""
    words = [word for line in lines for word in line.text.split() if len(word) > _MAX_SHORT_WORD]
    capitals = sum(word.lstrip('(\u201c"')[:1].isupper() for word in words)
    return len(words) > 1 and capitals >= _TITLE_CASE_SHARE * len(words)
