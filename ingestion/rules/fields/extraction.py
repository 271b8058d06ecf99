"""What is read from a document: each value with its page, its place, its source and how sure it is.

The fields of a fillable form win over the text. On the page a value stands behind its
caption or below it; a number of a fixed build is found anywhere. A caption with a date
that does not exist, or that may mean two days, yields the words as they stand and no day:
nothing is guessed.
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

FORM = "acroform"  # the source of a named form field; else it is the page's own source
MIN_SURE_CONFIDENCE = 80.0  # of 100: below this, nothing is rejected on the strength of a value
LISTS = frozenset({"lines", "names"})
_WORDS = frozenset({"text", "name", *LISTS})
SCANS = frozenset({TextSource.OCR, TextSource.OCR_LAYER})

_AMBIGUOUS_DATE_CONFIDENCE = 40.0  # of a date that may mean two days
_CONTEXT_WORDS = 12  # words before a caption in which `near` and `not_near` look
_MAX_CAPTIONS_PER_FIELD = (
    200  # looked at for one field: a document of nothing but captions costs no more
)
_MAX_LISTS_PER_FIELD = 20  # captions of lists: each may have many lines
_MAX_DATE_GAP = 40  # characters behind a caption within which its date begins
_MAX_LINES_BEFORE_NAME = 8  # lines from the top among which a name may stand alone
_LETTERHEAD_SHARE = 0.4  # of a page's height: a letterhead stands above
_BETWEEN = r"[\s:.#_*)(-]*"  # what may stand between a caption and its value
_CAPITAL, _IN_NAME = r"[^\W\d_a-z]", r"[\w.'\u2019-]"
_PARTICLE = r"(?:van|von|de|der|den|del|della|di|da|la|le|ter|ten|bin|al)"
_DEGREE = r"(?:med|dent|rer|nat|sc|phil)\."  # Prof. Dr. med. Karin von der Heide
_MISREAD_DOT = re.compile(r"\b(Prof|Dr|med|dent),(?=$| (?:\||Dr|med|dent|rer|nat))")
_TORN = re.compile(r"[^\W\d_]\d{3,} \d")  # a number that seems to be in two parts
_CLIA = re.compile(r"\b\d\dD(?: ?\d){7}\b")  # always of seven digits: its parts are put together
_PATTERNS = {
    "number": r"(?=[\w/.-]*\d)\w+(?:[-/.]\w+)*",
    "name": rf"{_CAPITAL}{_IN_NAME}*,?"
    rf"(?: (?:(?:{_PARTICLE} ){{0,3}}{_CAPITAL}{_IN_NAME}*,?|{_DEGREE})){{1,7}}",
    "text": r".{2,120}",
}
_DIGIT, _LETTERS = "[0-9OQDIl|SBZ]", {"D": "[D0O]", "I": "[I1l|]", "B": "[B8]"}


@dataclass(frozen=True, slots=True)
class FieldValue:
    name: str
    value: str  # a date as 2026-03-12; as it was written where it is no one day
    page: int  # from 1; 0 for a form field
    source: str
    confidence: float  # 0 to 100
    box: Box | None = None  # where it stands, where that is known
    day: date | None = None

    @property
    def is_sure(self) -> bool:
        return self.confidence >= MIN_SURE_CONFIDENCE

    @property
    def entries(self) -> tuple[str, ...]:
        """Of a field of several lines or names; just one for any other."""
        return tuple(self.value.split(list_fields.SEPARATOR))


def read_fields(reading: DocumentReading, kind: DocumentType) -> tuple[FieldValue, ...]:
    """One value for each field that was found, in the order of the type's fields."""
    found = (read_field(reading, spec, kind) for spec in kind.fields)
    return tuple(value for value in found if value is not None)


def read_field(reading: DocumentReading, spec: FieldSpec, kind: DocumentType) -> FieldValue | None:
    """The first value that is not a part of the blank form itself."""
    if spec.kind == "choice":
        return None
    is_name, month_first = spec.kind in {"name", "names"}, kind.us_dates
    most = _MAX_LISTS_PER_FIELD if spec.kind in LISTS else _MAX_CAPTIONS_PER_FIELD
    values = chain(
        _from_form(reading, spec, month_first=month_first),
        (value for page in reading.pages for value in _by_shape(page, spec)),
        _in_heading(reading, spec),
        (
            value
            for page, place in islice(_captions(reading, spec), most)
            for value in _at_caption(page, place, spec, month_first=month_first)
        ),
        _alone(reading, spec),
        _line_with(reading, spec),
    )
    if spec.kind not in _WORDS:
        return next(values, None)
    filled = (_without_captions(value, kind, is_name=is_name) for value in values)
    return next((value for value in filled if value), None)


def _without_captions(value: FieldValue, kind: DocumentType, *, is_name: bool) -> FieldValue | None:
    """With those of its entries that are not printed on the blank form."""
    entries = [
        each
        for each in value.entries
        if each == list_fields.NONE or not kind.prints(each, is_name=is_name)
    ]
    return replace(value, value=list_fields.joined(entries)) if entries else None


