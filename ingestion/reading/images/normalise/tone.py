"""Measures the tone of a page, and turns any page into dark ink on light paper in full contrast."""

from dataclasses import dataclass, replace

import cv2
import numpy as np

from ingestion.reading.images.binarise import (
    ANALYSIS_DPI,
    MIN_INK_SHARE,
    WHITE,
    crop_margins,
    estimate_background,
    flatten,
)
from ingestion.reading.images.render import GreyArray, PageRaster
from ingestion.reading.results import Correction, CorrectionKind

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


def measure_tone(raster: PageRaster, flat: PageRaster | None = None) -> Tone:
    """Measure the tone of a page, or of an area of one.

    `flat` is the result of `flatten_background` for the raster, if it is known already.
    """
    grey = raster.downsampled(ANALYSIS_DPI).grey
    if _is_inverted(grey):
        return measure_flat_tone(flatten(np.asarray(WHITE - grey)), is_inverted=True)
    return measure_flat_tone(flatten(grey) if flat is None else flat.grey)


def measure_flat_tone(flat: GreyArray, *, is_inverted: bool = False) -> Tone:
    """Measure the tone of a page at `ANALYSIS_DPI` that is divided by its background."""
    even = np.ascontiguousarray(crop_margins(flat))
    counts = cv2.calcHist([even], [0], None, [WHITE + 1], [0, WHITE + 1]).ravel()
    cumulative = counts.astype(np.int64).cumsum() / even.size
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
