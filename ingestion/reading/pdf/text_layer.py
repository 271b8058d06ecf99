"""Reads the text layer of a page: its text, and its words with their bounding boxes."""

import re
import unicodedata
from collections.abc import Callable, Sequence
from ctypes import byref, c_double, c_ushort
from functools import cache
from itertools import compress
from typing import Any, NamedTuple

import pypdfium2
import pypdfium2.raw as pdfium

from ingestion.reading.images.page_objects import PdfRect
from ingestion.reading.images.pdfium_calls import count_rects, get_rect, has_unicode_map_error
from ingestion.reading.limits import ReadingLimits
from ingestion.reading.reading_stages import Stage
from ingestion.reading.results import Box, Word
from ingestion.reading.routing import MAX_GARBLED_SHARE

from .lazy import LazyWords
from .pages import OpenPages, limit_deferred_work

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
JOINT = "\0"  # in the place of a space inside a word; `clean_text` removes it
MAX_SHORT_SHARE = 0.4  # of words with one or two letters; of real texts, at most 0.31 were seen
MAX_SHORT_WORD = 2  # letters
MIN_WORDS = 30  # of a page whose words are examined for spaces inside them
MIN_SPACES_SHARE = 0.2  # of the spaces that the file has, and of those that pdfium inserts
MAX_GAP_IN_WORD = 0.5  # of the type size


class LocatedWords(NamedTuple):
    """The words of a page in reading order, and the number of the first character of each."""

    words: tuple[Word, ...]
    starts: Sequence[int]


class PageWords(NamedTuple):
    """The words of a page in reading order, and those of them that are certainly print."""

    all: Sequence[Word]
    printed: Sequence[Word]


def read_text(layer: pypdfium2.PdfTextPage) -> str:
    """Return the text of a page, with lines separated by line feeds."""
    return clean_text(read_raw_text(layer))


def lazy_words(pages: OpenPages, number: int, raw: str, limits: ReadingLimits) -> PageWords:
    """Return the words of page `number`, which are searched when they are needed.

    `raw` is the result of `read_raw_text` for the page.
    """

    @cache
    def located() -> LocatedWords:
        with limit_deferred_work(number, Stage.PLACES, limits):
            return _locate_words(pages.load(number), pages.text_layer(number), raw)

    def find_printed() -> Sequence[Word]:
        words = located()
        with limit_deferred_work(number, Stage.PLACES, limits):
            return _select_printed(pages.text_layer(number), words)

    return PageWords(LazyWords(lambda: located().words), LazyWords(find_printed))


def find_words(page: pypdfium2.PdfPage, layer: pypdfium2.PdfTextPage) -> PageWords:
    """Return the words of a text layer with their bounding boxes."""
    found = _locate_words(page, layer, read_raw_text(layer))
    return PageWords(found.words, _select_printed(layer, found))


def _locate_words(page: pypdfium2.PdfPage, layer: pypdfium2.PdfTextPage, raw: str) -> LocatedWords:
    """Return the words of a text layer with their bounding boxes, and where they begin in it.

    A word is made without the call of its class, because a page has hundreds of words.
    """
    texts, rects, starts = _find_word_rects(layer, raw)
    if UNCLEAN.search(raw):
        texts = [
            text if text.isascii() and text.isprintable() else clean_text(text) for text in texts
        ]
        if not all(texts):  # a glyph without a meaning, such as a tick box, is no word
            rects = [*compress(rects, texts)]
            starts = [*compress(starts, texts)]
            texts = [*filter(None, texts)]
    new = tuple.__new__
    if page.get_rotation():
        boxes = convert_to_boxes(page, rects)
        words = [
            new(Word, (text, box, 100.0, "", "")) for text, box in zip(texts, boxes, strict=True)
        ]
    else:  # the usual case, in one step
        left, _, _, top = page.get_bbox()
        words = [
            new(Word, (text, new(Box, (x0 - left, top - y1, x1 - left, top - y0)), 100.0, "", ""))
            for text, (x0, y0, x1, y1) in zip(texts, rects, strict=True)
        ]
    return LocatedWords(tuple(words), starts)


def _find_word_rects(
    layer: pypdfium2.PdfTextPage, raw: str
) -> tuple[list[str], list[PdfRect], list[int]]:
    """Return the words of a text layer as pdfium has them, where they are, and where they begin.

    The rectangle of a word surrounds one rectangle for each run of the same font. pdfium's
    functions are called directly and write to the same four numbers each time.
    """
    text = layer.raw
    numbers = (c_double * 4)()
    rect: Any = memoryview(numbers).cast("B").cast("d")  # is read faster than the array
    left, bottom, right, top = (
        byref(c_double.from_buffer(numbers, 8 * index)) for index in range(4)
    )
    texts: list[str] = []
    rects: list[PdfRect] = []
    starts: list[int] = []
    find, end = raw.find, 0
    for word in raw.split():
        start, length = find(word, end), len(word)
        end = start + length
        count = count_rects(text, start, length)
        if count < 1:
            continue
        get_rect(text, 0, left, top, right, bottom)
        found = rect.tolist()
        for index in range(1, count) if count > 1 else ():
            get_rect(text, index, left, top, right, bottom)
            x0, y0, x1, y1 = rect
            found = [min(found[0], x0), min(found[1], y0), max(found[2], x1), max(found[3], y1)]
        texts.append(word)
        rects.append(found)
        starts.append(start)
    return texts, rects, starts


