"""Finds the dates of a page with their roles, in the text and by the places of their captions.

The words before a date in the text show its role, and so does the caption beside or above it. Only
a date that both show in the same way is without doubt.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ingestion.reading.results import Box, PageReading
from ingestion.rules.fields import geometry
from ingestion.rules.fields.candidates import Way
from ingestion.rules.fields.date_roles import find_roles
from ingestion.rules.fields.date_words import DateRole, role_of_caption
from ingestion.rules.fields.dates import WrittenDate, find_dates
from ingestion.rules.fields.text_lines import TextLine, captions_of, find_caption_below
from ingestion.rules.fields.values import (
    DOUBTFUL_CONFIDENCE,
    SCAN_SOURCES,
    FieldValue,
    lowest_confidence,
    words_at,
)

_BEFORE_LENGTH = 80  # characters before a date that are its context
_MAX_CAPTION_LENGTH = 60  # characters
_MAX_SIGNATURE_DISTANCE = 32.0  # points up or down, from a date to the caption of its signature
_MAX_LINES_OF_SIGNATURE = 3  # below a place and a date
_MAX_SIGNATURE_WORDS = 6
_SIGNATURE = re.compile(r"(?i)\bsign(?:ature|ed)\b")
_DATE_CAPTION = re.compile(r"(?i)\W*(?:dated?|on)?(?:\s?\([dmy/ .-]{4,14}\))?\W*")
_PLACE_AND_DATE = re.compile(r"[^\W\d_][\w .'-]{1,30}, (?:the )?")
_DIGIT = re.compile(r"\d")
_HAS_DATE = re.compile(  # begins with a digit, for which a search is fast
    r"\d(?:\d{0,3}[\s,./-]{1,3}\w{1,9}[\s,./-]{1,3}\d|[^\W\d_]{3,9}\d"
    r"|(?<=[^\W\d_]{3}\s\d)|(?<=[^\W\d_]{3}\.\s\d))"
)


class DateInContext(NamedTuple):
    """A date with its role and the ways in which the role was found. The value has no name."""

    value: FieldValue
    role: DateRole
    ways: frozenset[Way]
    before: str = ""  # the text shortly before it
    is_alone: bool = False  # whether it is all of its line, and nothing above leads to it


def dates_in_context(
    page: PageReading, lines: Sequence[TextLine], *, month_first: bool | None
) -> list[DateInContext]:
    """Return the dates of a page whose role is known, those of the text first."""
    if not _HAS_DATE.search(page.text):
        return []
    found: list[DateInContext] = []
    by_place = list(_dates_at_captions(page, lines, month_first=month_first))
    for each in find_roles(page.text, month_first=month_first):
        if each.role is None:
            continue
        before = page.text[max(0, each.written.start - _BEFORE_LENGTH) : each.written.start]
        value = _value_of_text(page, each.written)
        roles = {role: one for one, role in by_place if one.value == value.value}
        if each.role is not DateRole.SIGNATURE:
            roles.pop(DateRole.SIGNATURE, None)  # the words before a date say more
        at = roles.get(each.role)
        if roles and at is None:
            continue  # in a table, the order of the text says less than the column
        if at is not None and each.is_caption:
            found.append(DateInContext(at, each.role, frozenset({Way.TEXT, Way.PLACE}), before))
        else:
            ways = frozenset({Way.SENTENCE})
            found.append(DateInContext(value, each.role, ways, before, each.is_alone))
    known = {(each.value.value, each.role) for each in found}
    found += [
        DateInContext(value, role, frozenset({Way.PLACE}))
        for value, role in by_place
        if (value.value, role) not in known
    ]
    return found


def _dates_at_captions(
    page: PageReading, lines: Sequence[TextLine], *, month_first: bool | None
) -> Iterator[tuple[FieldValue, DateRole]]:
    """Yield the dates that a caption in their line, beside them or above them has a role for.

    A date with the caption "Date", or none, has the role of a signature beside it.
    """
    for line in lines:
        if not _HAS_DATE.search(line.text):
            continue
        written = next(find_dates(line.text, month_first=month_first, short_years=True), None)
        if written is None:
            continue
        before = line.text[: written.start].strip()
        if before.strip(": "):
            captions = [before] if before.endswith((":", "-", "\u2013")) else []
        else:
            captions = _captions_of_date(line, lines)
        for caption in captions:
            # A slash separates the captions of several dates.
            own = caption if _DIGIT.search(caption) else caption.partition("/")[0]
            # A colon within it belongs to a heading, as in "Initial submission: decision letter".
            is_caption = len(caption) <= _MAX_CAPTION_LENGTH and ":" not in caption.strip(" :")
            role = role_of_caption(own) if is_caption else None
            if role is not None:
                yield _value_of_line(page, line, written), role
                break
        else:
            is_beside = _is_beside_signature(line, written, captions, lines)
            if is_beside or _closes_page(line, written, lines):
                yield _value_of_line(page, line, written), DateRole.SIGNATURE


def _is_beside_signature(
    line: TextLine, written: WrittenDate, captions: Sequence[str], lines: Sequence[TextLine]
) -> bool:
    """Return whether a date stands in the row of the caption of a signature, or close above it."""
    before, after = line.text[: written.start], line.text[written.end :]
    if after.strip() or not (_PLACE_AND_DATE.fullmatch(before) or _DATE_CAPTION.fullmatch(before)):
        return False
    if any(":" in caption and not _DATE_CAPTION.fullmatch(caption) for caption in captions):
        return False
    _, top, _, bottom = (find_caption_below(line, lines) or line).box
    return any(
        abs(top + bottom - each.box.top - each.box.bottom) < 2 * _MAX_SIGNATURE_DISTANCE
        for each in lines
        if _SIGNATURE.search(each.text)
    )


def _closes_page(line: TextLine, written: WrittenDate, lines: Sequence[TextLine]) -> bool:
    """Return whether a line is a place and a date, and only a name or a role stands below it."""
    before, after = line.text[: written.start], line.text[written.end :]
    if after.strip(" .") or not _PLACE_AND_DATE.fullmatch(before):
        return False
    below = [each for each in lines if each.box.top > line.box.bottom - 2]
    return len(below) <= _MAX_LINES_OF_SIGNATURE and not any(
        any(sign.isdigit() for sign in each.text) or len(each.text.split()) > _MAX_SIGNATURE_WORDS
        for each in below
    )


def _captions_of_date(line: TextLine, lines: Sequence[TextLine]) -> list[str]:
    """Return the texts beside and above a date. One beside it with a colon is the only one.

    So is one below it, if it is certain that it belongs to the date. A text with a date of its own
    is no caption.
    """
    if below := find_caption_below(line, lines):
        return [below.text]
    captions = [
        each
        for each in captions_of(line.box, lines)
        if next(find_dates(each.text, short_years=True), None) is None
    ]
    first = captions[:1]
    if first and first[0].text.endswith(":") and geometry.is_on_same_line(first[0].box, line.box):
        return [first[0].text]
    return [each.text for each in captions]


def _value_of_text(page: PageReading, written: WrittenDate) -> FieldValue:
    span = next(geometry.find_phrase(page, written.raw), None)
    confidence, box = (span.confidence, span.box) if span else (page.confidence, None)
    return _value(page, written, confidence, box)


def _value_of_line(page: PageReading, line: TextLine, written: WrittenDate) -> FieldValue:
    words = words_at(line.words, written.start, written.end) or line.words
    return _value(page, written, lowest_confidence(words), geometry.bounding_box(words))


def _value(
    page: PageReading, written: WrittenDate, confidence: float, box: Box | None
) -> FieldValue:
    is_doubtful = written.is_ambiguous or (written.day is None and page.source in SCAN_SOURCES)
    return FieldValue(
        "",
        written.day.isoformat() if written.day else written.raw,
        page.number,
        page.source,
        min(confidence, DOUBTFUL_CONFIDENCE) if is_doubtful else confidence,
        box,
        written.day,
        tuple(day.isoformat() for day in written.readings),
    )
