"""The text layer of a page: its text, and its words with their bounding boxes."""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from ctypes import byref, c_double, c_ushort
from functools import cache
from typing import NamedTuple

import pypdfium2
import pypdfium2.raw as pdfium

from ingestion.reading.images.page_objects import PdfRect
from ingestion.reading.limits import ReadingLimits
from ingestion.reading.results import Box, Word
from ingestion.reading.routing import MAX_GARBLED_SHARE

from .lazy import LazyWords
from .pages import OpenPages, deferred_work

LINE_END_HYPHEN = "\x02"  # what pdfium returns for a hyphen at the end of a line
READABLE_CONTROLS = "\r\n\t" + LINE_END_HYPHEN
# Characters within a word that `clean_text` changes.
UNCLEAN = re.compile("[\0\x02\u019f\u01a9\ufb00-\ufb06\ud800-\udfff]")
# Ligatures that a font draws as one glyph. Word maps those of Calibri to two letters of African
# alphabets, which therefore count as ligatures only beside a small Latin letter.
LIGATURES = {
    "\ufb00": "ff",
    "\ufb01": "fi",
    "\ufb02": "fl",
    "\ufb03": "ffi",
    "\ufb04": "ffl",
    "\ufb05": "st",
    "\ufb06": "st",
    "\u019f": "ti",
    "\u01a9": "tt",
}
LIGATURE = re.compile(
    "[\ufb00-\ufb06]|(?<=[a-z\u019f\u01a9])[\u019f\u01a9]|[\u019f\u01a9](?=[a-z\u019f\u01a9])"
)
# FPDFText_GetText returns U+FFFE for one character that FPDFText_GetUnicode returns as it is.
NONCHARACTER = re.compile("\ufffe")
# Text in which positions differ from pdfium's: a character is missing, or takes two UTF-16 units.
MISALIGNED = re.compile("[\0\ud800-\udfff]")


class PageWords(NamedTuple):
    """The words of a page in reading order, and those of them that are certainly print."""

    all: Sequence[Word]
    printed: Sequence[Word]


def read_text(layer: pypdfium2.PdfTextPage) -> str:
    """Return the text of a page, with lines separated by line feeds."""
    return clean_text(raw_text(layer))


def lazy_words(pages: OpenPages, number: int, limits: ReadingLimits) -> PageWords:
    """Return the words of page `number`, which are searched when they are needed."""

    @cache
    def found() -> PageWords:
        with deferred_work(number, limits):
            return find_words(pages.load(number), pages.text_layer(number))

    return PageWords(LazyWords(lambda: found().all), LazyWords(lambda: found().printed))


def find_words(page: pypdfium2.PdfPage, layer: pypdfium2.PdfTextPage) -> PageWords:
    """Return the words of a text layer with their bounding boxes."""
    raw = raw_text(layer)
    rect_of, to_box = _rect_finder(layer), point_transform(page)
    clean = clean_text if UNCLEAN.search(raw) else str
    words, printed = [], []
    for match in re.finditer(r"\S+", raw):
        start, end = match.span()
        if (rect := rect_of(start, end - start)) is not None:
            word = Word(clean(match[0]), to_box(rect), 100.0)
            words.append(word)
            if not pdfium.FPDFText_HasUnicodeMapError(layer.raw, start):
                printed.append(word)
    # A font without a mapping to Unicode may draw a signature if it is the exception. If most of
    # the page is set in it, it is print.
    nearly_all = len(printed) > (1 - MAX_GARBLED_SHARE) * len(words)
    return PageWords(tuple(words), tuple(printed if nearly_all else words))


def clean_text(raw: str) -> str:
    """Return plain text: with line feeds only, joined surrogates, no ligatures and no NULs.

    Half surrogates become U+FFFD, so that the text can be stored as UTF-8.
    """
    if raw.isascii() and raw.isprintable():
        return raw.strip()
    text = raw.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    text = LIGATURE.sub(lambda match: LIGATURES[match[0]], text)
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace(LINE_END_HYPHEN, "-")
    return text.replace("\xa0", " ").replace("\0", "").strip()


def unreadable_share(text: str) -> float:
    """Return the share, from 0 to 1, of characters without a meaning.

    These are control characters, private use characters, unassigned ones and U+FFFD.
    """
    if text.isascii() and text.replace("\n", "").isprintable():
        return 0.0
    unreadable = sum(
        count
        for character, count in Counter(text).items()
        if character == "\ufffd"
        or (
            character not in READABLE_CONTROLS
            and unicodedata.category(character) in {"Cc", "Co", "Cn"}
        )
    )
    return unreadable / len(text) if text else 0.0


def point_transform(page: pypdfium2.PdfPage) -> Callable[[PdfRect], Box]:
    """Return a function from PDF coordinates to points from the top left corner of the page.

    It takes the page's crop box and its rotation into account.
    """
    left, bottom, right, top = page.get_bbox()
    transforms: dict[int, Callable[[PdfRect], Box]] = {
        0: lambda rect: Box(rect[0] - left, top - rect[3], rect[2] - left, top - rect[1]),
        90: lambda rect: Box(rect[1] - bottom, rect[0] - left, rect[3] - bottom, rect[2] - left),
        180: lambda rect: Box(right - rect[2], rect[1] - bottom, right - rect[0], rect[3] - bottom),
        270: lambda rect: Box(top - rect[3], right - rect[2], top - rect[1], right - rect[0]),
    }
    return transforms[page.get_rotation()]


def raw_text(layer: pypdfium2.PdfTextPage) -> str:
    """Return one character for each of pdfium's, so that pdfium's indexes are valid in the text.

    All characters are fetched at once unless one is missing or takes two UTF-16 units, as an
    emoji does. Otherwise they are fetched one by one.
    """
    count = max(layer.count_chars(), 0)
    units = (c_ushort * (2 * count + 2))()  # enough if each character takes two units
    pdfium.FPDFText_GetText(layer, 0, count, units)
    text = bytes(units)[: 2 * count].decode("utf-16-le", "surrogatepass")
    if MISALIGNED.search(text):
        return "".join(chr(pdfium.FPDFText_GetUnicode(layer, index)) for index in range(count))
    # The two functions differ in one character, which stands for a hyphen at the end of a line.
    return NONCHARACTER.sub(
        lambda match: chr(pdfium.FPDFText_GetUnicode(layer, match.start())), text
    )


def _rect_finder(layer: pypdfium2.PdfTextPage) -> Callable[[int, int], PdfRect | None]:
    """Return a function from a word's start and length in the text to its bounding box.

    The box surrounds one rectangle for each run of the same font; it is None without a rectangle.
    pdfium's functions are called directly and write to the same four numbers each time, because a
    page has hundreds of words.
    """
    numbers = (c_double * 4)()
    left, top, right, bottom = (
        byref(c_double.from_buffer(numbers, 8 * index)) for index in range(4)
    )
    text = layer.raw

    def rect(index: int) -> PdfRect:
        pdfium.FPDFText_GetRect(text, index, left, top, right, bottom)
        x1, y2, x2, y1 = numbers[:]
        return x1, y1, x2, y2

    def bounding_rect(start: int, length: int) -> PdfRect | None:
        count = pdfium.FPDFText_CountRects(text, start, length)
        if count == 1:
            return rect(0)
        if count < 1:
            return None
        lefts, bottoms, rights, tops = zip(*map(rect, range(count)), strict=True)
        return min(lefts), min(bottoms), max(rights), max(tops)

    return bounding_rect
