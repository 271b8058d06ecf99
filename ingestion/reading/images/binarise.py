"""Binarises a page raster at 100 dpi, and measures its tone, its blankness and its components.

What is searched in the ink is elsewhere: marks in `marks`, letters outside of words in `coverage`.
"""

from dataclasses import dataclass, replace
from math import ceil
from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from ingestion.reading.results import Box, Correction, CorrectionKind

from .render import POINTS_PER_INCH, GreyArray, PageRaster

IntArray = NDArray[np.integer]
Mask = NDArray[np.uint8]  # 1 for ink, 0 for paper

ANALYSIS_DPI = 100  # the resolution at which ink is analysed; pixels below are pixels at it
WHITE = 255  # brightness of paper after the background is flattened
# Brightness relative to white paper. Watermarks and tinted cells are lighter, pens are darker.
INK_BRIGHTNESS = 175
# Brightness, 0 to 255, below which a background counts as a filled cell or a photograph: it is
# darker than paper under a lamp.
FILLED_BRIGHTNESS = 128
# Share of the page's median paper brightness below which a background counts as filled, even
# where the light is poor.
MIN_PAPER_SHARE_OF_MEDIAN = 0.5
MARGIN_SHARE = 0.04  # of each side of a page: punch holes and the shadows of a scanner's edge
MAX_THIN_PIXELS = 2  # thickness of what may be the end of a rule or the side of a box
WORD_PADDING_POINTS = 1.5  # added around a word, whose box leaves out the edges of its letters
MIN_COMPONENT_PIXELS = 12  # of ink in a connected component; smaller ones are scanner noise
MIN_INK_SHARE = 0.0004  # of a page's pixels: less than one short word
# Of a letter: the smallest height, and the largest of its longer side. Punch holes have 20 pixels.
MIN_LETTER_HEIGHT_PIXELS, MAX_LETTER_SIDE_PIXELS = 4, 16
EDGE_MARGIN_PIXELS = 10  # along the raster's edges, where a scanner leaves its own marks
MIN_MARGIN_LETTERS = 20  # letters in the margins that make a line of print
MEDIAN_PIXELS = 9  # sides of the area, at a quarter of the resolution, that is paper on average
MIN_LARGE_PIXELS = 250_000  # of a raster that is most of a page
MAX_FEW_PIXELS = 10_000  # that are visited one by one
EDGE_CONTRAST = 48  # of 255, between neighbouring pixels

FULL_CONTRAST = 0.5  # of ink to paper; less contrast is stretched
MIN_CONTRAST = 0.16  # of ink to paper; print that shines through from the back has less
STRETCHED_INK_BRIGHTNESS = 40  # of 255: the brightness of ink after stretching
# The brightness at 30 % of all pixels measures the noise of the paper, because ink covers less. In
# a normal distribution, the 30th percentile is 0.524 standard deviations below the median.
NOISE_QUANTILE = 0.3
NOISE_QUANTILE_DEVIATIONS = 0.524
# Standard deviations below the median; the darkest of a page's many paper pixels are 5 below.
NOISE_DEVIATIONS = 6.0
MIN_INVERTED_STEP = 15  # of 255, between the mean dark and the mean light of an inverted page
MIN_DARK_SHARE = 0.6  # of an inverted page's pixels
MIN_THICK_PIXELS = 8  # at 50 dpi, which is 4 mm: strokes of print are thinner
MAX_THICK_LIGHT_SHARE = 0.05  # of an inverted page's pixels that may be light and thick


