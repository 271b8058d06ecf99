"""Makes variants of a page: rotated, deskewed, with level lines, lit or downsampled.

Each variant has a geometry of its own. What is known of the page is transformed with it: the boxes
of the words in its text layer, its width and its height. A variant knows where its points are on
the page that people are shown.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import cos, radians, sin

import cv2
import numpy as np
from numpy.typing import NDArray

from ingestion.reading.images.binarise import (
    ANALYSIS_DPI,
    WHITE,
    Components,
    estimate_background,
    flatten_background,
)
from ingestion.reading.images.render import POINTS_PER_INCH, PageRaster
from ingestion.reading.results import Box, Correction, CorrectionKind, PageMap, PageReading

from .line_shape import LineShape, straighten

Pixels = NDArray[np.uint8]  # in grey or in colour
Points = NDArray[np.float64]  # rows of x and y, in points of a page

ROTATIONS = {
    90: cv2.ROTATE_90_CLOCKWISE,
    180: cv2.ROTATE_180,
    270: cv2.ROTATE_90_COUNTERCLOCKWISE,
}
MIN_SKEW_DEGREES = 2.0  # a page with less skew only has lines that are levelled
MAX_SKEW_DEGREES = 15.0  # the largest angle that is tried
SKEW_STEP_DEGREES = 0.5  # between angles that are tried: lines vanish within less than two steps
MIN_LETTERS_FOR_SKEW = 30  # letters from which the skew of lines can be measured
# Alignment at the best angle, in multiples of the median over all angles. Lines reach it, and
# nothing on a page that lies on its side does.
MIN_ALIGNMENT_PEAK = 3.0
LOW_RESOLUTION_DPI = 150
GRAIN_PIXELS = 3  # at low resolution; smaller details are no letters
MAP_POINTS = 9  # on each side of a page at which it is known where they are shown


@dataclass(frozen=True, slots=True)
class ShownPage:
    """The page as people are shown it: only rotated by `PageReading.rotation`. Sizes in points."""

    width: float
    height: float
    locate: Callable[[Points], Points]  # where points of the variant are on it

    def rotated(self, degrees: int, variant: PageRaster) -> "ShownPage":
        """Return the page after it was rotated with its variant, of which this is the new one."""
        size, is_sideways = (self.width, self.height), degrees in {90, 270}

        def locate(points: Points) -> Points:
            before = _rotate_points(points, 360 - degrees, variant.width, variant.height)
            return _rotate_points(self.locate(before), degrees, *size)

        return ShownPage(*(size[::-1] if is_sideways else size), locate)

    def after(self, find_origin: Callable[[Points], Points]) -> "ShownPage":
        """Return the page for a variant whose points were elsewhere in the variant before."""
        return replace(self, locate=lambda points: self.locate(find_origin(points)))


@dataclass(frozen=True, slots=True)
class PageVariant:
    """A page in one geometry. `page` has the boxes and sizes as `raster` shows them."""

    raster: PageRaster
    page: PageReading
    flat: PageRaster  # the result of `flatten_background`, for the analysis of ink
    shown_page: ShownPage | None = None  # None if the variant is only rotated

    @classmethod
    def of(
        cls,
        raster: PageRaster,
        page: PageReading,
        shown_page: ShownPage | None = None,
        *,
        flat: PageRaster | None = None,
    ) -> "PageVariant":
        """Return the variant that a raster shows, with the raster's width and height.

        `flat` is the result of `flatten_background` for the raster, if it is known already.
        """
        page = replace(page, width=raster.width, height=raster.height)
        return cls(raster, page, flat or flatten_background(raster), shown_page)

    def corrected(
        self, raster: PageRaster, kind: CorrectionKind, amount: float = 0.0
    ) -> "PageVariant":
        """Return the page in the same geometry, as another raster shows it after a correction."""
        return PageVariant.of(raster, _with(self.page, kind, amount), self.shown_page)

    def refined(
        self, raster: PageRaster, kind: CorrectionKind, amount: float = 0.0
    ) -> "PageVariant":
        """Return the page in another raster for OCR. Its ink is analysed as before."""
        return replace(self, raster=raster, page=_with(self.page, kind, amount))

    def rotated(self, degrees: int) -> "PageVariant":
        """Return the page rotated clockwise by 90, 180 or 270 degrees."""
        size = (self.page.width, self.page.height)
        raster = _change_pixels(self.raster, lambda pixels: cv2.rotate(pixels, ROTATIONS[degrees]))

        def rotate(box: Box) -> Box:
            corners = _rotate_points(np.reshape(box, (2, 2)), degrees, *size)
            return Box(*corners.min(axis=0).tolist(), *corners.max(axis=0).tolist())

        page = _with_moved_words(self.page, rotate)
        page = replace(page, rotation=(page.rotation + degrees) % 360)
        shown_page = self.shown_page.rotated(degrees, raster) if self.shown_page else None
        return PageVariant.of(raster, _with(page, CorrectionKind.ROTATED, degrees), shown_page)

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

        def apply(matrix: NDArray[np.float64], points: Points) -> Points:
            return np.asarray((points * scale @ matrix[:, :2].T + matrix[:, 2]) / scale)

        inverse = np.asarray(cv2.invertAffineTransform(transform))
        moved = self._moved(
            raster,
            lambda points: apply(transform, points),
            lambda points: apply(inverse, points),
        )
        page = replace(moved.page, skew=degrees)
        return replace(moved, page=_with(page, CorrectionKind.DESKEWED, degrees))

    def straightened(self, shape: LineShape) -> "PageVariant":
        """Return the page with level lines. Nothing is cut off."""
        dpi = self.raster.dpi
        raster = _change_pixels(self.raster, lambda pixels: straighten(pixels, dpi, shape))
        above, _ = shape.margins

        def move(points: Points) -> Points:
            x, y = points.T
            return np.stack([x, y + shape.measure_displacement(x, y) + above], axis=1)

        def find_origin(points: Points) -> Points:
            x, y = points.T
            return np.stack([x, shape.find_origin(x, y - above)], axis=1)

        moved = self._moved(raster, move, find_origin)
        return replace(moved, page=_with(moved.page, CorrectionKind.STRAIGHTENED))

    def evenly_lit(self) -> "PageVariant":
        """Return the page divided by the brightness of its paper at each place."""
        grey = self.raster.grey
        height, width = grey.shape
        small = estimate_background(self.raster.downsampled(ANALYSIS_DPI).grey)
        paper = cv2.resize(small, (width, height), interpolation=cv2.INTER_LINEAR)
        even = np.asarray(cv2.divide(grey, np.maximum(paper, 1), scale=WHITE))
        return self.corrected(replace(self.raster, grey=even), CorrectionKind.LIGHT)

    def at_low_resolution(self) -> "PageVariant":
        """Return the page at a low resolution and without grain."""
        raster = reduce_resolution(self.raster)
        return self.corrected(raster, CorrectionKind.REDUCED, round(raster.dpi))

    def make_page_map(self) -> PageMap | None:
        """Return where the points of the variant are shown, or None if they are shown there."""
        if self.shown_page is None:
            return None
        x, y = np.meshgrid(
            np.linspace(0, self.raster.width, MAP_POINTS),
            np.linspace(0, self.raster.height, MAP_POINTS),
        )
        located = self.shown_page.locate(np.stack([x.ravel(), y.ravel()], axis=1))
        points = np.round(located, 1).reshape(MAP_POINTS, MAP_POINTS, 2).tolist()
        rows = tuple(tuple((x, y) for x, y in row) for row in points)
        return PageMap(self.shown_page.width, self.shown_page.height, rows)

    def _moved(
        self,
        raster: PageRaster,
        move: Callable[[Points], Points],
        find_origin: Callable[[Points], Points],
    ) -> "PageVariant":
        """Return the variant after its points moved. `find_origin` is the inverse of `move`."""

        def move_box(box: Box) -> Box:
            corners = [(x, y) for x in (box.left, box.right) for y in (box.top, box.bottom)]
            moved = move(np.array(corners))
            return Box(*moved.min(axis=0).tolist(), *moved.max(axis=0).tolist())

        shown_page = self.shown_page or ShownPage(
            self.raster.width, self.raster.height, lambda points: points
        )
        page = _with_moved_words(self.page, move_box)
        return PageVariant.of(raster, page, shown_page.after(find_origin))


def reduce_resolution(raster: PageRaster) -> PageRaster:
    """Return a raster of 150 dpi without the grain that occupies an OCR engine for minutes."""
    smaller = raster.downsampled(LOW_RESOLUTION_DPI)
    return PageRaster(np.asarray(cv2.medianBlur(smaller.grey, GRAIN_PIXELS)), smaller.dpi)


def measure_skew(letters: Components) -> float:
    """Return the degrees clockwise by which the lines of the letters of a page are askew.

    Return 0.0 if that is less than `MIN_SKEW_DEGREES` or uncertain.
    """
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


def _rotate_points(points: Points, degrees: int, width: float, height: float) -> Points:
    """Return the points of a page of this size after it was rotated clockwise."""
    x, y = points.T
    rotated = {90: (height - y, x), 180: (width - x, height - y), 270: (y, width - x)}
    return np.stack(rotated[degrees], axis=1)


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
