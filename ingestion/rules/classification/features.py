"""Extracts the features of a document that the statistical model of document types uses.

A feature has a name with a prefix and a number. `points:cv` is the number of points of the
landmarks of a type. `heading:approval` and `body:approval` say that a word is among the first
lines of the document, or on its first pages. `layout:pages` and the other features of the layout
are from 0 to 1.

Words are plain letters in lower case. Numbers are left out: they distinguish documents, but not
types.
"""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from math import log2

from ingestion.reading.results import DocumentReading, PageReading

Features = Mapping[str, float]

POINTS, HEADING, BODY, LAYOUT = "points:", "heading:", "body:", "layout:"

HEADING_LINES = 12  # lines that may contain a title, below letterhead, stickers and page headers
MAX_WORD_PAGES = 3  # pages whose words are features; a long document is recognised by its beginning
_SHORT_LINE_WORDS = 4  # a line with at most this number of words is short
_LONG_LINE_WORDS = 10  # a line with at least this number of words is long
# The values at which a feature of the layout is 1.
_MOST_PAGES, _MOST_WORDS, _MOST_WORDS_PER_PAGE, _MOST_FORM_FIELDS = 64, 16_384, 800, 20

_WORD = re.compile(r"[a-z]{2,}|i(?<!\wi)\b")  # each choice begins with a letter, so it is fast
# A period of years, or a line that begins with a year, as in a CV.
_YEARS = re.compile(
    r"\b(?:19|20)\d\d\s*(?:[-\u2013\u2014]|to)\s*(?:\d|present|now|date|current)"
    r"|^\s*(?:since\s+)?(?:19|20)\d\d\b",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\s*\(?\d{1,2}[.)]\s")  # of a clause, a question or an entry
_BLANKS = ("___", ".....", "……")
_APOSTROPHES = "'`\u2018\u2019"
_LIGATURES = {"ﬁ": "fi", "ﬂ": "fl", "ﬀ": "ff", "ﬃ": "ffi", "ﬄ": "ffl"}


def list_heading_lines(page: PageReading) -> list[str]:
    """Return the lines of a page that may contain a title."""
    return extract_heading(page.text).splitlines()


@lru_cache(maxsize=256)
def extract_heading(text: str) -> str:
    """Return the lines of a text that may contain a title, as one text."""
    return "\n".join([line for line in text.splitlines() if line.strip()][:HEADING_LINES])


def extract_features(reading: DocumentReading, points: Mapping[str, int]) -> dict[str, float]:
    """Return the features of a document. `points` are those of its landmarks, by type.

    A feature that is 0 is left out.
    """
    features = {f"{POINTS}{slug}": float(count) for slug, count in points.items() if count}
    if reading.pages:
        for word in list_words("\n".join(list_heading_lines(reading.pages[0]))):
            features[HEADING + word] = 1.0
    for page in reading.pages[:MAX_WORD_PAGES]:
        features.update((BODY + word, 1.0) for word in list_distinct_words(page.text))
    features.update((LAYOUT + name, value) for name, value in _layout(reading) if value)
    return features


def list_words(text: str) -> list[str]:
    """Return the words of a text in their order, without numbers and single letters except "I"."""
    if not text.isascii():
        for ligature, letters in _LIGATURES.items():
            text = text.replace(ligature, letters)
    for apostrophe in _APOSTROPHES:
        text = text.replace(apostrophe, "")
    return _WORD.findall(text.casefold())


@lru_cache(maxsize=64)
def list_distinct_words(text: str) -> Mapping[str, None]:
    """Return the words of a text in the order in which they first occur."""
    return dict.fromkeys(list_words(text))


def _layout(reading: DocumentReading) -> Iterator[tuple[str, float]]:
    """Yield the features of the layout, each from 0 to 1."""
    page_count = max(len(reading.pages), 1)
    lines = [
        line
        for page in reading.pages[:MAX_WORD_PAGES]
        for line in page.text.splitlines()
        if line.strip()
    ]
    line_count = max(len(lines), 1)
    lengths = [line.count(" ") + 1 for line in lines]
    word_count = sum(lengths)
    first = reading.pages[0] if reading.pages else None
    yield "one page", float(page_count == 1)
    yield "pages", min(log2(page_count) / log2(_MOST_PAGES), 1.0)
    yield "words", min(log2(1 + word_count) / log2(_MOST_WORDS), 1.0)
    read_pages = min(page_count, MAX_WORD_PAGES)
    yield "words per page", min(word_count / read_pages / _MOST_WORDS_PER_PAGE, 1.0)
    yield "short lines", sum(length <= _SHORT_LINE_WORDS for length in lengths) / line_count
    yield "long lines", sum(length >= _LONG_LINE_WORDS for length in lengths) / line_count
    with_blanks = [line for line in lines if any(blank in line for blank in _BLANKS)]
    yield "blanks to fill in", len(with_blanks) / line_count
    yield "questions", sum("?" in line for line in lines) / line_count
    # The search for two digits is quick, and most lines do not have them.
    with_digits = [line for line in lines if "19" in line or "20" in line]
    yield "years", sum(_YEARS.search(line) is not None for line in with_digits) / line_count
    yield "numbered lines", sum(bool(_NUMBER.match(line)) for line in lines) / line_count
    yield "captions", sum(":" in line for line in lines) / line_count
    yield "form fields", min(len(reading.fields) / _MOST_FORM_FIELDS, 1.0)
    yield "landscape", float(first is not None and first.width > first.height)
