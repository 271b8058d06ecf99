"""Makes variants of a page that OCR did not read well: rotated, deskewed, lit or downsampled.

Each variant has a geometry of its own. What is known of the page is transformed with it: the boxes
of the words in its text layer, its width and its height.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import cos, radians, sin

import cv2
import numpy as np
from numpy.typing import NDArray

from ingestion.reading.images.coverage import find_letters
from ingestion.reading.results import Box, Correction, CorrectionKind, PageReading

from .binarise import ANALYSIS_DPI, WHITE, estimate_background, flatten_background
from .render import POINTS_PER_INCH, GreyArray, PageRaster

Pixels = NDArray[np.uint8]  # in grey or in colour

ROTATIONS = {
    90: cv2.ROTATE_90_CLOCKWISE,
    180: cv2.ROTATE_180,
    270: cv2.ROTATE_90_COUNTERCLOCKWISE,
}
MIN_SKEW_DEGREES = 2.0  # a page with less skew is read as well without deskewing
MAX_SKEW_DEGREES = 15.0  # the largest angle that is tried
SKEW_STEP_DEGREES = 0.5  # between angles that are tried: lines vanish within less than two steps
MIN_LETTERS_FOR_SKEW = 30  # letters from which the skew of lines can be measured
# Alignment at the best angle, in multiples of the median over all angles. Lines reach it, and
# nothing on a page that lies on its side does.
MIN_ALIGNMENT_PEAK = 3.0
LOW_RESOLUTION_DPI = 150
MIN_BILEVEL_SHARE = 0.97  # of a fax's pixels that are black or white
GRAIN_PIXELS = 3  # at low resolution; smaller details are no letters


@dataclass(frozen=True, slots=True)
class PageVariant:
    """A page in one geometry. `page` has the boxes and sizes as `raster` shows them."""

    raster: PageRaster
    page: PageReading
    flat: PageRaster  # the result of `flatten_background`, for the analysis of ink

    @classmethod
    def of(cls, raster: PageRaster, page: PageReading) -> "PageVariant":
        """Return the variant that a raster shows, with the raster's width and height."""
        page = replace(page, width=raster.width, height=raster.height)
        return cls(raster, page, flatten_background(raster))

    def rotated(self, degrees: int) -> "PageVariant":
        """Return the page rotated clockwise by 90, 180 or 270 degrees."""
        width, height = self.page.width, self.page.height
        raster = _change_pixels(self.raster, lambda pixels: cv2.rotate(pixels, ROTATIONS[degrees]))

        def rotate(box: Box) -> Box:
            left, top, right, bottom = box
            if degrees == 90:
                return Box(height - bottom, left, height - top, right)
            if degrees == 180:
                return Box(width - right, height - bottom, width - left, height - top)
            return Box(top, width - right, bottom, width - left)

        page = _with_moved_words(self.page, rotate)
        page = replace(page, rotation=(page.rotation + degrees) % 360)
        return PageVariant.of(raster, _with(page, CorrectionKind.ROTATED, degrees))

    def deskewed(self, degrees: float) -> "PageVariant":
        """Return the page rotated back by its skew, in degrees clockwise, on a larger sheet.

        Nothing is cut off.
        """
        height, width = self.raster.grey.shape
        angle = abs(radians(degrees))
        new_width = round(width * cos(angle) + height * sin(angle))
        new_height = round(height * cos(angle) + width * sin(angle))
        transform = np.asarray(cv2.getRotationMatrix2D((width / 2, height / 2), degrees, 1.0))
        transform[:, 2] += (new_width - width) / 2, (new_height - height) / 2
        paper = float(np.median(self.raster.grey[::8, ::8]))
        raster = _change_pixels(
            self.raster,
            lambda pixels: cv2.warpAffine(
                pixels,
                transform,
                (new_width, new_height),
                flags=cv2.INTER_CUBIC,
                borderValue=(paper,) * 3,
            ),
        )
        scale = self.raster.dpi / POINTS_PER_INCH

        def move(box: Box) -> Box:
            corners = [(x, y, 1) for x in (box.left, box.right) for y in (box.top, box.bottom)]
            x, y = transform @ (np.array(corners).T * [[scale], [scale], [1]]) / scale
            return Box(float(x.min()), float(y.min()), float(x.max()), float(y.max()))

        page = replace(_with_moved_words(self.page, move), skew=degrees)
        return PageVariant.of(raster, _with(page, CorrectionKind.DESKEWED, degrees))

    def evenly_lit(self) -> "PageVariant":
        """Return the page divided by the brightness of its paper at each place."""
        grey = self.raster.grey
        height, width = grey.shape
        small = estimate_background(self.raster.downsampled(ANALYSIS_DPI).grey)
        paper = cv2.resize(small, (width, height), interpolation=cv2.INTER_LINEAR)
        even = np.asarray(cv2.divide(grey, np.maximum(paper, 1), scale=WHITE))
        page = _with(self.page, CorrectionKind.LIGHT)
        return PageVariant.of(replace(self.raster, grey=even), page)

    def at_low_resolution(self) -> "PageVariant":
        """Return the page at a low resolution and without grain."""
        raster = reduce_resolution(self.raster)
        page = _with(self.page, CorrectionKind.REDUCED, round(raster.dpi))
        return PageVariant.of(raster, page)


