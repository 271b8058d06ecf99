"""Finds lines of a pen through printed words on a scanned page.

A line strikes words out if strokes of letters cross it from end to end, as close as letters are, if
it has as much print above as below, and if it has no gap in the full resolution of the scan, where
the space between letters is white. A line under words, a rule of a table or the line of a signature
is crossed by few strokes, at one side only, or continues beyond the words. Handwriting is higher
than the print of the page.

Nothing is found on a page whose words were read badly, and no line in its margins.
"""

from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from ingestion.reading.results import Box, Word

from .binarise import (
    INK_BRIGHTNESS,
    MARGIN_SHARE,
    Mask,
    label_components,
    measure_components,
    measure_percentile,
    threshold,
)
from .render import POINTS_PER_INCH, PageRaster

# All pixels are those of a page at 100 dpi.
PRINT_BRIGHTNESSES = (INK_BRIGHTNESS, 205)  # of letters; small ones are grey at 100 dpi
MIN_RUN_PIXELS = 14  # of a straight piece of a line; the bars of letters are shorter
MIN_LENGTH_PIXELS, MAX_LENGTH_SHARE = 50, 0.7  # of a line; the share is that of the page's width
MAX_THICKNESS_PIXELS = 4.0
MAX_SLOPE = 0.12
MAX_BEND_PIXELS = 1.0  # mean distance of a line from its curve
CROSSING_PIXELS = 2  # above and below a line, where a stroke that crosses it continues
MAX_PIXELS_PER_CROSSING = 34.0  # on average
MAX_GAP_PIXELS = 70  # without a crossing: the space between words
MAX_OVERHANG_PIXELS = 48  # of a line at each end
MIN_CONFIDENCE = 70.0  # 0 to 100, median of the words of a page that is searched
END_PIXELS = 5  # at each end of a line, where it may be faint
MIN_CONTINUITY = 0.97  # share of the columns of a line that are as dark as its ink
MIN_INK_SHARE = 0.5  # of the darkness of a line, in each of its columns
MIN_HEIGHT, MAX_HEIGHT = 0.45, 1.5  # of the crossing strokes, in median heights of the words
MAX_SIDE_SHARE = 0.85  # of the height of the strokes that may be at one side of a line
HEIGHT_PERCENTILE = 75  # of the strokes, which is their height
MAX_STROKE_PIXELS = 40
MAX_STRIKES_PER_PAGE = 10  # more are a table whose text is on its rules
# A line through the middle of words of OCR needs less evidence than one where OCR read nothing.
MIN_COVER = 0.5  # of the length of a line that is in words of OCR
MAX_WORD_HEIGHTS = 1.7  # of such a word, in median heights; a higher one contains handwriting
MIN_LEVEL, MAX_LEVEL = 0.2, 0.75  # of a line in the height of such a word
MIN_CROSSED_SHARE, MIN_BALANCE = 0.07, 0.08
MIN_CROSSED_SHARE_WITHOUT_WORDS, MIN_BALANCE_WITHOUT_WORDS = 0.3, 0.5
MAX_PIXELS_PER_CROSSING_WITHOUT_WORDS = 12.0
MAX_CROSSED_SHARE_WITHOUT_WORDS = 0.65  # more is an ornament

FloatArray = NDArray[np.float64]
Columns = NDArray[np.bool_]  # one value for each column of a line


class _Line(NamedTuple):
    """A line: its left end and its level in each column."""

    left: int
    levels: FloatArray

    @property
    def right(self) -> int:
        return self.left + len(self.levels)


