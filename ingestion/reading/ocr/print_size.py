"""Reads pages by OCR at a resolution that suits the size of their print.

Tesseract reads a page in very small print better if it is enlarged, as a sheet onto which several
pages were copied. It also joins the lines of two pages that are side by side if the sheet was
scanned a little askew. So the pages on a sheet are read one by one.

It reads print of the usual size as well at a resolution that is lower than that of most scans, in
less time.
"""

from collections.abc import Sequence
from dataclasses import replace

import cv2
import numpy as np
from numpy.typing import NDArray

from ingestion.reading.images.binarise import ANALYSIS_DPI, INK_BRIGHTNESS, threshold
from ingestion.reading.images.coverage import (
    find_letters,
    has_small_letters,
    measure_low_letters,
)
from ingestion.reading.images.normalise.variants import PageVariant
from ingestion.reading.images.render import PageRaster
from ingestion.reading.results import CorrectionKind

from .engines import Engine, OcrWord
from .time_budget import TimeBudget

ENLARGED_DPI, MAX_ENLARGEMENT = 400, 2.0
# Height in pixels at which Tesseract reads low letters as well as at a higher resolution.
LOW_LETTER_PIXELS = 14
MIN_READING_DPI = 200
NOT_REDUCED = {CorrectionKind.ENLARGED, CorrectionKind.CONTRAST}
MAX_REDUCTION = 0.85  # of the resolution of a scan; less than that saves little time
MAX_ENLARGED_PIXELS = 25_000_000
# Of the width or height of a sheet: a white band across its middle, between the pages on it.
MIN_BAND_SHARE = 0.02
MAX_PORTRAIT_RATIO = 1.15  # of the width to the height of a sheet that is no landscape
BLOCKS_PER_AREA = 10_000  # more than Tesseract finds in one area


def has_small_print(variant: PageVariant) -> bool:
    """Return whether many letters of a page are as small as those of pages copied at half size."""
    return has_small_letters(find_letters(variant.flat))


def read_print(variant: PageVariant, engine: Engine, seconds: float) -> list[OcrWord]:
    """Return the words of a page, in pixels of its raster. Raises OcrFailed.

    They are read at the resolution that its letters need, which may be lower than that of a scan.
    A page in small print is enlarged.
    """
    if has_small_print(variant):
        return _read_small_print(variant, engine, seconds)
    raster = variant.raster
    smaller = raster.downsampled(_choose_dpi(variant))
    words = engine.recognise(smaller.grey, round(smaller.dpi), seconds)
    factor = raster.dpi / smaller.dpi
    return [_moved(word, factor) for word in words] if factor > 1 else words


def is_reduced(variant: PageVariant) -> bool:
    """Return whether `read_print` reads a page at a lower resolution than its own."""
    return not has_small_print(variant) and _choose_dpi(variant) < variant.raster.dpi


def _choose_dpi(variant: PageVariant) -> float:
    """Return the resolution at which a page is read: its own one, or a far lower one.

    The letters of a faint page lose too much at a lower resolution.
    """
    dpi, height = variant.raster.dpi, measure_low_letters(find_letters(variant.flat))
    if not height or any(each.kind in NOT_REDUCED for each in variant.page.corrections):
        return dpi
    needed = max(LOW_LETTER_PIXELS / height * ANALYSIS_DPI, MIN_READING_DPI)
    return needed if needed < MAX_REDUCTION * dpi else dpi


def _read_small_print(variant: PageVariant, engine: Engine, seconds: float) -> list[OcrWord]:
    """Return the words of a page in small print. The pages on a sheet are read one by one."""
    budget = TimeBudget(seconds)
    raster = variant.raster
    words = []
    for index, (rows, columns) in enumerate(_areas_of(variant)):
        area = _enlarge(replace(raster, grey=raster.grey[rows, columns], colour=None))
        found = engine.recognise(area.grey, round(area.dpi), budget.remaining)
        factor = raster.dpi / area.dpi
        words += [
            _moved(word, factor, columns.start, rows.start, index * BLOCKS_PER_AREA)
            for word in found
        ]
    return words


def _areas_of(variant: PageVariant) -> Sequence[tuple[slice, slice]]:
    """Return the rows and columns of the pages on a sheet, in reading order."""
    ink = threshold(variant.flat.grey, INK_BRIGHTNESS)
    height, width = variant.raster.grey.shape
    columns = _slices(np.flatnonzero(ink.any(axis=0)), ink.shape[1], width)
    if len(columns) == 1:
        return [(slice(0, height), columns[0])]  # pages one above the other join no lines
    # Each side by itself, because the bands between pages of a sheet that is askew are not level.
    # Two pages on a landscape sheet may each have a gap in the middle, but seldom the same one.
    middle = round(columns[0].stop * ink.shape[1] / width)
    sides = [ink] * 2 if width > MAX_PORTRAIT_RATIO * height else [ink[:, :middle], ink[:, middle:]]
    rows = [_slices(np.flatnonzero(side.any(axis=1)), ink.shape[0], height) for side in sides]
    if any(len(each) == 1 for each in rows):
        return [(slice(0, height), column) for column in columns]
    return [(row[n], column) for n in range(2) for row, column in zip(rows, columns, strict=True)]


def _slices(inked: NDArray[np.intp], length: int, pixels: int) -> Sequence[slice]:
    """Return the slices of a sheet before and after a white band in its middle, or one slice.

    `inked` are the columns or rows with ink, of `length`, and `pixels` is the length of the slices.
    """
    after = np.searchsorted(inked, length / 2)
    if not 0 < after < len(inked):
        return [slice(0, pixels)]
    margin = MIN_BAND_SHARE * length / 2  # of white on each side of the cut
    left, right = inked[after - 1] + 1 + margin, inked[after] - margin
    if left > right:
        return [slice(0, pixels)]
    cut = round(min(max(length / 2, left), right) / length * pixels)
    return [slice(0, cut), slice(cut, pixels)]


def _enlarge(raster: PageRaster) -> PageRaster:
    """Return a raster with up to twice the resolution."""
    max_factor = (MAX_ENLARGED_PIXELS / raster.grey.size) ** 0.5
    factor = min(MAX_ENLARGEMENT, ENLARGED_DPI / raster.dpi, max_factor)
    if factor <= 1:
        return replace(raster, grey=np.ascontiguousarray(raster.grey))
    larger = cv2.resize(raster.grey, None, fx=factor, fy=factor, interpolation=cv2.INTER_CUBIC)
    return replace(raster, grey=np.asarray(larger), dpi=raster.dpi * factor)


def _moved(word: OcrWord, factor: float, x: int = 0, y: int = 0, blocks: int = 0) -> OcrWord:
    """Return a word of an area in another resolution, as it is in the raster of the page."""
    left, top = round(word.left * factor), round(word.top * factor)
    right = round((word.left + word.width) * factor)
    bottom = round((word.top + word.height) * factor)
    block, paragraph, line = word.line
    return OcrWord(
        word.text,
        word.confidence,
        left + x,
        top + y,
        right - left,
        bottom - top,
        (block + blocks, paragraph, line),
    )