@dataclass(frozen=True, slots=True)
class Tone:
    """The contrast between a page's ink and its own paper. Brightness is from 0 to 255."""

    is_inverted: bool  # whether the page has light ink on dark paper
    noise_floor: float  # brightness relative to white paper; lighter pixels may be noise
    ink: float  # brightness relative to white paper of the darkest pixels, without a few specks

    @property
    def has_ink(self) -> bool:
        """Return whether something is darker than the noise of the paper."""
        return self.ink < self.noise_floor

    @property
    def contrast(self) -> float:
        """Return the contrast of the ink to the paper, from 0 to 1."""
        return 1 - self.ink / WHITE

    @property
    def is_usual(self) -> bool:
        """Return whether the page needs no normalisation of its tone."""
        return not self.is_inverted and (not self.has_ink or self.contrast >= FULL_CONTRAST)

    @property
    def corrections(self) -> tuple[Correction, ...]:
        """Return what `normalise_tone` corrects."""
        kinds = {
            CorrectionKind.INVERTED: self.is_inverted,
            CorrectionKind.CONTRAST: self.has_ink and self.contrast < FULL_CONTRAST,
        }
        return tuple(Correction(kind) for kind, is_needed in kinds.items() if is_needed)

    @property
    def is_faint(self) -> bool:
        """Return whether all ink may be print that shines through from the back of the sheet."""
        return self.has_ink and self.contrast < MIN_CONTRAST


def measure_tone(raster: PageRaster) -> Tone:
    """Measure the tone of a page, or of an area of one."""
    grey = raster.downsampled(ANALYSIS_DPI).grey
    is_inverted = _is_inverted(grey)
    grey = WHITE - grey if is_inverted else grey
    even = _without_margins(_flatten(grey))
    cumulative = np.bincount(even.ravel(), minlength=WHITE + 1).cumsum() / even.size
    median, low = (int(np.searchsorted(cumulative, share)) for share in (0.5, NOISE_QUANTILE))
    ink = int(np.searchsorted(cumulative, MIN_INK_SHARE))
    deviation = max((median - low) / NOISE_QUANTILE_DEVIATIONS, 1.0)
    return Tone(is_inverted, median - NOISE_DEVIATIONS * deviation, ink)


def normalise_tone(raster: PageRaster, tone: Tone) -> PageRaster:
    """Return the raster with dark ink on light paper, in full contrast. `tone` is its own tone."""
    if tone.is_usual:
        return raster
    grey = raster.grey
    if tone.is_inverted:
        grey = np.asarray(WHITE - grey)
    if tone.has_ink and tone.contrast < FULL_CONTRAST:
        height, width = grey.shape
        small = estimate_background(PageRaster(grey, raster.dpi).downsampled(ANALYSIS_DPI).grey)
        paper = cv2.resize(small, (width, height), interpolation=cv2.INTER_LINEAR)
        even = cv2.divide(grey, np.maximum(paper, 1), scale=WHITE)
        steps = (np.arange(WHITE + 1) - tone.ink) / max(tone.noise_floor - tone.ink, 1.0)
        stretched = STRETCHED_INK_BRIGHTNESS + steps * (WHITE - STRETCHED_INK_BRIGHTNESS)
        levels = np.clip(stretched, 0, WHITE)
        grey = np.asarray(cv2.LUT(even, levels.astype(np.uint8)))
    return replace(raster, grey=grey)


def _is_inverted(grey: GreyArray) -> bool:
    """Return whether most of a page is dark, and its light parts are as thin as print.

    A sheet that was photographed on a dark table has light parts too, but thick ones.
    """
    half = grey[::2, ::2]
    _, dark = cv2.threshold(
        np.ascontiguousarray(half), 0, 1, cv2.THRESH_BINARY_INV | cv2.THRESH_OTSU
    )
    if dark.mean() < MIN_DARK_SHARE:
        return False
    light = np.asarray(1 - dark, np.uint8)
    if not light.any() or half[light > 0].mean() - half[dark > 0].mean() < MIN_INVERTED_STEP:
        return False
    kernel = np.ones((MIN_THICK_PIXELS, MIN_THICK_PIXELS), np.uint8)
    return bool(cv2.morphologyEx(light, cv2.MORPH_OPEN, kernel).mean() < MAX_THICK_LIGHT_SHARE)


