"""The text layer of a page: its text, and its words with the boxes they fill, where asked for."""

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

HYPHEN = "\x02"  # what pdfium gives for a hyphen at a line's end
IS_TEXT = "\r\n\t" + HYPHEN
UNCLEAN = re.compile("[\0\x02\ud800-\udfff]")  # what `clean` would change within a word
ONE_BY_ONE = re.compile("\ufffe")
NOT_ONE_TO_ONE = re.compile("[\0\ud800-\udfff]")  # nothing was written there, or half a character


class PageWords(NamedTuple):
    all: Sequence[Word]  # in reading order
    printed: Sequence[Word]  # of these, those that are surely letters


def read_text(layer: pypdfium2.PdfTextPage) -> str:
    return clean_text(_characters(layer))


def lazy_words(pages: OpenPages, number: int, limits: ReadingLimits) -> PageWords:
    """Found when somebody asks."""

    @cache
    def found() -> PageWords:
        with deferred_work(number, limits):
            return find_words(pages.load(number), pages.text_layer(number))

    return PageWords(LazyWords(lambda: found().all), LazyWords(lambda: found().printed))


def find_words(page: pypdfium2.PdfPage, layer: pypdfium2.PdfTextPage) -> PageWords:
    raw = _characters(layer)
    rect_of, upright = _measure(layer), point_transform(page)
    tidy = clean_text if UNCLEAN.search(raw) else str
    words, printed = [], []
    for match in re.finditer(r"\S+", raw):
        start, end = match.span()
        if (rect := rect_of(start, end - start)) is not None:
            word = Word(tidy(match[0]), upright(rect), 100.0)
            words.append(word)
            if not pdfium.FPDFText_HasUnicodeMapError(layer.raw, start):
                printed.append(word)
    # A font without meanings is a signature's when it is the exception, and print when it
    # is what the page is set in.
    nearly_all = len(printed) > (1 - MAX_GARBLED_SHARE) * len(words)
    return PageWords(tuple(words), tuple(printed if nearly_all else words))


def clean_text(raw: str) -> str:
    """Plain text: line feeds only, half surrogates joined, nothing that cannot be stored."""
    if raw.isascii() and raw.isprintable():
        return raw.strip()
    whole = raw.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    whole = whole.replace("\r\n", "\n").replace("\r", "\n").replace(HYPHEN, "-")
    return whole.replace("\xa0", " ").replace("\0", "").strip()


def unreadable_share(text: str) -> float:
    """The share of characters that mean nothing: control, private use, not a character."""
    if text.isascii() and text.replace("\n", "").isprintable():
        return 0.0
    bad = sum(count for each, count in Counter(text).items() if _is_unreadable(each))
    return bad / len(text) if text else 0.0


def _is_unreadable(character: str) -> bool:
    if character in IS_TEXT:
        return False
    return character == "\ufffd" or unicodedata.category(character) in {"Cc", "Co", "Cn"}


def point_transform(page: pypdfium2.PdfPage) -> Callable[[PdfRect], Box]:
    """From PDF's coordinates to points from the top left, after the page's rotation."""
    left, bottom, right, top = page.get_bbox()
    turns: dict[int, Callable[[PdfRect], Box]] = {
        0: lambda at: Box(at[0] - left, top - at[3], at[2] - left, top - at[1]),
        90: lambda at: Box(at[1] - bottom, at[0] - left, at[3] - bottom, at[2] - left),
        180: lambda at: Box(right - at[2], at[1] - bottom, right - at[0], at[3] - bottom),
        270: lambda at: Box(top - at[3], right - at[2], top - at[1], right - at[0]),
    }
    return turns[page.get_rotation()]


def _characters(layer: pypdfium2.PdfTextPage) -> str:
    """One for each of pdfium's, so that its numbers hold for places in the text.

    All at once, if none was left out and none takes two units, as an emoji does; else one by one.
    """
    count = max(layer.count_chars(), 0)
    units = (c_ushort * (2 * count + 2))()  # room for all, should each take two
    pdfium.FPDFText_GetText(layer, 0, count, units)
    whole = bytes(units)[: 2 * count].decode("utf-16-le", "surrogatepass")
    if NOT_ONE_TO_ONE.search(whole):
        return "".join(chr(pdfium.FPDFText_GetUnicode(layer, at)) for at in range(count))
    # Both ways differ in one sign, which stands for a hyphen at a line's end.
    return ONE_BY_ONE.sub(lambda at: chr(pdfium.FPDFText_GetUnicode(layer, at.start())), whole)


def _measure(layer: pypdfium2.PdfTextPage) -> Callable[[int, int], PdfRect | None]:
    """A function from a word's place in the text to the box around its pieces.

    There is one piece per run of the same font. pdfium's functions are called directly, with the
    same four numbers to write to: a page has hundreds of words.
    """
    numbers = (c_double * 4)()
    left, top, right, bottom = (byref(c_double.from_buffer(numbers, 8 * at)) for at in range(4))
    text = layer.raw

    def piece(at: int) -> PdfRect:
        pdfium.FPDFText_GetRect(text, at, left, top, right, bottom)
        x1, y2, x2, y1 = numbers[:]
        return x1, y1, x2, y2

    def around(start: int, length: int) -> PdfRect | None:
        count = pdfium.FPDFText_CountRects(text, start, length)
        if count == 1:
            return piece(0)
        if count < 1:
            return None
        lefts, bottoms, rights, tops = zip(*map(piece, range(count)), strict=True)
        return min(lefts), min(bottoms), max(rights), max(tops)

    return around
