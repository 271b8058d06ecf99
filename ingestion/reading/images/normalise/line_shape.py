"""Measures how the lines of print run on a page: askew, in perspective, or curled.

A page that was photographed is seldom flat and seldom seen from straight above. Its lines of print
are curves then. All of them are fitted at once: the displacement that makes every line level is a
polynomial of the place on the page, so that noise and single misplaced letters do not matter. The
displacement is vertical, because OCR follows lines and tolerates letters that lean.
"""

from dataclasses import dataclass
from itertools import pairwise

import cv2
import numpy as np
from numpy.typing import NDArray

from ingestion.reading.images.binarise import WHITE, Components
from ingestion.reading.images.coverage import has_small_letters
from ingestion.reading.images.render import POINTS_PER_INCH, PageRaster

FloatArray = NDArray[np.float64]

MIN_LETTERS, MIN_LINES = 40, 4  # of a page whose lines can be measured
MIN_LINE_LETTERS = 6
# Of the median height of letters: those of one size, and the gap between letters of one line.
MIN_HEIGHT_SHARE, MAX_HEIGHT_SHARE = 0.6, 1.7
MAX_GAP_HEIGHTS = 1.6
ROUNDS = 4  # of fitting, each without the outliers of the one before, such as g, p and q
MAX_DEVIATIONS = 2.5  # of a letter that is no outlier
MIN_DEVIATION_PIXELS = 0.5
# Of a letter's distance to its line after the fit. Lines have 0.4; letters of a page that lies on
# its side have more than 1.
MAX_RESIDUAL_PIXELS = 0.8
# Between the highest and the lowest place of a line, of those that are most bent. OCR follows lines
# that are bent by less, and each correction blurs a scan of a low resolution a little and shears
# what is at an angle: with 5 points, a stamp on a scan was no longer found.
MIN_DISPLACEMENT_POINTS, DISPLACEMENT_QUANTILE = 8.0, 0.9
MIN_PHOTOGRAPH_DISPLACEMENT_POINTS = 2.5  # of a photograph, which is sharpened afterwards
# How much each term of the polynomial has to explain, in the order of `_terms`.
DAMPING = 1e-3 * np.array([1e-3, 1e-3, 1e-3, 1e-2, 1e-2, 2e-2, 2e-2])
INVERSION_STEPS = 6  # after which the error is far below a pixel
GRID = 33  # points on each side of the page at which the displacement is computed
BAND_ROWS = 512  # of a page that are moved at the same time, which bounds the memory


@dataclass(frozen=True, slots=True)
class LineShape:
    """The downward displacement that makes the lines of a page level. Lengths are in points."""

    width: float  # of the page
    height: float
    coefficients: FloatArray  # of the terms, in points

    def measure_displacement(self, x: FloatArray, y: FloatArray) -> FloatArray:
        """Return how far down the points of the page have to move."""
        return np.asarray(_terms(x / self.width, y / self.height) @ self.coefficients)

    def find_origin(self, x: FloatArray, y: FloatArray) -> FloatArray:
        """Return the height on the page of points of the page with level lines."""
        origin = y
        for _ in range(INVERSION_STEPS):
            origin = y - self.measure_displacement(x, origin)
        return origin

    @property
    def margins(self) -> tuple[float, float]:
        """Return what has to be added above and below the page so that nothing is cut off."""
        x = np.linspace(0.0, self.width, GRID)
        above = self.measure_displacement(x, np.zeros(GRID)).min()
        below = self.measure_displacement(x, np.full(GRID, self.height)).max()
        return max(-float(above), 0.0), max(float(below), 0.0)