def _without_margins(grey: GreyArray) -> GreyArray:
    height, width = grey.shape
    y, x = int(height * MARGIN_SHARE), int(width * MARGIN_SHARE)
    return grey[y : height - y, x : width - x]


def flatten_background(raster: PageRaster) -> PageRaster:
    """Return the whole page at 100 dpi as if it were on white paper under even light.

    The raster has dark ink on light paper (see `normalise_tone`).
    """
    small = raster.downsampled(ANALYSIS_DPI)
    return PageRaster(_flatten(small.grey), small.dpi)


def _flatten(grey: GreyArray) -> GreyArray:
    """Divide a page by its background. Filled is what is much darker than the page's paper."""
    paper = estimate_background(grey)
    median = float(np.median(paper[::4, ::4]))
    filled = min(FILLED_BRIGHTNESS, MIN_PAPER_SHARE_OF_MEDIAN * median)
    return divide_by_background(grey, paper, filled)


def divide_by_background(
    grey: GreyArray, paper: GreyArray, filled: float = FILLED_BRIGHTNESS
) -> GreyArray:
    """Return the brightness relative to the background, so that paper becomes white.

    Where the background is darker than `filled`, it is a filled area and no paper. There, the
    brightness is compared with white.
    """
    if paper.min() == WHITE:
        return grey
    paper = np.where(paper < filled, WHITE, paper).astype(np.uint8)
    return np.asarray(cv2.divide(grey, paper, scale=WHITE))


