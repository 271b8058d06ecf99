"""Empty boxes to tick: small squares with nothing in them, on a picture of a page.

Only an empty one is told for certain. A cross or a tick may lie within its square, reach over its
sides or hide it, so a square that is not found here says nothing.
"""

import cv2
import numpy as np

from ingestion.reading.results import Box

from .binarise import divide_by_background, estimate_background, threshold
from .render import POINTS_PER_INCH, PageRaster

SQUARES_DPI = 150
INK = 170  # of 255, the paper being white: thin grey sides count
SIDE = (7.0, 16.0)  # points; most letters are smaller
MIN_SIDE_RATIO = 0.75  # of the shorter side to the longer
MIN_FILLED_SHARE = 0.85  # of its bounding box, with all that it encloses: an O has 0.79
WITHIN = 0.25  # of a side from its edge, where the inside begins
MAX_INSIDE_INK_SHARE = 0.03  # of the inside: a scan's dust


def find_empty_squares(picture: PageRaster) -> tuple[Box, ...]:
    """Return the boxes, in points, of the empty squares of a page."""
    small = picture.downsampled(SQUARES_DPI)
    ink = threshold(divide_by_background(small.grey, estimate_background(small.grey)), INK)
    whole = cv2.morphologyEx(ink, cv2.MORPH_CLOSE, np.ones((2, 2), np.uint8))
    outlines, _ = cv2.findContours(whole, cv2.RETR_LIST, cv2.CHAIN_APPROX_SIMPLE)
    scale = POINTS_PER_INCH / small.dpi
    found = {}
    for outline in outlines:
        left, top, wide, high = cv2.boundingRect(outline)
        short, long = sorted((wide * scale, high * scale))
        if short < SIDE[0] or long > SIDE[1] or short < MIN_SIDE_RATIO * long:
            continue
        if cv2.contourArea(outline) < MIN_FILLED_SHARE * (wide - 1) * (high - 1):
            continue
        x, y = round(wide * WITHIN), round(high * WITHIN)
        inside = ink[top + y : top + high - y, left + x : left + wide - x]
        around = ink[top : top + high, left : left + wide]
        if inside.size and inside.mean() <= MAX_INSIDE_INK_SHARE < around.mean():
            at = (left, top, left + wide, top + high)
            found[tuple(round(side / 4) for side in at)] = Box(*(side * scale for side in at))
    return tuple(sorted(found.values(), key=lambda box: (box.top, box.left)))
