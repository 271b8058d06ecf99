"""Finds details of patients without captions: printed labels of hospitals, and running text.

A label is a small block of lines with a name, a date of birth and a number. The same block on a
licence or a passport is no patient's, so something else must say that it is: a ward, an admission
or an insurance, a word for a patient, or the sex beside a name that begins with the surname.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from ingestion.reading.results import Box, PageReading
from ingestion.rules import fuzzy_phrases
from ingestion.rules.document_types import find_fields
from ingestion.rules.fields import dates, geometry
from ingestion.rules.fields.persons import person_names
from ingestion.rules.fields.text_lines import TextLine, split_lines
from ingestion.rules.participants.captioned_details import (
    Detail,
    DetailKind,
    is_caption,
    read_name,
    words_at,
)

_MAX_LABEL_HEIGHT, _MAX_LABEL_WIDTH = 130.0, 330.0  # points; a usual label is 210 points wide
_MAX_LINE_GAP = 1.6  # of the height of a line, between two lines of a label
_MAX_LABEL_LINES = 12
_MAX_LINE_WORDS = 14
_MAX_SEX_GAP = 60.0  # points between the date of birth and the sex
_MAX_SEX_LENGTH = 12  # characters of a text with the sex, as in "Sex: F" and "F 67 Y"
_BIRTH_MARK = re.compile(
    r"(?i)^\W*(?:\*|\u2605|DOB|D\.O\.B\.?|born|geb\.?|n\u00e9e? le|nat[oa]|nac\.?|ur\.?)\W*$"
)
_SEX = re.compile(
    r"(?:^|[\s(/,;|])(?:M|F|W|D|male|female|m\u00e4nnlich|weiblich|homme|femme|\u7537|\u5973|\u2640|\u2642)(?=$|[\s)/,;|.])"
)
_RECORD_NUMBER = re.compile(r"(?<![\w./-])(?=[\w-]*\d{5})[A-Z]{0,4}-?\d[\d-]{4,14}(?![\w/-]|[.]\d)")
_NUMBERS = frozenset({DetailKind.RECORD_NUMBER, DetailKind.STUDY_NUMBER})
_ANY_NUMBER = re.compile(r"\d{5}")
_PHONE = re.compile(r"(?i)\b(?:tel|phone|fax|t\u00e9l|telefon|fon|mobile|mob|cell)\b")
_SURNAME_FIRST = re.compile(
    r"\s*([^\W\d_a-z][^\W\d_a-z'\u2019-]+(?: [^\W\d_a-z][^\W\d_a-z'\u2019-]+){0,2}),? "
    r"((?:[^\W\d_a-z][\w'\u2019-]*\.?)(?: [^\W\d_a-z][\w'\u2019-]*\.?){0,2})"
)
_OF_PROFESSIONALS = re.compile(
    r"(?i)passport|licen[cs]e|registration|certificate|diploma|permit|driver|<<<|curriculum"
    r"|\bGMC\b|\bNPI\b|\bDEA\b|employee|invoice|faculty"
)
_PROFESSIONAL = re.compile(r"(?i)^\W*(?:dr|prof|md|doctor|docteur|dott|dra)\b")
_HONORIFICS = (
    r"(?:Mr|Mrs|Ms|Miss|Master|Herr|Herrn|Frau|Mme|Mlle|M|Monsieur|Madame|Sr|Sra|Se\u00f1ora?|Sig|Sig\.ra"
    r"|Signora?|dhr|mevr|mw|Pani?|Pana|\u0433-\u043d|\u0433-\u0436\u0430)\.?"
)
_TITLE_BEFORE = re.compile(rf"\s*(?:{_HONORIFICS}\s+)?")
_REACH = 240  # characters of running text between a name and what says that it is a patient's
_SEPARATORS = r"[\s,;:(\[\u2013-]{0,4}"


def may_print_label(text: str) -> bool:
    """Return whether a text has a number without a caption as the label of a patient has one."""
    # Most texts have no number of so many digits, which is faster to search.
    return _ANY_NUMBER.search(text) is not None and _RECORD_NUMBER.search(text) is not None


def find_labels(page: PageReading, details: Sequence[Detail], language: str) -> Iterator[Detail]:
    """Yield the details of the labels of a page. `details` are those that have captions."""
    has_number = any(detail.kind in _NUMBERS for detail in details)
    if not has_number and not may_print_label(page.text):
        return
    lines = [line for line in split_lines(page) if len(line.words) <= _MAX_LINE_WORDS]
    for number, line in enumerate(lines):
        birth = _read_birth_date(line, lines, details)
        if birth is None:
            continue
        if _OF_PROFESSIONALS.search(page.text) and not _names_record(page.text, language):
            return
        block = _find_block(lines, number)
        yield from _read_label(block, birth, details, language)


def _read_birth_date(
    line: TextLine, lines: Sequence[TextLine], details: Sequence[Detail]
) -> Detail | None:
    """Return the date of birth in a line: one with a caption, a sign before it, or the sex beside.

    Other dates are none: labels have the date of the admission too.
    """
    for detail in details:
        if detail.kind is DetailKind.BIRTH_DATE and _is_in(detail, [line]):
            return detail
    for written in dates.find_dates(line.text, short_years=True):
        before = [*line.text[: written.start].split()[-1:], ""]
        texts = [f" {before[0]}", line.text[written.end : written.end + 12]]
        short = (each for each in lines if len(each.text) <= _MAX_SEX_LENGTH)
        texts += [each.text for each in short if _is_beside(each, line)]
        if _BIRTH_MARK.match(before[0]) or any(map(_SEX.search, texts)):
            words = words_at(line.words, written.start, written.end)
            return Detail(DetailKind.BIRTH_DATE, words, is_specific=False, text=written.raw)
    return None


def _is_beside(line: TextLine, other: TextLine) -> bool:
    """Return whether another text of the same label is on the line of a text."""
    return (
        line is not other
        and geometry.is_on_same_line(line.box, other.box)
        and max(line.box.left - other.box.right, other.box.left - line.box.right) < _MAX_SEX_GAP
    )


def _find_block(lines: Sequence[TextLine], number: int) -> list[TextLine]:
    """Return the lines of the block of a line: near each other, and not too wide or high."""
    block = [lines[number]]
    box = lines[number].box
    has_grown = True
    while has_grown and len(block) < _MAX_LABEL_LINES:
        has_grown = False
        for line in lines:
            if any(line is each for each in block) or not _is_near(line, box):
                continue
            wider = Box(
                min(box.left, line.box.left),
                min(box.top, line.box.top),
                max(box.right, line.box.right),
                max(box.bottom, line.box.bottom),
            )
            if (
                wider.right - wider.left > _MAX_LABEL_WIDTH
                or wider.bottom - wider.top > _MAX_LABEL_HEIGHT
            ):
                continue
            block.append(line)
            box, has_grown = wider, True
    return sorted(block, key=lambda line: (line.box.top, line.box.left))


def _is_near(line: TextLine, box: Box) -> bool:
    gap = max(line.box.top - box.bottom, box.top - line.box.bottom)
    height = line.box.bottom - line.box.top
    aside = max(line.box.left - box.right, box.left - line.box.right)
    return gap < _MAX_LINE_GAP * height and aside < 4 * height


def _read_label(
    block: Sequence[TextLine], birth: Detail, details: Sequence[Detail], language: str
) -> Iterator[Detail]:
    """Yield the details of a block if it is a label of a patient."""
    text = "\n".join(line.text for line in block)
    name, is_surname_first = _find_name(block, details, language)
    numbers = list(_find_numbers(block, birth, details))
    if name is None or not numbers:
        return
    is_of_patient = _names_record(text, language) or any(
        detail.is_specific and _is_in(detail, block) for detail in details
    )
    if not is_of_patient and not (is_surname_first and _SEX.search(text)):
        return
    for detail in (name, birth, *numbers):
        yield Detail(detail.kind, detail.words, is_specific=True, text=detail.text)


def _find_name(
    block: Sequence[TextLine], details: Sequence[Detail], language: str
) -> tuple[Detail | None, bool]:
    """Return the name in a block, and whether it begins with a surname in capital letters."""
    lines = [line for line in block if not _PROFESSIONAL.match(line.text)]
    for line in lines:
        match = _SURNAME_FIRST.match(line.text)
        if match and not is_caption(match[0], language) and person_names.may_be_name(match[0]):
            words = words_at(line.words, match.start(1), match.end())
            return Detail(DetailKind.NAME, words, is_specific=True, text=match[0].strip()), True
    named = [each for each in details if each.kind in {DetailKind.NAME, DetailKind.NAME_PART}]
    if captioned := next((each for each in named if _is_in(each, block)), None):
        return captioned, False
    for line in lines:
        start = len(_TITLE_BEFORE.match(line.text)[0])  # type: ignore[index] # it may be empty
        if name := read_name(line.text[start:], language):
            words = words_at(line.words, start, start + len(name))
            return Detail(DetailKind.NAME, words, is_specific=True, text=name), False
    return None, False


def _is_in(detail: Detail, block: Sequence[TextLine]) -> bool:
    return any(detail.words[0] in line.words for line in block)


def _find_numbers(
    block: Sequence[TextLine], birth: Detail, details: Sequence[Detail]
) -> Iterator[Detail]:
    for detail in details:
        if detail.kind in _NUMBERS and _is_in(detail, block):
            yield detail
    for line in block:
        if _PHONE.search(line.text):
            continue
        for match in _RECORD_NUMBER.finditer(line.text):
            words = words_at(line.words, match.start(), match.end())
            if any(word in birth.words for word in words) or next(
                dates.find_dates(match[0], short_years=True), None
            ):
                continue
            yield Detail(DetailKind.RECORD_NUMBER, words, is_specific=True, text=match[0])


def _names_record(text: str, language: str) -> bool:
    """Return whether a text has a word for a patient, or one of the record of a patient."""
    letters = fuzzy_phrases.find_letters(text, _list_record_letters(language))
    return any(
        fuzzy_phrases.contains_phrase(text, phrase)
        for phrase in _list_record_phrases(language)
        if fuzzy_phrases.fold_letters(phrase) in letters
    )


@lru_cache(maxsize=16)
def _list_record_phrases(language: str) -> tuple[str, ...]:
    fields = find_fields(language)
    keys = ("participant_record", "participant", "participant_name", "participant_record_number")
    phrases = (label for key in keys for label in fields[key].labels)
    return tuple(label for label in phrases if label.casefold() not in _SEX_CAPTIONS)


# They stand on passports too.
_SEX_CAPTIONS = frozenset(
    re.findall(
        r"\w+",
        "sex gender sexe geschlecht sexo sesso geslacht p\u0142e\u0107 \u6027\u522b \u6027\u5225"
        " \uc131\ubcc4 \u043f\u043e\u043b",
    )
)


@lru_cache(maxsize=16)
def _list_record_letters(language: str) -> frozenset[str]:
    return frozenset(map(fuzzy_phrases.fold_letters, _list_record_phrases(language)))


def find_named_in_text(
    page: PageReading, details: Sequence[Detail], language: str
) -> Iterator[Detail]:
    """Yield the names of patients in running text, as "our patient Jane Roe (born 12 Mar 1956)".

    Only a page with another detail of a person is searched, because titles print the same words
    with capital letters.
    """
    kinds = {detail.kind for detail in details}
    if kinds.isdisjoint(
        {DetailKind.BIRTH_DATE, DetailKind.RECORD_NUMBER, DetailKind.IDENTITY_NUMBER}
    ):
        return
    text = " ".join(word.text for word in page.words)
    words_for = _join_words(_list_participant_words(language))
    # "Participant: Tom Keller" may be on the certificate of a course.
    own = _join_words(_list_participant_words(language, with_trainees=False))
    pattern = re.compile(
        rf"(?:(?<!\w)(?:(?i:{own})(?:'s)?{_SEPARATORS}|(?i:{words_for})\s+)(?:{_HONORIFICS}\s+)?"
        rf"|(?<!\w){_HONORIFICS}\s+)(?=[^\W\d_a-z])"
    )
    near = [_position_of(page, detail) for detail in details]
    for match in pattern.finditer(text):
        start = match.end()
        name = read_name(text[start : start + 60], language)
        if not name and re.search(rf"{_HONORIFICS}\s+$", match[0]):
            name = _read_surname(text[start : start + 40])
        if not name or not any(abs(start - place) < _REACH for place in near):
            continue
        window = text[max(0, start - _REACH) : start + _REACH]
        if not re.search(rf"(?i)(?<!\w)(?:{words_for})", window):
            continue
        words = words_at(page.words, start, start + len(name))
        yield Detail(DetailKind.NAME, words, is_specific=True, text=name)


def _read_surname(text: str) -> str:
    match = re.match(r"[^\W\d_a-z][^\W\d_]+(?:-[^\W\d_a-z][^\W\d_]+)?", text)
    return match[0] if match and person_names.may_be_name(match[0]) else ""


def _position_of(page: PageReading, detail: Detail) -> int:
    """Return the number of characters before a detail, of the words joined by blanks."""
    at = 0
    for word in page.words:
        if word is detail.words[0]:
            return at
        at += len(word.text) + 1
    return -_REACH


def _join_words(words: Iterable[str]) -> str:
    return "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))


@lru_cache(maxsize=16)
def _list_participant_words(language: str, *, with_trainees: bool = True) -> frozenset[str]:
    fields = find_fields(language)
    words = frozenset(fields["participant"].labels)
    return words if with_trainees else words - set(fields["participant_or_trainee_name"].labels)