def find_strike_outs(raster: PageRaster, flat: PageRaster, words: Sequence[Word]) -> list[Box]:
    """Return the places of words that are struck out, in points, from top to bottom.

    `flat` is the result of `flatten_background` for the raster. `words` are all that OCR read, with
    any confidence.
    """
    if not words or median(word.confidence for word in words) < MIN_CONFIDENCE:
        return []
    scale = flat.dpi / POINTS_PER_INCH
    heights = [word.box.bottom - word.box.top for word in words if word.confidence > MIN_CONFIDENCE]
    usual = median(heights) * scale
    paper = measure_percentile(raster.grey[::4, ::4], 90)
    prints = [threshold(flat.grey, brightness) for brightness in PRINT_BRIGHTNESSES]
    found = []
    for line in _lines(threshold(flat.grey, INK_BRIGHTNESS)):
        if _is_in_margin(line, flat) or _continuity(raster, flat, line, paper) < MIN_CONTINUITY:
            continue
        for ink in prints:
            crossings = _crossings(ink, line)
            if not _is_crossed(crossings):
                continue
            cover = _cover(line, words, scale, usual)
            if not _is_through_print(ink, line, crossings, cover):
                continue
            above, below = _heights_of_strokes(ink, line, crossings)
            if _is_height_of_print(above, below, usual):
                level = float(line.levels.mean())
                edges = (line.left, level - above, line.right, level + below)
                found.append(Box(*(edge / scale for edge in edges)))
                break
    return sorted(found, key=lambda box: box.top) if len(found) <= MAX_STRIKES_PER_PAGE else []


def _lines(ink: Mask) -> list[_Line]:
    """Return the thin lines that are nearly horizontal and about as long as words."""
    thick = cv2.dilate(ink, np.ones((2, 1), np.uint8))
    runs = cv2.morphologyEx(thick, cv2.MORPH_OPEN, np.ones((1, MIN_RUN_PIXELS), np.uint8))
    joined = cv2.dilate(runs, np.ones((1, 5), np.uint8))
    labels = label_components(joined)
    parts = measure_components(labels)
    is_long = (parts.width >= MIN_LENGTH_PIXELS) & (parts.width <= MAX_LENGTH_SHARE * ink.shape[1])
    is_long &= parts.height <= MAX_SLOPE * parts.width + MAX_THICKNESS_PIXELS
    lines = []
    for label, left, top, right, bottom, _ in np.stack(parts, axis=1)[is_long].tolist():
        width, height = right - left, bottom - top
        cut = np.s_[top:bottom, left:right]
        own = (labels[cut] == label) & (runs[cut] > 0)
        counts = own.sum(axis=0)
        inked = counts > 0
        if np.median(counts[inked]) > MAX_THICKNESS_PIXELS:
            continue
        levels = (own * np.arange(height)[:, None]).sum(axis=0)[inked] / counts[inked]
        columns = np.flatnonzero(inked)
        # The words make the line thicker in places, so it is smoothed by a curve.
        curve = np.polyfit(columns, levels, 3 if width > 2 * MIN_LENGTH_PIXELS else 1)
        if np.abs(np.polyval(curve, columns) - levels).mean() <= MAX_BEND_PIXELS:
            lines.append(_Line(left, top - 0.5 + np.polyval(curve, np.arange(width))))
    return lines


def _row(ink: Mask, line: _Line, offset: float) -> Columns:
    """Return which columns of a line are inked at a distance below it."""
    rows = np.clip(np.round(line.levels + offset).astype(int), 0, ink.shape[0] - 1)
    return np.asarray(ink[rows, np.arange(line.left, line.right)] > 0)


def _crossings(ink: Mask, line: _Line) -> Columns:
    """Return in which columns a stroke crosses the line."""
    above = _row(ink, line, -CROSSING_PIXELS - 1) & _row(ink, line, -CROSSING_PIXELS)
    below = _row(ink, line, CROSSING_PIXELS + 1) & _row(ink, line, CROSSING_PIXELS)
    near = np.ones(3)  # a stroke may be oblique
    return np.asarray(
        (np.convolve(above, near, "same") > 0) & (np.convolve(below, near, "same") > 0)
    )


def _pixels_per_crossing(crossings: Columns) -> float:
    starts = np.count_nonzero(np.diff(crossings.astype(int), prepend=0) == 1)
    return len(crossings) / starts if starts else float(len(crossings))


def _is_crossed(crossings: Columns) -> bool:
    """Return whether strokes cross a line from end to end, as close as letters."""
    columns = np.flatnonzero(crossings)
    if not len(columns) or _pixels_per_crossing(crossings) > MAX_PIXELS_PER_CROSSING:
        return False
    gaps = np.diff(columns)
    return bool(
        columns[0] <= MAX_OVERHANG_PIXELS
        and len(crossings) - 1 - columns[-1] <= MAX_OVERHANG_PIXELS
        and (not len(gaps) or gaps.max() <= MAX_GAP_PIXELS)
    )


