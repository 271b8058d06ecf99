"""Defines the value of a field, and reads a text as one.

A date that may mean two days, such as 02/06/2011, has both readings and no day. Nothing is guessed.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from typing import NamedTuple

from ingestion.reading.results import Box, DocumentReading, PageReading, TextSource, Word
from ingestion.rules import fuzzy_phrases
from ingestion.rules.document_types import FieldSpec
from ingestion.rules.fields import dates, geometry, list_fields
from ingestion.rules.fields.date_words import DateRole, role_of_caption
from ingestion.rules.fields.persons import person_names

FORM_SOURCE = "acroform"  # the source of a value of a form field; others have their page's source
MIN_SURE_CONFIDENCE = 80.0  # percent; a value below it never causes a rejection
DOUBTFUL_CONFIDENCE = 40.0  # percent, of a value with two readings or one that may be misread
SCAN_SOURCES = frozenset({TextSource.OCR, TextSource.OCR_LAYER})
MAX_DATE_GAP = 40  # characters after a caption within which its date begins

# Characters that may stand between a caption and its value.
_BETWEEN = r"[\s:.#_*)(\[\u00b0\u00ba\u2022\u2013\u2014-]*"  # also the sign of n°
_NUMBER_SIGN = re.compile(r"[\s.]*(?:[:#=]|no\b|number\b|id\b)", re.IGNORECASE)
_MISREAD_DOT = re.compile(r"\b(Prof|Dr|med|dent),(?=$| (?:\||Dr|med|dent|rer|nat))")
# Titles of which one would be kept, as in "Dr./Mr./Ms. Ann Smith"
_TITLES_TO_CHOOSE = re.compile(
    r"^\W*(?:(?:Dr|Mr|Mrs|Ms|Miss|Prof|Shri|Smt)\.?\s*/\s*)+(?:Dr|Mr|Mrs|Ms|Miss|Prof|Shri|Smt)\b\.?"
)
# What a caption says in brackets about how a name is written, or about whose it is.
_NOTE_OF_CAPTION = re.compile(
    r"(?i)^\W*\((?:please )?(?:in )?"
    r"(?:print|type|block|capital|study doctor|full|first|last|name)[^()\d]{0,30}\)\s*:?"
)
_OTHER_EVENTS = frozenset(
    {DateRole.EARLIER, DateRole.OTHER, DateRole.SUBMISSION, DateRole.SIGNATURE}
)
_SPLIT_NUMBER = re.compile(r"[^\W\d_]\d{3,} \d")  # a number that OCR seems to have split
_CLIA_NUMBER = re.compile(r"\b\d\dD(?: ?\d){7}\b")  # it always has seven digits after the D
_PHONE = re.compile(r"\d{0,3}[\s().-]*\d{3}[ .-]\d{4}(?!\d)")
_SEPARATORS_OF_DATE = 2
_FIRST_YEAR = 1900  # before it, a number such as 20-01-1123 is no date
_YEAR = re.compile(r"(?:19|20)\d\d")
_QUOTED = re.compile(r"[\u201c\"\u00ab](?P<text>[^\u201d\"\u00bb]{4,200})[\u201d\"\u00bb]")
_PATTERNS = {
    "number": r"(?=[\w/.-]*\d)\w+(?:[-/.]\w+)*",
    "name": person_names.PATTERN_AT_CAPTION,
    "text": r".{2,200}",
}


@dataclass(frozen=True, slots=True)
class FieldValue:
    """The value of one field of a document."""

    name: str
    value: str  # a date as 2026-03-12, or as it is written if `day` is None
    page: int  # from 1; 0 for a form field
    source: str
    confidence: float  # percent
    box: Box | None = None  # its position on the page, if known
    day: date | None = None
    # The values that it may be, if there are two: days as 2026-03-12, or two texts of the document.
    readings: tuple[str, ...] = ()
    # Whether only one way led to the value, so that a person has to confirm it.
    is_unconfirmed: bool = False
    # Whether only the model suggests it, so that nothing may be stated because of it.
    is_suggested: bool = False
    # Whether a number is the own reference of the committee or institution that wrote the document.
    is_own_reference: bool = False

    @property
    def is_sure(self) -> bool:
        """Return whether the confidence is high enough to decide by the value."""
        return self.confidence >= MIN_SURE_CONFIDENCE

    @property
    def entries(self) -> tuple[str, ...]:
        """Return the entries of a list field; for any other field, its value alone."""
        return tuple(self.value.split(list_fields.SEPARATOR))


class ParsedValue(NamedTuple):
    """A value in a text, from character `start` to before character `end`."""

    value: str
    start: int
    end: int
    day: date | None = None
    readings: tuple[str, ...] = ()
    max_confidence: float = 100.0  # percent; less if the value may be misread


def parse_value(
    text: str,
    spec: FieldSpec,
    *,
    month_first: bool | None,
    is_scan: bool,
    max_gap: int = MAX_DATE_GAP,
) -> ParsedValue | None:
    """Return the value of a field with which the text after its caption begins, or None.

    A date may begin within `max_gap` characters.
    """
    if spec.kind == "date":
        parsed = parse_date(text, month_first=month_first, is_scan=is_scan, max_gap=max_gap)
        return parsed if parsed and not _is_of_other_event(text[: parsed.start], spec) else None
    if spec.kind == "name":
        return _parse_name(text, spec, is_scan=is_scan)
    match = _compile_value(pattern_of(spec)).match(text)
    if match is None or (spec.kind == "number" and _is_no_number(text, match)):
        return None
    if spec.is_study_number and not any(sign.isdigit() for sign in match["value"]):
        return None  # the first word of a number in several words
    value, start, end = match["value"].strip(" ,;"), match.start("value"), match.end("value")
    confidence = 100.0
    if is_scan:
        value = _CLIA_NUMBER.sub(lambda number: number[0].replace(" ", ""), value)
        confidence = DOUBTFUL_CONFIDENCE if _SPLIT_NUMBER.search(value) else confidence
    if spec.kind == "text":
        value, start, end = _parse_text(text, value, start, end)
    return ParsedValue(value, start, end, max_confidence=confidence) if value else None


def _is_of_other_event(between: str, spec: FieldSpec) -> bool:
    """Return whether the words between a caption and a date make it that of another event.

    As in "the expiration date, which was set when the study was last renewed on".
    """
    role = role_of_caption(between) if spec.roles and " " in between.strip() else None
    return role in _OTHER_EVENTS and role.value not in spec.roles


def _parse_name(text: str, spec: FieldSpec, *, is_scan: bool) -> ParsedValue | None:
    """Return the name with which a text begins, or None. A name that may be cut is in doubt."""
    if is_scan:
        text = _MISREAD_DOT.sub(r"\1.", text)
    for before in (_NOTE_OF_CAPTION, _TITLES_TO_CHOOSE):
        text = before.sub(lambda words: " " * len(words[0]), text)
    text = person_names.blank_bracketed_title(text)
    match = _compile_value(pattern_of(spec)).match(text)
    if match is None:
        return None
    written, start = match["value"].strip(" ,;"), match.start("value")
    name = person_names.trim(written)
    if person_names.has_titles_only(name) or person_names.names_place(written, name):
        return None
    is_cut = person_names.may_be_cut(written, name)
    if is_cut and spec.is_surname_first:
        name, is_cut = written, False
    # The word behind a single one, such as a role, may be the surname.
    is_cut = is_cut or (name != written and " " not in name)
    confidence = DOUBTFUL_CONFIDENCE if is_cut else 100.0
    return ParsedValue(name, start, start + len(name), max_confidence=confidence)


def _parse_text(text: str, value: str, start: int, end: int) -> tuple[str, int, int]:
    """Return a text with its opening bracket, or the part of it that is between quotation marks."""
    opening = text[:start].rstrip()[-1:]
    if opening in {"(", "["}:
        value = opening + value  # as in "(2023) Basic course"
    if quoted := _QUOTED.search(value):
        return (
            quoted["text"].strip(" ,;."),
            start + quoted.start("text"),
            start + quoted.end("text"),
        )
    return value, start, end


def parse_date(
    text: str, *, month_first: bool | None, is_scan: bool, max_gap: int
) -> ParsedValue | None:
    """Return the first date of a text, which must begin within `max_gap` characters, or None."""
    written = next(dates.find_dates(text, month_first=month_first, short_years=True), None)
    if written is None or written.start > max_gap:
        return None
    readings = tuple(day.isoformat() for day in written.readings)
    # On a scan, 46 September is more likely a misread 16 September.
    is_doubtful = written.is_ambiguous or (written.day is None and is_scan)
    return ParsedValue(
        written.day.isoformat() if written.day else written.raw,
        written.start,
        written.end,
        written.day,
        readings,
        DOUBTFUL_CONFIDENCE if is_doubtful else 100.0,
    )


def value_of_words(
    name: str, page: PageReading, words: Sequence[Word], parsed: ParsedValue
) -> FieldValue:
    """Return a value that was found in the joined text of some words."""
    used = words_at(words, parsed.start, parsed.end) or list(words)
    confidence = min(lowest_confidence(used), parsed.max_confidence)
    box, day, readings = geometry.bounding_box(used), parsed.day, parsed.readings
    if not readings and (other := _read_otherwise(used, parsed)):
        day, readings = None, (parsed.value, other)
    return FieldValue(name, parsed.value, page.number, page.source, confidence, box, day, readings)


def _read_otherwise(words: Sequence[Word], parsed: ParsedValue) -> str:
    """Return the value of these words as another OCR engine read it, or "" if it read the same.

    A text is compared with the words that contain it, and a date is read again.
    """
    if not any(word.other for word in words):
        return ""
    text = " ".join(word.other or word.text for word in words)
    if parsed.day is None:
        written = " ".join(word.text for word in words)
        before, _, after = written.partition(parsed.value)
        value = text.removeprefix(before).removesuffix(after)
        return value if parsed.value in written and value != parsed.value else ""
    days = (written.day for written in dates.find_dates(text))
    return next((day.isoformat() for day in days if day not in {None, parsed.day}), "")


def value_of_line(
    page: PageReading, words: Sequence[Word], spec: FieldSpec, text: str | None = None
) -> FieldValue:
    """Return the text of some words, or the given text that was taken from them, as a value."""
    if text is None:
        text = " ".join(word.text for word in words)
    box = geometry.bounding_box(words)
    return FieldValue(spec.name, text, page.number, page.source, lowest_confidence(words), box)


def value_at_start(
    page: PageReading, words: Sequence[Word], spec: FieldSpec, *, month_first: bool | None
) -> FieldValue | None:
    """Return the value with which a run of words beside or below a caption begins, or None."""
    if not words:
        return None
    text, is_scan = " ".join(word.text for word in words), page.source in SCAN_SOURCES
    parsed = parse_value(text, spec, month_first=month_first, is_scan=is_scan)
    return value_of_words(spec.name, page, words, parsed) if parsed else None


def words_at(words: Sequence[Word], start: int, end: int) -> list[Word]:
    """Return the words that contain the characters `start` to `end` of their joined text."""
    used, position = [], 0
    for word in words:
        if position < end and start < position + len(word.text):
            used.append(word)
        position += len(word.text) + 1
    return used


def lowest_confidence(words: Sequence[Word]) -> float:
    """Return the lowest confidence of these words. Raises ValueError without words."""
    return min(word.confidence for word in words)


@lru_cache(maxsize=512)
def _compile_value(pattern: str) -> re.Pattern[str]:
    """Return a pattern for the text after a caption that begins with a value of this pattern."""
    return re.compile(rf"{_BETWEEN}(?P<value>{pattern})")


def pattern_of(spec: FieldSpec) -> str:
    """Return the regular expression of the values of a field."""
    return spec.pattern or _PATTERNS[spec.kind]


def read_form_field(reading: DocumentReading, names: tuple[str, ...]) -> str:
    """Return the value of the first of these form fields that is filled in, or "".

    Names are compared with the last part of the full names of form fields.
    """
    if not reading.fields:
        return ""
    filled = {
        fuzzy_phrases.strip_punctuation(name.rsplit(".", 1)[-1]): value.strip()
        for name, value in reading.fields.items()
    }
    wanted = map(fuzzy_phrases.strip_punctuation, names)
    return next((value for name in wanted if (value := filled.get(name, ""))), "")


def _is_no_number(text: str, match: re.Match[str]) -> bool:
    """Return whether the digits are a telephone number, a date, or a year without a sign."""
    start, end = match.span("value")
    if len(re.findall(r"[-./]", match["value"])) == _SEPARATORS_OF_DATE and any(
        (written.start, written.end) == (start, end)
        and written.day
        and written.day.year > _FIRST_YEAR
        for written in dates.find_dates(text, short_years=True)
    ):
        return True
    if _NUMBER_SIGN.match(text):
        return False
    phones = (phone.span() for phone in _PHONE.finditer(text))
    is_phone = any(first <= start < last for first, last in phones)
    return is_phone or _YEAR.fullmatch(text[start:end]) is not None


def read_form_date(
    name: str, reading: DocumentReading, names: tuple[str, ...], *, month_first: bool | None
) -> FieldValue | None:
    """Return the first date in these form fields, as the value of the field `name`, or None."""
    text = read_form_field(reading, names)
    parsed = parse_date(text, month_first=month_first, is_scan=False, max_gap=len(text))
    if parsed is None:
        return None
    return FieldValue(
        name,
        parsed.value,
        0,
        FORM_SOURCE,
        parsed.max_confidence,
        day=parsed.day,
        readings=parsed.readings,
    )


def find_date(
    name: str,
    page: PageReading,
    words: Sequence[Word],
    *,
    month_first: bool | None,
    max_gap: int = MAX_DATE_GAP,
) -> FieldValue | None:
    """Return the first date in a run of words, as the value of the field `name`, or None.

    The date must begin within `max_gap` characters.
    """
    text = " ".join(word.text for word in words)
    is_scan = page.source in SCAN_SOURCES
    parsed = parse_date(text, month_first=month_first, is_scan=is_scan, max_gap=max_gap)
    return value_of_words(name, page, words, parsed) if parsed else None
