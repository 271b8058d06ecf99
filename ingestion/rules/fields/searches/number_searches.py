"""Finds numbers in the text: of a fixed format, behind words as "Credential ID", of a version."""

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from itertools import islice

from ingestion.rules import fuzzy_phrases
from ingestion.rules.document_types import FieldSpec
from ingestion.rules.fields import geometry, text_readings
from ingestion.rules.fields.candidates import Way
from ingestion.rules.fields.date_words import DateRole
from ingestion.rules.fields.dates import find_dates
from ingestion.rules.fields.reference_numbers import find_numbers
from ingestion.rules.fields.searches.found_values import (
    RANK_OF_GENERAL_NAMES,
    RANK_OF_ROLES,
    FoundValue,
)
from ingestion.rules.fields.searches.searched_document import SearchedDocument
from ingestion.rules.fields.values import (
    SCAN_SOURCES,
    FieldValue,
    find_date,
    pattern_of,
    value_of_line,
)

_NUMBER_OF_DOCUMENT = re.compile(
    r"(?i)(?:no\.?|number|serial no\.?|\#|id(?=\s*:))[ :.]*"
    r"(?P<number>(?=[\w/.-]*\d{3})\w[\w/.-]*\w)"
)  # in a cell of its own
# The digits of a number that is printed without its letters, behind its caption.
_CAPTIONS_OF_SHAPES = {
    shape: re.compile(
        rf"(?i)\b{caption}(?:\s(?:number|no\.?))?\s*[:#]?\s*(?P<digits>\d{{8}})(?![\w-])"
    )
    for shape, caption in (("IRB########", "registration"), ("FWA########", "assurance"))
}
_OF_SPONSOR = (
    r"(?i:\bsponsor:\s[^\n:]{3,60}?[-\u2013\u2014,]\sprotocol|\bsponsor(?:['\u2019]s)?\s(?:protocol|study|trial|reference)(?:\s(?:number|no|id|code))?"
    r"\.?\s?\#?\s?:?)\s+"
)
# A panel of a committee, as "Panel B", "IRB #2" or "Committee No. 1".
_PANEL = re.compile(
    r"\b(?P<kind>(?i:panel|committee|board|irb|reb))\s(?:\#\s?|(?i:no\.?|number)\s)?"
    r"(?P<mark>[A-Z]|\d{1,2})(?!\w|[./-]\w)"
)
_PANEL_OF_NUMBER = re.compile(
    rf"{_PANEL.pattern}[\s:,(\u2013\u2014-]*"
    r"(?:(?i:(?:ohrp|hhs|irb)?\s?reg(?:istration|\.)?(?:\s(?:number|no\.?))?)[\s:#]*)?$"
)
_MAX_NUMBERS_OF_SHAPE = 10  # of a page
_MAX_SPONSOR_NUMBERS = 5  # of a page
_MAX_VERSIONS_PER_PAGE = 20
_VERSION = re.compile(
    r"(?i)(?<![\w.])v(?:er(?:sion|\.)?|\.)?\s?(?:no\.?|number|\#|:)?\s?(?P<number>\d{1,2}(?:\.\d{1,3}){0,3})"
    r"(?![\w/-]|\.\d|\s(?:de\s)?[^\W\d_]{3,12}\.?,?\s(?:de\s)?(?:19|20)\d\d)"
)
# Words such as "I have read the information sheet (version 2 of 3 May 2021)".
_READ_VERSION = re.compile(
    r"(?i)\bhave\sread\b[^.;]{0,60}?\b(?:information|consent|sheet|form|leaflet|letter)"
    r"(?:\s(?:sheet|form|leaflet|letter|above|for\s\w+))*[\s,(\[-]{1,3}"
    r"(?P<edition>(?:version|v\.?\s?\d|dated?)\b(?:[^.]|\.(?=\d)){0,50})"
)
_MIN_INFORMATION = 600  # characters of an information for participants
_INFORMATION = re.compile(r"(?i)\b(?:information|invit(?:ed|ation))\b")
_MISREAD_DIGIT = "[0-9OQDIl|SBZ]"
_MISREAD_LETTERS = {"D": "[D0O]", "I": "[I1l|]", "B": "[B8]"}


