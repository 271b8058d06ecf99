"""A second look at what was passed over on a page, or misread.

Tesseract leaves out a short line now and then, as a date beside a signature, and is sure of all the
others: no confidence tells. And it takes small print beside a taller heading, two lines of it, for
one line of garbage. Cut out, both are read.
"""

import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from statistics import median

import numpy as np
from numpy.typing import NDArray

from ingestion.reading.images.marks import MIN_PRINT_CONFIDENCE
from ingestion.reading.images.render import POINTS_PER_INCH, GreyArray, PageRaster
from ingestion.reading.images.variants import smooth_bilevel
from ingestion.reading.results import Box, Word, bounding_box

from .engines import (
    MIN_UPRIGHT_CONFIDENCE,
    Engine,
    OcrFailed,
    OcrTimeout,
    OcrWord,
    SegmentationMode,
)

# What the engine may have passed over, in heights of the page's usual word.
LOW, HIGH, GAP = 0.6, 2.2, 3.0
MIN_LINE_RATIO = 2.0  # times its own height

# What it may have misread: words that it was unsure of, close together, and few others among them.
MIN_WORDS_PER_LINE = 4  # words; out of a signature it seldom makes as many
REACH = (3.0, 0.5)  # sideways and down, in heights of the page's usual word
MIN_IMPROVEMENT = 2.0  # times the letters that are probably right

MAX_SUSPECT_LINES_PER_PAGE = 6  # places on one page; a drawing has many such marks
MIN_SECONDS_LEFT = 1.0
LINE_MARGIN_POINTS = (
    12.0,
    6.0,
)  # points beside and above it: its small ends may not have made a mark

# Tesseract takes a lone line above a rule for noise, and reads it among others like it.
COPIES_PER_LINE = 5

# How far the ink of a line goes on beside what of it made a mark.
MAX_LINE_EXTENSION_POINTS = 100.0  # points: a date, and not the signature beside it
MIN_STROKE_POINTS = 1.5  # points of ink above each other; the rule that one signs on has less
INK_THRESHOLD = 0.7  # of the paper's brightness: ink is darker


def run_second_pass(
    picture: PageRaster,
    read: Sequence[OcrWord],
    words: Sequence[Word],
    marks: Sequence[Box],
    engine: Engine,
    deadline: float,
) -> tuple[list[OcrWord], list[OcrWord]]:
    """What was `read`, with the garbage in it replaced; and what was passed over.

    `words` are all that are known of the page. What was passed over stays among its marks, as does
    what was misread, for it may be somebody's hand after all.
    """
    usual = _usual_height(words)
    garbage = _garbage(words, usual)
    known = [*garbage, *(word.box for word in words if word.confidence >= MIN_UPRIGHT_CONFIDENCE)]
    lines = [line for line in _lines_in(marks, usual) if not _is_known(line, known)]
    lines = _to_their_ends(lines, picture, GAP * usual)[
        : max(MAX_SUSPECT_LINES_PER_PAGE - len(garbage), 0)
    ]
    now, passed_over = list(read), list[OcrWord]()
    try:
        for at, area in enumerate(garbage[:MAX_SUSPECT_LINES_PER_PAGE]):
            found = _seen(picture, area, engine, SegmentationMode.SINGLE_BLOCK, deadline)
            now = _replaced(now, area, _in_lines(found, at), picture.dpi)
        for at, line in enumerate(lines, start=len(garbage)):
            passed_over += _in_one_line(
                _seen(picture, line, engine, SegmentationMode.SPARSE_TEXT, deadline), at
            )
    except OcrFailed:
        pass  # what was read before stands
    return now, passed_over


def _usual_height(words: Sequence[Word]) -> float:
    sure = [
        word.box.bottom - word.box.top
        for word in words
        if word.confidence >= MIN_UPRIGHT_CONFIDENCE
    ]
    return median(sure) if sure else 0.0


def _lines_in(marks: Sequence[Box], usual: float) -> list[Box]:
    """What is as high as one of the page's lines, which may run askew, joined to such lines."""
    lines: list[Box] = []
    for mark in sorted(marks):  # from the left
        if not LOW * usual < mark.bottom - mark.top < HIGH * usual:
            continue
        near = (n for n, line in enumerate(lines) if _goes_on(line, mark, GAP * usual))
        at = next(near, None)
        if at is None:
            lines.append(mark)
        else:
            lines[at] = bounding_box((lines[at], mark))
    long = [
        line for line in lines if line.right - line.left > MIN_LINE_RATIO * (line.bottom - line.top)
    ]
    return sorted(long, key=lambda line: line.top)


def _goes_on(line: Box, mark: Box, gap: float) -> bool:
    return mark.left - line.right < gap and line.top < (mark.top + mark.bottom) / 2 < line.bottom


def _is_known(line: Box, known: Iterable[Box]) -> bool:
    """Whether most of it was read, as a heading, which is a mark for its height."""
    there = (box for box in known if line.contains_center_of(box) or box.contains_center_of(line))
    return sum(box.right - box.left for box in there) > (line.right - line.left) / 2


def _to_their_ends(lines: Iterable[Box], picture: PageRaster, gap: float) -> list[Box]:
    """With the ink beside them, up to a gap: of a short line some words may have made no mark."""
    ends: list[Box] = []
    for line in lines:
        if not any(end.contains_center_of(line) for end in ends):
            ends.append(_to_its_ends(line, picture, gap))
    return ends


