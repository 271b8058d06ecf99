"""Finds empty check boxes: small squares without a tick, on a page raster.

Only an empty check box is recognised with certainty. A cross or a tick may lie within its square,
cross its sides or hide it. A check box that is not found may therefore be ticked or not.
"""

from collections.abc import Sequence
from itertools import accumulate

import cv2
import numpy as np

from ingestion.reading.results import Box

from .binarise import divide_by_background, estimate_background, threshold
from .render import POINTS_PER_INCH, PageRaster

SQUARES_DPI = 150  # resolution of the search
SQUARE_INK_BRIGHTNESS = 170  # of 255, relative to white paper: thin grey sides count as ink
MIN_SIDE_POINTS, MAX_SIDE_POINTS = 7.0, 16.0  # of a check box; most letters are smaller
MIN_SIDE_RATIO = 0.75  # of the shorter side to the longer
MIN_FILLED_SHARE = 0.85  # of the bounding box that the outline encloses; the letter O has 0.79
BORDER_SHARE = 0.25  # of a side, next to each edge, that does not count as the inside
MAX_INSIDE_INK_SHARE = 0.03  # of the inside: dust of a scan
OUTLINE_PIXELS = 4  # to which edges are rounded; the outlines of one square differ by less


def find_empty_squares(raster: PageRaster) -> tuple[Box, ...]:
    """Return the boxes, in points, of the empty check boxes of a page, or of an area of it."""
    small = raster.downsampled(SQUARES_DPI)
    even = divide_by_background(small.grey, estimate_background(small.grey))
    ink = threshold(even, SQUARE_INK_BRIGHTNESS)
    closed = cv2.morphologyEx(ink, cv2.MORPH_CLOSE, np.ones((2, 2), np.uint8))
    outlines, _ = cv2.findContours(closed, cv2.RETR_LIST, cv2.CHAIN_APPROX_SIMPLE)
    scale = POINTS_PER_INCH / small.dpi
    found = {}
    for outline in _with_sides_of_squares(outlines, scale):
        left, top, width, height = cv2.boundingRect(outline)
        if cv2.contourArea(outline) < MIN_FILLED_SHARE * (width - 1) * (height - 1):
            continue
        x, y = round(width * BORDER_SHARE), round(height * BORDER_SHARE)
        inside = ink[top + y : top + height - y, left + x : left + width - x]
        around = ink[top : top + height, left : left + width]
        if inside.size and inside.mean() <= MAX_INSIDE_INK_SHARE < around.mean():
            left, top = left + small.offset[0], top + small.offset[1]
            edges = (left, top, left + width, top + height)
            # The inner and the outer outline of one square have the same key.
            key = tuple(round(edge / OUTLINE_PIXELS) for edge in edges)
            found[key] = Box(*(edge * scale for edge in edges))
    return tuple(sorted(found.values(), key=lambda box: (box.top, box.left)))


def _with_sides_of_squares(outlines: Sequence[np.ndarray], scale: float) -> list[np.ndarray]:
    """Return the outlines that are as wide and as high as a check box. `scale`: points per pixel.

    All of them are measured together, because most of a page's outlines are those of letters.
    """
    if not outlines:
        return []
    points = np.concatenate(outlines).reshape(-1, 2)
    starts = [0, *accumulate(map(len, outlines))][:-1]
    sides = (np.maximum.reduceat(points, starts) - np.minimum.reduceat(points, starts) + 1) * scale
    shorter, longer = sides.min(axis=1), sides.max(axis=1)
    has_size = (shorter >= MIN_SIDE_POINTS) & (longer <= MAX_SIDE_POINTS)
    has_size &= shorter >= MIN_SIDE_RATIO * longer
    return [outlines[index] for index in np.flatnonzero(has_size).tolist()]
