"""Measures the share of a page's print that is in no word that OCR read.

OCR omits lines, or half a page in the shade, and reports high confidence for all others. The
confidence does not show the omission, but the remaining ink does (reading.md, section 4.3).
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ingestion.reading.images.binarise import (
    INK_BRIGHTNESS,
    MARGIN_SHARE,
    MAX_THIN_PIXELS,
    WHITE,
    WORD_PADDING_POINTS,
    Components,
    convert_to_pixel_bounds,
    label_ink,
    label_page_ink,
    threshold,
)
from ingestion.reading.images.render import PageRaster
from ingestion.reading.results import Word

# Height of a letter, or of a few letters that touch, in pixels at 100 dpi.
MIN_LETTER_HEIGHT_PIXELS, MAX_LETTER_HEIGHT_PIXELS = 4, 40
# Width of letters that touch. A wider component is a rule, a stroke or a shadow.
MAX_LETTER_WIDTH_PIXELS = 100
MIN_MEASURED_LETTERS = 30  # from which the size of a page's print can be measured
# At 100 dpi. Few letters of a page in usual print are smaller than 6 pixels.
MAX_SMALL_LETTER_PIXELS = 5
MIN_SMALL_LETTER_SHARE = 0.3  # of the letters of a page in small print
LOW_LETTER_QUANTILE = 0.2  # of the heights of the letters of a page
# Of a letter's bounding box that is ink. A signature has less, and so has the corner of a frame.
MIN_INK_SHARE_OF_BOX = 0.2
MAX_FAINT_BRIGHTNESS = 240  # relative to white paper, of print that can be read at all
MIN_FAINT_LETTERS = 40  # outside of words, of faint print that is worth another pass
FAINT_INK_QUANTILE = 0.2  # of the darkest pixels of faint letters, which is their ink
# Of ink on a page, about a hundred letters. Of less ink, one word would be a large share.
MIN_INK_PIXELS = 3_000


def measure_uncovered_share(page: PageRaster, words: Sequence[Word]) -> float:
    """Return the share, from 0 to 1, of letter-like ink that lies outside of the words' boxes.

    `page` is a result of `flatten_background`.
    """
    ink, letters = label_page_ink(page), find_letters(page)
    is_letter = np.zeros(ink.components.label.max(initial=0) + 1, bool)
    is_letter[letters.label] = True
    in_words = _cover_words(page, words).ravel()
    uncovered = np.count_nonzero(is_letter[ink.labels] & ~in_words[ink.pixels])
    return float(uncovered / max(int(letters.ink.sum()), MIN_INK_PIXELS))


def measure_faint_ink(page: PageRaster, words: Sequence[Word], noise_floor: float) -> float | None:
    """Return the brightness, 0 to 255, of faint print outside of the words; None if there is none.

    Such print is so faint that OCR omits it beside darker print, a stamp or a picture. `page` is a
    result of `flatten_background`, and pixels that are lighter than `noise_floor` may be noise.
    """
    limit = int(min(noise_floor, MAX_FAINT_BRIGHTNESS))
    if limit <= INK_BRIGHTNESS:
        return None
    ink = label_ink(threshold(page.grey, limit))
    letters = _choose_letters(ink.components, page)
    in_words = _cover_words(page, words)
    is_read = in_words[(letters.top + letters.bottom) // 2, (letters.left + letters.right) // 2]
    unread = letters.label[~is_read]
    if len(unread) < MIN_FAINT_LETTERS:
        return None
    darkest = np.full(ink.components.label.max() + 1, WHITE, np.uint8)
    np.minimum.at(darkest, ink.labels, page.grey.ravel()[ink.pixels])
    brightness = darkest[unread]
    faint = brightness[brightness >= INK_BRIGHTNESS]
    if len(faint) < MIN_FAINT_LETTERS:
        return None
    return float(np.quantile(faint, FAINT_INK_QUANTILE))


def _cover_words(page: PageRaster, words: Sequence[Word]) -> NDArray[np.bool_]:
    """Return for each pixel of a page whether it is in the box of a word."""
    in_words = np.zeros(page.grey.shape, bool)
    for word in words:
        left, top, right, bottom = convert_to_pixel_bounds(word.box, page, WORD_PADDING_POINTS)
        in_words[top:bottom, left:right] = True
    return in_words


def find_letters(page: PageRaster) -> Components:
    """Return the components of a page that have the size and the density of letters.

    `page` is a result of `flatten_background`.
    """
    if "letters" not in page.measured:
        page.measured["letters"] = _choose_letters(label_page_ink(page).components, page)
    letters: Components = page.measured["letters"]
    return letters


def has_small_letters(letters: Components) -> bool:
    """Return whether many letters of a page are as small as those of pages copied at half size."""
    small = np.count_nonzero(letters.height <= MAX_SMALL_LETTER_PIXELS)
    count = len(letters.height)
    return count >= MIN_MEASURED_LETTERS and bool(small >= MIN_SMALL_LETTER_SHARE * count)


def measure_low_letters(letters: Components) -> float | None:
    """Return the height of the low letters of a page in pixels at 100 dpi, such as "a" and "n".

    A fifth of its letters is lower. Return None for a page with few letters.
    """
    if len(letters.height) < MIN_MEASURED_LETTERS:
        return None
    return float(np.quantile(letters.height, LOW_LETTER_QUANTILE))


def _choose_letters(found: Components, page: PageRaster) -> Components:
    """Return the components of the ink of a page that have the size and density of letters."""
    chosen = (found.height >= MIN_LETTER_HEIGHT_PIXELS) & (found.height <= MAX_LETTER_HEIGHT_PIXELS)
    chosen &= found.width <= MAX_LETTER_WIDTH_PIXELS
    chosen &= found.ink >= MIN_INK_SHARE_OF_BOX * found.width * found.height
    chosen &= np.minimum(found.width, found.height) > MAX_THIN_PIXELS
    # Along the page's edges there may be the scanner's shadow.
    height, width = page.grey.shape
    y, x = int(height * MARGIN_SHARE), int(width * MARGIN_SHARE)
    chosen &= (found.left >= x) & (found.right <= width - x)
    chosen &= (found.top >= y) & (found.bottom <= height - y)
    return Components(*(values[chosen] for values in found))
