"""Corrects words whose letters OCR takes for others of similar shape.

The print of a word shows what its letters cannot: a capital "I" without serifs has no dot, and a
blank in a list of numbers is wider than the space between its characters. Where print shows
nothing, the letters around one decide: no English word begins with "l" before another consonant.

Tesseract also omits the diacritics of a name ("Jorg"), and may be sure of it. The print has more
marks above the letters than those of the word need.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from unicodedata import normalize

import cv2
import numpy as np

from ingestion.reading.images.render import GreyArray
from ingestion.reading.languages import ENGLISH, JAPANESE

from .engines import OcrWord

# In the height of a word, unless another unit is named.
MIN_STEM_HEIGHT = 0.4  # of a letter; what is smaller is a dot or dust
MAX_TOP_OF_CAPITAL = 0.12  # below the top of the word; the stem of an "i" begins lower
MAX_STEM_WIDTH = 0.45  # of a letter, in its own height; more is several letters that touch
MAX_DISTANCE_OF_DOT = 0.1  # by which a dot may extend below the top of the stem
MIN_DOT_PIXELS = 4
MARGIN_PIXELS = 4  # around a word, whose box may leave out the edges of its letters
MIN_TOP_OF_COMMA = 0.5  # below the top of the word
MIN_BLANK_WIDTH = 0.37  # after a comma; the space before a "1" has up to 0.31
MAX_MARK_WIDTH, MAX_MARK_HEIGHT = 0.6, 0.35  # of a dot or another diacritic
MAX_BOTTOM_OF_MARK = 0.3  # below the top of the word; what is lower is a piece of a broken letter
MAX_OVERLAP_OF_MARK = 0.12  # of a mark and the letter below it, which may be inclined
MAX_16_BIT_PIXELS = 2**16 - 1  # of a word whose parts are surely so few that 16 bits number them

_LETTERS = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*[,.;:]?")
_DIAERESIS, _MARKS_OF_DIAERESIS = "\u0308", 2
_SMALL_I = re.compile(r"i[a-z]{2}")
_NUMBERS = re.compile(r"\d{1,2}(?:,\d{1,2})+,?")
_AFTER_COMMA = re.compile(r"(?<=,)(?=\d)")
_CAPITAL_I = re.compile(r"(?<=[A-Z]{2})[il](?=[A-Z])|(?<=[A-Z])[il](?=[A-Z]{2})")
_L_BEFORE_CONSONANT = re.compile(r"l(?=[cdfgjkmnpqrstvwxz][a-z]{2})")
_ROMAN_NUMERAL = re.compile(r"(?:Il|lI|IIl|IlI|lII)(?=[,.;:)]?$)")
# The sign of "10^9/L", a unit of blood counts.
_POWER_OF_TEN = re.compile(r"\b10[4A*](?=(?:3|6|9|12)/[Llmuµμ])")
# Characters of Chinese that are none of Japanese, and the Japanese ones that look like them.
_JAPANESE_FORMS = str.maketrans("查值步每强净减别户吕綠录", "査値歩毎強浄減別戸呂緑録")
_CENT_OF_NO_NUMBER = re.compile(r"(?<!\d)¢(?!\d)")


def correct_letters(words: Sequence[OcrWord], grey: GreyArray, language: str) -> list[OcrWord]:
    """Return the words of a page in `language` with their letters and blanks restored.

    `grey` is the page from which the words were read.
    """
    if language == JAPANESE:
        return [replace(word, text=word.text.translate(_JAPANESE_FORMS)) for word in words]
    is_english = language == ENGLISH
    corrected: list[OcrWord] = []
    for word in words:
        if _SMALL_I.match(word.text) and _begins_without_dot(word, grey):
            corrected.append(replace(word, text="I" + word.text[1:]))
        elif _NUMBERS.fullmatch(word.text) and not word.other:
            corrected += _split_list(word, grey)
        else:
            text = _correct(word.text, is_english=is_english)
            corrected.append(word if text == word.text else replace(word, text=text))
    return corrected


def omits_diacritics(word: OcrWord, grey: GreyArray) -> bool:
    """Return whether the print of a name shows more dots and accents than its letters need.

    `grey` is the page from which the word was read. Its paper must have little grain, because
    dust above a letter looks the same.
    """
    return (
        word.text[:1].isupper()
        and bool(_LETTERS.fullmatch(word.text))
        and _has_more_marks_above(word, grey, _count_expected_marks(word.text))
    )


def _count_expected_marks(text: str) -> int:
    """Return the number of dots and other marks above the letters of a word."""
    small_i = sum(each in "ij" for each in text)
    composed = (normalize("NFD", each) for each in text)
    return small_i + sum(
        _MARKS_OF_DIAERESIS if _DIAERESIS in each else 1 for each in composed if len(each) > 1
    )


def _has_more_marks_above(word: OcrWord, grey: GreyArray, expected: int) -> bool:
    """Return whether a printed word has more dots and other small marks above its letters."""
    height, margin = word.height, min(MARGIN_PIXELS, word.top)
    parts = _measure_parts(_find_ink(word, grey))
    marks = [
        (x, y + mark_height, x + width)
        for x, y, width, mark_height, pixels in parts
        if y > 0
        and y + mark_height - margin <= MAX_BOTTOM_OF_MARK * height
        and mark_height <= MAX_MARK_HEIGHT * height
        and width <= MAX_MARK_WIDTH * height
        and pixels >= MIN_DOT_PIXELS
    ]
    if len(marks) <= expected:
        return False
    letters = [
        (x, y + MAX_OVERLAP_OF_MARK * height, x + width)
        for x, y, width, letter_height, _ in parts
        if letter_height >= MAX_MARK_HEIGHT * height
    ]
    above = sum(
        any(bottom <= lowest and left < end and right > start for start, lowest, end in letters)
        for left, bottom, right in marks
    )
    return above > expected


def _correct(text: str, *, is_english: bool) -> str:
    """Return a word with the letters that those around them show."""
    text = _POWER_OF_TEN.sub("10^", _CENT_OF_NO_NUMBER.sub("c", text))
    if not any(each.islower() for each in text if each not in "il"):
        text = _CAPITAL_I.sub("I", text)
    if is_english:
        text = "I" + text[1:] if _L_BEFORE_CONSONANT.match(text) else text
        text = _ROMAN_NUMERAL.sub(lambda found: "I" * len(found[0]), text)
    return text


def _begins_without_dot(word: OcrWord, grey: GreyArray) -> bool:
    """Return whether the first letter is a stem from the top of the word on, without a dot."""
    parts, height = _measure_parts(_find_ink(word, grey)), word.height
    stems = [each for each in parts if each[cv2.CC_STAT_HEIGHT] >= MIN_STEM_HEIGHT * height]
    if not stems:
        return False
    left, top, width, stem_height, _ = min(stems, key=lambda each: each[cv2.CC_STAT_LEFT])
    has_dot = any(
        y + dot_height <= top + MAX_DISTANCE_OF_DOT * height
        and x < left + width
        and x + dot_width > left
        and pixels >= MIN_DOT_PIXELS
        for x, y, dot_width, dot_height, pixels in parts
    )
    return (
        not has_dot
        and top - min(MARGIN_PIXELS, word.top) <= MAX_TOP_OF_CAPITAL * height
        and width <= MAX_STEM_WIDTH * stem_height
    )


def _split_list(word: OcrWord, grey: GreyArray) -> Iterator[OcrWord]:
    """Yield the numbers of a list, each with its comma, if there is a blank after each comma."""
    ink = _find_ink(word, grey)
    columns = np.flatnonzero(ink.any(axis=0)).tolist()
    texts = _AFTER_COMMA.split(word.text)
    corner = word.left - min(MARGIN_PIXELS, word.left)
    begin, starts, ends = 0, [word.left], []
    for column, following in pairwise(columns):
        if following - column == 1:
            continue
        character = np.flatnonzero(ink[:, begin : column + 1].any(axis=1))
        top = character[0] - min(MARGIN_PIXELS, word.top)
        is_comma = top >= MIN_TOP_OF_COMMA * word.height
        if is_comma and following - column >= MIN_BLANK_WIDTH * word.height:
            ends.append(corner + column + 1)
            starts.append(corner + following)
        begin = following
    ends.append(word.left + word.width)
    if len(starts) != len(texts):
        yield word
        return
    for text, start, end in zip(texts, starts, ends, strict=True):
        yield replace(word, text=text, left=start, width=end - start)


def _measure_parts(ink: GreyArray) -> list[list[int]]:
    """Return the left edge, top, width, height and pixels of each connected part of ink."""
    # With numbers of 16 bits, it takes half of the time.
    numbers = cv2.CV_16U if ink.size <= MAX_16_BIT_PIXELS else cv2.CV_32S
    _, _, found, _ = cv2.connectedComponentsWithStats(ink, connectivity=8, ltype=numbers)
    parts: list[list[int]] = found[1:].tolist()
    return parts


def _find_ink(word: OcrWord, grey: GreyArray) -> GreyArray:
    """Return the print of a word as 1 on 0, with a margin of MARGIN_PIXELS."""
    top, left = max(word.top - MARGIN_PIXELS, 0), max(word.left - MARGIN_PIXELS, 0)
    bottom, right = word.top + word.height + MARGIN_PIXELS, word.left + word.width + MARGIN_PIXELS
    area = grey[top:bottom, left:right]
    if not area.size:
        return np.zeros((1, 1), np.uint8)
    _, ink = cv2.threshold(area, 0, 1, cv2.THRESH_BINARY_INV | cv2.THRESH_OTSU)
    return np.asarray(ink, dtype=np.uint8)
