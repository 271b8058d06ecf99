"""Finds details of participants by their captions, with the words that they consist of.

The captions are those of the fields `participant…` of `types.toml` and of the files of languages.
A caption counts only with a value of its form: to the right of it, or below it. Below the head of a
column, each row has a value. A blank form has captions and no values.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from itertools import chain, groupby
from typing import NamedTuple

from ingestion.reading.results import Box, PageReading, Word
from ingestion.rules import fuzzy_phrases
from ingestion.rules.document_types import find_fields
from ingestion.rules.fields import dates, geometry
from ingestion.rules.fields.geometry import TextSpan
from ingestion.rules.fields.persons import person_names

_MAX_CAPTION_GAP = 8  # characters between a caption and its value
_GAP = rf"[\s:#.,_*=()\[\]\u2116\u00ba\u00b0-]{{0,{_MAX_CAPTION_GAP}}}"
_MAX_ROWS = 60  # of a table
_MAX_BLANK_ROWS = 2  # between two rows with a value
_MIN_CAPTION_WORD = 3  # letters of a word that shows that a text is a caption and no name
_COLON_BEHIND = re.compile(r"(?:[^\w:\uff1a]|_)*[:\uff1a]")
_COLON_BEFORE_WORD = re.compile(r"[:\uff1a](?<!\S[:\uff1a])")
_CAPITALS = re.compile(r"[^\W\d_a-z]{2,}")


class DetailKind(StrEnum):
    """The kinds of details of a participant."""

    NAME = "name"
    NAME_PART = "name-part"  #: A surname or a given name, whose caption may be about anybody.
    INITIALS = "initials"
    BIRTH_DATE = "birth-date"
    RECORD_NUMBER = "record-number"  #: A number of a hospital or of a health insurance.
    STUDY_NUMBER = "study-number"  #: A code of the study, which says who it is only to the site.
    IDENTITY_NUMBER = "identity-number"  #: A number of a state.


@dataclass(frozen=True, slots=True)
class Detail:
    """A detail of a person, with the words that it consists of."""

    kind: DetailKind
    words: tuple[Word, ...]
    is_specific: bool  # whether only the record of a participant has it
    text: str
    is_unique: bool = False  # whether it is sufficient by itself, as a social security number

    @property
    def box(self) -> Box:
        """Return its place on the page, in points."""
        return geometry.bounding_box(self.words)


@dataclass(frozen=True, slots=True)
class _Caption:
    """Describes a field: its kind, and the form of its value."""

    kind: DetailKind
    is_specific: bool
    pattern: str = ""  # a regular expression; "" for a name or a date


# At least five digits, possibly in groups, as in 485 777 3456.
_NUMBER = r"(?=(?:[^\d\s]{0,4} ?\d){5})[A-Z0-9]+(?:[-/.][A-Z0-9]+| \d{2,})*(?!\w)"
_CODE = r"(?=(?:[\w/.-]*?\d){2})\w+(?:[-/.]\w+)*"
_IDENTITY = r"(?=(?:\D{0,6}\d){5})[A-Z0-9]+(?:[-/. ][A-Z0-9]+){0,6}(?!\w)"
_INITIALS = r"(?:[^\W\d_a-z][.-]?\s?){2,3}(?!\w)"
_SOCIAL_SECURITY_NUMBER = re.compile(r"\d{3}[ -]\d{2}[ -]\d{4}\b")
_SOCIAL_SECURITY_CAPTION = re.compile(r"(?i)social security|\bSSN\b")

_CAPTIONS = {
    "participant_name": _Caption(DetailKind.NAME, is_specific=True),
    "participant": _Caption(DetailKind.NAME, is_specific=True),
    "participant_or_trainee_name": _Caption(DetailKind.NAME, is_specific=False),
    "participant_initials": _Caption(DetailKind.INITIALS, True, _INITIALS),
    "participant_birth_date": _Caption(DetailKind.BIRTH_DATE, is_specific=False),
    "participant_record_number": _Caption(DetailKind.RECORD_NUMBER, True, _NUMBER),
    "participant_study_number": _Caption(DetailKind.STUDY_NUMBER, True, _CODE),
    "participant_identity_number": _Caption(DetailKind.IDENTITY_NUMBER, False, _IDENTITY),
    "participant_name_part": _Caption(DetailKind.NAME_PART, is_specific=False),
    "cv_person": _Caption(DetailKind.NAME_PART, is_specific=False),
}


class PrintedCaption(NamedTuple):
    """A caption that a page prints. Captions are searched in the order of these tuples."""

    place: int  # of the field in `_CAPTIONS`
    rank: int  # among the captions of the field, which begin with the longest
    key: str
    text: str
    needs_colon: bool  # whether it is a word of any sentence
    is_of_trainee: bool  # whether it is a caption of the field for trainees too, which comes later

    @property
    def is_decisive(self) -> bool:
        """Return whether its value may show that a page is a record of a participant."""
        caption = _CAPTIONS[self.key]
        return caption.is_specific or caption.kind in {
            DetailKind.BIRTH_DATE,
            DetailKind.IDENTITY_NUMBER,
        }

    @property
    def is_name(self) -> bool:
        """Return whether its value is a whole name."""
        return _CAPTIONS[self.key].kind is DetailKind.NAME


def list_printed_captions(text: str, language: str) -> list[PrintedCaption]:
    """Return the captions of a text in this language, or in English, if they may have values.

    If the language is "", the captions of all languages are searched.
    """
    letters, captions = _list_captions(language)
    printed = sorted(
        caption
        for each in fuzzy_phrases.find_letters(text, letters)
        for caption in captions[each]
        if fuzzy_phrases.contains_phrase(text, caption.text)
    )
    # The others of a field count with those that may have values: a longer one excludes a shorter.
    with_values = {caption.key for caption in printed if _may_have_value(text, caption)}
    return [caption for caption in printed if caption.key in with_values]


def _may_have_value(text: str, caption: PrintedCaption) -> bool:
    """Return whether a caption of a text may have a value in its field by the colon behind it."""
    if caption.is_of_trainee:
        return False
    return (
        not caption.needs_colon
        or any(
            _COLON_BEHIND.match(text, end)
            for _, end in fuzzy_phrases.find_occurrences(text, caption.text)
        )
        or _COLON_BEFORE_WORD.search(text) is not None
    )


def find_captioned_details(
    page: PageReading, captions: Iterable[PrintedCaption], language: str
) -> Iterator[Detail]:
    """Yield the details of a page that have one of the captions that it prints."""
    for _, of_field in groupby(captions, key=lambda caption: caption.key):
        # A part of a longer caption is none, as "name" in "patient name".
        found: list[TextSpan] = []
        for caption in of_field:
            for span in geometry.find_phrase(page, caption.text):
                if any(span.start < each.end and each.start < span.end for each in found):
                    continue
                found.append(span)
                if not caption.is_of_trainee:
                    yield from _find_values(page, span, caption, language)


@lru_cache(maxsize=16)
def _list_captions(
    language: str,
) -> tuple[frozenset[str], Mapping[str, Sequence[PrintedCaption]]]:
    """Return the letters of all captions, and the captions by their letters."""
    fields = find_fields(language)
    of_any_sentence = frozenset(fields["participant"].labels)
    trainees = frozenset(fields["participant_or_trainee_name"].labels)
    captions: dict[str, list[PrintedCaption]] = {}
    for place, key in enumerate(_CAPTIONS):
        labels = sorted(fields[key].labels, key=len, reverse=True)
        for rank, label in enumerate(labels):
            is_of_trainee = key == "participant" and label in trainees
            captions.setdefault(fuzzy_phrases.fold_letters(label), []).append(
                PrintedCaption(place, rank, key, label, label in of_any_sentence, is_of_trainee)
            )
    return frozenset(captions), captions


def _find_values(
    page: PageReading, span: TextSpan, printed: PrintedCaption, language: str
) -> Iterator[Detail]:
    """Yield the values of a caption. A word of any sentence is one only if it has a colon."""
    caption = _CAPTIONS[printed.key]
    last = page.words[span.end - 1].text
    beside = geometry.words_right_of(page, span)
    has_colon = last.endswith((":", "\uff1a")) or (
        bool(beside) and beside[0].text.startswith((":", "\uff1a"))
    )
    if printed.needs_colon and not has_colon:
        return
    cell = _near(span, beside, has_colon=has_colon)
    if detail := _read_detail(cell, caption, language, page, span):
        yield detail
        return
    # After a colon, the value would be to the right.
    if has_colon:
        return
    below = geometry.words_below(page, span)
    if detail := _read_detail(below, caption, language, page, span):
        yield detail
        yield from _read_column(page, span, caption, language, first=detail)


def _near(span: TextSpan, words: Sequence[Word], *, has_colon: bool) -> Sequence[Word]:
    """Return the words beside a caption, unless they are in another column of a table."""
    if has_colon or not words:
        return words
    height = span.box.bottom - span.box.top
    return words if words[0].box.left - span.box.right < max(60.0, 6 * height) else ()


def _read_column(
    page: PageReading, span: TextSpan, caption: _Caption, language: str, *, first: Detail
) -> Iterator[Detail]:
    """Yield the values of the other rows below the head of a column."""
    blank = rows = 0
    for line in geometry.lines_below(page, span):
        if not line or line[0].box.top < first.box.bottom - 1:
            continue
        rows += 1
        cell = geometry.first_cell(line)
        detail = _read_detail(cell, caption, language, page, span)
        blank = 0 if detail else blank + 1
        if blank > _MAX_BLANK_ROWS or rows > _MAX_ROWS:
            return
        if detail:
            yield detail


def _read_detail(
    words: Sequence[Word], caption: _Caption, language: str, page: PageReading, span: TextSpan
) -> Detail | None:
    """Return the detail with which a line begins, or None."""
    if not words:
        return None
    text = " ".join(word.text for word in words)
    start, end = _find_value(text, caption, language)
    covered = words_at(words, start, end)
    if not covered:
        return None
    value = text[start:end]
    captioned = " ".join(word.text for word in page.words[span.start : span.end])
    is_unique = (
        caption.kind is DetailKind.IDENTITY_NUMBER
        and _SOCIAL_SECURITY_CAPTION.search(captioned) is not None
        and _SOCIAL_SECURITY_NUMBER.match(value) is not None
    )
    return Detail(caption.kind, covered, caption.is_specific, value, is_unique)


def _find_value(text: str, caption: _Caption, language: str) -> tuple[int, int]:
    """Return where the value at the beginning of a text begins and ends; (0, 0) without one."""
    if caption.kind is DetailKind.BIRTH_DATE:
        written = next(dates.find_dates(text, short_years=True), None)
        if written is None or written.start > _MAX_CAPTION_GAP:
            return 0, 0
        return written.start, written.end
    start = _skip_gap(text)
    if caption.pattern:
        match = re.match(caption.pattern, text[start:])
        is_value = match is not None and (
            any(sign.isdigit() for sign in match[0]) or not is_caption(match[0], language)
        )
        if match is None or not is_value or _is_date(match[0]):
            return 0, 0
        return start, start + match.end()
    name = read_name(text[start:], language)
    if not name and caption.kind is DetailKind.NAME_PART:
        name = _read_name_part(text[start:], language)
    return (start, start + len(name)) if name else (0, 0)


def _is_date(text: str) -> bool:
    written = next(dates.find_dates(text), None)
    return written is not None and written.raw == text


def _skip_gap(text: str) -> int:
    match = re.match(_GAP, text)
    return match.end() if match else 0


def words_at(words: Sequence[Word], start: int, end: int) -> tuple[Word, ...]:
    """Return those of some words that have a character from `start` to before `end`.

    The numbers count characters of the words, joined by blanks.
    """
    covered, at = [], 0
    for word in words:
        if at < end and at + len(word.text) > start:
            covered.append(word)
        at += len(word.text) + 1
    return tuple(covered)


def read_name(text: str, language: str) -> str:
    """Return the full name of a person with which a text begins, or "" ."""
    match = _NAME.match(text)
    if match is None:
        return ""
    name = person_names.trim(match[0])
    if not person_names.is_full_name(name) or not person_names.may_be_name(name):
        return ""
    return "" if is_caption(name, language) or person_names.names_place(text, name) else name


def _read_name_part(text: str, language: str) -> str:
    match = _NAME_PART.match(text)
    if match is None or is_caption(match[0], language):
        return ""
    return match[0] if person_names.may_be_name(match[0]) else ""


_NAME = re.compile(person_names.PATTERN_AT_CAPTION)
_NAME_PART = re.compile(r"[^\W\d_a-z][^\W\d_]+(?:[-'\u2019 ][^\W\d_a-z][^\W\d_]+){0,2}(?![\w:])")


def is_caption(text: str, language: str) -> bool:
    """Return whether a text has a word of the captions of forms, so that it is no value."""
    words, phrases = _list_caption_words(language)
    folded = text.casefold().strip(" .:,;")
    if any(each in words for each in re.findall(r"[^\W\d_]+", folded)):
        return True
    return folded.startswith(phrases)


@lru_cache(maxsize=16)
def _list_caption_words(language: str) -> tuple[frozenset[str], tuple[str, ...]]:
    """Return the words of all captions, and the captions in scripts without spaces."""
    labels = [
        label.casefold()
        for spec in find_fields(language).values()
        for label in chain(spec.labels, spec.bracketed)
    ]
    words = (
        frozenset(
            word
            for label in labels
            for word in re.findall(r"[^\W\d_]+", label)
            if len(word) >= _MIN_CAPTION_WORD and not fuzzy_phrases.is_unspaced(word[0])
        )
        - _PARTICLES
        | _NO_VALUES
    )
    unspaced = tuple(label for label in labels if fuzzy_phrases.is_unspaced(label[:1]))
    return words, unspaced


# Words of captions that are also parts of names.
_PARTICLES = frozenset(re.findall(r"\w+", "van von der den del della dos das les ten mac"))
# Words of forms that are in no caption of a field.
_NO_VALUES = frozenset(
    re.findall(
        r"\w+",
        "print please block capitals initials time phone address page yes not applicable unknown"
        " none blank redacted insert enter xxx",
    )
)
