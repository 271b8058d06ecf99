"""Levels a slightly skewed scan, so that words on one line have the same height.

On a page that is skewed by one degree, the end of a long line is as high as the beginning of the
line above it. Levelling moves words and marks up or down and rotates nothing. Positions that were
found on the levelled page are converted back to positions on the page as it was scanned.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate, zip_longest
from math import radians, tan

from ingestion.reading.results import (
    Box,
    DocumentReading,
    MeasuredBox,
    PageReading,
    RegisteredPage,
    TextSource,
    Word,
)
from ingestion.rules.fields import geometry

_MAX_SLOPE = tan(radians(5))  # a steeper result is a measuring error
_MIN_LINE_LENGTH = 300.0  # points of text lines, in total, that are needed to measure the slope
# Characters that may reach below the baseline.
_DESCENDERS = frozenset("gjpqyQJ,;()[]{}|/\\_@$\u00e7")


def measure_slopes(reading: DocumentReading) -> Mapping[int, float]:
    """Return the slopes of the skewed pages, by page number."""
    found = ((page.number, measure_slope(page)) for page in reading.pages)
    return {number: slope for number, slope in found if slope}


def level_lines(reading: DocumentReading, slopes: Mapping[int, float]) -> DocumentReading:
    """Return the reading with the words, marks and empty squares of skewed pages levelled."""
    if not slopes:
        return reading
    pages = (_level_page(page, slopes.get(page.number, 0.0)) for page in reading.pages)
    return replace(reading, pages=tuple(pages))


def _level_page(page: PageReading, slope: float) -> PageReading:
    if not slope:
        return page
    return replace(
        page,
        words=_level_words(page.words, slope),
        forms=tuple(_level_form(form, slope) for form in page.forms),
        marks=tuple(_level_box(box, slope) for box in page.marks),
        empty_squares=tuple(_level_box(box, slope) for box in page.empty_squares),
    )


def _level_words(words: Sequence[Word], slope: float) -> tuple[Word, ...]:
    return tuple(word.moved_to(_level_box(word.box, slope)) for word in words)


def _level_form(form: RegisteredPage, slope: float) -> RegisteredPage:
    boxes = (
        MeasuredBox(
            box.position, _level_box(box.box, slope), _level_words(box.words, slope), *box[3:]
        )
        for box in form.boxes
    )
    return replace(form, boxes=tuple(boxes))


def measure_slope(page: PageReading) -> float:
    """Return how many points its lines fall for each point to the right, or 0.0 if unknown.

    The result is the median of the lines, weighted by length, so that a misread line counts only
    for its own length. A page whose text was not read by OCR is level.
    """
    if page.source is not TextSource.OCR:
        return 0.0
    lines = []
    for first, last in _find_baselines(page.words):
        drop = last.bottom - first.bottom
        # A box is lowest at its right end if the line falls, and at its left end if it rises.
        run = last.right - first.right if drop > 0 else last.left - first.left
        lines.append((drop / run, run) if run > 0 else (0.0, 0.0))
    lines.sort()
    length = sum(run for _, run in lines)
    if length < _MIN_LINE_LENGTH:
        return 0.0
    lengths_so_far = accumulate(run for _, run in lines)
    median = next(
        slope
        for (slope, _), so_far in zip(lines, lengths_so_far, strict=True)
        if so_far >= length / 2
    )
    return median if abs(median) < _MAX_SLOPE else 0.0


def to_original_position(box: Box, slope: float) -> Box:
    """Return the box, on the page as scanned, around the content of a box of the level page."""
    left, top, right, bottom = box
    lower, upper = sorted((slope * left, slope * right))
    return Box(left, top + lower, right, bottom + upper)


def _find_baselines(words: Sequence[Word]) -> Iterator[tuple[Box, Box]]:
    """Yield the first and the last word of each line whose letters end exactly on the baseline."""
    on_baseline: list[Box] = []
    for word, following in zip_longest(words, words[1:]):
        if len(word.text) > 1 and word.text[0].isalnum() and _DESCENDERS.isdisjoint(word.text):
            on_baseline.append(word.box)
        if following is None or not geometry.is_followed_by(word.box, following.box):
            if len(on_baseline) > 1:
                yield on_baseline[0], on_baseline[-1]
            on_baseline = []


def _level_box(box: Box, slope: float) -> Box:
    """Return the box raised by the drop of its centre against the left edge of the page."""
    left, top, right, bottom = box
    drop = slope * (left + right) / 2
    return Box(left, top - drop, right, bottom - drop)
