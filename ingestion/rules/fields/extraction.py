"""Field extraction: each value with its page, position, source and confidence.

The fields of a PDF form have priority over the text. On a page, the value of a field is to the
right of its caption or below it; a number with a fixed format is found anywhere. If the date at a
caption does not exist, or may mean two days, the value is the text as it is written, without a day.
Nothing is guessed.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import chain, islice, product

from ingestion.reading.results import (
    Box,
    DocumentReading,
    PageReading,
    TextSource,
    Word,
)
from ingestion.rules import fuzzy_phrases
from ingestion.rules.document_types import DocumentType, FieldSpec
from ingestion.rules.fields import dates, geometry, list_fields

FORM_SOURCE = "acroform"  # the source of a value of a form field; others have their page's source
MIN_SURE_CONFIDENCE = 80.0  # percent; a value below it never causes a rejection
LIST_KINDS = frozenset({"lines", "names"})
_TEXT_KINDS = frozenset({"text", "name", *LIST_KINDS})
SCAN_SOURCES = frozenset({TextSource.OCR, TextSource.OCR_LAYER})

_DOUBTFUL_CONFIDENCE = 40.0  # percent, of an ambiguous date or of a value that may be misread
_CONTEXT_WORDS = 12  # words before a caption in which `near` and `not_near` are searched
# Captions that are examined for one field. The limit bounds the time for a document that consists
# of nothing but captions.
_MAX_CAPTIONS_PER_FIELD = 200
_MAX_LISTS_PER_FIELD = 20  # captions of a list, each of which may have many lines
_MAX_DATE_GAP = 40  # characters after a caption within which its date begins
_MAX_LINES_BEFORE_NAME = 8  # lines from the top of page 1 that are examined for a name
_LETTERHEAD_SHARE = 0.4  # of the height of a page; the letterhead is above
_BETWEEN = r"[\s:.#_*)(-]*"  # characters that may stand between a caption and its value
_CAPITAL, _IN_NAME = r"[^\W\d_a-z]", r"[\w.'\u2019-]"
_PARTICLE = r"(?:van|von|de|der|den|del|della|di|da|la|le|ter|ten|bin|al)"
_DEGREE = r"(?:med|dent|rer|nat|sc|phil)\."  # as in Prof. Dr. med. Karin von der Heide
_MISREAD_DOT = re.compile(r"\b(Prof|Dr|med|dent),(?=$| (?:\||Dr|med|dent|rer|nat))")
_SPLIT_NUMBER = re.compile(r"[^\W\d_]\d{3,} \d")  # a number that OCR seems to have split
_CLIA_NUMBER = re.compile(r"\b\d\dD(?: ?\d){7}\b")  # it always has seven digits after the D
_PATTERNS = {
    "number": r"(?=[\w/.-]*\d)\w+(?:[-/.]\w+)*",
    "name": rf"{_CAPITAL}{_IN_NAME}*,?"
    rf"(?: (?:(?:{_PARTICLE} ){{0,3}}{_CAPITAL}{_IN_NAME}*,?|{_DEGREE})){{1,7}}",
    "text": r".{2,120}",
}
_MISREAD_DIGIT = "[0-9OQDIl|SBZ]"
_MISREAD_LETTERS = {"D": "[D0O]", "I": "[I1l|]", "B": "[B8]"}


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

    @property
    def is_sure(self) -> bool:
        return self.confidence >= MIN_SURE_CONFIDENCE

    @property
    def entries(self) -> tuple[str, ...]:
        """The entries of a list field; for any other field, its value alone."""
        return tuple(self.value.split(list_fields.SEPARATOR))


def read_fields(reading: DocumentReading, kind: DocumentType) -> tuple[FieldValue, ...]:
    """Return one value for each field that was found, in the order of the type's fields."""
    found = (read_field(reading, spec, kind) for spec in kind.fields)
    return tuple(value for value in found if value is not None)