def _to_its_ends(line: Box, picture: PageRaster, gap: float) -> Box:
    scale = picture.dpi / POINTS_PER_INCH
    rows = picture.grey[int(line.top * scale) : int(line.bottom * scale) + 1]
    ink = (
        np.count_nonzero(rows < INK_THRESHOLD * np.median(rows), axis=0)
        >= MIN_STROKE_POINTS * scale
    )
    left, right = int(line.left * scale), int(line.right * scale)
    most, white = int(MAX_LINE_EXTENSION_POINTS * scale), int(gap * scale)
    before = _run(ink[max(left - most, 0) : left][::-1], white)
    after = _run(ink[right : right + most], white)
    return Box(line.left - before / scale, line.top, line.right + after / scale, line.bottom)


def _run(ink: NDArray[np.bool_], white: int) -> int:
    """How many pixels the ink goes on, until so many are white."""
    inked = np.flatnonzero(ink)
    gaps = np.diff(inked, prepend=-1) > white
    reached = inked[: int(gaps.argmax())] if gaps.any() else inked
    return int(reached[-1]) + 1 if reached.size else 0


def _garbage(words: Sequence[Word], usual: float) -> list[Box]:
    """From the top."""
    clusters: list[list[Box]] = []
    for word in words:
        if word.confidence < MIN_PRINT_CONFIDENCE:
            wide = _widened(word.box, REACH[0] * usual, REACH[1] * usual)
            near = [each for each in clusters if any(map(wide.intersects, each))]
            clusters = [each for each in clusters if each not in near]
            clusters.append([word.box, *(box for each in near for box in each)])
    areas = [bounding_box(boxes) for boxes in clusters if len(boxes) >= MIN_WORDS_PER_LINE]
    return sorted((area for area in areas if _is_misread(area, words)), key=lambda area: area.top)


def _is_misread(area: Box, words: Iterable[Word]) -> bool:
    """Not a line of which some words are unsure."""
    within = [word for word in words if area.contains_center_of(word.box)]
    sure = sum(len(word.text) for word in within if word.confidence >= MIN_UPRIGHT_CONFIDENCE)
    return sure < sum(len(word.text) for word in within) / 2


def _widened(box: Box, x: float, y: float) -> Box:
    left, top, right, bottom = box
    return Box(left - x, top - y, right + x, bottom + y)


def _seen(
    picture: PageRaster, place: Box, engine: Engine, layout: SegmentationMode, deadline: float
) -> list[OcrWord]:
    """What stands surely in a place, where it is on the page. Raises OcrFailed."""
    left = deadline - time.monotonic()
    if left < MIN_SECONDS_LEFT:
        raise OcrTimeout
    grey, (x, y) = _cut_out(picture, place)
    copies = COPIES_PER_LINE if layout is SegmentationMode.SPARSE_TEXT else 1
    high, middle = grey.shape[0], copies // 2
    tokens = engine.recognise(
        smooth_bilevel(np.vstack([grey] * copies)), round(picture.dpi), left, layout
    )
    # A stroke is the side of a box.
    sure = [
        token
        for token in tokens
        if token.confidence >= MIN_UPRIGHT_CONFIDENCE and token.text.strip("|")
    ]
    moved = [
        replace(token, left=token.left + x, top=token.top % high + y)
        for token in sure
        if token.top // high == middle
    ]
    # Not what the rim shows of the lines above and below.
    inner = _widened(place, LINE_MARGIN_POINTS[0], 0.0)
    return [token for token in moved if inner.contains_center_of(token.to_word(picture.dpi).box)]


def _cut_out(picture: PageRaster, place: Box) -> tuple[GreyArray, tuple[int, int]]:
    """With a rim, from which tesseract knows the paper; and the corner of that on the page."""
    scale = picture.dpi / POINTS_PER_INCH
    left, above, right, below = (
        max(int(edge * scale), 0) for edge in _widened(place, *LINE_MARGIN_POINTS)
    )
    return np.ascontiguousarray(picture.grey[above:below, left:right]), (left, above)


# Block 0 and those below it are none of the page's own: theirs count from 1.


def _in_lines(tokens: Iterable[OcrWord], at: int) -> list[OcrWord]:
    return [replace(token, line=(-at, *token.line[1:])) for token in tokens]


def _in_one_line(tokens: Iterable[OcrWord], at: int) -> list[OcrWord]:
    in_order = sorted(tokens, key=lambda token: token.left)
    return [replace(token, line=(-at, 1, 1)) for token in in_order]


def _replaced(
    read: list[OcrWord], area: Box, found: Sequence[OcrWord], dpi: float
) -> list[OcrWord]:
    """With what was found where the garbage stood, if it is clearly better."""
    garbage = [token for token in read if area.contains_center_of(token.to_word(dpi).box)]
    others = [token.to_word(dpi).box for token in read if token not in garbage]
    new = [
        token
        for token in found
        if not any(other.contains_center_of(token.to_word(dpi).box) for other in others)
    ]
    if not garbage or _probably_right(new) < MIN_IMPROVEMENT * _probably_right(garbage):
        return read
    at = read.index(garbage[0])
    return [*read[:at], *new, *(token for token in read[at:] if token not in garbage)]


def _probably_right(tokens: Iterable[OcrWord]) -> float:
    """Characters."""
    return sum(len(token.text) * token.confidence / 100 for token in tokens)
