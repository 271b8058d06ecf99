"""The ways to look at a page that was not read well: turned, straightened, evenly lit, coarser.

Each shows the page in a geometry of its own, and takes along what is known of it: the boxes of its
text layer's words, its width and height are those of the page as it is shown.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import cos, radians, sin

import cv2
import numpy as np
from numpy.typing import NDArray

from ingestion.reading.images.coverage import find_letters
from ingestion.reading.results import Box, PageReading, Word

from .binarise import ANALYSIS_DPI, estimate_background, flatten_background
from .render import POINTS_PER_INCH, GreyArray, PageRaster

TURNS = {
    90: cv2.ROTATE_90_CLOCKWISE,
    180: cv2.ROTATE_180,
    270: cv2.ROTATE_90_COUNTERCLOCKWISE,
}
MIN_SKEW_DEGREES = 2.0  # degrees; what is less askew is read as well as it is
STEEPEST, STEP = 15.0, 0.5  # degrees that are tried: a line is lost within less than two steps
MIN_LETTERS_FOR_LINES = 30  # letters that make lines
PEAK = 3.0  # times what is usual: so level are lines, and nothing on a page that lies on its side
COARSE_DPI = 150
BILEVEL = 0.97  # share of pixels that are black or white
GRAIN = 3  # pixels; of a coarse picture, what is smaller is no letter

Shift = NDArray[np.float64]  # two rows, for (x, y, 1)


@dataclass(frozen=True, slots=True)
class PageVariant:
    picture: PageRaster
    page: PageReading
    sheet: PageRaster  # the same picture, to look for ink in

    @classmethod
    def of(cls, picture: PageRaster, page: PageReading) -> "PageVariant":
        page = replace(page, width=picture.width, height=picture.height)
        return cls(picture, page, flatten_background(picture))

    def rotated(self, degrees: int) -> "PageVariant":
        """Clockwise, by a multiple of 90."""
        page, grey = self.page, cv2.rotate(self.picture.grey, TURNS[degrees])
        moved = _moved(page, lambda box: _turned(box, degrees, page.width, page.height))
        moved = replace(moved, rotation=(page.rotation + degrees) % 360)
        return PageVariant.of(PageRaster(np.asarray(grey), self.picture.dpi), moved)

    def deskewed(self, degrees: float) -> "PageVariant":
        """Of a page that lies askew by as much, clockwise. Nothing of it is cut off."""
        high, wide = self.picture.grey.shape
        shift, size = _straightening(wide, high, degrees)
        paper = float(np.median(self.picture.grey[::8, ::8]))
        grey = cv2.warpAffine(
            self.picture.grey, shift, size, flags=cv2.INTER_CUBIC, borderValue=paper
        )
        scale = self.picture.dpi / POINTS_PER_INCH
        moved = _moved(self.page, lambda box: _shifted(box, shift, scale))
        return PageVariant.of(
            PageRaster(np.asarray(grey), self.picture.dpi), replace(moved, skew=degrees)
        )

    def evenly_lit(self) -> "PageVariant":
        """Compared with its own paper, as bright as that is in each place."""
        grey = self.picture.grey
        high, wide = grey.shape
        small = estimate_background(self.picture.downsampled(ANALYSIS_DPI).grey)
        paper = cv2.resize(small, (wide, high), interpolation=cv2.INTER_LINEAR)
        lit = np.asarray(cv2.divide(grey, np.maximum(paper, 1), scale=255))
        return PageVariant.of(PageRaster(lit, self.picture.dpi), self.page)

    def coarsened(self) -> "PageVariant":
        return PageVariant.of(coarsen(self.picture), self.page)


def coarsen(picture: PageRaster) -> PageRaster:
    """Without the grain that keeps an engine busy for minutes."""
    smaller = picture.downsampled(COARSE_DPI)
    return PageRaster(np.asarray(cv2.medianBlur(smaller.grey, GRAIN)), smaller.dpi)


def smooth_bilevel(grey: GreyArray) -> GreyArray:
    """A fax has no greys: without some smoothing its jagged edges cost a tenth of the words."""
    extremes = np.count_nonzero((grey < 3) | (grey > 252)) / grey.size
    return cv2.GaussianBlur(grey, (3, 3), 0) if extremes > BILEVEL else grey


def measure_skew(small: PageRaster) -> float:
    """Degrees clockwise by which a sheet's lines run askew; 0.0 where that is little, or unsure."""
    found = find_letters(small)
    if len(found.label) < MIN_LETTERS_FOR_LINES:
        return 0.0
    x, y = (found.left + found.right) / 2, found.bottom.astype(float)
    angles = np.arange(-STEEPEST, STEEPEST + STEP, STEP)
    level = [_levelness(x, y, angle) for angle in angles]
    if max(level) < PEAK * np.median(level):
        return 0.0
    rough = angles[np.argmax(level)]
    fine = np.arange(rough - STEP, rough + STEP, STEP / 5)
    best = float(max(fine, key=lambda angle: _levelness(x, y, angle)))
    return round(best, 1) if abs(best) >= MIN_SKEW_DEGREES else 0.0


def _levelness(x: NDArray[np.float64], y: NDArray[np.float64], degrees: float) -> float:
    """How much the letters' feet keep to few rows."""
    angle = radians(degrees)
    rows = (y * cos(angle) - x * sin(angle)).astype(int)
    return float(np.square(np.bincount(rows - rows.min()).astype(float)).sum())


def _straightening(wide: int, high: int, degrees: float) -> tuple[Shift, tuple[int, int]]:
    """Turning back about the middle of a larger sheet, and the size of that."""
    angle = abs(radians(degrees))
    wider = round(wide * cos(angle) + high * sin(angle))
    higher = round(high * cos(angle) + wide * sin(angle))
    shift = np.asarray(cv2.getRotationMatrix2D((wide / 2, high / 2), degrees, 1.0))
    shift[:, 2] += (wider - wide) / 2, (higher - high) / 2
    return shift, (wider, higher)


def _moved(page: PageReading, move: Callable[[Box], Box]) -> PageReading:
    words = (Word(word.text, move(word.box), word.confidence) for word in page.words)
    return replace(page, words=tuple(words))


def _shifted(box: Box, shift: Shift, scale: float) -> Box:
    """The box around what a box becomes."""
    corners = [(x, y, 1) for x in (box.left, box.right) for y in (box.top, box.bottom)]
    x, y = shift @ (np.array(corners).T * [[scale], [scale], [1]]) / scale
    return Box(float(x.min()), float(y.min()), float(x.max()), float(y.max()))


def _turned(box: Box, degrees: int, wide: float, high: float) -> Box:
    turned = {
        90: Box(high - box.bottom, box.left, high - box.top, box.right),
        180: Box(wide - box.right, high - box.bottom, wide - box.left, high - box.top),
        270: Box(box.top, wide - box.right, box.bottom, wide - box.left),
    }
    return turned[degrees]