def read_field(reading: DocumentReading, spec: FieldSpec, kind: DocumentType) -> FieldValue | None:
    """Return the first value of a field that is not part of the blank form, or None."""
    if spec.kind == "choice":
        return None
    month_first = kind.us_dates
    max_captions = _MAX_LISTS_PER_FIELD if spec.kind in LIST_KINDS else _MAX_CAPTIONS_PER_FIELD
    captions = (
        (page, caption)
        for label in spec.labels
        for page in reading.pages
        for caption in geometry.find_phrase(page, label)
    )
    values = chain(
        _values_in_form(reading, spec, month_first=month_first),
        (value for page in reading.pages for value in _values_of_shape(page, spec)),
        _values_in_heading(reading, spec),
        (
            value
            for page, caption in islice(captions, max_captions)
            for value in _values_at_caption(page, caption, spec, month_first=month_first)
        ),
        _names_at_top(reading, spec),
        (
            _value_of_line(page, geometry.text_run_at(page, span), spec)
            for page, phrase in product(reading.pages, spec.line_with)
            for span in islice(geometry.find_phrase(page, phrase), 1)
        ),
    )
    if spec.kind not in _TEXT_KINDS:
        return next(values, None)
    is_name = spec.kind in {"name", "names"}
    for value in values:
        entries = [
            entry
            for entry in value.entries
            if entry == list_fields.NONE_ENTRY or not kind.is_printed(entry, is_name=is_name)
        ]
        if entries:
            return replace(value, value=list_fields.join_entries(entries))
    return None


def read_form_field(reading: DocumentReading, names: tuple[str, ...]) -> str:
    """Return the value of the first of these form fields that is filled in, or "".

    Names are compared with the last part of the full names of form fields.
    """
    filled = {
        fuzzy_phrases.strip_punctuation(name.rsplit(".", 1)[-1]): value.strip()
        for name, value in reading.fields.items()
    }
    wanted = map(fuzzy_phrases.strip_punctuation, names)
    return next((value for name in wanted if (value := filled.get(name, ""))), "")


def read_form_date(
    name: str, reading: DocumentReading, names: tuple[str, ...], *, month_first: bool
) -> FieldValue | None:
    """Return the first date in these form fields, as the value of the field `name`, or None."""
    text = read_form_field(reading, names)
    written = next(dates.find_dates(text, month_first=month_first), None)
    if written is None:
        return None
    value, confidence = _value_of_date(written, 100.0)
    return FieldValue(name, value, 0, FORM_SOURCE, confidence, day=written.day)


def find_date(
    name: str,
    page: PageReading,
    words: Sequence[Word],
    *,
    month_first: bool,
    max_gap: int = _MAX_DATE_GAP,
) -> FieldValue | None:
    """Return the first date in a run of words, as the value of the field `name`, or None.

    The date must begin within `max_gap` characters.
    """
    text = " ".join(word.text for word in words)
    written = next(dates.find_dates(text, month_first=month_first), None)
    if written is None or written.start > max_gap:
        return None
    used = _words_at(words, written.start, written.end)
    value, confidence = _value_of_date(written, _lowest_confidence(used))
    if written.day is None and page.source in SCAN_SOURCES:
        # On a scan, 46 September is more likely a misread 16 September.
        confidence = min(confidence, _DOUBTFUL_CONFIDENCE)
    box = geometry.bounding_box(used)
    return FieldValue(name, value, page.number, page.source, confidence, box, written.day)


def _value_of_date(written: dates.WrittenDate, confidence: float) -> tuple[str, float]:
    value = written.day.isoformat() if written.day else written.raw
    return value, _DOUBTFUL_CONFIDENCE if written.is_ambiguous else confidence


def _values_in_form(
    reading: DocumentReading, spec: FieldSpec, *, month_first: bool
) -> Iterator[FieldValue]:
    """Yield the value that the form fields of the PDF have for a field."""
    if spec.kind == "date":
        if value := read_form_date(spec.name, reading, spec.form, month_first=month_first):
            yield value
        return
    text = read_form_field(reading, spec.form)
    if spec.kind in LIST_KINDS:
        entries = list(list_fields.split_entries(text, spec, _PATTERNS["name"]))
        if entries:
            joined = list_fields.join_entries(entries)
            yield FieldValue(spec.name, joined, 0, FORM_SOURCE, 100.0)
    elif match := re.search(_pattern(spec), text):
        yield FieldValue(spec.name, match[0].strip(), 0, FORM_SOURCE, 100.0)