def search_fixed_formats(document: SearchedDocument, spec: FieldSpec) -> Iterator[FoundValue]:
    """Yield the numbers of a document that have the fixed format of the field.

    Of a number with one of several `formats`, the first one is yielded.
    """
    if found := _find_numbers_of_shape(document, spec):
        yield from found
        return
    for page in document.reading.pages if spec.shape in _CAPTIONS_OF_SHAPES else ():
        if match := _CAPTIONS_OF_SHAPES[spec.shape].search(page.text):
            value = text_readings.value_of_text(page, spec, match["digits"])
            number = spec.shape.rstrip("#") + match["digits"]
            yield FoundValue(replace(value, value=number), frozenset({Way.SENTENCE}))
            return
    for page in document.reading.pages if spec.formats else ():
        if match := _compile_formats(spec.formats).search(page.text):
            value = text_readings.value_of_text(page, spec, match[0])
            yield FoundValue(value, frozenset({Way.SHAPE}))
            return


def _find_numbers_of_shape(document: SearchedDocument, spec: FieldSpec) -> list[FoundValue]:
    """Return the different numbers of the shape of a field, in doubt if they are several.

    The names of panels before them may show which one is that of the panel that decided.
    """
    values: dict[str, FieldValue] = {}
    panels: dict[str, tuple[str, str]] = {}  # by their numbers
    other_text = ""  # than the names of panels with their numbers
    for page in document.reading.pages if spec.shape else ():
        pattern = _compile_shape(spec.shape, is_scan=page.source in SCAN_SOURCES)
        end = 0
        for match in islice(pattern.finditer(page.text), _MAX_NUMBERS_OF_SHAPE):
            signs = re.sub(r"[\s#-]", "", match[0])
            number = "".join(
                fuzzy_phrases.replace_by_digits(sign) if wanted == "#" else wanted
                for sign, wanted in zip(signs, spec.shape, strict=True)
            )
            start = max(end, match.start() - text_readings.CONTEXT_LENGTH)
            before = page.text[start : match.start()]
            if panel := _PANEL_OF_NUMBER.search(before):
                panels[number] = _name_of_panel(panel)
            other_text += page.text[end : match.start() - (len(panel[0]) if panel else 0)]
            end = match.end()
            if number not in values:
                span = next(geometry.find_phrase(page, match[0]), None)
                confidence, box = (span.confidence, span.box) if span else (page.confidence, None)
                values[number] = FieldValue(
                    spec.name, number, page.number, page.source, confidence, box
                )
        other_text += page.text[end:]
    found = [FoundValue(value, frozenset({Way.SHAPE})) for value in values.values()]
    if len(found) <= 1:
        return found
    named = set(map(_name_of_panel, _PANEL.finditer(other_text))) if panels else set()
    of_named = [each for each in found if panels.get(each.value.value) in named]
    return of_named if len(of_named) == 1 else [each.with_doubt() for each in found]


def _name_of_panel(panel: re.Match[str]) -> tuple[str, str]:
    return panel["kind"].casefold(), panel["mark"]


@lru_cache(maxsize=16)
def _compile_formats(formats: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w/-])(?:{'|'.join(formats)})(?![\w/-])")


@lru_cache(maxsize=256)
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
    whole = r"[\s#-]{0,3}".join(parts)
    if is_scan:
        split = (r" ?".join([r"\d"] * len(run)) if run[0] == "#" else run for run in runs)
        whole = rf"(?:{whole}|{'[ #-]{0,2}'.join(split)})"
    return re.compile(rf"(?<!\w){whole}(?!\w)")


