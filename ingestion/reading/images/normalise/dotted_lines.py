"""Removes dotted lines from a page: leaders between a caption and a value, and rules of tables.

Tesseract takes their dots for letters, and then reads the words beside them as noise too. Dots of
print, as of an i or at the end of a sentence, never stand in a row at equal distances.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from ingestion.reading.images.binarise import ANALYSIS_DPI, Components, threshold
from ingestion.reading.images.render import POINTS_PER_INCH, GreyArray, PageRaster

SEARCH_DPI = 150  # at which dots are searched
INK_BRIGHTNESS = 0.75  # of the paper, below which a pixel is ink; dots are paler than letters
MAX_DOT_POINTS = 2.2  # of a dot, across and down
# Of a dot to the height of the usual letter, so that no letter of small print is taken for a dot.
MAX_DOT_SHARE = 0.4
USUAL_LETTER_POINTS, MIN_LETTERS = 5.0, 30  # of a page with fewer letters
MAX_DASH_POINTS, MAX_DASH_THICKNESS_POINTS = 5.0, 1.5
# The fragments of pale letters have at most 11 dots in a line, of unequal pitch and length.
MIN_LINE_DOTS = 12
MAX_PITCH_DEVIATION, MAX_LENGTH_DEVIATION = 0.12, 0.45  # standard deviations, in means
MIN_SHORT_LINE_DOTS, MAX_PITCH_DIFFERENCE = 4, 0.15  # of the pitch, beside a longer line
MAX_PITCH_POINTS = 9.0  # from the middle of a dot to that of the next one
MIN_PITCH_SHARE, MAX_PITCH_SHARE = 0.7, 1.35  # of the median pitch of a line
MAX_SLOPE = 0.06  # of a line; a page with more was deskewed
MAX_OFFSET_POINTS = 0.6  # of a dot from the middle of the one before it, across the line
# Of dots that print conceals between two lines of dots.
MAX_CONCEALED_POINTS, MAX_CONCEALED_OFFSET_POINTS = 300.0, 0.8
MAX_CONCEALED_DIFFERENCE = 0.04  # of their pitch from that of the lines
MIN_PAGE_DOTS = 30  # of all dotted lines of a page: fewer do no harm
MAX_PAGE_DOTS = 20_000  # more are the grain of a page, or a picture in dots
PAPER_PIXELS = 9  # sides of the area around a dot from which the paper is taken

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]


class _Dots(NamedTuple):
    """Small components of a page: parallel arrays, with pixels as unit."""

    along: FloatArray  # middle of a dot in the direction of the lines that are searched
    across: FloatArray
    length: FloatArray  # of a dot in that direction
    thickness: FloatArray


def remove_dotted_lines(raster: PageRaster, letters: Components) -> PageRaster | None:
    """Return a page without its dotted lines, or None if it has none.

    The page has dark ink on light paper, and level lines. `letters` are those of the page at
    `ANALYSIS_DPI`: a dot is much smaller than the usual letter.
    """
    small = raster.downsampled(SEARCH_DPI)
    scale = small.dpi / POINTS_PER_INCH
    paper = float(np.median(small.grey[::4, ::4]))
    ink = threshold(small.grey, int(INK_BRIGHTNESS * paper))
    try:
        # With numbers of 16 bits, it takes a third of the time.
        _, _, stats, centres = cv2.connectedComponentsWithStats(ink, ltype=cv2.CV_16U)
    except cv2.error as error:
        if error.code == cv2.Error.StsNoMem:
            raise
        return None  # there are more components than that: the grain of the page
    width, height = (stats[1:, side] for side in (cv2.CC_STAT_WIDTH, cv2.CC_STAT_HEIGHT))
    x, y = centres[1:].T
    max_dot = _max_dot_points(letters) * scale
    across = _find_lines(_choose_dots(_Dots(x, y, width, height), max_dot, scale), scale)
    down = _find_lines(_choose_dots(_Dots(y, x, height, width), max_dot, scale), scale)
    if sum(len(line.along) for line in (*across, *down)) < MIN_PAGE_DOTS:
        return None
    dots = np.zeros_like(ink)
    for line in across:
        _draw(dots, line)
    for line in down:
        _draw(dots.T, line)
    mask = cv2.resize(dots, raster.grey.shape[::-1], interpolation=cv2.INTER_NEAREST)
    return replace(raster, grey=_paint_paper(raster.grey, mask, paper))


def _max_dot_points(letters: Components) -> float:
    """Return the largest height and width of a dot on a page with these letters."""
    letter_points = USUAL_LETTER_POINTS
    if len(letters.height) >= MIN_LETTERS:
        letter_points = float(np.median(letters.height)) * POINTS_PER_INCH / ANALYSIS_DPI
    return min(MAX_DOT_POINTS, MAX_DOT_SHARE * letter_points)


def _choose_dots(found: _Dots, max_dot: float, scale: float) -> _Dots:
    """Return the components that are as small as dots, or dashes in the direction of the lines."""
    is_dot = (found.length <= max_dot) & (found.thickness <= max_dot)
    is_dash = found.length <= MAX_DASH_POINTS * scale
    is_dash &= found.thickness <= min(MAX_DASH_THICKNESS_POINTS * scale, max_dot)
    return _Dots(*(values[is_dot | is_dash] for values in found))


def _draw(mask: NDArray[np.uint8], line: _Dots) -> None:
    """Draw the dots of a horizontal line in a mask, or of a vertical one in a transposed mask."""
    half_length, half_thickness = line.length.max() / 2, line.thickness.max() / 2
    for x, y in zip(line.along, line.across, strict=True):
        rows = _pixels(y - half_thickness, y + half_thickness)
        mask[rows, _pixels(x - half_length, x + half_length)] = 1


def _pixels(first: float, last: float) -> slice:
    return slice(max(round(first + 0.5), 0), max(round(last + 0.5), round(first + 0.5) + 1))


def _find_lines(dots: _Dots, scale: float) -> list[_Dots]:
    """Return the dots of each line, also those that print conceals. `scale` is pixels per point.

    Short lines count if they have the pitch of a long one, as where the rules of a table cross.
    """
    if not MIN_PAGE_DOTS <= len(dots.along) <= MAX_PAGE_DOTS:
        return []
    successor = _find_successors(dots, scale)
    is_first = successor >= 0
    is_first[successor[successor >= 0]] = False
    parts: list[IntArray] = []
    for first in np.flatnonzero(is_first):
        chain, at = [], int(first)
        while at >= 0:
            chain.append(at)
            at = int(successor[at])
        if len(chain) >= MIN_SHORT_LINE_DOTS:
            parts += _regular_parts(np.array(chain), dots.along)
    pitches = np.array([np.diff(dots.along[part]).mean() for part in parts])
    known = pitches[np.array([_is_evident(dots, part) for part in parts], bool)]
    if not len(known):
        return []
    differences = np.abs(pitches[:, None] / known[None] - 1).min(axis=1)
    lines = [
        _Dots(*(values[part] for values in dots))
        for part, difference in zip(parts, differences, strict=True)
        if difference <= MAX_PITCH_DIFFERENCE
    ]
    return [*lines, *_find_concealed(lines, scale)]


def _is_evident(dots: _Dots, part: IntArray) -> bool:
    """Return whether dots are a line without doubt, whose pitch other lines may have."""
    gaps, lengths = np.diff(dots.along[part]), dots.length[part]
    return bool(
        len(part) >= MIN_LINE_DOTS
        and gaps.std() <= MAX_PITCH_DEVIATION * gaps.mean()
        and lengths.std() <= MAX_LENGTH_DEVIATION * lengths.mean()
    )


def _find_concealed(lines: Sequence[_Dots], scale: float) -> Iterator[_Dots]:
    """Yield the dots between two lines that print divides, which touch letters or are too few."""
    starts = np.array([line.along[0] for line in lines])
    levels = np.array([line.across[0] for line in lines])
    for line in lines:
        pitch = float(np.diff(line.along).mean())
        slope = (line.across[-1] - line.across[0]) / (line.along[-1] - line.along[0])
        gaps = starts - line.along[-1]
        offsets = np.abs(levels - line.across[-1] - slope * gaps)
        is_same = (gaps > 0) & (gaps <= MAX_CONCEALED_POINTS * scale)
        is_same &= offsets <= MAX_CONCEALED_OFFSET_POINTS * scale
        if not is_same.any():
            continue
        index = int(np.flatnonzero(is_same)[gaps[is_same].argmin()])
        count = round(gaps[index] / pitch)
        if count < 2 or abs(gaps[index] / count / pitch - 1) > MAX_CONCEALED_DIFFERENCE:
            continue
        shares = np.arange(1, count) / count
        yield _Dots(
            line.along[-1] + shares * gaps[index],
            line.across[-1] + shares * (levels[index] - line.across[-1]),
            np.full(count - 1, np.median(line.length)),
            np.full(count - 1, np.median(line.thickness)),
        )


def _find_successors(dots: _Dots, scale: float) -> IntArray:
    """Return the index of the next dot of the same line for each dot, or -1."""
    length = float(dots.along.max()) + MAX_PITCH_POINTS * scale + 1.0
    height = (MAX_OFFSET_POINTS + MAX_SLOPE * MAX_PITCH_POINTS) * scale
    band = np.floor(dots.across / height)
    keys = band * length + dots.along
    order = np.argsort(keys)
    successor, nearest = np.full(len(keys), -1, np.intp), np.full(len(keys), np.inf)
    for neighbour in (-1, 0, 1):  # a band has the dots that may be in line with those beside it
        places = np.searchsorted(keys[order], keys + neighbour * length, side="right")
        after = order[np.minimum(places, len(order) - 1)]
        gap = dots.along[after] - dots.along
        offset = np.abs(dots.across[after] - dots.across)
        is_next = (gap > 0) & (gap <= MAX_PITCH_POINTS * scale) & (gap < nearest)
        is_next &= offset <= MAX_OFFSET_POINTS * scale + MAX_SLOPE * gap
        successor[is_next], nearest[is_next] = after[is_next], gap[is_next]
    return successor


def _regular_parts(chain: IntArray, along: FloatArray) -> list[IntArray]:
    """Return the parts of a chain of dots whose distances are equal, and that are long enough."""
    gaps = np.diff(along[chain])
    usual = np.median(gaps)
    is_regular = (gaps >= MIN_PITCH_SHARE * usual) & (gaps <= MAX_PITCH_SHARE * usual)
    parts = np.split(chain, np.flatnonzero(~is_regular) + 1)
    return [part for part in parts if len(part) >= MIN_SHORT_LINE_DOTS]


def _paint_paper(grey: GreyArray, dots: NDArray[np.uint8], paper: float) -> GreyArray:
    """Return a page with the paper around the dots in their place, and in that of their edges.

    `paper` is the usual brightness of its paper.
    """
    around = cv2.dilate(grey, np.ones((PAPER_PIXELS, PAPER_PIXELS), np.uint8))
    edges = cv2.dilate(dots, np.ones((3, 3), np.uint8))
    return np.asarray(np.where(edges > 0, np.minimum(around, np.uint8(paper)), grey))
