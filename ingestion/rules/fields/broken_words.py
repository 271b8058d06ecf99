"""Joins numbers and dates that a narrow cell breaks into two lines, as "AB-417" above "-302".

Each part alone would be read as a whole number, or as a date of another year.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

from ingestion.reading.results import DocumentReading, PageReading, Word
from ingestion.rules.fields import geometry

# A date that ends within its year, and a number that ends at its hyphen or before it.
_DATE_PARTS = re.compile(r"\d{1,2}([./-])\d{1,2}\1(?:19|20)\n\d\d")
_NUMBER_PARTS = re.compile(
    r"(?=[^\n]*[A-Z])[A-Z0-9][A-Z0-9/_-]*(?:\d\n-\d{2,}[\w/-]*|[A-Z0-9][-/]\n(?=[\w/-]*\d)[\w/-]+)"
)
_HAS_PARTS = re.compile(  # begins with the end of a line, for which a search is fast
    r"\n(?:(?<=\d[./-](?:19|20)\n)\d\d|(?<=\d\n)-\d\d|(?<=[A-Z0-9][-/]\n)[A-Z0-9])"
)
_MAX_OFFSET = 3.0  # points between the left edges of the parts
_MAX_GAP = 1.0  # heights of the letters between the parts


def join_broken_words(reading: DocumentReading) -> DocumentReading:
    """Return a reading in which the parts of broken numbers and dates are one word each."""
    return replace(reading, pages=tuple(map(_join_in_page, reading.pages)))


def _join_in_page(page: PageReading) -> PageReading:
    if not _HAS_PARTS.search(page.text):
        return page
    text, words = page.text, list(page.words)
    for upper, lower in list(_find_parts(page)):
        joined = upper.text + lower.text
        whole = re.search(rf"(?<!\S){re.escape(upper.text)}\n{re.escape(lower.text)}(?!\S)", text)
        if whole is None:
            continue
        text = text[: whole.start()] + joined + text[whole.end() :]
        at = next(place for place, word in enumerate(words) if word is upper)
        confidence = min(upper.confidence, lower.confidence)
        words[at] = Word(joined, upper.box, confidence, upper.engine)
        words = [word for word in words if word is not lower]
    return page if text == page.text else replace(page, words=tuple(words), text=text)


def _find_parts(page: PageReading) -> Iterator[tuple[Word, Word]]:
    """Yield the two parts of each word that goes on in the line below, at the same left edge."""
    for upper, lower in pairwise(page.words):
        parts = f"{upper.text}\n{lower.text}"
        if not (_DATE_PARTS.fullmatch(parts) or _NUMBER_PARTS.fullmatch(parts)):
            continue
        height = upper.box.bottom - upper.box.top
        gap = lower.box.top - upper.box.bottom
        is_below = not geometry.is_on_same_line(upper.box, lower.box) and gap < _MAX_GAP * height
        if is_below and abs(upper.box.left - lower.box.left) < _MAX_OFFSET:
            yield upper, lower