def estimate_background(grey: GreyArray) -> GreyArray:
    """Return the brightness of the paper at each pixel, also under the ink."""
    height, width = grey.shape
    without_ink = cv2.dilate(grey, np.ones((5, 5), np.uint8))
    if without_ink.min() == WHITE:  # as in most areas of a page that was not scanned
        return np.full_like(grey, WHITE)
    size = (width // 4 + 1, height // 4 + 1)
    if grey.size >= MIN_LARGE_PIXELS:
        # The usual case of a page that was not scanned is known before the slow step.
        darker = threshold(without_ink, WHITE)
        if cv2.countNonZero(darker) < MAX_FEW_PIXELS and not _has_dark_areas(_reduce(darker, size)):
            return np.full_like(grey, WHITE)
    coarse = cv2.resize(without_ink, size, interpolation=cv2.INTER_AREA)
    if not _has_dark_areas(threshold(coarse, WHITE)):
        return np.full_like(grey, WHITE)
    smooth = cv2.medianBlur(coarse, MEDIAN_PIXELS)
    return np.asarray(cv2.resize(smooth, (width, height), interpolation=cv2.INTER_LINEAR))


def _reduce(mask: Mask, size: tuple[int, int]) -> Mask:
    """Return a smaller mask of all pixels that contain a part of a pixel of the mask."""
    height, width = mask.shape
    columns, rows = size
    y, x = np.divmod(np.flatnonzero(mask.view(np.bool_)), width)
    reduced = np.zeros((rows, columns), np.uint8)
    for row in (y * rows // height, np.minimum((y + 1) * rows // height, rows - 1)):
        for column in (x * columns // width, np.minimum((x + 1) * columns // width, columns - 1)):
            reduced[row, column] = 1
    return reduced


def _has_dark_areas(darker: Mask) -> bool:
    """Return whether, around any pixel, so many pixels are darker than white that the median is."""
    count = cv2.boxFilter(
        darker,
        cv2.CV_32F,
        (MEDIAN_PIXELS, MEDIAN_PIXELS),
        normalize=False,
        borderType=cv2.BORDER_REPLICATE,
    )
    return bool(count.max() > MEDIAN_PIXELS**2 // 2)


def threshold(even: GreyArray, brightness: int) -> Mask:
    """Return a mask of the pixels that are darker than `brightness`, 0 to 255."""
    return (even < brightness).view(np.uint8)


def is_blank(page: PageRaster) -> bool:
    """Return whether a page has hardly any ink inside its margins, and no line of print in them.

    `page` is a result of `flatten_background`.
    """
    inner = np.ascontiguousarray(threshold(_without_margins(page.grey), INK_BRIGHTNESS))
    areas = measure_components(label_components(inner)).ink
    if areas[areas >= MIN_COMPONENT_PIXELS].sum() >= MIN_INK_SHARE * page.grey.size:
        return False
    found = measure_components(label_components(threshold(page.grey, INK_BRIGHTNESS)))
    height, width = page.grey.shape
    to_the_edge = np.minimum.reduce(
        (found.left, found.top, width - found.right, height - found.bottom)
    )
    is_letter = (found.height >= MIN_LETTER_HEIGHT_PIXELS) & (
        np.maximum(found.height, found.width) <= MAX_LETTER_SIDE_PIXELS
    )
    letters = np.count_nonzero(is_letter & (to_the_edge > EDGE_MARGIN_PIXELS))
    return bool(letters < MIN_MARGIN_LETTERS)


def has_edges(raster: PageRaster) -> bool:
    """Return whether something contrasts with its surroundings, be it darker or lighter.

    A photograph does, and so does light print on a page whose other half is white. Noise does
    not, nor does print that shines through from the back, nor a shadow that fades.
    """
    grey = _without_margins(raster.downsampled(ANALYSIS_DPI).grey)
    smooth = cv2.medianBlur(np.ascontiguousarray(grey), 5)
    gradient = cv2.morphologyEx(smooth, cv2.MORPH_GRADIENT, np.ones((3, 3), np.uint8))
    return bool(np.count_nonzero(gradient > EDGE_CONTRAST) > MIN_INK_SHARE * gradient.size)


def convert_to_pixel_bounds(
    box: Box, raster: PageRaster, padding: float
) -> tuple[int, int, int, int]:
    """Return a box as left, top, right and bottom pixels of a raster, for slices.

    `padding` is in points. No result is negative, so that a slice never wraps around.
    """
    scale, (x, y) = raster.dpi / POINTS_PER_INCH, raster.offset
    left, top = int((box.left - padding) * scale) - x, int((box.top - padding) * scale) - y
    right = ceil((box.right + padding) * scale) - x
    bottom = ceil((box.bottom + padding) * scale) - y
    return max(left, 0), max(top, 0), max(right, 0), max(bottom, 0)


def label_components(ink: Mask) -> IntArray:
    """Return 0 for each pixel of paper, and the number of its connected component for ink."""
    _, labels = cv2.connectedComponents(ink, connectivity=8)
    return np.asarray(labels)


class Components(NamedTuple):
    """The connected components of a mask: parallel arrays, with pixels as unit."""

    label: IntArray
    left: IntArray
    top: IntArray
    right: IntArray
    bottom: IntArray
    ink: IntArray  # number of inked pixels

    @property
    def width(self) -> IntArray:
        """Return the widths of the bounding boxes."""
        return self.right - self.left

    @property
    def height(self) -> IntArray:
        """Return the heights of the bounding boxes."""
        return self.bottom - self.top


def measure_components(labels: IntArray) -> Components:
    """Return the components of a labelled mask.

    Only inked pixels are visited, because nearly all of a page is paper.
    """
    inked = np.flatnonzero(labels > 0)  # much faster than np.nonzero
    y, x = np.divmod(inked, labels.shape[1])
    label = labels.ravel()[inked]
    order = np.argsort(label, kind="stable")
    label, x, y = label[order], x[order], y[order]
    starts = np.flatnonzero(np.diff(label, prepend=0))
    return Components(
        label=label[starts],
        left=np.minimum.reduceat(x, starts),
        top=np.minimum.reduceat(y, starts),
        right=np.maximum.reduceat(x, starts) + 1,
        bottom=np.maximum.reduceat(y, starts) + 1,
        ink=np.diff(starts, append=len(label)),
    )
