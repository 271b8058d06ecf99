"""Ink told from paper, on a picture of a page at 100 dpi.

What is looked for in it is elsewhere: marks in `marks`, text that OCR passed over in `uncovered`.
"""

from dataclasses import dataclass, replace
from math import ceil
from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from ingestion.reading.results import Box

from .render import POINTS_PER_INCH, GreyArray, PageRaster

IntArray = NDArray[np.integer]
Mask = NDArray[np.uint8]  # 1 where there is ink

ANALYSIS_DPI = 100
DARK_BRIGHTNESS = (
    175  # of 255, the paper being white: watermarks and tinted cells are lighter, pens darker
)
FILLED_BRIGHTNESS = (
    128  # of 255: darker than paper is under a lamp, so it is a filled cell or a photograph
)
UNLIT = 0.5  # of the page's usual paper; what is darker is filled even where the light is poor
MARGIN_SHARE = 0.04  # of each side: punch holes and the shadows of a scanner's edge
MAX_THIN_PIXELS = 2  # pixels; as thin are the ends of rules and the sides of boxes
WORD_PADDING_POINTS = 1.5  # points around a word: its box leaves out the edges of its letters
MIN_INK_PIECE_PIXELS = 12  # pixels of ink; smaller pieces are the scanner's noise
MIN_INK_SHARE = 0.0004  # share of a page's pixels: less than one short word
LETTER = (4, 16)  # pixels of a letter's height, and of its longer side; punch holes have 20
EDGE_MARGIN_PIXELS = 10  # pixels along the picture's edges, where a scanner leaves its marks
MIN_MARGIN_LETTERS = 20  # in the margins, of a line of print
EDGE = 48  # of 255 between neighbours

PAPER = 255  # the brightness of paper, to which that of ink is compared
FULL_CONTRAST = 0.5  # of ink to paper; with less, it is made up for
MIN_CONTRAST = 0.16  # of ink; print that shines through from the other side has less
STRETCHED_INK = 40  # of 255; to what the ink of a page with little contrast is darkened
A_LITTLE_BELOW = 0.3  # share of pixels; ink is on fewer, so this is noise of the paper
DEVIATIONS = 0.524  # by which a normal distribution's 30th percentile lies below its middle
NOISE = 6.0  # standard deviations; the darkest of a page's many pixels of paper are 5 below
MIN_INVERTED_STEP = 15  # of 255 between the dark and the light of an inverted page
MOSTLY_DARK = 0.6  # share of an inverted page's pixels
THICK = 8  # pixels at 50 dpi, 4 mm: print is thinner
HARDLY_THICK = 0.05  # share of pixels that may be light and thick on an inverted page


@dataclass(frozen=True, slots=True)
class Tone:
    """How a page's ink stands out from its own paper."""

    is_inverted: bool  # light ink on dark paper
    noise_floor: float  # of 255, relative to the paper: what is lighter may be noise
    ink: float  # of 255, relative to the paper: the darkest that is more than a few specks

    @property
    def has_ink(self) -> bool:
        return self.ink < self.noise_floor

    @property
    def contrast(self) -> float:
        """Of the ink to the paper, from 0 to 1."""
        return 1 - self.ink / PAPER

    @property
    def is_usual(self) -> bool:
        """Whether the page is looked at as it is."""
        return not self.is_inverted and (not self.has_ink or self.contrast >= FULL_CONTRAST)

    @property
    def is_faint(self) -> bool:
        """Whether all of its ink may be the other side of the sheet, shining through."""
        return self.has_ink and self.contrast < MIN_CONTRAST


def measure_tone(picture: PageRaster) -> Tone:
    """Measure a page, or an area of it, at 100 dpi."""
    grey = picture.downsampled(ANALYSIS_DPI).grey
    is_inverted = _is_inverted(grey)
    grey = PAPER - grey if is_inverted else grey
    paper = estimate_background(grey)
    usual = float(np.median(paper[::4, ::4]))
    even = _within_margins(divide_by_background(grey, paper, min(FILLED_BRIGHTNESS, UNLIT * usual)))
    counts = np.bincount(even.ravel(), minlength=PAPER + 1).cumsum() / even.size
    middle, low = (int(np.searchsorted(counts, share)) for share in (0.5, A_LITTLE_BELOW))
    ink = int(np.searchsorted(counts, MIN_INK_SHARE))
    deviation = max((middle - low) / DEVIATIONS, 1.0)
    return Tone(is_inverted, middle - NOISE * deviation, ink)


def normalise_tone(picture: PageRaster, tone: Tone) -> PageRaster:
    """Return the picture with dark ink on light paper, in full contrast. `tone` is its own."""
    if tone.is_usual:
        return picture
    grey = picture.grey
    if tone.is_inverted:
        grey = np.asarray(PAPER - grey)
    if tone.has_ink and tone.contrast < FULL_CONTRAST:
        high, wide = grey.shape
        small = estimate_background(PageRaster(grey, picture.dpi).downsampled(ANALYSIS_DPI).grey)
        paper = cv2.resize(small, (wide, high), interpolation=cv2.INTER_LINEAR)
        even = cv2.divide(grey, np.maximum(paper, 1), scale=PAPER)
        steps = (np.arange(PAPER + 1) - tone.ink) / max(tone.noise_floor - tone.ink, 1.0)
        levels = np.clip(STRETCHED_INK + steps * (PAPER - STRETCHED_INK), 0, PAPER)
        grey = np.asarray(cv2.LUT(even, levels.astype(np.uint8)))
    return replace(picture, grey=grey)