def _values_of_shape(page: PageReading, spec: FieldSpec) -> Iterator[FieldValue]:
    """Yield each number on a page that has the fixed format of the field."""
    if not spec.shape:
        return
    pattern = _compile_shape(spec.shape, is_scan=page.source in SCAN_SOURCES)
    for match in pattern.finditer(page.text):
        signs = re.sub(r"[\s#-]", "", match[0])
        value = "".join(
            fuzzy_phrases.to_digits(sign) if wanted == "#" else wanted
            for sign, wanted in zip(signs, spec.shape, strict=True)
        )
        span = next(geometry.find_phrase(page, match[0]), None)
        confidence, box = (span.confidence, span.box) if span else (page.confidence, None)
        yield FieldValue(spec.name, value, page.number, page.source, confidence, box)


def _compile_shape(shape: str, *, is_scan: bool) -> re.Pattern[str]:
    """Return a pattern for a fixed format.

    Separators may stand where letters and digits meet, as in 36 D 1234567 or FWA 00001234. On a
    scan, characters may be misread, or the number may be split by blanks.
    """
    digit = _MISREAD_DIGIT if is_scan else r"\d"
    runs = re.findall(r"#+|[^#]+", shape)
    parts = [
        f"{digit}{{{len(run)}}}"
        if run[0] == "#"
        else "".join(_MISREAD_LETTERS.get(sign, sign) if is_scan else sign for sign in run)
        for run in runs
    ]
    whole = r"[\s#-]{0,2}".join(parts)
    if is_scan:
        split = (r" ?".join([r"\d"] * len(run)) if run[0] == "#" else run for run in runs)
        whole = rf"(?:{whole}|{'[ #-]{0,2}'.join(split)})"
    return re.compile(rf"(?<!\w){whole}(?!\w)")


def _values_in_heading(reading: DocumentReading, spec: FieldSpec) -> Iterator[FieldValue]:
    """Yield the topmost line of page 1 that contains a heading phrase of the field."""
    for page in reading.pages[:1]:
        spans = [span for phrase in spec.heading for span in geometry.find_phrase(page, phrase)]
        high = [span for span in spans if span.box.bottom < _LETTERHEAD_SHARE * page.height]
        if high:
            topmost = min(high, key=lambda span: span.box.top)
            yield _value_of_line(page, geometry.text_run_at(page, topmost), spec)


def _value_of_line(page: PageReading, line: Sequence[Word], spec: FieldSpec) -> FieldValue:
    """Return the text of some words as the value of a field."""
    text, box = " ".join(word.text for word in line), geometry.bounding_box(line)
    return FieldValue(spec.name, text, page.number, page.source, _lowest_confidence(line), box)


def _values_at_caption(
    page: PageReading, caption: geometry.TextSpan, spec: FieldSpec, *, month_first: bool
) -> Iterator[FieldValue]:
    """Yield the values that belong to one occurrence of a caption."""
    if not is_in_context(page, caption, spec):
        return
    if spec.kind in LIST_KINDS:
        yield from _lists_at_caption(page, caption, spec)
    elif _is_isolated(page, caption, spec):
        for find_words in (geometry.words_right_of, geometry.words_below):
            if value := _value_in(page, find_words(page, caption), spec, month_first=month_first):
                yield value
                return


def _lists_at_caption(
    page: PageReading, caption: geometry.TextSpan, spec: FieldSpec
) -> Iterator[FieldValue]:
    """Yield the entries below a caption; for a numbered box, also those beside it."""
    if _is_isolated(page, caption, spec) and (
        found := list_fields.read_entries_below(page, caption, spec, _PATTERNS["name"])
    ):
        words = [word for _, line in found for word in line]
        yield _value_of_entries(page, [entry for entry, _ in found], words, spec)
    if spec.box:
        # An entry, such as "None", may be written beside the caption.
        line = geometry.words_right_of(page, caption)
        text = " ".join(word.text for word in line)
        if entries := list(list_fields.split_entries(text, spec, _PATTERNS["name"])):
            yield _value_of_entries(page, entries, line, spec)


