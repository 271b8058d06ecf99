"""Measures whether an image of a page was degraded, so that its print is hard to read."""

import cv2
import numpy as np

from ingestion.reading.images.binarise import measure_percentile
from ingestion.reading.images.render import GreyArray

# Grain of the paper, as the standard deviation of its pixels, of 255. A clean scan has 0.3, an
# office scan 1.0 and one of an old, fast machine 4.3.
MAX_GRAIN = 2.5
# Difference between the bright and the dark areas of the paper, of 255. A scan has at most 25, and
# a photograph that was taken with one lamp or with a shadow more than 100.
MAX_LIGHT_DIFFERENCE = 60
EDGE_SHARE = 20  # part of each side that is left out, as it may show the table under the page
PAPER_DEPTH = 40  # of 255, below the usual brightness, up to which a pixel is paper
BAND_PIXELS = 64  # height of the bands of a page in which the grain is measured
GRID = (24, 32)  # areas of the page, across and down, of which the brightness is compared
MEDIAN_TO_DEVIATION = 0.6745  # of a normal distribution: its median absolute value
LAPLACIAN_GAIN = 20**0.5  # by which the kernel (1, -4, 1) enlarges the deviation of grain


def is_degraded(grey: GreyArray) -> bool:
    """Return whether a page has much grain, or was lit unevenly."""
    height, width = grey.shape
    y, x = height // EDGE_SHARE, width // EDGE_SHARE
    inner = np.ascontiguousarray(grey[y : height - y, x : width - x])
    return (
        _measure_grain(_take_bands(inner)) > MAX_GRAIN
        or _measure_light(inner) > MAX_LIGHT_DIFFERENCE
    )


def _take_bands(grey: GreyArray) -> GreyArray:
    """Return every fourth band of a page, which is enough to measure its grain."""
    tops = range(0, grey.shape[0], 4 * BAND_PIXELS)
    return np.concatenate([grey[top : top + BAND_PIXELS] for top in tops])


def _measure_grain(grey: GreyArray) -> float:
    """Return the standard deviation of the pixels of the paper, without print and its edges."""
    is_paper = (grey > measure_percentile(grey, 50) - PAPER_DEPTH).view(np.uint8)
    paper = cv2.erode(is_paper, np.ones((7, 7), np.uint8)).view(bool)
    if not paper.any():
        return 0.0
    curvature = np.abs(cv2.Laplacian(grey, cv2.CV_16S)[paper])
    return float(np.median(curvature)) / (MEDIAN_TO_DEVIATION * LAPLACIAN_GAIN)


def _measure_light(grey: GreyArray) -> float:
    """Return the difference between the brightest and the darkest areas of the paper."""
    areas = cv2.resize(grey, GRID, interpolation=cv2.INTER_AREA)
    # The brightest area beside each one, because an area with much print is dark.
    paper = cv2.dilate(cv2.medianBlur(areas, 3), np.ones((3, 3), np.uint8))
    dark, bright = np.percentile(paper, (5, 95))
    return float(bright - dark)
