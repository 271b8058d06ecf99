"""Reads single areas of a page again by OCR: omitted lines and misread blocks.

Tesseract sometimes omits a short line, such as a date beside a signature, and reports high
confidence for all other words. It also reads two lines of small print beside a taller heading as
one line of garbage. It reads both correctly when they are cut out of the page.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from statistics import median

import numpy as np
from numpy.typing import NDArray

from ingestion.reading.images.marks import MIN_PRINT_CONFIDENCE
from ingestion.reading.images.render import POINTS_PER_INCH, PageRaster
from ingestion.reading.results import Box, Word, compute_bounding_box

from .engines import (
    MIN_WORD_CONFIDENCE,
    Engine,
    OcrFailed,
    OcrTimeout,
    OcrWord,
    SegmentationMode,
)
from .time_budget import TimeBudget

# WORD_HEIGHTS is a unit: the median height of the page's words.

# An omitted line is found as a mark, or as several marks beside each other.
MIN_LINE_WORD_HEIGHTS, MAX_LINE_WORD_HEIGHTS = 0.6, 2.2  # of a mark that may be text
MAX_GAP_WORD_HEIGHTS = 3.0  # between marks of one line
MIN_LINE_RATIO = 2.0  # of a line's width to its own height
# The ink of a line may continue beyond its marks.
MAX_LINE_EXTENSION_POINTS = 100.0  # enough for a date, without the signature beside it
MIN_STROKE_POINTS = 1.5  # of ink in a column of pixels; the rule of a signature line has less
INK_THRESHOLD = 0.7  # of the paper's brightness, below which a pixel is ink

# A misread block consists of words of low confidence that are close together.
MIN_WORDS_PER_BLOCK = 4  # a signature is seldom read as so many
BLOCK_GAP_X_WORD_HEIGHTS, BLOCK_GAP_Y_WORD_HEIGHTS = 3.0, 0.5  # between words of a block
MIN_IMPROVEMENT = 2.0  # factor of expected correct characters by which the new words are better

MAX_AREAS_PER_PAGE = 6  # that are read again; a drawing has many marks that look like lines
MIN_SECONDS_LEFT = 1.0  # for one area
# Paper around an area, from which Tesseract measures the brightness. It also shows the small
# strokes at the ends of a line that made no mark.
AREA_MARGIN_X_POINTS, AREA_MARGIN_Y_POINTS = 12.0, 6.0
# Tesseract takes a single line above a rule for noise, and reads it if several copies of it are
# stacked.
COPIES_PER_LINE = 3


def run_second_pass(
    raster: PageRaster,
    ocr_words: Sequence[OcrWord],
    words: Sequence[Word],
    marks: Sequence[Box],
    engine: Engine,
    budget: TimeBudget,
) -> tuple[list[OcrWord], list[OcrWord]]:
    """Read suspect areas of a page again.

    `ocr_words` are those of the first pass, `words` are all that are known of the page.
    Return the words of the first pass with misread ones replaced, and the words of omitted lines.
    Both areas remain among the page's marks, because they may be handwriting after all.
    """
    certain = [word.box for word in words if word.confidence >= MIN_WORD_CONFIDENCE]
    height = median(box.bottom - box.top for box in certain) if certain else 0.0
    blocks = _find_misread_blocks(words, height)
    lines = _find_omitted_lines(marks, [*blocks, *certain], height)
    lines = _extend_lines(lines, raster, MAX_GAP_WORD_HEIGHTS * height)
    lines = lines[: max(MAX_AREAS_PER_PAGE - len(blocks), 0)]
    result, omitted = list(ocr_words), list[OcrWord]()
    # Tesseract counts blocks from 1, so that block numbers up to 0 distinguish the areas.
    try:
        for index, area in enumerate(blocks[:MAX_AREAS_PER_PAGE]):
            found = _read_area(raster, area, engine, SegmentationMode.SINGLE_BLOCK, budget)
            found = [replace(word, line=(-index, *word.line[1:])) for word in found]
            result = _replace_if_better(result, area, found, raster.dpi)
        for index, area in enumerate(lines, start=len(blocks)):
            found = _read_area(raster, area, engine, SegmentationMode.SPARSE_TEXT, budget)
            found.sort(key=lambda word: word.left)
            omitted += [replace(word, line=(-index, 1, 1)) for word in found]
    except OcrFailed:
        pass  # the results so far remain
    return result, omitted


def _find_omitted_lines(marks: Sequence[Box], known: Sequence[Box], height: float) -> list[Box]:
    """Return marks that have the height of text, joined to lines, from top to bottom.

    The lines may be slightly askew. A line is left out if most of it was read, such as a heading
    that is a mark for its height. `known` are the boxes of what was read, and `height` is the
    median height of a word, in points.
    """
    lines: list[Box] = []
    for mark in sorted(marks):  # from left to right
        mark_height = mark.bottom - mark.top
        if not MIN_LINE_WORD_HEIGHTS * height < mark_height < MAX_LINE_WORD_HEIGHTS * height:
            continue
        middle = (mark.top + mark.bottom) / 2
        for index, line in enumerate(lines):
            is_near = mark.left - line.right < MAX_GAP_WORD_HEIGHTS * height
            if is_near and line.top < middle < line.bottom:
                lines[index] = compute_bounding_box((line, mark))
                break
        else:
            lines.append(mark)
    omitted = []
    for line in lines:
        width = line.right - line.left
        inside = (
            box for box in known if line.contains_centre_of(box) or box.contains_centre_of(line)
        )
        is_read = sum(box.right - box.left for box in inside) > width / 2
        if width > MIN_LINE_RATIO * (line.bottom - line.top) and not is_read:
            omitted.append(line)
    return sorted(omitted, key=lambda line: line.top)


def _extend_lines(lines: Iterable[Box], raster: PageRaster, max_gap: float) -> list[Box]:
    """Return the lines with the ink beside them, up to a gap of `max_gap` points.

    Some words of a short line may have made no mark.
    """
    extended: list[Box] = []
    scale = raster.dpi / POINTS_PER_INCH
    max_columns, gap = int(MAX_LINE_EXTENSION_POINTS * scale), int(max_gap * scale)
    for line in lines:
        if any(other.contains_centre_of(line) for other in extended):
            continue
        rows = raster.grey[int(line.top * scale) : int(line.bottom * scale) + 1]
        ink = np.count_nonzero(rows < INK_THRESHOLD * np.median(rows), axis=0)
        has_stroke = ink >= MIN_STROKE_POINTS * scale
        left, right = int(line.left * scale), int(line.right * scale)
        before = _run_length(has_stroke[max(left - max_columns, 0) : left][::-1], gap)
        after = _run_length(has_stroke[right : right + max_columns], gap)
        extended.append(
            Box(line.left - before / scale, line.top, line.right + after / scale, line.bottom)
        )
    return extended


def _run_length(ink: NDArray[np.bool_], max_gap: int) -> int:
    """Return the number of columns up to the first gap of more than `max_gap` columns."""
    inked = np.flatnonzero(ink)
    gaps = np.diff(inked, prepend=-1) > max_gap
    run = inked[: int(gaps.argmax())] if gaps.any() else inked
    return int(run[-1]) + 1 if run.size else 0


def _find_misread_blocks(words: Sequence[Word], height: float) -> list[Box]:
    """Return the areas of words that were probably misread, from top to bottom.

    `height` is the median height of a word, in points. A line of which only a few words are
    uncertain is not among them.
    """
    clusters: list[list[Box]] = []
    for word in words:
        if word.confidence < MIN_PRINT_CONFIDENCE:
            wide = _expanded(
                word.box, BLOCK_GAP_X_WORD_HEIGHTS * height, BLOCK_GAP_Y_WORD_HEIGHTS * height
            )
            near = [cluster for cluster in clusters if any(map(wide.intersects, cluster))]
            clusters = [cluster for cluster in clusters if cluster not in near]
            clusters.append([word.box, *(box for cluster in near for box in cluster)])
    blocks = []
    for cluster in clusters:
        if len(cluster) < MIN_WORDS_PER_BLOCK:
            continue
        area = compute_bounding_box(cluster)
        inside = [word for word in words if area.contains_centre_of(word.box)]
        certain = sum(len(word.text) for word in inside if word.confidence >= MIN_WORD_CONFIDENCE)
        if certain < sum(len(word.text) for word in inside) / 2:
            blocks.append(area)
    return sorted(blocks, key=lambda area: area.top)


def _expanded(box: Box, x: float, y: float) -> Box:
    left, top, right, bottom = box
    return Box(left - x, top - y, right + x, bottom + y)


def _read_area(
    raster: PageRaster, area: Box, engine: Engine, mode: SegmentationMode, budget: TimeBudget
) -> list[OcrWord]:
    """Return the words that OCR reads with certainty in an area, in pixels of the page.

    Raises OcrFailed.
    """
    seconds = budget.remaining
    if seconds < MIN_SECONDS_LEFT:
        raise OcrTimeout
    scale = raster.dpi / POINTS_PER_INCH
    x, y, right, bottom = (
        max(int(edge * scale), 0)
        for edge in _expanded(area, AREA_MARGIN_X_POINTS, AREA_MARGIN_Y_POINTS)
    )
    grey = np.ascontiguousarray(raster.grey[y:bottom, x:right])
    copies = COPIES_PER_LINE if mode is SegmentationMode.SPARSE_TEXT else 1
    height, middle = grey.shape[0], copies // 2
    stacked = np.vstack([grey] * copies)
    found = engine.recognise(stacked, round(raster.dpi), seconds, mode)
    # Words of the middle copy, moved to their place on the page. A vertical bar alone is the side
    # of a box.
    moved = [
        replace(word, left=word.left + x, top=word.top % height + y)
        for word in found
        if word.confidence >= MIN_WORD_CONFIDENCE
        and word.text.strip("|")
        and word.top // height == middle
    ]
    # The margin above and below may show parts of the neighbouring lines.
    inner = _expanded(area, AREA_MARGIN_X_POINTS, 0.0)
    return [word for word in moved if inner.contains_centre_of(word.to_word(raster.dpi).box)]


def _replace_if_better(
    words: list[OcrWord], area: Box, found: Sequence[OcrWord], dpi: float
) -> list[OcrWord]:
    """Return the words with those in the area replaced, if the new ones are clearly better."""
    misread, others = [], list[Box]()
    for word in words:
        box = word.to_word(dpi).box
        if area.contains_centre_of(box):
            misread.append(word)
        else:
            others.append(box)
    new = [
        word
        for word, box in ((each, each.to_word(dpi).box) for each in found)
        if not any(other.contains_centre_of(box) for other in others)
    ]
    if not misread or (
        _expected_correct_characters(new) < MIN_IMPROVEMENT * _expected_correct_characters(misread)
    ):
        return words
    start = words.index(misread[0])
    rest = (word for word in words[start:] if word not in misread)
    return [*words[:start], *new, *rest]


def _expected_correct_characters(words: Iterable[OcrWord]) -> float:
    """Return the number of characters, each weighted by the confidence of its word."""
    return sum(len(word.text) * word.confidence / 100 for word in words)
