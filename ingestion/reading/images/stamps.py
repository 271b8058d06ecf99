"""Finds stamps and watermarks on a scanned page that OCR of the page did not read.

OCR reads lines of print that are nearly horizontal. A stamp at an angle, or a watermark under the
print, is found by its ink: strokes that are thicker than those of print, or a group of strokes
outside of the words. Only such areas are turned upright and read again.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import cv2
import numpy as np

from ingestion.reading.results import Box

from .binarise import (
    ANALYSIS_DPI,
    INK_BRIGHTNESS,
    WHITE,
    WORD_PADDING_POINTS,
    Mask,
    convert_to_pixel_bounds,
    label_components,
    label_ink,
    measure_components,
    threshold,
)
from .render import POINTS_PER_INCH, GreyArray, PageRaster

MAX_THICK_SHARE = 0.25  # of a page's pixels; more is a shadow, a photograph or dark paper
JOIN_PIXELS = 27  # between thick strokes of one stamp
MIN_THICK_INK_PIXELS = 250  # of one stamp
MIN_LONG_SIDE_PIXELS, MIN_SHORT_SIDE_PIXELS = 55, 14
MIN_SIDE_RATIO = 1.3  # of the long side of a stamp to its short side
MIN_INK_SHARE, MAX_INK_SHARE = 0.06, 0.7  # of the turned box of a stamp
# Of a group of strokes outside of words. A signature has the same size.
MIN_MARK_WIDTH_POINTS, MIN_MARK_HEIGHT_POINTS = 36.0, 12.0
MAX_AREAS_PER_PAGE = 5  # that are read again, the largest first
SCALE = 2  # by which a mask of 100 dpi is enlarged for OCR
BORDER_PIXELS = 20  # of paper around a turned area


class LetterSize(NamedTuple):
    """The letters of stamps in one brightness, in pixels at 100 dpi."""

    brightness: int  # 0 to 255; the ink is darker
    min_stroke_pixels: int  # pale ink makes print look thicker
    min_pixels: int  # the longer side of a letter


PALE_LETTERS = LetterSize(228, 5, 30)
DARK_LETTERS = LetterSize(INK_BRIGHTNESS, 3, 17)


class StampArea(NamedTuple):
    """An area that may be a stamp: its place, and its image turned upright for OCR."""

    box: Box
    image: GreyArray
    dpi: int


def find_stamp_areas(
    page: PageRaster, even: PageRaster, marks: Sequence[Box], words: Sequence[Box]
) -> list[StampArea]:
    """Return the areas of a scanned page that may be stamps, the largest first.

    `page` is the page with dark ink on light paper, `even` is its result of `flatten_background`,
    which may take the wide strokes of a watermark for paper. `marks` are the marks of the page, and
    `words` are the boxes of large words that were read with certainty, such as those of a title.
    """
    areas: list[StampArea] = []
    for area in (
        *_thick_areas(_divide_by_paper(page), PALE_LETTERS, words),
        *_thick_areas(even, DARK_LETTERS, words),
        *_mark_areas(even, marks),
    ):
        if not any(area.box.contains_centre_of(each.box) for each in areas):
            areas.append(area)
    areas.sort(key=lambda area: -area.image.size)
    return areas[:MAX_AREAS_PER_PAGE]


def _divide_by_paper(page: PageRaster) -> PageRaster:
    """Return the page at 100 dpi, divided by the usual brightness of its paper."""
    small = page.downsampled(ANALYSIS_DPI)
    paper = max(float(np.median(small.grey[::4, ::4])), 1.0)
    return PageRaster(np.asarray(cv2.convertScaleAbs(small.grey, alpha=WHITE / paper)), small.dpi)


def _thick_areas(
    page: PageRaster, letters: LetterSize, words: Sequence[Box]
) -> Iterator[StampArea]:
    """Yield the areas of letters that are larger than print."""
    ink = threshold(page.grey, letters.brightness)
    for word in words:
        left, top, right, bottom = convert_to_pixel_bounds(word, page, WORD_PADDING_POINTS)
        ink[top:bottom, left:right] = 0
    kernel = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (letters.min_stroke_pixels,) * 2)
    thick = np.asarray(cv2.morphologyEx(ink, cv2.MORPH_OPEN, kernel), np.uint8)
    if not MIN_THICK_INK_PIXELS <= np.count_nonzero(thick) <= MAX_THICK_SHARE * thick.size:
        return
    labelled = label_ink(thick)
    parts = labelled.components
    is_letter = np.zeros(parts.label.max() + 1, bool)
    is_letter[parts.label] = np.maximum(parts.width, parts.height) >= letters.min_pixels
    if not is_letter.any():
        return
    large = np.zeros(thick.shape, np.uint8)
    large.ravel()[labelled.pixels[is_letter[labelled.labels]]] = 1
    joined = np.asarray(cv2.dilate(large, np.ones((JOIN_PIXELS, JOIN_PIXELS), np.uint8)))
    groups = label_components(joined) * large
    found = measure_components(groups)
    for label, ink_count in zip(found.label.tolist(), found.ink.tolist(), strict=True):
        if ink_count >= MIN_THICK_INK_PIXELS:
            yield from _turned_area((groups == label).view(np.uint8), page)


def _mark_areas(page: PageRaster, marks: Sequence[Box]) -> Iterator[StampArea]:
    """Yield the marks that have the size of a stamp."""
    scale = page.dpi / POINTS_PER_INCH
    ink = threshold(page.grey, INK_BRIGHTNESS)
    for mark in marks:
        width, height = mark.right - mark.left, mark.bottom - mark.top
        if width < MIN_MARK_WIDTH_POINTS or height < MIN_MARK_HEIGHT_POINTS:
            continue
        alone = np.zeros_like(ink)
        left, top, right, bottom = (max(int(edge * scale), 0) for edge in mark)
        alone[top : bottom + 1, left : right + 1] = ink[top : bottom + 1, left : right + 1]
        yield from _turned_area(alone, page)


def _turned_area(ink: Mask, page: PageRaster) -> Iterator[StampArea]:
    """Yield the ink of one area, turned so that its long side is horizontal."""
    points = cv2.findNonZero(ink)
    if points is None:
        return
    (x, y), (width, height), degrees = cv2.minAreaRect(points)
    if width < height:
        width, height, degrees = height, width, degrees - 90
    share = len(points) / max(width * height, 1.0)
    if (
        width < max(MIN_LONG_SIDE_PIXELS, MIN_SIDE_RATIO * height)
        or height < MIN_SHORT_SIDE_PIXELS
        or not MIN_INK_SHARE <= share <= MAX_INK_SHARE
    ):
        return
    # A stamp is turned by at most a quarter, so that it can be read.
    degrees = (degrees + 90) % 180 - 90
    size = (int(width * SCALE) + 2 * BORDER_PIXELS, int(height * SCALE) + 2 * BORDER_PIXELS)
    transform = np.asarray(cv2.getRotationMatrix2D((x, y), degrees, SCALE))
    transform[:, 2] += (size[0] / 2 - x, size[1] / 2 - y)
    image = np.asarray((1 - ink) * 255, np.uint8)
    turned = cv2.warpAffine(image, transform, size, flags=cv2.INTER_CUBIC, borderValue=255)
    left, top, w, h = cv2.boundingRect(points)
    scale = page.dpi / POINTS_PER_INCH
    box = Box(left / scale, top / scale, (left + w) / scale, (top + h) / scale)
    yield StampArea(box, np.asarray(cv2.GaussianBlur(turned, (3, 3), 0)), round(page.dpi * SCALE))
