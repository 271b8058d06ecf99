"""The ways in which the values of fields are found in a document.

Each way yields the values that it finds, and says which kind of evidence led to them. `extraction`
joins and compares them. Values of form fields, at captions, in sentences and in the head of the
first page are searched here; `text_readings` and `head_readings` read the text and the head.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import chain, islice, product

from ingestion.reading.results import DocumentReading, PageReading, Word
from ingestion.rules import fuzzy_phrases
from ingestion.rules.document_types import DocumentType, FieldSpec
from ingestion.rules.fields import (
    course_names,
    geometry,
    head_readings,
    list_fields,
    names,
    person_names,
    placed_titles,
    study_titles,
    text_readings,
)
from ingestion.rules.fields.candidates import Candidate, Way
from ingestion.rules.fields.date_roles import DateRole
from ingestion.rules.fields.dates import find_dates
from ingestion.rules.fields.dates_in_context import DateInContext, dates_in_context
from ingestion.rules.fields.person_roles import find_investigators, find_people_in_head
from ingestion.rules.fields.reference_numbers import find_numbers, find_references
from ingestion.rules.fields.text_lines import TextLine, captions_of, line_gap, split_lines
from ingestion.rules.fields.values import (
    FORM_SOURCE,
    SCAN_SOURCES,
    FieldValue,
    lowest_confidence,
    parse_value,
    pattern_of,
    read_form_date,
    read_form_field,
    value_of_words,
)

_IsCertainPlace = Callable[[PageReading, geometry.TextSpan, FieldValue], bool]

LIST_KINDS = frozenset({"lines", "names"})
_TEXT_KINDS = frozenset({"text", "name", *LIST_KINDS})

_CONTEXT_WORDS = 12  # words before a caption in which `near` and `not_near` are searched
# Captions that are examined for one field. The limit bounds the time for a document that consists
# of nothing but captions.
_MAX_CAPTIONS_PER_FIELD = 200
_MAX_LISTS_PER_FIELD = 20  # captions of a list, each of which may have many lines
_MAX_LINES_BEFORE_NAME = 8  # lines from the top of page 1 that are examined for a name
_LETTERHEAD_SHARE = 0.4  # of the height of a page; the letterhead is above
_MAX_LINE_DROP = 80.0  # points below a caption within which large type may begin
_MAX_LINE_RISE = 16.0  # points above a caption within which the name ends that it belongs to
_MAX_BOARDS = 10  # committees named on page 1 that are compared
_RANK_OF_SENTENCES = 20  # behind the captions
_RANK_OF_GENERAL_NAMES = 40  # of committees, behind the names in sentences
_RANK_OF_ROLES = 8  # behind the usual captions
RANK_OF_REFERENCES = _RANK_OF_ROLES  # of the numbers that are named as those of the study
MAX_RANK_OF_REFERENCES = RANK_OF_REFERENCES + 4  # of the numbers with any other caption
_RANK_OF_TITLES = 2  # behind the captions of a title that name the study
_MAX_TITLE_PAGES = 2  # pages from the first one on that name the title of the study
_RANK_OF_PEOPLE = 4  # behind the captions of a person
_MAX_RANK_OF_NAMED = 1  # of a name that the text calls the investigator or a researcher
_MAX_PAGES_WITH_ROLES = 6  # pages on which investigators are searched in the text
_SENTENCE_WIDTH = 40.0  # points before a word in which the words of its sentence would stand
_MAX_OFFSET = 3.0  # points
_CELL_KINDS = frozenset({"name", "number"})  # whose values do not go on in the next column
_MAX_PAGES_WITH_CELLS = 2  # pages on which numbers are searched in the cells of tables
_MAX_CELL_LENGTH = 60  # characters
_HAS_NUMBER = re.compile(r"\d\D{0,3}\d\D{0,3}\d")
_SECOND_NUMBER = (  # other than that of a public register
    r"\((?!NCT|ISRCTN|EudraCT|IND)(?=[^()]*\d{3})[A-Z]{1,6}[\w:/.-]*\d\)"
)
_SIGN = re.compile(r"(?i)[#:]+|no\.?:?|number:?|id:?")
_NUMBER_OF_DOCUMENT = re.compile(
    r"(?i)(?:no\.?|number|serial no\.?|\#)[ :.]*(?P<number>(?=[\w/.-]*\d{3})\w[\w/.-]*\w)"
)  # in a cell of its own
_NUMBER_ALONE = re.compile(r"(?i)(?:number|no\.?|id|\#)")
_MAX_LINES_WITH_PHRASE = 3  # lines with a phrase of a course that are compared
_MAX_IN_HEAD = 20  # institutions in the head of page 1 that are compared
_CAPTION_GOES_ON = re.compile(
    r"(?i)^(?!(?:on|of|at|as|by|until|in|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec))[^\W\d_]{2,}"
)
_CV_WORDS = re.compile(
    r"(?i)^(?:(?:(?:curriculum|vitae?|cv|c\.v\.|r[e\u00e9]sum[e\u00e9]|biographical|biosketch|sketch|short|brief"
    r"|academic|professional|personal|details|profile|name|of|for)\b|[\s:,|/\u2022\u2013\u2014-])\s*)+"
)
_VERSION = re.compile(
    r"(?i)(?<![\w.])v(?:er(?:sion|\.)?|\.)?\s?(?:no\.?|number|\#|:)?\s?(?P<number>\d{1,2}(?:\.\d{1,3}){0,3})"
    r"(?![\w/-]|\.\d)"
)
_INVESTIGATOR_CAPTION = re.compile(
    r"(?i)(?:name of (?:the )?)?(?:(?:local|site|principal|chief|lead|coordinating|responsible)\s)*"
    r"(?:investigator|applicant|researcher)s?(?:\s?/\s?[\w-]+(?:\s[\w-]+)?)?(?:\sname)?"
    r"(?:\s?\([^)]*\))?\s?:?"
)
_PRINTED_NAME = re.compile(r"(?i)(?:printed |print |full )?name(?:\s?\([^)]*\))?\s?:?")
_VERSION_HEAD = re.compile(r"(?i)version(?: (?:no\.?|number))?:?")
_VERSION_CELL = re.compile(r"(?i)v?(?:ersion)?\.? ?(?P<number>\d{1,2}(?:\.\d{1,3}){0,2})")
_IN_ROW = (
    r"(?:(?:the|study|research|clinical|trial|final)\s+){0,2}"  # before the name of a document
)
_MISREAD_DIGIT = "[0-9OQDIl|SBZ]"
_MISREAD_LETTERS = {"D": "[D0O]", "I": "[I1l|]", "B": "[B8]"}

# The worth of each way, from 0 to 1, by which candidates are compared. A caption is worth less the
# later it stands among the captions of its field.
_SCORES = {
    Way.FORM: 1.0,
    Way.SHAPE: 0.98,
    Way.PLACE: 0.9,
    Way.TEXT: 0.88,
    Way.SENTENCE: 0.72,
    Way.HEADING: 0.6,
    Way.LETTER: 0.5,
    Way.TYPE: 0.5,
}
_SCORE_BY_RANK = 0.02  # by which the next caption of a field is worth less
_MIN_CAPTION_SCORE = 0.55  # of a caption of any rank; scores are between 0 and 1
_CAPTION_RANK_OF_OTHERS = 1000  # the rank of candidates without a caption


@dataclass(slots=True)
class SearchedDocument:
    """A document while its fields are read, with what several fields need."""

    reading: DocumentReading
    kind: DocumentType
    month_first: bool | None
    text: str = field(init=False)
    lines: dict[int, list[TextLine]] = field(default_factory=dict)
    dates: dict[int, list[DateInContext]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.text = self.reading.text

    def labels_of(self, spec: FieldSpec) -> Iterator[tuple[int, str]]:
        """Yield the captions of a field that the document may contain, with their ranks."""
        for rank, label in enumerate(spec.labels):
            if fuzzy_phrases.may_contain_phrase(self.text, label):
                yield rank, label

    def lines_of(self, page: PageReading) -> list[TextLine]:
        """Return the printed lines of a page."""
        if page.number not in self.lines:
            self.lines[page.number] = split_lines(page)
        return self.lines[page.number]

    def dates_of(self, page: PageReading) -> list[DateInContext]:
        """Return the dates of a page, each with what the words around it show."""
        if page.number not in self.dates:
            self.dates[page.number] = dates_in_context(
                page, self.lines_of(page), month_first=self.month_first
            )
        return self.dates[page.number]

    def is_printed(self, spec: FieldSpec, value: FieldValue) -> bool:
        """Return whether a text is part of the blank form, and so not a value."""
        if spec.kind not in _TEXT_KINDS:
            return False
        if spec.kind == "name" and not person_names.may_be_name(value.value):
            return True
        return self.kind.is_printed(value.value, is_name=spec.kind == "name")


@dataclass(frozen=True, slots=True)
class FoundValue:
    """A value that one or more ways led to, before it is compared with others."""

    value: FieldValue
    ways: frozenset[Way]
    rank: int = _CAPTION_RANK_OF_OTHERS

    @property
    def is_agreed(self) -> bool:
        return Candidate("", self.ways, 0.0).is_agreed

    def with_best_way(self) -> "FoundValue":
        """Return the value with the way that is worth most only."""
        best = max(sorted(self.ways), key=lambda way: _SCORES.get(way, 0.0))
        return replace(self, ways=frozenset({best}))

    @property
    def score(self) -> float:
        best = max(_SCORES.get(way, 0.0) for way in self.ways)
        if self.rank == _CAPTION_RANK_OF_OTHERS:
            return best
        return max(best - _SCORE_BY_RANK * self.rank, _MIN_CAPTION_SCORE - self.rank / 1e4)


def add_found(found: dict[str, FoundValue], each: FoundValue) -> None:
    """Add a value to those of its field, or its ways to the same value that is there."""
    key = key_of(each.value)
    known = found.get(key)
    if known is None:
        found[key] = each
    else:
        better = known if known.score >= each.score else each
        rank = min(known.rank, each.rank)
        found[key] = replace(better, ways=known.ways | each.ways, rank=rank)


def key_of(value: FieldValue) -> str:
    """Return the key by which two readings are the same value: the day, or the folded letters."""
    return value.value if value.day else fuzzy_phrases.fold_letters(value.value)


def _in_form(document: SearchedDocument, spec: FieldSpec) -> Iterator[FoundValue]:
    """Yield the value that the form fields of the PDF have for a field."""
    if spec.kind == "date":
        if value := read_form_date(
            spec.name, document.reading, spec.form, month_first=document.month_first
        ):
            yield FoundValue(value, frozenset({Way.FORM}))
    elif (written := read_form_field(document.reading, spec.form)) and (
        match := re.search(pattern_of(spec), written)
    ):
        value = FieldValue(spec.name, match[0].strip(), 0, FORM_SOURCE, 100.0)
        yield FoundValue(value, frozenset({Way.FORM}))


def _by_shape(document: SearchedDocument, spec: FieldSpec) -> Iterator[FoundValue]:
    for page in document.reading.pages:
        for value in islice(_values_of_shape(page, spec), 1):
            yield FoundValue(value, frozenset({Way.SHAPE}))
            return


def _in_heading(document: SearchedDocument, spec: FieldSpec) -> Iterator[FoundValue]:
    """Yield the topmost lines of page 1 that contain a heading phrase of the field."""
    if not spec.heading:
        return
    for page in document.reading.pages[:1]:
        lines = document.lines_of(page)
        for value in islice(head_readings.lines_with_heading(page, lines, spec), _MAX_BOARDS):
            if names.names_institution(value.value):
                yield FoundValue(value, frozenset({Way.HEADING}))
                break
            # "Ethics committee" alone counts only if no sentence has the whole name.
            yield FoundValue(value, frozenset({Way.HEADING}), _RANK_OF_GENERAL_NAMES)
        boards = islice(head_readings.boards_in_text(page, lines, spec), _MAX_BOARDS)
        for number, value in enumerate(boards):
            yield FoundValue(value, frozenset({Way.SENTENCE}), _RANK_OF_SENTENCES + number)


def _at_bracketed_captions(document: SearchedDocument, spec: FieldSpec) -> Iterator[FoundValue]:
    """Yield the text before captions in brackets, as in "Basic course" above "(Stage)".

    The same captions may stand before the text, with a colon. The texts of several captions are
    joined by a stroke.
    """
    for page in document.reading.pages[:1] if spec.bracketed else ():
        parts: list[str] = []
        first: TextLine | None = None
        is_confirmed = True
        lines = document.lines_of(page)
        for label in spec.bracketed:
            for at, line in enumerate(lines):
                found = _text_of_bracketed(label, line, _line_before(at, lines), page.text)
                if found is None:
                    continue
                text, used, is_in_order = found
                if text not in parts:
                    parts.append(text)
                first = first or used
                is_confirmed &= is_in_order
        if first:
            ways = {Way.PLACE, Way.TEXT} if is_confirmed else {Way.PLACE}
            value = _value_of_line(page, first.words, spec)
            yield FoundValue(replace(value, value=" / ".join(parts)), frozenset(ways), 0)


def _line_before(at: int, lines: Sequence[TextLine]) -> TextLine | None:
    """Return the text to the left of a line, or else the line above it."""
    box = lines[at].box
    beside = [
        each
        for each in lines[max(0, at - 2) : at + 3]
        if each.box.right <= box.left and geometry.is_level_with(each.box, box)
    ]
    if beside:
        return max(beside, key=lambda each: each.box.right)
    return lines[at - 1] if at else None


def _text_of_bracketed(
    label: str, line: TextLine, previous: TextLine | None, page_text: str
) -> tuple[str, TextLine, bool] | None:
    """Return the text that a line has a caption for, its line, and whether the text agrees."""
    text, bracketed = line.text.strip(), f"({label})".casefold()
    folded = text.casefold()
    if folded == bracketed and previous:
        text = previous.text.strip()
        is_in_order = any(f"{text}{gap}{line.text}" in page_text for gap in "\n ")
        return text, previous, is_in_order
    if folded.endswith(bracketed):
        return text[: -len(bracketed)].strip(), line, True
    is_value = previous and previous.text.strip(" \u2022*-").casefold() == f"{label}:".casefold()
    if is_value and previous and geometry.is_level_with(previous.box, line.box):
        return text, line, f"{previous.text} {line.text}" in page_text
    plain = text.lstrip(" \u2022*-")
    if plain.casefold().startswith(f"{label}: ".casefold()):
        return plain[len(label) + 1 :].strip(), line, True
    return None


def _at_captions(document: SearchedDocument, spec: FieldSpec) -> Iterator[FoundValue]:
    """Yield the values at the captions of a field, the most specific caption first.

    Once a value at a caption was found in two ways, less specific captions are not examined.
    """
    examined = 0
    for rank, label in document.labels_of(spec):
        by_label: dict[str, FoundValue] = {}
        for page in document.reading.pages:
            is_limit_reached = examined >= _MAX_CAPTIONS_PER_FIELD
            if is_limit_reached or not fuzzy_phrases.contains_phrase(page.text, label):
                continue
            captions = geometry.find_phrase(page, label)
            for caption in islice(captions, _MAX_CAPTIONS_PER_FIELD - examined):
                examined += 1
                if each := _at_caption(document, page, caption, spec, rank):
                    add_found(by_label, each)
            for value in text_readings.values_after_caption(
                page, label, spec, month_first=document.month_first
            ):
                add_found(by_label, FoundValue(value, frozenset({Way.TEXT}), rank))
        found = [each for each in by_label.values() if not document.is_printed(spec, each.value)]
        yield from found
        yield from _with_second_numbers(document, spec, found)
        if any(each.is_agreed for each in found):
            return


def _at_caption(
    document: SearchedDocument,
    page: PageReading,
    caption: geometry.TextSpan,
    spec: FieldSpec,
    rank: int,
) -> FoundValue | None:
    """Return the value beside or below one occurrence of a caption, or None."""
    if not is_in_context(page, caption, spec) or not _is_isolated(page, caption, spec):
        return None
    if not geometry.is_in_one_column(page, caption):
        return None
    for run, is_certain_place in _places_at(document, page, caption, spec):
        words = _first_cell(run) if spec.kind in _CELL_KINDS else run
        value = _value_in(page, words, spec, month_first=document.month_first)
        if value and not document.is_printed(spec, value):
            ways = {Way.PLACE}
            if spec.kind != "text" and is_certain_place(page, caption, value):
                ways.add(Way.ALIGNED)
            return FoundValue(value, frozenset(ways), rank)
    has_value = geometry.words_right_of(page, caption) or geometry.words_below(page, caption)
    if spec.kind != "name" or has_value:
        return None
    return _name_above(page, document.lines_of(page), caption, spec, rank)


def _with_second_numbers(
    document: SearchedDocument, spec: FieldSpec, found: Iterable[FoundValue]
) -> Iterator[FoundValue]:
    """Yield the references that have the number of another series in brackets behind them, with it.

    Only a person can say whether "HS24610" or "HS24610 (H2020:187)" names the study.
    """
    for each in found if spec.is_reference else ():
        number = re.escape(each.value.value)
        if match := re.search(rf"(?<!\w){number} {_SECOND_NUMBER}", document.text):
            yield replace(each, value=replace(each.value, value=match[0]))


def _places_at(
    document: SearchedDocument, page: PageReading, caption: geometry.TextSpan, spec: FieldSpec
) -> Iterator[tuple[Sequence[Word], _IsCertainPlace]]:
    """Yield the words at the places where a value of a caption may stand, one by one.

    Each place comes with the test of whether a value is exactly there.
    """
    yield geometry.words_right_of(page, caption), _is_beside
    if spec.kind == "name" and not geometry.has_no_text_after(page, caption):
        return  # the sentence goes on beside it
    below = geometry.words_below(page, caption)
    yield () if _has_caption_before(page, below) else below, _is_aligned
    yield _line_below(document.lines_of(page), caption), _is_aligned


def _has_caption_before(page: PageReading, words: Sequence[Word]) -> bool:
    """Return whether another caption, with a colon, stands before some words in their line."""
    return bool(words) and any(
        word.text.endswith(":")
        and word.box.right < words[0].box.left
        and geometry.is_level_with(word.box, words[0].box)
        for word in page.words
    )


def _is_beside(page: PageReading, caption: geometry.TextSpan, value: FieldValue) -> bool:
    """Return whether a value stands level with a caption that ends with a colon."""
    return (
        value.box is not None
        and page.words[caption.end - 1].text.endswith(":")
        and geometry.is_level_with(page.words[caption.end - 1].box, value.box)
    )


def _is_aligned(_page: PageReading, caption: geometry.TextSpan, value: FieldValue) -> bool:
    """Return whether a value below a caption has its left edge, or its centre."""
    if value.box is None:
        return False
    one, other = caption.box, value.box
    centres = (one.left + one.right) - (other.left + other.right)
    return abs(one.left - other.left) < _MAX_OFFSET or abs(centres) < 4 * _MAX_OFFSET


def _line_below(lines: Sequence[TextLine], caption: geometry.TextSpan) -> Sequence[Word]:
    """Return the words of the next line below a caption, which may be of a larger type."""
    box = caption.box
    below = [
        line
        for line in lines
        if box.bottom - 2 < line.box.top < box.bottom + _MAX_LINE_DROP
        and line.box.left < box.right
        and line.box.right > box.left
    ]
    return min(below, key=lambda line: line.box.top).words if below else ()


def _first_cell(words: Sequence[Word]) -> Sequence[Word]:
    """Return the words up to the next column. A sign such as "#" belongs to the caption."""
    start = next((at for at, word in enumerate(words) if not _SIGN.fullmatch(word.text)), 0)
    return geometry.first_cell(words[start:])


def _name_above(
    page: PageReading,
    lines: Sequence[TextLine],
    caption: geometry.TextSpan,
    spec: FieldSpec,
    rank: int,
) -> FoundValue | None:
    """Return the name directly above a caption, at its left edge, as on a line to write on."""
    box = caption.box
    above = [
        line
        for line in lines
        if box.top - _MAX_LINE_RISE < line.box.bottom < box.top + 2
        and abs(line.box.left - box.left) < _MAX_OFFSET
    ]
    line = max(above, key=lambda line: line.box.bottom, default=None)
    if line is None or not (name := person_names.find_name_line(line.text)):
        return None
    value = replace(_value_of_line(page, line.words, spec), value=name)
    return FoundValue(value, frozenset({Way.PLACE}), rank)


def _in_sentences(document: SearchedDocument, spec: FieldSpec) -> Iterator[FoundValue]:
    if spec.sentences:
        for page in document.reading.pages:
            for value in text_readings.values_in_sentences(
                page, spec, month_first=document.month_first
            ):
                yield FoundValue(value, frozenset({Way.SENTENCE}))


def _by_role(document: SearchedDocument, spec: FieldSpec) -> Iterator[FoundValue]:
    """Yield the dates whose words show one of the roles of the field, an earlier role first."""
    if not spec.roles:
        return
    found = [each for page in document.reading.pages for each in document.dates_of(page)]
    for rank, role in enumerate(map(DateRole, spec.roles), _RANK_OF_ROLES):
        # The date of a letter below its heading shows only when it was written.
        of_role = [
            each for each in found if each.role is role and not (each.is_alone and spec.letter_date)
        ]
        at_captions = {each.value.value for each in of_role if len(each.ways) > 1}
        for each in of_role:
            if rank > _RANK_OF_ROLES and role is DateRole.BEGINNING and Way.PLACE not in each.ways:
                continue  # in a sentence, anything may begin
            if spec.not_near and fuzzy_phrases.contains_phrase(each.before, spec.not_near):
                continue
            # Of several days of one role, none is without doubt.
            ways = each.ways if len(at_captions) == 1 else frozenset({Way.SENTENCE})
            yield FoundValue(replace(each.value, name=spec.name), ways, rank)


def _in_role(document: SearchedDocument, spec: FieldSpec) -> Iterator[FoundValue]:
    """Yield the names that words of an investigator's role stand beside.

    A name that two places call an investigator, and no other name, is confirmed by itself.
    """
    pages = document.reading.pages[:_MAX_PAGES_WITH_ROLES] if spec.is_investigator else ()
    found = [(page, each) for page in pages for each in find_investigators(page.text)]
    named = [each.name for _, each in found if each.rank <= _MAX_RANK_OF_NAMED]
    is_confirmed = len(named) > 1 and all(names.is_same_person(named[0], each) for each in named)
    for page, each in found:
        value = text_readings.value_of_text(page, spec, each.name)
        ways = {Way.SENTENCE}
        if is_confirmed and each.rank <= _MAX_RANK_OF_NAMED:
            ways.add(Way.REPEATED)
        yield FoundValue(value, frozenset(ways), _RANK_OF_PEOPLE + 2 * each.rank)
    for page in pages[:1]:
        head = [
            line.text
            for line in document.lines_of(page)
            if line.box.bottom < _LETTERHEAD_SHARE * page.height
        ]
        for name in find_people_in_head(head):
            value = text_readings.value_of_text(page, spec, name)
            yield FoundValue(value, frozenset({Way.HEADING}), _RANK_OF_PEOPLE - 1)


def _titles(document: SearchedDocument, spec: FieldSpec) -> Iterator[FoundValue]:
    """Yield the titles of studies at captions, behind "Re:" and between quotation marks."""
    for page in document.reading.pages[:_MAX_TITLE_PAGES] if spec.is_title else ():
        lines = page.text.split("\n")
        at_captions = [*study_titles.titles_at_captions(lines)]
        by_place = [*placed_titles.find_titles_by_place(document.lines_of(page))]
        # The places show better than the order of the text where a title ends.
        at_captions = [placed_titles.shorten(title, by_place) for title in at_captions]
        printed, gap = document.lines_of(page), line_gap(document.lines_of(page))
        placed = set(map(fuzzy_phrases.fold_letters, by_place))
        for rank, (titles, way) in enumerate(
            (
                (at_captions, Way.TEXT),
                (by_place if not at_captions else [], Way.PLACE),
                (study_titles.quoted_titles(page.text), Way.SENTENCE),
                (study_titles.titles_of_subjects(lines), Way.SENTENCE),
                (study_titles.titles_in_sentences(page.text), Way.SENTENCE),
                (study_titles.titles_without_sign(lines), Way.SENTENCE),
            ),
            _RANK_OF_TITLES,
        ):
            for title in titles:
                title = placed_titles.end_at_paragraph(title, printed, gap)  # noqa: PLW2901 - shortened
                ways = {way}
                if way is Way.TEXT and fuzzy_phrases.fold_letters(title) in placed:
                    ways.add(Way.PLACE)
                elif way is Way.PLACE and study_titles.follows_caption(page.text, title):
                    ways.add(Way.TEXT)
                value = text_readings.value_of_text(page, spec, title)
                yield FoundValue(value, frozenset(ways), rank)


def _at_number_words(document: SearchedDocument, spec: FieldSpec) -> Iterator[FoundValue]:
    """Yield the numbers behind captions with the words of the field, as "Credential ID"."""
    for page in document.reading.pages if spec.number_words else ():
        for each in find_numbers(page.text, spec.number_words):
            if not next(find_dates(each.text, short_years=True), None):
                value = text_readings.value_of_text(page, spec, each.text)
                yield FoundValue(value, frozenset({Way.SENTENCE}), _RANK_OF_ROLES)
        for line in document.lines_of(page):
            if alone := _NUMBER_OF_DOCUMENT.fullmatch(line.text):
                value = _value_of_line(page, line.words, spec)
                value = replace(value, value=alone["number"])
                yield FoundValue(value, frozenset({Way.PLACE}), _RANK_OF_GENERAL_NAMES)


def _in_cells(document: SearchedDocument, spec: FieldSpec) -> Iterator[FoundValue]:
    """Yield the numbers of the committee or institution in the cells of tables."""
    for page in document.reading.pages[:_MAX_PAGES_WITH_CELLS] if spec.is_reference else ():
        for number, rank in _references_in_cells(document.lines_of(page)):
            if re.fullmatch(pattern_of(spec), number):
                value = text_readings.value_of_text(page, spec, number)
                value = replace(value, is_own_reference=True)
                yield FoundValue(value, frozenset({Way.PLACE}), _RANK_OF_SENTENCES + 2 * rank)


def _at_reference_signs(document: SearchedDocument, spec: FieldSpec) -> Iterator[FoundValue]:
    """Yield the numbers of the committee or institution, those with a clear caption first."""
    for page in document.reading.pages if spec.is_reference else ():
        for each in find_references(page.text):
            if not re.fullmatch(pattern_of(spec), each.text):
                continue
            span = next(geometry.find_phrase(page, each.text), None)
            confidence, box = (span.confidence, span.box) if span else (page.confidence, None)
            value = FieldValue(
                spec.name,
                each.text,
                page.number,
                page.source,
                confidence,
                box,
                is_own_reference=True,
            )
            yield FoundValue(value, frozenset({Way.SENTENCE}), _RANK_OF_ROLES + 2 * each.rank)


def _investigators_in_cells(document: SearchedDocument, spec: FieldSpec) -> Iterator[FoundValue]:
    """Yield the names in the cells beside or below captions such as "Applicant (or student)"."""
    for page in document.reading.pages[:_MAX_PAGES_WITH_CELLS] if spec.is_investigator else ():
        lines = document.lines_of(page)
        for line in lines:
            if not (name := person_names.find_name_line(line.text)):
                continue
            for caption in captions_of(line.box, lines):
                is_print = _PRINTED_NAME.fullmatch(caption.text) and _is_of_investigator(
                    caption, lines
                )
                if is_print or _INVESTIGATOR_CAPTION.fullmatch(caption.text):
                    value = _value_of_line(page, line.words, spec)
                    yield FoundValue(
                        replace(value, value=name), frozenset({Way.PLACE}), _RANK_OF_PEOPLE
                    )
                    break


def _is_of_investigator(caption: TextLine, lines: Sequence[TextLine]) -> bool:
    """Return whether the text above the caption of a name is about an investigator only."""
    above = [
        line.text.casefold()
        for line in lines
        if caption.box.top - _MAX_LINE_DROP < line.box.top < caption.box.top
    ]
    return any("investigator" in text for text in above) and not any(
        "sponsor" in text for text in above
    )


def _references_in_cells(lines: Sequence[TextLine]) -> Iterator[tuple[str, int]]:
    """Yield the numbers beside or below a caption in another cell, with its rank."""
    for line in lines:
        if len(line.text) > _MAX_CELL_LENGTH or not _HAS_NUMBER.search(line.text):
            continue
        own = list(find_references(line.text))
        if len(own) == 1 and own[0].end == len(line.text) and ":" in line.text[: own[0].start]:
            yield own[0].text, own[0].rank  # a line that consists of a caption and a number
            continue
        for caption in captions_of(line.box, lines):
            text = caption.text.strip(" :")
            if len(text) > _MAX_CELL_LENGTH:
                continue
            # "Number" alone is a caption in the head of a column only.
            before = f"Reference {text}" if _NUMBER_ALONE.fullmatch(text) else text
            found = list(find_references(f"{before}: {line.text}"))
            if len(found) == 1 and found[0].start == len(before) + 2:
                yield found[0].text, found[0].rank
                break


def _in_letter(document: SearchedDocument, spec: FieldSpec) -> Iterator[FoundValue]:
    """Yield the date of a letter, or the person to whom it is addressed."""
    for page in document.reading.pages[:1]:
        if spec.letter_date:
            is_fallback = spec.letter_date == "fallback"
            ways = {Way.LETTER} if is_fallback else {Way.LETTER, Way.HEADING}
            others = {
                each.value.value
                for each in document.dates_of(page)
                if spec.roles and Way.PLACE in each.ways and each.role not in spec.roles
            }
            for value in head_readings.dates_of_letter(
                page, document.lines_of(page), spec, month_first=document.month_first
            ):
                if value.value not in others:
                    yield FoundValue(value, frozenset(ways))
        if spec.addressee:
            lines = document.lines_of(page)
            for value, is_greeted in head_readings.addressees(page, lines, spec):
                ways = {Way.LETTER, Way.TEXT} if is_greeted else {Way.LETTER}
                yield FoundValue(value, frozenset(ways))


def _at_top(document: SearchedDocument, spec: FieldSpec) -> Iterator[FoundValue]:
    """Yield the names at the top of page 1, and those in the largest type.

    A name that is all of the topmost line needs no other evidence.
    """
    for page in document.reading.pages[:1]:
        for number, value in enumerate(_names_at_top(page, spec) if spec.alone else ()):
            if value is not None:
                ways = {Way.HEADING, Way.PLACE} if number == 0 else {Way.HEADING}
                yield FoundValue(value, frozenset(ways))
        if spec.alone or spec.is_large:
            lines = document.lines_of(page)
            if spec.is_large:
                for value in islice(head_readings.name_lines(page, lines, spec), _MAX_IN_HEAD):
                    yield FoundValue(value, frozenset({Way.HEADING}), _RANK_OF_PEOPLE)
            for value in islice(head_readings.largest_names(page, lines, spec), 1):
                yield FoundValue(value, frozenset({Way.TYPE}))


def _in_head(document: SearchedDocument, spec: FieldSpec) -> Iterator[FoundValue]:
    """Yield the institution, or the title of the study, in the head of page 1."""
    for page in document.reading.pages[:1]:
        values: Iterator[FieldValue] = iter(())
        if spec.is_institution:
            values = head_readings.institutions(page, document.lines_of(page), spec)
        elif spec.is_title:
            lines = document.lines_of(page)
            values = chain(
                head_readings.titles_beside_heading(page, lines, spec),
                head_readings.subject_titles(page, lines, spec),
            )
        elif spec.is_laboratory:
            values = head_readings.laboratories(page, document.lines_of(page), spec)
        for value in islice(values, _MAX_IN_HEAD):
            yield FoundValue(value, frozenset({Way.HEADING}))


def _versions(document: SearchedDocument, spec: FieldSpec) -> Iterator[FoundValue]:
    """Yield the numbers behind "v" or "version", as in "v2.1"."""
    for page in document.reading.pages if spec.is_version else ():
        for match in islice(_VERSION.finditer(page.text), _MAX_IN_HEAD):
            before = page.text[max(0, match.start() - text_readings.CONTEXT_LENGTH) : match.start()]
            if spec.not_near and fuzzy_phrases.contains_phrase(before, spec.not_near):
                continue
            value = text_readings.value_of_text(page, spec, match["number"])
            yield FoundValue(value, frozenset({Way.SENTENCE}), _RANK_OF_ROLES)


def _versions_in_tables(document: SearchedDocument, spec: FieldSpec) -> Iterator[FoundValue]:
    """Yield the versions of a document in the tables that list documents with their versions.

    The version stands in the row of the document, below the head of its column.
    """
    for page in document.reading.pages if spec.version_of else ():
        lines = document.lines_of(page)
        heads = [line for line in lines if _VERSION_HEAD.fullmatch(line.text)]
        rows = [line for line in lines if re.match(rf"(?i){_IN_ROW}{spec.version_of}\b", line.text)]
        for head, row in product(heads, rows):
            if head.box.left < row.box.right or head.box.top >= row.box.top:
                continue
            for cell in lines:
                is_in_column = cell.box.left < head.box.right and cell.box.right > head.box.left
                number = _VERSION_CELL.fullmatch(cell.text)
                if number and is_in_column and geometry.is_level_with(row.box, cell.box):
                    value = _value_of_line(page, cell.words, spec)
                    is_in_order = f"{row.text} {cell.text}" in " ".join(page.text.split())
                    ways = {Way.PLACE, Way.TEXT} if is_in_order else {Way.PLACE}
                    value = replace(value, value=number["number"])
                    yield FoundValue(value, frozenset(ways), _RANK_OF_ROLES)


def _in_lines(document: SearchedDocument, spec: FieldSpec) -> Iterator[FoundValue]:
    """Yield the lines that contain one of the phrases by which the field is known."""
    for page in document.reading.pages if spec.line_with else ():
        for phrase in spec.line_with:
            spans = list(islice(geometry.find_phrase(page, phrase), _MAX_LINES_WITH_PHRASE))
            runs = [geometry.text_run_at(page, span) for span in spans]
            for words in runs:
                if text := course_names.in_sentence(page.text, phrase, words):
                    named = text_readings.value_of_text(page, spec, text)
                    yield FoundValue(named, frozenset({Way.SENTENCE}))
                    return
            for words in runs[:1]:
                if value := _value_in(page, words, spec, month_first=document.month_first):
                    yield FoundValue(value, frozenset({Way.HEADING}))
                    return


def read_list(document: SearchedDocument, spec: FieldSpec) -> FieldValue | None:
    """Return the entries of a list field that are not part of the blank form, or None."""
    reading, kind = document.reading, document.kind
    captions = (
        (page, caption)
        for label in spec.labels
        for page in reading.pages
        for caption in geometry.find_phrase(page, label)
    )
    text = read_form_field(reading, spec.form)
    found: list[FieldValue] = []
    if entries := list(list_fields.split_entries(text, spec, person_names.PATTERN)):
        joined = list_fields.join_entries(entries)
        found.append(FieldValue(spec.name, joined, 0, FORM_SOURCE, 100.0))
    at_captions = (
        value
        for page, caption in islice(captions, _MAX_LISTS_PER_FIELD)
        if is_in_context(page, caption, spec)
        for value in _lists_at_caption(page, caption, spec)
    )
    is_name = spec.kind == "names"
    for value in (each for source in (found, at_captions) for each in source):
        entries = [
            entry
            for entry in value.entries
            if entry == list_fields.NONE_ENTRY or not kind.is_printed(entry, is_name=is_name)
        ]
        if entries:
            return replace(value, value=list_fields.join_entries(entries))
    return None


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


def _lists_at_caption(
    page: PageReading, caption: geometry.TextSpan, spec: FieldSpec
) -> Iterator[FieldValue]:
    """Yield the entries below a caption; for a numbered box, also those beside it."""
    if _is_isolated(page, caption, spec) and (
        found := list_fields.read_entries_below(page, caption, spec, person_names.PATTERN)
    ):
        words = [word for _, line in found for word in line]
        yield _value_of_entries(page, [entry for entry, _ in found], words, spec)
    if spec.box:
        # An entry, such as "None", may be written beside the caption.
        line = geometry.words_right_of(page, caption)
        text = " ".join(word.text for word in line)
        if entries := list(list_fields.split_entries(text, spec, person_names.PATTERN)):
            yield _value_of_entries(page, entries, line, spec)


def _is_isolated(page: PageReading, caption: geometry.TextSpan, spec: FieldSpec) -> bool:
    """Return whether a caption is not part of a sentence or of a heading."""
    first, last = page.words[caption.start].box, page.words[caption.end - 1].box
    is_broken = spec.kind == "date" and not geometry.is_on_same_line(first, last)
    if is_broken and not geometry.has_no_text_before(
        page, geometry.span_of_word(page, page.words[caption.start])
    ):
        return False  # the end of a heading and the beginning of the line below it
    if spec.kind == "date" and caption.end == caption.start + 1:
        left, word = page.words[: caption.start], page.words[caption.start]
        following = geometry.words_right_of(page, caption)[:1]
        if any(
            geometry.is_followed_by(word.box, each.box) and _CAPTION_GOES_ON.match(each.text)
            for each in following
        ):
            return False  # "Date" in "Date received"
        return word.text.endswith(":") or not any(
            geometry.is_on_same_line(each.box, word.box)
            and word.box.left - _SENTENCE_WIDTH < each.box.right <= word.box.left
            for each in left
        )
    has_colon = page.words[caption.end - 1].text.endswith(":")
    if spec.kind == "name" and caption.end > caption.start + 1 and has_colon:
        return True
    if spec.kind in {"text", "name", "names"} and not geometry.has_no_text_before(page, caption):
        return False
    return spec.kind not in {"text", "names"} or geometry.has_no_text_after(page, caption)


def _value_of_entries(
    page: PageReading, entries: Sequence[str], words: Sequence[Word], spec: FieldSpec
) -> FieldValue:
    value, box = list_fields.join_entries(entries), geometry.bounding_box(words)
    return FieldValue(spec.name, value, page.number, page.source, lowest_confidence(words), box)


def _names_at_top(page: PageReading, spec: FieldSpec) -> Iterator[FieldValue | None]:
    """Yield for each line at the top of a page the name that it consists of, or None.

    Words such as "Curriculum vitae of" before the name do not count.
    """
    high = [word for word in page.words if word.box.bottom < _LETTERHEAD_SHARE * page.height]
    first_words = geometry.first_words_of_runs(high)
    first_words.sort(key=lambda word: word.box.top)
    for word in first_words[:_MAX_LINES_BEFORE_NAME]:
        line = geometry.text_run_at(page, geometry.span_of_word(page, word))
        value = _value_of_line(page, line, spec)
        plain = _CV_WORDS.sub("", value.value)
        value = replace(value, value=person_names.trim(plain) if plain != value.value else plain)
        is_name = len(line) > 1 and re.fullmatch(person_names.PATTERN, value.value)
        yield value if is_name else None


def _value_of_line(page: PageReading, line: Sequence[Word], spec: FieldSpec) -> FieldValue:
    """Return the text of some words as the value of a field."""
    text, box = " ".join(word.text for word in line), geometry.bounding_box(line)
    return FieldValue(spec.name, text, page.number, page.source, lowest_confidence(line), box)


def _value_in(
    page: PageReading, words: Sequence[Word], spec: FieldSpec, *, month_first: bool | None
) -> FieldValue | None:
    """Return the value with which a run of words beside or below a caption begins, or None."""
    if not words:
        return None
    text, is_scan = " ".join(word.text for word in words), page.source in SCAN_SOURCES
    parsed = parse_value(text, spec, month_first=month_first, is_scan=is_scan)
    return value_of_words(spec.name, page, words, parsed) if parsed else None


def is_in_context(page: PageReading, caption: geometry.TextSpan, spec: FieldSpec) -> bool:
    """Return whether the text up to a caption contains `near` and does not contain `not_near`."""
    if not spec.near and not spec.not_near:
        return True
    words = page.words[max(0, caption.start - _CONTEXT_WORDS) : caption.end]
    text = " ".join(word.text for word in words)
    if spec.near and not fuzzy_phrases.contains_phrase(text, spec.near):
        return False
    return not (spec.not_near and fuzzy_phrases.contains_phrase(text, spec.not_near))


# The ways to a value, the surest first.
SEARCHES: tuple[Callable[[SearchedDocument, FieldSpec], Iterator[FoundValue]], ...] = (
    _in_form,
    _by_shape,
    _at_bracketed_captions,
    _in_heading,
    _at_captions,
    _in_sentences,
    _by_role,
    _in_role,
    _investigators_in_cells,
    _titles,
    _at_number_words,
    _in_cells,
    _at_reference_signs,
    _versions,
    _versions_in_tables,
    _in_letter,
    _at_top,
    _in_head,
    _in_lines,
)
