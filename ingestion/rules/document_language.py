"""Finds the language of a document, and prepares pages of East Asia for the search of captions."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from ingestion.reading.languages import ENGLISH, UNKNOWN, UNSPACED, identify_language
from ingestion.reading.results import Box, DocumentReading, PageReading, Word

KOREAN = "kor"
_MAX_PAGES = 6  # whose language is identified; a long document is in the language of its beginning
_MIN_OTHER_SHARE = 0.5  # of the pages with a known language, above which the document is in it
# Signs of the width of a Chinese character, and what they are in English.
_WIDE_SIGNS = {
    **{code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)},
    0x3000: " ",  # the space
}
_PART = re.compile(r"[^:\s]+:?|:")  # a caption with its colon, or a value


def identify_page(page: PageReading) -> str:
    """Return the language of a page, or UNKNOWN."""
    return page.language or identify_language(page.text)


def identify_document(reading: DocumentReading) -> str:
    """Return the language of most pages of a document; English if no other language has most."""
    languages = Counter(map(identify_page, reading.pages[:_MAX_PAGES]))
    del languages[UNKNOWN]
    if not languages:
        return ENGLISH
    (language, count), *_ = languages.most_common(1)
    return language if count > _MIN_OTHER_SHARE * languages.total() else ENGLISH


def separate_captions(reading: DocumentReading, language: str) -> DocumentReading:
    """Return a document whose words end at colons, in a language that has no spaces there.

    A caption and its date are one word on the page, and two for the search of captions. Signs and
    letters of the width of a Chinese character become those of English.
    """
    if language not in UNSPACED and language != KOREAN:
        return reading
    return replace(reading, pages=tuple(map(_separate_page, reading.pages)))


def _separate_page(page: PageReading) -> PageReading:
    text = re.sub(r":(?=\S)(?!//)", ": ", page.text.translate(_WIDE_SIGNS))
    words = tuple(part for word in page.words for part in _separate_word(word))
    return replace(page, text=text, words=words)


def _separate_word(word: Word) -> Iterator[Word]:
    """Yield the parts of a word, each with its share of the width."""
    text = word.text.translate(_WIDE_SIGNS)
    if ":" not in text.rstrip(":") or "//" in text:
        yield Word(text.strip() or text, word.box, word.confidence)
        return
    left, top, right, bottom = word.box
    width = (right - left) / len(text)
    for part in _PART.finditer(text):
        box = Box(left + part.start() * width, top, left + part.end() * width, bottom)
        yield Word(part[0], box, word.confidence)