def _is_inverted(grey: GreyArray) -> bool:
    """Whether most of a page is dark, and what is light on it is as thin as print.

    The sheet that was photographed on a dark table is light as well, and is not thin.
    """
    _, dark = cv2.threshold(
        np.ascontiguousarray(grey[::2, ::2]), 0, 1, cv2.THRESH_BINARY_INV | cv2.THRESH_OTSU
    )
    if dark.mean() < MOSTLY_DARK:
        return False
    light = np.asarray(1 - dark, np.uint8)
    if (
        not light.any()
        or grey[::2, ::2][light > 0].mean() - grey[::2, ::2][dark > 0].mean() < MIN_INVERTED_STEP
    ):
        return False
    return bool(
        cv2.morphologyEx(light, cv2.MORPH_OPEN, np.ones((THICK, THICK), np.uint8)).mean()
        < HARDLY_THICK
    )


def _within_margins(grey: GreyArray) -> GreyArray:
    high, wide = grey.shape
    y, x = int(high * MARGIN_SHARE), int(wide * MARGIN_SHARE)
    return grey[y : high - y, x : wide - x]


def flatten_background(picture: PageRaster) -> PageRaster:
    """The whole page, small, as if on white paper under even light: a scan is on neither.

    The picture has dark ink on light paper: see `normalised`.
    """
    small = picture.downsampled(ANALYSIS_DPI)
    paper = estimate_background(small.grey)
    usual = float(np.median(paper[::4, ::4]))
    return PageRaster(
        divide_by_background(small.grey, paper, min(FILLED_BRIGHTNESS, UNLIT * usual)), small.dpi
    )


def divide_by_background(
    grey: GreyArray, paper: GreyArray, filled: float = FILLED_BRIGHTNESS
) -> GreyArray:
    """Compared with the paper around it; with white where that "paper" is itself filled."""
    paper = np.where(paper < filled, 255, paper).astype(np.uint8)
    return np.asarray(cv2.divide(grey, paper, scale=255))


def estimate_background(grey: GreyArray) -> GreyArray:
    """How bright the paper is, also under the ink."""
    high, wide = grey.shape
    without_ink = cv2.dilate(grey, np.ones((5, 5), np.uint8))
    coarse = cv2.resize(without_ink, (wide // 4 + 1, high // 4 + 1), interpolation=cv2.INTER_AREA)
    smooth = cv2.medianBlur(coarse, 9)
    return np.asarray(cv2.resize(smooth, (wide, high), interpolation=cv2.INTER_LINEAR))


def threshold(even: GreyArray, than: int) -> Mask:
    return np.asarray(even < than, np.uint8)


def is_blank(even: PageRaster) -> bool:
    """Of a `sheet`: hardly any ink inside the margins, and no line of print in them."""
    inner = np.ascontiguousarray(threshold(_within_margins(even.grey), DARK_BRIGHTNESS))
    areas = measure_components(label_components(inner)).ink
    if areas[areas >= MIN_INK_PIECE_PIXELS].sum() >= MIN_INK_SHARE * even.grey.size:
        return False
    found = measure_components(label_components(threshold(even.grey, DARK_BRIGHTNESS)))
    high, wide = even.grey.shape
    to_the_edge = np.minimum.reduce(
        (found.left, found.top, wide - found.right, high - found.bottom)
    )
    letters = (found.high >= LETTER[0]) & (np.maximum(found.high, found.wide) <= LETTER[1])
    return bool(np.count_nonzero(letters & (to_the_edge > EDGE_MARGIN_PIXELS)) < MIN_MARGIN_LETTERS)


def has_edges(picture: PageRaster) -> bool:
    """Whether something stands out from what is around it, be it darker or lighter.

    A photograph does, and light print on a page whose other half is white. Noise does not, nor
    what shines through from the other side, nor a shadow that fades.
    """
    smooth = cv2.medianBlur(
        np.ascontiguousarray(_within_margins(picture.downsampled(ANALYSIS_DPI).grey)), 5
    )
    steps = cv2.morphologyEx(smooth, cv2.MORPH_GRADIENT, np.ones((3, 3), np.uint8))
    return bool(np.count_nonzero(steps > EDGE) > MIN_INK_SHARE * steps.size)


def pixel_bounds(box: Box, picture: PageRaster, pad: float) -> tuple[int, int, int, int]:
    """For slices: nothing is left of the picture or above it."""
    scale, (x, y) = picture.dpi / POINTS_PER_INCH, picture.corner
    left, top = int((box.left - pad) * scale) - x, int((box.top - pad) * scale) - y
    right, bottom = ceil((box.right + pad) * scale) - x, ceil((box.bottom + pad) * scale) - y
    return max(left, 0), max(top, 0), max(right, 0), max(bottom, 0)


def label_components(ink: Mask) -> IntArray:
    """0 for paper, and a number for each piece of ink that hangs together."""
    _, labels = cv2.connectedComponents(ink, connectivity=8)
    return np.asarray(labels)


class Components(NamedTuple):
    """What hangs together, each with its label, its edges and its pixels of ink."""

    label: IntArray
    left: IntArray
    top: IntArray
    right: IntArray
    bottom: IntArray
    ink: IntArray

    @property
    def wide(self) -> IntArray:
        return self.right - self.left

    @property
    def high(self) -> IntArray:
        return self.bottom - self.top


def measure_components(labels: IntArray) -> Components:
    """By the inked pixels alone: a page is nearly all paper."""
    y, x = np.nonzero(labels > 0)
    label = labels[y, x]
    order = np.argsort(label, kind="stable")
    label, starts, ink = np.unique(label[order], return_index=True, return_counts=True)
    x, y = x[order], y[order]
    return Components(
        label=label,
        left=np.minimum.reduceat(x, starts),
        top=np.minimum.reduceat(y, starts),
        right=np.maximum.reduceat(x, starts) + 1,
        bottom=np.maximum.reduceat(y, starts) + 1,
        ink=ink,
    )
