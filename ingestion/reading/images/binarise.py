"""Binarises a page raster at 100 dpi, and measures its blankness and its components.

What is searched in the ink is elsewhere: marks in `marks`, letters outside of words in `coverage`.
"""

from math import ceil
from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from ingestion.reading.results import Box

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


def crop_margins(grey: GreyArray) -> GreyArray:
    """Return a page without the margins at its edges."""
    height, width = grey.shape
    y, x = int(height * MARGIN_SHARE), int(width * MARGIN_SHARE)
    return grey[y : height - y, x : width - x]


def flatten_background(raster: PageRaster) -> PageRaster:
    """Return the whole page at 100 dpi as if it were on white paper under even light.

    The raster has dark ink on light paper (see `normalise.tone`).
    """
    small = raster.downsampled(ANALYSIS_DPI)
    return PageRaster(flatten(small.grey), small.dpi)


def flatten(grey: GreyArray) -> GreyArray:
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
    levels = np.arange(WHITE + 1)
    paper = cv2.LUT(paper, np.where(levels < filled, WHITE, levels).astype(np.uint8))
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


def measure_percentile(grey: GreyArray, percent: float) -> float:
    """Return a percentile of the brightness of an image, as `np.percentile` does, but faster."""
    counts = cv2.calcHist([np.ascontiguousarray(grey)], [0], None, [WHITE + 1], [0, WHITE + 1])
    return find_percentile(np.arange(WHITE + 1), counts.ravel().astype(np.int64), percent)


def find_percentile(values: IntArray, counts: IntArray, percent: float) -> float:
    """Return a percentile of whole numbers that occur so often, as `np.percentile` does."""
    order = np.argsort(values)
    ends = counts[order].cumsum()
    last = int(ends[-1]) - 1
    place = last * (percent / 100)
    share = place - int(place)
    near = np.searchsorted(ends, (int(place), min(int(place) + 1, last)), side="right")
    low, high = values[order][near].tolist()
    if share < 0.5:  # as numpy rounds
        return float(low + (high - low) * share)
    return float(high - (high - low) * (1 - share))


def is_blank(page: PageRaster) -> bool:
    """Return whether a page has hardly any ink inside its margins, and no line of print in them.

    `page` is a result of `flatten_background`.
    """
    found = label_page_ink(page).components
    height, width = page.grey.shape
    y, x = int(height * MARGIN_SHARE), int(width * MARGIN_SHARE)
    is_inside = (found.left >= x) & (found.right <= width - x)
    is_inside &= (found.top >= y) & (found.bottom <= height - y)
    min_ink = MIN_INK_SHARE * page.grey.size
    if found.ink[is_inside & (found.ink >= MIN_COMPONENT_PIXELS)].sum() >= min_ink:
        return False
    # The components that the margins cut have ink inside of them too.
    inner = np.ascontiguousarray(threshold(crop_margins(page.grey), INK_BRIGHTNESS))
    areas = label_ink(inner).components.ink
    if areas[areas >= MIN_COMPONENT_PIXELS].sum() >= min_ink:
        return False
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
    grey = crop_margins(raster.downsampled(ANALYSIS_DPI).grey)
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


class LabelledInk(NamedTuple):
    """The inked pixels of a mask, row by row, and the connected components that they form."""

    pixels: IntArray  # places in the flattened mask
    labels: IntArray  # the number of the component of each pixel
    components: Components


def label_ink(ink: Mask) -> LabelledInk:
    """Return the inked pixels of a mask with their components."""
    labels = label_components(ink).ravel()
    pixels = np.flatnonzero(labels > 0)  # much faster than np.nonzero
    labels = labels[pixels]
    return LabelledInk(pixels, labels, _measure(pixels, labels, ink.shape[1]))


def label_page_ink(page: PageRaster) -> LabelledInk:
    """Return the ink of a page with its components.

    `page` is a result of `flatten_background`.
    """
    if "ink" not in page.measured:
        page.measured["ink"] = label_ink(threshold(page.grey, INK_BRIGHTNESS))
    ink: LabelledInk = page.measured["ink"]
    return ink


def measure_components(labels: IntArray) -> Components:
    """Return the components of a labelled mask.

    Only inked pixels are visited, because nearly all of a page is paper.
    """
    pixels = np.flatnonzero(labels > 0)
    return _measure(pixels, labels.ravel()[pixels], labels.shape[1])


def _measure(pixels: IntArray, label: IntArray, width: int) -> Components:
    """Return the components of pixels, by their places in a flattened mask of this width."""
    y, x = np.divmod(pixels, width)
    order = np.argsort(label, kind="stable")
    label, x, y = label[order], x[order], y[order]
    starts = np.flatnonzero(np.diff(label, prepend=0))
    return Components(
        label=label[starts],
        left=np.minimum.reduceat(x, starts),
        top=y[starts],  # the pixels are row by row
        right=np.maximum.reduceat(x, starts) + 1,
        bottom=np.maximum.reduceat(y, starts) + 1,
        ink=np.diff(starts, append=len(label)),
    )
