"""Measures the noise of the paper in single pixels, and smooths it."""

from dataclasses import replace

import cv2
import numpy as np

from ingestion.reading.images.render import GreyArray, PageRaster

STRIPS = 3  # of the page in which the noise is measured
STRIP_PIXELS = 100  # height of a strip
MEDIAN_PIXELS = 5  # sides of the area with whose median a pixel is compared
# Of 255, mean difference of a pixel of the paper to its surroundings. A scan has 2, a photograph
# up to 2.5, and a scan of an old, fast machine 6.
MAX_GRAIN = 4.0
SAMPLED_ROWS = 4  # of which one is looked at
MIN_BILEVEL_SHARE = 0.97  # of a fax's pixels that are black or white
SMOOTHING_PIXELS = 3
ENLARGED_DPI, MAX_ENLARGEMENT = 300, 1.5
MAX_ENLARGED_PIXELS = 15_000_000


def is_bilevel(grey: GreyArray) -> bool:
    """Return whether a page has only black and white pixels, as a fax."""
    sample = grey[::SAMPLED_ROWS]
    extremes = np.count_nonzero((sample < 3) | (sample > 252)) / sample.size
    return bool(extremes > MIN_BILEVEL_SHARE)


def measure_grain(grey: GreyArray) -> float:
    """Return the mean difference, of 255, of a pixel of the paper to those around it."""
    height = grey.shape[0]
    grains = []
    for number in range(1, STRIPS + 1):
        top = max(number * height // (STRIPS + 1) - STRIP_PIXELS // 2, 0)
        strip = np.ascontiguousarray(grey[top : top + STRIP_PIXELS])
        smooth = cv2.medianBlur(strip, MEDIAN_PIXELS)
        is_paper = smooth >= np.median(smooth)
        grains.append(float(cv2.absdiff(strip, smooth)[is_paper].mean()))
    return float(np.median(grains))


def smooth(raster: PageRaster) -> PageRaster:
    """Return a page without its finest grain."""
    size = (SMOOTHING_PIXELS, SMOOTHING_PIXELS)
    return replace(raster, grey=np.asarray(cv2.GaussianBlur(raster.grey, size, 0)))


def enlarge(raster: PageRaster) -> PageRaster:
    """Return a page of a low resolution with up to 300 dpi, which OCR reads better if it is noisy.

    Its colour is enlarged too.
    """
    limit = (MAX_ENLARGED_PIXELS / raster.grey.size) ** 0.5
    factor = min(ENLARGED_DPI / raster.dpi, MAX_ENLARGEMENT, limit)
    if factor <= 1:
        return raster

    def resize(pixels: GreyArray) -> GreyArray:
        return np.asarray(
            cv2.resize(pixels, None, fx=factor, fy=factor, interpolation=cv2.INTER_CUBIC)
        )

    colour = None if raster.colour is None else resize(raster.colour)
    return PageRaster(resize(raster.grey), raster.dpi * factor, colour=colour)