def reduce_resolution(raster: PageRaster) -> PageRaster:
    """Return a raster of 150 dpi without the grain that occupies an OCR engine for minutes."""
    smaller = raster.downsampled(LOW_RESOLUTION_DPI)
    return PageRaster(np.asarray(cv2.medianBlur(smaller.grey, GRAIN_PIXELS)), smaller.dpi)


def smooth_bilevel(grey: GreyArray) -> GreyArray:
    """Return a fax smoothed, and any other raster as it is.

    A fax has only black and white pixels. Without smoothing, its jagged edges cost a tenth of the
    words.
    """
    extremes = np.count_nonzero((grey < 3) | (grey > 252)) / grey.size
    return cv2.GaussianBlur(grey, (3, 3), 0) if extremes > MIN_BILEVEL_SHARE else grey


def measure_skew(page: PageRaster) -> float:
    """Return the degrees clockwise by which the lines of a page are askew.

    Return 0.0 if that is less than `MIN_SKEW_DEGREES` or uncertain. `page` is a result of
    `flatten_background`.
    """
    letters = find_letters(page)
    if len(letters.label) < MIN_LETTERS_FOR_SKEW:
        return 0.0
    x, y = (letters.left + letters.right) / 2, letters.bottom.astype(float)
    angles = np.arange(-MAX_SKEW_DEGREES, MAX_SKEW_DEGREES + SKEW_STEP_DEGREES, SKEW_STEP_DEGREES)
    alignments = [_alignment(x, y, angle) for angle in angles]
    if max(alignments) < MIN_ALIGNMENT_PEAK * np.median(alignments):
        return 0.0
    rough = angles[np.argmax(alignments)]
    fine = np.arange(rough - SKEW_STEP_DEGREES, rough + SKEW_STEP_DEGREES, SKEW_STEP_DEGREES / 5)
    best = float(max(fine, key=lambda angle: _alignment(x, y, angle)))
    return round(best, 1) if abs(best) >= MIN_SKEW_DEGREES else 0.0


def _change_pixels(raster: PageRaster, change: Callable[[Pixels], Pixels]) -> PageRaster:
    """Return a raster with its pixels changed, in grey and in colour."""
    colour = None if raster.colour is None else np.asarray(change(raster.colour))
    return PageRaster(np.asarray(change(raster.grey)), raster.dpi, colour=colour)


def _alignment(x: NDArray[np.float64], y: NDArray[np.float64], degrees: float) -> float:
    """Return how well the baselines of letters fall into few rows at an angle.

    It is the sum of squares of the projection profile: the letters in each row of pixels.
    """
    angle = radians(degrees)
    rows = (y * cos(angle) - x * sin(angle)).astype(int)
    return float(np.square(np.bincount(rows - rows.min()).astype(float)).sum())


def _with(page: PageReading, kind: CorrectionKind, amount: float = 0.0) -> PageReading:
    return replace(page, corrections=(*page.corrections, Correction(kind, amount)))


def _with_moved_words(page: PageReading, move: Callable[[Box], Box]) -> PageReading:
    words = (word.moved_to(move(word.box)) for word in page.words)
    return replace(page, words=tuple(words))
