"""How much of a page's print no word accounts for.

OCR passes over lines, or over half a page in the shade, and is sure of all the others: no
confidence tells. The ink that is left does (reading.md, section 4.3).
"""

from collections.abc import Sequence

import numpy as np

from ingestion.reading.images.binarise import (
    DARK_BRIGHTNESS,
    MARGIN_SHARE,
    MAX_THIN_PIXELS,
    WORD_PADDING_POINTS,
    Components,
    IntArray,
    Mask,
    label_components,
    measure_components,
    pixel_bounds,
    threshold,
)
from ingestion.reading.images.render import PageRaster
from ingestion.reading.results import Word

LETTER = (4, 40)  # pixels of a letter's height, or of a few that touch
MAX_LETTER_WIDTH = 100  # pixels of letters that touch; what is wider is a rule, a stroke or a shade
MIN_INK_SHARE_OF_BOX = (
    0.2  # of its box that is ink: a signature has less, and the corner of a frame
)
MIN_INK_PIXELS = (
    3_000  # pixels of ink, about a hundred letters: of fewer, one word is a large share
)


def uncovered_share(sheet: PageRaster, words: Sequence[Word]) -> float:
    """The share, from 0 to 1, of what looks like letters that lies outside the words' boxes."""
    ink = _letters_only(sheet)
    every = int(np.count_nonzero(ink))
    for word in words:
        left, top, right, bottom = pixel_bounds(word.box, sheet, WORD_PADDING_POINTS)
        ink[top:bottom, left:right] = 0
    return float(np.count_nonzero(ink) / max(every, MIN_INK_PIXELS))


def find_letters(sheet: PageRaster) -> Components:
    """What is of the size of letters and as dense."""
    return _letters(label_components(threshold(sheet.grey, DARK_BRIGHTNESS)))


def _letters_only(sheet: PageRaster) -> Mask:
    labels = label_components(threshold(sheet.grey, DARK_BRIGHTNESS))
    keep = np.zeros(labels.max() + 1, np.uint8)
    keep[_letters(labels).label] = 1
    return np.asarray(keep[labels])


def _letters(labels: IntArray) -> Components:
    found = measure_components(labels)
    low, high = LETTER
    chosen = (found.high >= low) & (found.high <= high) & (found.wide <= MAX_LETTER_WIDTH)
    chosen &= found.ink >= MIN_INK_SHARE_OF_BOX * found.wide * found.high
    chosen &= np.minimum(found.wide, found.high) > MAX_THIN_PIXELS
    # Along the edges lies the scanner's shadow.
    y, x = (int(side * MARGIN_SHARE) for side in labels.shape)
    chosen &= (found.left >= x) & (found.right <= labels.shape[1] - x)
    chosen &= (found.top >= y) & (found.bottom <= labels.shape[0] - y)
    return Components(*(each[chosen] for each in found))