def form_value(reading: DocumentReading, names: tuple[str, ...]) -> str:
    """The first of these form fields that is filled in; full names count by their last part."""
    filled = {
        fuzzy_phrases.bare(name.rsplit(".", 1)[-1]): value.strip()
        for name, value in reading.fields.items()
    }
    return next(
        (value for name in names if (value := filled.get(fuzzy_phrases.bare(name), ""))), ""
    )


def form_date(
    name: str, reading: DocumentReading, names: tuple[str, ...], *, month_first: bool
) -> FieldValue | None:
    written = next(dates.find(form_value(reading, names), month_first=month_first), None)
    if written is None:
        return None
    value, confidence = _read_as(written, 100.0)
    return FieldValue(name, value, 0, FORM, confidence, day=written.day)


def date_in(
    name: str,
    page: PageReading,
    words: Sequence[Word],
    *,
    month_first: bool,
    within: int = _MAX_DATE_GAP,
) -> FieldValue | None:
    """The first date in a run of words, if it begins within so many characters."""
    text = " ".join(word.text for word in words)
    written = next(dates.find(text, month_first=month_first), None)
    if written is None or written.start > within:
        return None
    used = _words_at(words, written.start, written.end)
    value, confidence = _read_as(written, _worst(used))
    if written.day is None and page.source in SCANS:
        confidence = min(
            confidence, _AMBIGUOUS_DATE_CONFIDENCE
        )  # 46 September: rather a misread 16
    box = geometry.around(used)
    return FieldValue(name, value, page.number, page.source, confidence, box, written.day)


def _from_form(
    reading: DocumentReading, spec: FieldSpec, *, month_first: bool
) -> Iterator[FieldValue]:
    if spec.kind == "date":
        if value := form_date(spec.name, reading, spec.form, month_first=month_first):
            yield value
    elif spec.kind in LISTS:
        entries = list(list_fields.entries(form_value(reading, spec.form), spec, _PATTERNS["name"]))
        if entries:
            yield FieldValue(spec.name, list_fields.joined(entries), 0, FORM, 100.0)
    elif match := re.search(_pattern(spec), form_value(reading, spec.form)):
        yield FieldValue(spec.name, match[0].strip(), 0, FORM, 100.0)


def _by_shape(page: PageReading, spec: FieldSpec) -> Iterator[FieldValue]:
    if not spec.shape:
        return
    for match in _shape(spec.shape, misread=page.source in SCANS).finditer(page.text):
        signs = re.sub(r"[\s#-]", "", match[0])
        value = "".join(
            fuzzy_phrases.digits(sign) if wanted == "#" else wanted
            for sign, wanted in zip(signs, spec.shape, strict=True)
        )
        spot = next(geometry.occurrences(page, match[0]), None)
        confidence, box = (spot.confidence, spot.box) if spot else (page.confidence, None)
        yield FieldValue(spec.name, value, page.number, page.source, confidence, box)


def _shape(shape: str, *, misread: bool) -> re.Pattern[str]:
    """Separators may stand where letters and digits meet, as in 36 D 1234567 or FWA 00001234."""
    digit = _DIGIT if misread else r"\d"
    runs = re.findall(r"#+|[^#]+", shape)
    parts = [
        f"{digit}{{{len(run)}}}"
        if run[0] == "#"
        else "".join(_LETTERS.get(sign, sign) if misread else sign for sign in run)
        for run in runs
    ]
    whole = r"[\s#-]{0,2}".join(parts)
    if misread:  # or torn apart, where its letters were read as such
        torn = (r" ?".join([r"\d"] * len(run)) if run[0] == "#" else run for run in runs)
        whole = rf"(?:{whole}|{'[ #-]{0,2}'.join(torn)})"
    return re.compile(rf"(?<!\w){whole}(?!\w)")


def _captions(
    reading: DocumentReading, spec: FieldSpec
) -> Iterator[tuple[PageReading, geometry.TextSpan]]:
    """The most telling ones first."""
    for label in spec.labels:
        for page in reading.pages:
            for place in geometry.occurrences(page, label):
                yield page, place


def _at_caption(
    page: PageReading, place: geometry.TextSpan, spec: FieldSpec, *, month_first: bool
) -> Iterator[FieldValue]:
    if not in_context(page, place, spec):
        return
    if spec.box and spec.kind in LISTS:
        yield from _in_box(page, place, spec)
        return
    if not _stands_alone(page, place, spec):
        return  # words of a sentence or of a heading
    if spec.kind in LISTS:
        yield from _beneath(page, place, spec)
        return
    for beside in (geometry.behind, geometry.below):
        if value := _value_in(page, beside(page, place), spec, month_first=month_first):
            yield value
            return


def _beneath(page: PageReading, place: geometry.TextSpan, spec: FieldSpec) -> Iterator[FieldValue]:
    if found := list_fields.beneath(page, place, spec, _PATTERNS["name"]):
        words = [word for _, line in found for word in line]
        value = list_fields.joined([entry for entry, _ in found])
        yield FieldValue(
            spec.name, value, page.number, page.source, _worst(words), geometry.around(words)
        )