def _is_isolated(page: PageReading, caption: geometry.TextSpan, spec: FieldSpec) -> bool:
    """Return whether a caption is not part of a sentence or of a heading."""
    if spec.kind in {"text", "name", "names"} and not geometry.has_no_text_before(page, caption):
        return False
    return spec.kind not in {"text", "names"} or geometry.has_no_text_after(page, caption)


def _value_of_entries(
    page: PageReading, entries: Sequence[str], words: Sequence[Word], spec: FieldSpec
) -> FieldValue:
    value, box = list_fields.join_entries(entries), geometry.bounding_box(words)
    return FieldValue(spec.name, value, page.number, page.source, _lowest_confidence(words), box)


def _names_at_top(reading: DocumentReading, spec: FieldSpec) -> Iterator[FieldValue]:
    """Yield the names that stand on lines of their own at the top of page 1.

    Only a name on the topmost line is sure to be the name of the person.
    """
    if not spec.alone or not reading.pages:
        return
    page = reading.pages[0]
    high = [word for word in page.words if word.box.bottom < _LETTERHEAD_SHARE * page.height]
    first_words = [
        word
        for word in high
        if not any(geometry.is_followed_by(each.box, word.box) for each in high)
    ]
    first_words.sort(key=lambda word: word.box.top)
    for number, word in enumerate(first_words[:_MAX_LINES_BEFORE_NAME]):
        line = geometry.text_run_at(page, geometry.span_of_word(page, word))
        value = _value_of_line(page, line, spec)
        if len(line) > 1 and re.fullmatch(_PATTERNS["name"], value.value):
            yield value if number == 0 else replace(value, confidence=_DOUBTFUL_CONFIDENCE)


def _value_in(
    page: PageReading, words: Sequence[Word], spec: FieldSpec, *, month_first: bool
) -> FieldValue | None:
    """Return the value with which a run of words beside or below a caption begins, or None."""
    if spec.kind == "date":
        return find_date(spec.name, page, words, month_first=month_first)
    is_scan = page.source in SCAN_SOURCES
    text = " ".join(word.text for word in words)
    if spec.kind == "name" and is_scan:
        text = _MISREAD_DOT.sub(r"\1.", text)
    match = re.match(rf"{_BETWEEN}(?P<value>{_pattern(spec)})", text)
    if match is None:
        return None
    used = _words_at(words, match.start("value"), match.end("value"))
    value, confidence = match["value"].strip(" ,;"), _lowest_confidence(used)
    if is_scan:
        value = _CLIA_NUMBER.sub(lambda number: number[0].replace(" ", ""), value)
        if _SPLIT_NUMBER.search(value):
            confidence = min(confidence, _DOUBTFUL_CONFIDENCE)
    box = geometry.bounding_box(used)
    return FieldValue(spec.name, value, page.number, page.source, confidence, box)


def is_in_context(page: PageReading, caption: geometry.TextSpan, spec: FieldSpec) -> bool:
    """Return whether the text up to a caption contains `near` and does not contain `not_near`."""
    words = page.words[max(0, caption.start - _CONTEXT_WORDS) : caption.end]
    text = " ".join(word.text for word in words)
    if spec.near and not fuzzy_phrases.contains_phrase(text, spec.near):
        return False
    return not (spec.not_near and fuzzy_phrases.contains_phrase(text, spec.not_near))


def _words_at(words: Sequence[Word], start: int, end: int) -> list[Word]:
    """Return the words that contain the characters `start` to `end` of their joined text."""
    used, position = [], 0
    for word in words:
        if position < end and start < position + len(word.text):
            used.append(word)
        position += len(word.text) + 1
    return used


def _lowest_confidence(words: Sequence[Word]) -> float:
    return min(word.confidence for word in words)


def _pattern(spec: FieldSpec) -> str:
    return spec.pattern or _PATTERNS[spec.kind]