def _select_printed(layer: pypdfium2.PdfTextPage, found: LocatedWords) -> Sequence[Word]:
    """Return the words that are certainly print.

    A font without a mapping to Unicode may draw a signature if it is the exception. If most of the
    page is set in it, it is print.
    """
    has_error, text = has_unicode_map_error, layer.raw
    printed = tuple(
        word
        for word, start in zip(found.words, found.starts, strict=True)
        if not has_error(text, start)
    )
    nearly_all = len(printed) > (1 - MAX_GARBLED_SHARE) * len(found.words)
    return printed if nearly_all else found.words


def clean_text(raw: str) -> str:
    """Return plain text: with line feeds only, joined surrogates, no ligatures and no NULs.

    Half surrogates become U+FFFD, so that the text can be stored as UTF-8.
    """
    if raw.isascii() and raw.isprintable():
        return raw.strip()
    text = raw
    if UNCLEAN.search(text):
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        text = LIGATURE.sub(lambda match: LIGATURES[match[0]], text)
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace(LINE_END_HYPHEN, "-")
    return text.replace("\xa0", " ").replace("\0", "").strip()


def measure_unreadable_share(text: str) -> float:
    """Return the share, from 0 to 1, of characters without a meaning.

    These are control characters, private use characters, unassigned ones and U+FFFD.
    """
    if "\ufffd" not in text and text.replace("\n", "").isprintable():
        return 0.0
    unreadable = sum(
        text.count(character)
        for character in set(text)
        if character == "\ufffd"
        or (
            character not in READABLE_CONTROLS
            and unicodedata.category(character) in {"Cc", "Co", "Cn"}
        )
    )
    return unreadable / len(text) if text else 0.0


def make_point_transform(page: pypdfium2.PdfPage) -> Callable[[PdfRect], Box]:
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


def convert_to_boxes(page: pypdfium2.PdfPage, rects: Sequence[PdfRect]) -> list[Box]:
    """Return what `make_point_transform` returns for each of many rectangles of a page."""
    if page.get_rotation():
        return list(map(make_point_transform(page), rects))
    left, _, _, top = page.get_bbox()
    new = tuple.__new__  # as most boxes are those of words
    return [new(Box, (x0 - left, top - y1, x1 - left, top - y0)) for x0, y0, x1, y1 in rects]


def read_raw_text(layer: pypdfium2.PdfTextPage) -> str:
    """Return one character for each of pdfium's, so that pdfium's indexes are valid in the text.

    All characters are fetched at once unless one is missing or takes two UTF-16 units, as an
    emoji does. Otherwise they are fetched one by one. Spaces inside of words become JOINT.
    """
    count = max(layer.count_chars(), 0)
    units = (c_ushort * (2 * count + 2))()  # enough if each character takes two units
    pdfium.FPDFText_GetText(layer, 0, count, units)
    text = bytes(units)[: 2 * count].decode("utf-16-le", "surrogatepass")
    if MISALIGNED.search(text):
        return "".join(chr(pdfium.FPDFText_GetUnicode(layer, index)) for index in range(count))
    # The two functions differ in one character, which stands for a hyphen at the end of a line.
    text = NONCHARACTER.sub(
        lambda match: chr(pdfium.FPDFText_GetUnicode(layer, match.start())), text
    )
    words = text.split()
    short = sum(len(word) <= MAX_SHORT_WORD for word in words)
    is_broken = len(words) >= MIN_WORDS and short > MAX_SHORT_SHARE * len(words)
    return _join_broken_words(layer, text) if is_broken else text


def _join_broken_words(layer: pypdfium2.PdfTextPage, text: str) -> str:
    """Return the text of a page without the spaces that pdfium inserted into words.

    pdfium inserts a space where two letters stand far apart. If the widths of a font are wrong, it
    does so inside of words ("Consent For m"). The file has the spaces between words itself then.
    """
    spaces = [place for place, sign in enumerate(text) if sign == " "]
    inserted = [place for place in spaces if pdfium.FPDFText_IsGenerated(layer, place) == 1]
    if not MIN_SPACES_SHARE <= len(inserted) / max(len(spaces), 1) <= 1 - MIN_SPACES_SHARE:
        return text
    signs = list(text)
    for place in inserted:
        if 0 < place < len(text) - 1:
            before, after = (layer.get_charbox(place + step) for step in (-1, 1))
            size = pdfium.FPDFText_GetFontSize(layer, place - 1)
            if after[0] - before[2] < MAX_GAP_IN_WORD * size:
                signs[place] = JOINT
    return "".join(signs)