def search_number_captions(document: SearchedDocument, spec: FieldSpec) -> Iterator[FoundValue]:
    """Yield the numbers behind captions with the words of the field, as "Credential ID"."""
    for page in document.reading.pages if spec.number_words else ():
        for each in find_numbers(page.text, spec.number_words):
            if not next(find_dates(each.text, short_years=True), None):
                value = text_readings.value_of_text(page, spec, each.text)
                yield FoundValue(value, frozenset({Way.SENTENCE}), RANK_OF_ROLES)
        for line in document.lines_of(page):
            if alone := _NUMBER_OF_DOCUMENT.fullmatch(line.text):
                value = value_of_line(page, line.words, spec, alone["number"])
                yield FoundValue(value, frozenset({Way.PLACE}), RANK_OF_GENERAL_NAMES)


def search_reference_numbers(document: SearchedDocument, spec: FieldSpec) -> Iterator[FoundValue]:
    """Yield the numbers of the committee or institution, those with a clear caption first."""
    for page in document.reading.pages if spec.is_reference else ():
        for each in document.references_of(page):
            # "IRB 18-0155" may be a whole number, or a word before one.
            texts = (each.text, each.text.partition(" ")[2])
            text = next((one for one in texts if re.fullmatch(pattern_of(spec), one)), "")
            if not text:
                continue
            span = next(geometry.find_phrase(page, text), None)
            confidence, box = (span.confidence, span.box) if span else (page.confidence, None)
            value = FieldValue(
                spec.name,
                text,
                page.number,
                page.source,
                confidence,
                box,
                is_own_reference=True,
            )
            yield FoundValue(value, frozenset({Way.SENTENCE}), RANK_OF_ROLES + 2 * each.rank)


def search_sponsor_numbers(document: SearchedDocument, spec: FieldSpec) -> Iterator[FoundValue]:
    """Yield the numbers that are named as the sponsor's, as "Sponsor Protocol # AB-503"."""
    pattern = (
        re.compile(f"{_OF_SPONSOR}(?P<value>{pattern_of(spec)})") if spec.is_reference else None
    )
    for page in document.reading.pages if pattern else ():
        for match in islice(pattern.finditer(page.text), _MAX_SPONSOR_NUMBERS) if pattern else ():
            value = text_readings.value_of_text(page, spec, match["value"])
            yield FoundValue(value, frozenset({Way.TEXT}), 0)


def search_versions(document: SearchedDocument, spec: FieldSpec) -> Iterator[FoundValue]:
    """Yield the numbers behind "v" or "version", as in "v2.1"."""
    for page in document.reading.pages if spec.is_version else ():
        for match in islice(_VERSION.finditer(page.text), _MAX_VERSIONS_PER_PAGE):
            before = page.text[max(0, match.start() - text_readings.CONTEXT_LENGTH) : match.start()]
            if spec.not_near and fuzzy_phrases.contains_phrase(before, spec.not_near):
                continue
            if document.is_of_other_event(before, spec, match[0]):
                continue
            if spec.near and not re.search(rf"(?i)\b{re.escape(spec.near)}\W*$", before):
                continue
            value = text_readings.value_of_text(page, spec, match["number"])
            yield FoundValue(value, frozenset({Way.SENTENCE}), RANK_OF_ROLES)


def search_read_versions(document: SearchedDocument, spec: FieldSpec) -> Iterator[FoundValue]:
    """Yield the version, or its date, of the information that a participant states to have read.

    It is that of the document if the information stands before the statement. Otherwise it is that
    of another document.
    """
    is_of_version = spec.is_version or DateRole.VERSION in spec.roles[:1]
    text_before = ""
    for page in document.reading.pages if is_of_version and spec.not_near else ():
        is_in_page = spec.not_near in page.text
        for match in _READ_VERSION.finditer(page.text) if is_in_page else ():
            information = text_before + page.text[: match.start()]
            if len(information) < _MIN_INFORMATION or not _INFORMATION.search(information):
                continue
            edition = match["edition"]
            value = None
            if spec.is_version:
                if number := _VERSION.search(edition):
                    value = text_readings.value_of_text(page, spec, number["number"])
            elif span := next(geometry.find_phrase(page, edition), None):
                words = page.words[span.start : span.end]
                value = find_date(spec.name, page, words, month_first=document.month_first)
            if value:
                yield FoundValue(value, frozenset({Way.SENTENCE}), RANK_OF_GENERAL_NAMES)
        text_before += page.text
