"""Separates the coloured ink of a scanned page into layers of one hue: stamps, signatures, seals.

Print is black, so that ink of a hue is free of the text below it. The colour of the paper and of
the light is balanced first.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from ingestion.reading.results import Box

from .binarise import WHITE
from .render import POINTS_PER_INCH, ColourArray, GreyArray, PageRaster

SEARCH_DPI = 67  # at which a page is searched for colour
MAX_DPI = 200  # of the layers
# Of 255, the difference of the strongest and the weakest primary of ink. The paper of a photograph
# has up to 20.
MIN_CHROMA = 40
MIN_TINT = 25  # of 255, of the pale edges of ink
MIN_AREA_PIXELS = 25  # of colour in one area, at `SEARCH_DPI`
MAX_PART_SHARE = 0.5  # of a page's width or height; a larger part is a frame or a rule
MAX_COLOURED_SHARE = 0.25  # of a page's pixels; more is a photograph or coloured paper
JOIN_PIXELS = 9  # between coloured pixels of one area, at `SEARCH_DPI`
MIN_AREA_WIDTH_POINTS, MIN_AREA_HEIGHT_POINTS = 20.0, 8.0
MAX_AREAS_PER_PAGE = 6  # the largest first
AREA_MARGIN_POINTS = 4.0
HUE_BINS = 18
HUE_STEP = 180 // HUE_BINS  # OpenCV's hues are below 180
MIN_HUE_SHARE = 0.08  # of the coloured pixels of an area that are in a layer
MAX_LAYERS = 3  # of one area
MAX_BLACK_BRIGHTNESS = 110  # of 255; print that crosses coloured ink
MIN_CROSSING_SHARE = 0.02  # of the coloured pixels; less print does not divide letters
BRIDGE_PIXELS = 5  # of print inside a letter of a stamp

FloatArray = NDArray[np.float64]


class InkLayer(NamedTuple):
    """The ink of one hue in an area of a page, dark on white."""

    grey: GreyArray
    dpi: float
    left: float  # of the area on the page, in points
    top: float

    def to_page(self, pixels: tuple[int, int, int, int]) -> Box:
        """Return the place on the page of pixels of the layer."""
        scale = POINTS_PER_INCH / self.dpi
        left, top, right, bottom = (edge * scale for edge in pixels)
        return Box(self.left + left, self.top + top, self.left + right, self.top + bottom)


def find_coloured_areas(raster: PageRaster) -> list[Box]:
    """Return the areas of a page that contain as much coloured ink as a short stamp."""
    if raster.colour is None:
        return []
    step = max(round(raster.dpi / SEARCH_DPI), 1)
    small = np.ascontiguousarray(raster.colour[::step, ::step])
    coloured = np.asarray(_chroma(_balanced(small, _paper(small))) >= MIN_CHROMA, np.uint8)
    total = np.count_nonzero(coloured)
    if not MIN_AREA_PIXELS <= total <= MAX_COLOURED_SHARE * coloured.size:
        return []
    _, labels, stats, _ = cv2.connectedComponentsWithStats(coloured, connectivity=8)
    height, width = coloured.shape
    is_frame = (stats[:, cv2.CC_STAT_WIDTH] > MAX_PART_SHARE * width) | (
        stats[:, cv2.CC_STAT_HEIGHT] > MAX_PART_SHARE * height
    )
    is_frame[0] = False
    coloured[is_frame[labels]] = 0
    joined = cv2.dilate(coloured, np.ones((JOIN_PIXELS, JOIN_PIXELS), np.uint8))
    _, labels, stats, _ = cv2.connectedComponentsWithStats(joined, connectivity=8)
    ink = np.bincount(labels[coloured > 0], minlength=len(stats))
    scale = step * POINTS_PER_INCH / raster.dpi
    found = []
    for count, (left, top, width, height, _) in zip(ink[1:], stats[1:].tolist(), strict=True):
        if (
            count >= MIN_AREA_PIXELS
            and width * scale >= MIN_AREA_WIDTH_POINTS
            and height * scale >= MIN_AREA_HEIGHT_POINTS
        ):
            box = Box(*(e * scale for e in (left, top, left + width, top + height)))
            found.append((int(count), box))
    found.sort(key=lambda each: -each[0])
    return [box for _, box in found[:MAX_AREAS_PER_PAGE]]


def clear_coloured_ink(raster: PageRaster, areas: Iterable[Box]) -> GreyArray | None:
    """Return a page in grey without the coloured ink in its areas, or None if it has no colour.

    Black print absorbs all light, and ink of a colour reflects the light of its own colour. So the
    strongest primary shows the print below a stamp, once it is as bright as paper where there is
    only the ink.
    """
    if raster.colour is None:
        return None
    grey, paper = raster.grey.copy(), _paper(raster.colour[::4, ::4])
    scale = raster.dpi / POINTS_PER_INCH
    for area in areas:
        left, top = (max(int((edge - AREA_MARGIN_POINTS) * scale), 0) for edge in area[:2])
        right, bottom = (int((edge + AREA_MARGIN_POINTS) * scale) for edge in area[2:])
        cut = np.s_[top:bottom, left:right]
        balanced = _balanced(np.ascontiguousarray(raster.colour[cut]), paper)
        strongest, chroma = np.asarray(balanced.max(axis=2)), _chroma(balanced)
        ink = strongest[(chroma >= MIN_CHROMA) & (strongest > MAX_BLACK_BRIGHTNESS)]
        if not ink.size:
            continue
        levels = np.clip(np.arange(WHITE + 1) * (WHITE / float(np.median(ink))), 0, WHITE)
        is_tinted = np.asarray(chroma >= MIN_TINT, np.uint8)
        tinted = cv2.dilate(is_tinted, np.ones((BRIDGE_PIXELS,) * 2, np.uint8))
        cleared = cv2.LUT(strongest, levels.astype(np.uint8))
        grey[cut] = np.where(tinted > 0, cleared, grey[cut])
    return grey


def iter_ink_layers(raster: PageRaster, area: Box) -> Iterator[InkLayer]:
    """Yield the ink of each frequent hue in an area: alone, and with the print that crosses it."""
    if raster.colour is None:
        return
    scale = raster.dpi / POINTS_PER_INCH
    left, top = (max(int((edge - AREA_MARGIN_POINTS) * scale), 0) for edge in area[:2])
    right, bottom = (int((edge + AREA_MARGIN_POINTS) * scale) for edge in area[2:])
    colour = np.ascontiguousarray(raster.colour[top:bottom, left:right])
    factor = min(MAX_DPI / raster.dpi, 1.0)
    if factor < 1.0:
        colour = cv2.resize(colour, None, fx=factor, fy=factor, interpolation=cv2.INTER_AREA)
    balanced = _balanced(colour, _paper(raster.colour[::4, ::4]))
    is_black = balanced.max(axis=2) < MAX_BLACK_BRIGHTNESS
    for ink in _hues(balanced):
        mask = np.asarray(ink >= MIN_CHROMA, np.uint8)
        crossed = cv2.morphologyEx(mask, cv2.MORPH_CLOSE, np.ones((BRIDGE_PIXELS,) * 2, np.uint8))
        crossed |= cv2.dilate(mask, np.ones((3, 3), np.uint8))
        crossing = is_black & (crossed > 0)
        layers = [ink]
        if np.count_nonzero(crossing) >= MIN_CROSSING_SHARE * np.count_nonzero(mask):
            layers.append(np.where(crossing, np.uint8(WHITE), ink))
        for each in layers:
            # Ink at the limit becomes half as dark as black.
            dark = cv2.convertScaleAbs(each, alpha=WHITE / 2 / MIN_CHROMA)
            yield InkLayer(
                np.asarray(WHITE - dark, np.uint8), raster.dpi * factor, left / scale, top / scale
            )


def _hues(balanced: ColourArray) -> Iterator[GreyArray]:
    """Yield the colour strength of the pixels of each frequent hue, the most frequent first."""
    chroma = _chroma(balanced)
    is_coloured = chroma >= MIN_CHROMA
    total = np.count_nonzero(is_coloured)
    hue = np.asarray(cv2.cvtColor(balanced, cv2.COLOR_BGR2HSV)[..., 0]) // HUE_STEP
    counts = np.bincount(hue[is_coloured], minlength=HUE_BINS)
    for _ in range(MAX_LAYERS):
        near = counts + np.roll(counts, 1) + np.roll(counts, -1)
        peak = int(near.argmax())
        if near[peak] < max(MIN_HUE_SHARE * total, MIN_AREA_PIXELS):
            return
        counts[[(peak + step) % HUE_BINS for step in (-1, 0, 1)]] = 0
        of_hue = np.zeros(WHITE + 1, np.uint8)
        of_hue[[(peak + step) % HUE_BINS for step in (-2, -1, 0, 1, 2)]] = WHITE
        yield np.asarray(cv2.bitwise_and(chroma, cv2.LUT(hue, of_hue)))


def _paper(colour: ColourArray) -> FloatArray:
    """Return the blue, green and red of the paper, which is the median of an image."""
    return np.asarray(np.maximum(np.median(colour[::2, ::2].reshape(-1, 3), axis=0), 1.0))


def _balanced(colour: ColourArray, paper: FloatArray) -> ColourArray:
    """Return an image as if its paper were white."""
    levels = np.clip(np.arange(256)[:, None] * (WHITE / paper)[None], 0, WHITE).astype(np.uint8)
    return np.asarray(cv2.LUT(colour, levels[None]))


def _chroma(colour: ColourArray) -> GreyArray:
    """Return the difference of the strongest and the weakest primary of each pixel."""
    blue, green, red = cv2.split(colour)
    strongest = cv2.max(cv2.max(blue, green), red)
    return np.asarray(cv2.subtract(strongest, cv2.min(cv2.min(blue, green), red)))
