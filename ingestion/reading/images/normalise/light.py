"""Measures the light on the paper of a page, and evens it out.

A photograph has shadows and is brighter on one side. The light is measured on a large scale, so
that a filled cell of a table and a line of print do not count as shadows.
"""

from dataclasses import replace

import cv2
import numpy as np

from ingestion.reading.images.binarise import ANALYSIS_DPI, WHITE
from ingestion.reading.images.render import GreyArray, PageRaster

LIGHT_SCALE = 4  # pixels at 100 dpi for one pixel of the light
CLOSED_PIXELS = 13  # of the light, which is half an inch: narrower dark areas are no shadows
MEDIAN_PIXELS = 9  # of the light
# Quotient of the dark to the bright paper, 5 % of which are darker or brighter. Scans have 0.95
# and more.
MAX_UNEVEN_SHARE = 0.75
QUANTILES = (0.05, 0.95)
SHARPENING_INCHES = 0.01  # standard deviation of the blur that is subtracted
SHARPENING = 1.5  # weight of the difference to the blurred page


def measure_light(raster: PageRaster) -> GreyArray:
    """Return the brightness of the paper, 0 to 255, at a quarter of 100 dpi."""
    small = raster.downsampled(ANALYSIS_DPI).grey
    without_ink = cv2.dilate(small, np.ones((5, 5), np.uint8))
    height, width = small.shape
    size = (width // LIGHT_SCALE + 1, height // LIGHT_SCALE + 1)
    coarse = cv2.resize(without_ink, size, interpolation=cv2.INTER_AREA)
    closed = cv2.morphologyEx(
        coarse, cv2.MORPH_CLOSE, np.ones((CLOSED_PIXELS, CLOSED_PIXELS), np.uint8)
    )
    return np.asarray(cv2.medianBlur(closed, MEDIAN_PIXELS))


def is_uneven(light: GreyArray) -> bool:
    """Return whether a part of the paper is so much darker that the page needs another light."""
    dark, bright = np.quantile(light[1:-1, 1:-1], QUANTILES) if min(light.shape) > 2 else (1, 1)
    return bool(dark < MAX_UNEVEN_SHARE * bright)


def even_out(raster: PageRaster, light: GreyArray) -> PageRaster:
    """Return a page divided by the light on it, so that its paper is white."""
    height, width = raster.grey.shape
    paper = cv2.resize(light, (width, height), interpolation=cv2.INTER_LINEAR)
    even = cv2.divide(raster.grey, np.maximum(paper, 1), scale=WHITE)
    return replace(raster, grey=np.asarray(even))


def sharpen(raster: PageRaster) -> PageRaster:
    """Return a page with sharper edges, as a photograph is a little out of focus."""
    blurred = cv2.GaussianBlur(raster.grey, (0, 0), SHARPENING_INCHES * raster.dpi)
    sharp = cv2.addWeighted(raster.grey, 1 + SHARPENING, blurred, -SHARPENING, 0)
    return replace(raster, grey=np.asarray(sharp))