def _is_in_margin(line: _Line, flat: PageRaster) -> bool:
    """Return whether a line is in the margin of the page, where borders and ornaments are."""
    height, width = flat.grey.shape
    level = line.levels.mean()
    return bool(
        not MARGIN_SHARE * height <= level <= (1 - MARGIN_SHARE) * height
        or line.right < MARGIN_SHARE * width
        or line.left > (1 - MARGIN_SHARE) * width
    )


def _heights_of_strokes(ink: Mask, line: _Line, crossings: Columns) -> tuple[float, float]:
    """Return how far the strokes that cross a line extend above and below it, in pixels."""
    heights = []
    for sign in (-1, 1):
        is_open = crossings.copy()
        heights_so_far = np.zeros(len(crossings))
        for distance in range(1, MAX_STROKE_PIXELS):
            inked = np.convolve(_row(ink, line, sign * distance), np.ones(3), "same") > 0
            is_open &= inked
            heights_so_far[is_open] = distance
            if not is_open.any():
                break
        heights.append(float(np.percentile(heights_so_far[crossings], HEIGHT_PERCENTILE)))
    return heights[0], heights[1]


def _is_height_of_print(above: float, below: float, usual: float) -> bool:
    """Return whether strokes of these heights above and below a line are letters of the page."""
    height = above + below
    is_usual = MIN_HEIGHT * usual <= height <= MAX_HEIGHT * usual
    return is_usual and max(above, below) <= MAX_SIDE_SHARE * height


def _cover(line: _Line, words: Sequence[Word], scale: float, usual: float) -> float:
    """Return the share of a line that runs through the middle of words, as OCR read them."""
    covered = np.zeros(len(line.levels), bool)
    for word in words:
        left, top, right, bottom = (edge * scale for edge in word.box)
        first, last = max(int(left) - line.left, 0), min(int(right) - line.left, len(covered))
        if first >= last or bottom - top > MAX_WORD_HEIGHTS * usual:
            continue
        level = (line.levels[(first + last) // 2] - top) / max(bottom - top, 1.0)
        if MIN_LEVEL < level < MAX_LEVEL:
            covered[first:last] = True
    return float(covered.mean())


def _is_through_print(ink: Mask, line: _Line, crossings: Columns, cover: float) -> bool:
    """Return whether the ink around a line is print, and as much of it above as below."""
    above, below = (
        float(np.mean(_row(ink, line, near) & _row(ink, line, far)))
        for near, far in (
            (-CROSSING_PIXELS, -CROSSING_PIXELS - 1),
            (CROSSING_PIXELS, CROSSING_PIXELS + 1),
        )
    )
    balance = min(above, below) / max(above, below, 1e-6)
    share = crossings.mean()
    if cover >= MIN_COVER:
        return bool(share >= MIN_CROSSED_SHARE and balance >= MIN_BALANCE)
    return bool(
        MIN_CROSSED_SHARE_WITHOUT_WORDS <= share <= MAX_CROSSED_SHARE_WITHOUT_WORDS
        and balance >= MIN_BALANCE_WITHOUT_WORDS
        and _pixels_per_crossing(crossings) <= MAX_PIXELS_PER_CROSSING_WITHOUT_WORDS
    )


def _continuity(raster: PageRaster, flat: PageRaster, line: _Line, paper: float) -> float:
    """Return the share of the columns of a line in which the scan is as dark as its ink."""
    ratio = raster.dpi / flat.dpi
    first, last = line.left + END_PIXELS, line.right - END_PIXELS
    columns = np.arange(round(first * ratio), round(last * ratio))
    levels = np.interp(columns / ratio, np.arange(line.left, line.right), line.levels)
    tolerance = max(round(ratio), 1)
    rows = np.round((levels + 0.5) * ratio - 0.5).astype(int)
    around = rows[None] + np.arange(-tolerance, tolerance + 1)[:, None]
    height, width = raster.grey.shape
    darkest = raster.grey[np.clip(around, 0, height - 1), np.clip(columns, 0, width - 1)[None]]
    brightness = darkest.min(axis=0).astype(float)
    limit = paper - MIN_INK_SHARE * (paper - float(np.median(brightness)))
    return float((brightness <= limit).mean())