def measure_line_shape(
    page: PageRaster, letters: Components, *, is_photograph: bool = False
) -> LineShape | None:
    """Return the shape of the lines of a page, or None if they are level enough or unknown.

    `letters` are those of the page, which is a result of `flatten_background`.
    """
    # Small print suffers from the blur of a correction, and its lines are short enough without.
    if len(letters.label) < MIN_LETTERS or (has_small_letters(letters) and not is_photograph):
        return None
    x, y, line = _find_lines(page, letters)
    height, width = page.grey.shape
    terms = _terms(x / width, y / height)
    chosen = np.flatnonzero(line)
    for is_last in (*[False] * (ROUNDS - 1), True):
        counts = np.bincount(line[chosen])
        chosen = chosen[counts[line[chosen]] >= MIN_LINE_LETTERS]
        of_line = np.unique(line[chosen], return_inverse=True)[1]
        if not len(chosen) or of_line.max() + 1 < MIN_LINES:
            return None
        centred, levels = _centre(terms[chosen], of_line), _centre(y[chosen], of_line)
        normal = centred.T @ centred + len(chosen) * np.diag(DAMPING)
        coefficients = np.linalg.solve(normal, centred.T @ -levels)
        residuals = levels + centred @ coefficients
        deviation = max(1.4826 * float(np.median(np.abs(residuals))), MIN_DEVIATION_PIXELS)
        if not is_last:
            chosen = chosen[np.abs(residuals) <= MAX_DEVIATIONS * deviation]
    if np.sqrt(np.square(residuals).mean()) > MAX_RESIDUAL_PIXELS:
        return None
    displacement = np.asarray(terms[chosen] @ coefficients)
    highest, lowest = (np.full(of_line.max() + 1, start) for start in (np.inf, -np.inf))
    np.minimum.at(highest, of_line, displacement)
    np.maximum.at(lowest, of_line, displacement)
    scale = POINTS_PER_INCH / page.dpi
    minimum = MIN_PHOTOGRAPH_DISPLACEMENT_POINTS if is_photograph else MIN_DISPLACEMENT_POINTS
    if np.quantile(lowest - highest, DISPLACEMENT_QUANTILE) * scale < minimum:
        return None
    return LineShape(page.width, page.height, np.asarray(coefficients * scale))


def straighten(pixels: NDArray[np.uint8], dpi: float, shape: LineShape) -> NDArray[np.uint8]:
    """Return the pixels of a page, in grey or in colour, with level lines on a taller sheet."""
    scale = dpi / POINTS_PER_INCH
    above, below = shape.margins
    height, width = pixels.shape[0] + round((above + below) * scale), pixels.shape[1]
    x, y = np.meshgrid(
        np.linspace(0, shape.width, GRID), np.linspace(-above, shape.height + below, GRID)
    )
    origins = (shape.find_origin(x, y) * scale).astype(np.float32)
    paper = (float(np.median(pixels[::8, ::8])),) * 3
    moved = np.empty((height, *pixels.shape[1:]), np.uint8)
    columns = np.linspace(0, GRID - 1, width, dtype=np.float32)
    rows = np.linspace(0, GRID - 1, height, dtype=np.float32)
    for first, last in pairwise([*range(0, height, BAND_ROWS), height]):
        size = (last - first, width)
        across = np.broadcast_to(columns, size)
        down = np.broadcast_to(rows[first:last, None], size)
        from_y = cv2.remap(origins, across, down, cv2.INTER_LINEAR)
        from_x = np.broadcast_to(np.arange(width, dtype=np.float32), size)
        moved[first:last] = cv2.remap(pixels, from_x, from_y, cv2.INTER_CUBIC, borderValue=paper)
    return moved


def _find_lines(
    page: PageRaster, letters: Components
) -> tuple[FloatArray, FloatArray, NDArray[np.intp]]:
    """Return the middle and the bottom of each letter, and the number of its line."""
    heights = letters.height
    usual = float(np.median(heights))
    is_usual = (heights >= MIN_HEIGHT_SHARE * usual) & (heights <= MAX_HEIGHT_SHARE * usual)
    left, top, right, bottom = (
        side[is_usual] for side in (letters.left, letters.top, letters.right, letters.bottom)
    )
    # A bar for each letter, in half its height, so that lines below each other do not touch.
    bars = np.zeros_like(page.grey)
    for x1, y1, x2, y2 in zip(left, top, right, bottom, strict=True):
        quarter = max((y2 - y1) // 4, 1)
        middle = (y1 + y2) // 2
        bars[middle - quarter : middle + quarter + 1, x1:x2] = WHITE
    gap = round(MAX_GAP_HEIGHTS * usual) | 1
    joined = cv2.morphologyEx(bars, cv2.MORPH_CLOSE, np.ones((1, gap), np.uint8))
    _, labels = cv2.connectedComponents(joined, connectivity=8)
    line = np.asarray(labels)[(top + bottom) // 2, (left + right) // 2]
    return (left + right) / 2, bottom.astype(np.float64), line.astype(np.intp)


def _terms(x: FloatArray, y: FloatArray) -> FloatArray:
    """Return the terms of the polynomial at shares of the width and the height of a page.

    Terms of the height alone are left out, because they move whole lines.
    """
    u, v = x - 0.5, y - 0.5
    return np.stack([u, u * v, u * u, u * u * v, u**3, u**3 * v, u * v * v], axis=-1)


def _centre(values: FloatArray, of_line: NDArray[np.intp]) -> FloatArray:
    """Return the values without the mean of their line."""
    counts = np.bincount(of_line)
    if values.ndim == 1:
        return np.asarray(values - (np.bincount(of_line, values) / counts)[of_line])
    return np.stack([_centre(column, of_line) for column in values.T], axis=-1)
