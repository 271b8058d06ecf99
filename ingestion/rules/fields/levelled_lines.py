"""A scan that lies a little askew, with its lines level: what belongs together is told by height.

At one degree the end of a long line stands as high as the line above it began. Words and marks are
moved up or down, none is turned; a place that was found is told as it is on the page.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate, zip_longest
from math import radians, tan

from ingestion.reading.results import (
    Box,
    DocumentReading,
    PageReading,
    TextSource,
    Word,
)
from ingestion.rules.fields import geometry

_MAX_SLOPE = tan(radians(5))  # what seems to lie further askew was not understood
_MIN_LINE_LENGTH = 300.0  # points of lines from which the slope is told
_REACH_BELOW = frozenset("gjpqyQJ,;()[]{}|/\\_@$\u00e7")  # signs that do so below their line


def slopes(reading: DocumentReading) -> Mapping[int, float]:
    """Of the pages that lie askew, by their numbers."""
    found = ((page.number, slope(page)) for page in reading.pages)
    return {number: falls for number, falls in found if falls}


def levelled(reading: DocumentReading, askew: Mapping[int, float]) -> DocumentReading:
    if not askew:
        return reading
    pages = (_level(page, askew.get(page.number, 0.0)) for page in reading.pages)
    return replace(reading, pages=tuple(pages))


def slope(page: PageReading) -> float:
    """Points that its lines fall for each point to the right. Print that was no picture is level.

    The median by length: a line that was misread counts for no more than its own.
    """
    if page.source is not TextSource.OCR:
        return 0.0
    lines = sorted(_fall(first, last) for first, last in _lines(page.words))
    length = sum(run for _, run in lines)
    if length < _MIN_LINE_LENGTH:
        return 0.0
    before = accumulate(run for _, run in lines)
    falls = next(each for (each, _), run in zip(lines, before, strict=True) if run >= length / 2)
    return falls if abs(falls) < _MAX_SLOPE else 0.0


def as_it_lies(box: Box, slope: float) -> Box:
    """Around what a box of the level page holds, on the page itself."""
    left, top, right, bottom = box
    least, most = sorted((slope * left, slope * right))
    return Box(left, top + least, right, bottom + most)


def _lines(words: Sequence[Word]) -> Iterator[tuple[Box, Box]]:
    """Of each line, or part of one, the first and the last word that stand right on it."""
    on_it: list[Box] = []
    for word, following in zip_longest(words, words[1:]):
        if len(word.text) > 1 and word.text[0].isalnum() and _REACH_BELOW.isdisjoint(word.text):
            on_it.append(word.box)
        if following is None or not geometry.joins(word.box, following.box):
            if len(on_it) > 1:
                yield on_it[0], on_it[-1]
            on_it = []


def _fall(first: Box, last: Box) -> tuple[float, float]:
    """Points down for each to the right, and how many those are, from one word to another.

    A box is lowest where its word ends if the line falls, and where it begins if it rises.
    """
    by = last.bottom - first.bottom
    run = last.right - first.right if by > 0 else last.left - first.left
    return (by / run, run) if run > 0 else (0.0, 0.0)


def _level(page: PageReading, slope: float) -> PageReading:
    if not slope:
        return page
    words = tuple(Word(word.text, _raised(word.box, slope), word.confidence) for word in page.words)
    marks, squares = (
        tuple(_raised(box, slope) for box in boxes) for boxes in (page.marks, page.empty_squares)
    )
    return replace(page, words=words, marks=marks, empty_squares=squares)


def _raised(box: Box, slope: float) -> Box:
    """By as much as its middle lies lower than if it stood at the left edge of the page."""
    left, top, right, bottom = box
    by = slope * (left + right) / 2
    return Box(left, top - by, right, bottom - by)