def _stands_alone(page: PageReading, place: geometry.TextSpan, spec: FieldSpec) -> bool:
    if spec.kind in {"text", "name", "names"} and not geometry.begins_alone(page, place):
        return False
    return spec.kind not in {"text", "names"} or geometry.ends_alone(page, place)


def _in_box(page: PageReading, place: geometry.TextSpan, spec: FieldSpec) -> Iterator[FieldValue]:
    """Beneath the caption; or right behind it, where somebody wrote None, for example."""
    if _stands_alone(page, place, spec):
        yield from _beneath(page, place, spec)
    line = geometry.behind(page, place)
    if found := list(list_fields.entries(" ".join(w.text for w in line), spec, _PATTERNS["name"])):
        value, box = list_fields.joined(found), geometry.around(line)
        yield FieldValue(spec.name, value, page.number, page.source, _worst(line), box)


def _in_heading(reading: DocumentReading, spec: FieldSpec) -> Iterator[FieldValue]:
    """The topmost line, whatever the order in which the page was drawn."""
    for page in reading.pages[:1]:
        spots = [spot for phrase in spec.heading for spot in geometry.occurrences(page, phrase)]
        high = [spot for spot in spots if spot.box.bottom < _LETTERHEAD_SHARE * page.height]
        if high:
            line = geometry.run(page, min(high, key=lambda spot: spot.box.top))
            text, box = " ".join(word.text for word in line), geometry.around(line)
            yield FieldValue(spec.name, text, page.number, page.source, _worst(line), box)


def _alone(reading: DocumentReading, spec: FieldSpec) -> Iterator[FieldValue]:
    """A name on a line of its own at the head of page 1: surely meant on the topmost line."""
    if not spec.alone or not reading.pages:
        return
    page = reading.pages[0]
    high = [word for word in page.words if word.box.bottom < _LETTERHEAD_SHARE * page.height]
    begin = [word for word in high if not any(geometry.joins(each.box, word.box) for each in high)]
    for number, word in enumerate(
        sorted(begin, key=lambda word: word.box.top)[:_MAX_LINES_BEFORE_NAME]
    ):
        line = geometry.run(page, geometry.at(page, word))
        text = " ".join(word.text for word in line)
        if len(line) > 1 and re.fullmatch(_PATTERNS["name"], text):
            confidence = _worst(line) if number == 0 else _AMBIGUOUS_DATE_CONFIDENCE
            box = geometry.around(line)
            yield FieldValue(spec.name, text, page.number, page.source, confidence, box)


def _line_with(reading: DocumentReading, spec: FieldSpec) -> Iterator[FieldValue]:
    for page, phrase in product(reading.pages, spec.line_with):
        for place in islice(geometry.occurrences(page, phrase), 1):
            line = geometry.run(page, place)
            text, box = " ".join(word.text for word in line), geometry.around(line)
            yield FieldValue(spec.name, text, page.number, page.source, _worst(line), box)


def _value_in(
    page: PageReading, words: Sequence[Word], spec: FieldSpec, *, month_first: bool
) -> FieldValue | None:
    if spec.kind == "date":
        return date_in(spec.name, page, words, month_first=month_first)
    text = " ".join(word.text for word in words)
    if spec.kind == "name" and page.source in SCANS:
        text = _MISREAD_DOT.sub(r"\1.", text)
    match = re.match(rf"{_BETWEEN}(?P<value>{_pattern(spec)})", text)
    if match is None:
        return None
    used = _words_at(words, match.start("value"), match.end("value"))
    value, box, confidence = match["value"].strip(" ,;"), geometry.around(used), _worst(used)
    if page.source in SCANS:
        value = _CLIA.sub(lambda number: number[0].replace(" ", ""), value)
    if page.source in SCANS and _TORN.search(value):
        confidence = min(confidence, _AMBIGUOUS_DATE_CONFIDENCE)
    return FieldValue(spec.name, value, page.number, page.source, confidence, box)


def in_context(page: PageReading, place: geometry.TextSpan, spec: FieldSpec) -> bool:
    """Whether the phrases that must, or must not, stand before a caption are there."""
    words = page.words[max(0, place.start - _CONTEXT_WORDS) : place.end]
    there = " ".join(word.text for word in words)
    if spec.near and not fuzzy_phrases.holds(there, spec.near):
        return False
    return not (spec.not_near and fuzzy_phrases.holds(there, spec.not_near))


def _words_at(words: Sequence[Word], start: int, end: int) -> list[Word]:
    """Those that hold these characters of the words joined by blanks."""
    used, at = [], 0
    for word in words:
        if at < end and start < at + len(word.text):
            used.append(word)
        at += len(word.text) + 1
    return used


def _read_as(written: dates.Written, confidence: float) -> tuple[str, float]:
    value = written.day.isoformat() if written.day else written.raw
    return value, _AMBIGUOUS_DATE_CONFIDENCE if written.is_ambiguous else confidence


def _worst(words: Sequence[Word]) -> float:
    return min(word.confidence for word in words)


def _pattern(spec: FieldSpec) -> str:
    return spec.pattern or _PATTERNS[spec.kind]
