"""Finds values in the head of page 1: names of persons, committees, institutions, dates, titles."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice

from ingestion.reading.results import PageReading
from ingestion.rules.document_types import FieldSpec
from ingestion.rules.fields import geometry, text_readings
from ingestion.rules.fields.candidates import Way
from ingestion.rules.fields.date_words import DateRole
from ingestion.rules.fields.dates_in_context import DateInContext
from ingestion.rules.fields.heads import (
    head_institutions,
    head_persons,
    head_titles,
    letter_dates,
)
from ingestion.rules.fields.heads.layout import LETTERHEAD_SHARE
from ingestion.rules.fields.persons import person_names
from ingestion.rules.fields.searches.found_values import (
    RANK_OF_GENERAL_NAMES,
    RANK_OF_PEOPLE,
    RANK_OF_SENTENCES,
    FoundValue,
)
from ingestion.rules.fields.searches.searched_document import SearchedDocument
from ingestion.rules.fields.values import FieldValue, value_of_line

_MAX_LINES_BEFORE_NAME = 8  # lines from the top of page 1 that are examined for a name
_MAX_PAGES_WITH_BOARDS = 2
_MAX_BOARDS = 10  # committees named on page 1 that are compared
_RANK_OF_ACTING_BOARDS = 7  # of committees that decide in a sentence, behind a whole heading
_MAX_IN_HEAD = 20  # institutions in the head of page 1 that are compared
_CV_WORDS = re.compile(
    r"(?i)^(?:(?:(?:curriculum|vitae?|cv|c\.v\.|r[e\u00e9]sum[e\u00e9]|biographical|biosketch|sketch|short|brief"
    r"|academic|professional|personal|details|profile|name|of|for)\b|[\s:,|/\u2022\u2013\u2014-])\s*)+"
)


# What is approved from the date of the letter on.
_FROM_LETTER = re.compile(
    r"(?i)\b(?:approv|granted|valid|effective|opinion|clearance)[^.;:]{0,60}?\s(?:from|on|as of)\s"
    r"the\sdate\sof\sthis\s(?:letter|notice|notification|e-?mail|memo\w*|approval|certificate)\b"
)


def search_heading_phrases(document: SearchedDocument, spec: FieldSpec) -> Iterator[FoundValue]:
    """Yield the topmost lines of page 1 that contain a heading phrase of the field.

    If page 1 names no committee, one may describe itself on page 2.
    """
    if not spec.heading:
        return
    has_heading = False
    for page in document.reading.pages[:_MAX_PAGES_WITH_BOARDS]:
        lines = document.lines_of(page)
        boards = list(islice(head_institutions.find_boards_in_text(page, lines, spec), _MAX_BOARDS))
        acting = [
            name
            for name in islice(head_institutions.find_acting_boards(page.text), _MAX_BOARDS)
            if not any(name in board.value for board in boards)
        ]
        for name in acting:
            value = text_readings.value_of_text(page, spec, name)
            yield FoundValue(value, frozenset({Way.SENTENCE}), _RANK_OF_ACTING_BOARDS)
        headings = head_institutions.find_headings(page, lines, spec) if page.number == 1 else ()
        for value in islice(headings, _MAX_BOARDS):
            has_heading = True
            # In an English letter, the text may have the English name of the letterhead.
            is_translated = acting and not head_institutions.is_in_english(value.value)
            if not is_translated and head_institutions.names_whole_board(value.value):
                yield FoundValue(value, frozenset({Way.HEADING}))
                break
            # "Ethics committee" alone counts only if no sentence has the whole name.
            yield FoundValue(value, frozenset({Way.HEADING}), RANK_OF_GENERAL_NAMES)
        for number, value in enumerate(boards):
            yield FoundValue(value, frozenset({Way.SENTENCE}), RANK_OF_SENTENCES + number)
        if has_heading or acting or boards:
            return


def search_letter_head(document: SearchedDocument, spec: FieldSpec) -> Iterator[FoundValue]:
    """Yield the date of a letter, or the person to whom it is addressed."""
    for page in document.reading.pages[:1]:
        if spec.letter_date:
            dated = document.dates_of(page)
            is_from_letter = _FROM_LETTER.search(page.text) is not None
            ways = _ways_of_letter_date(
                spec, dated if spec.roles else (), is_from_letter=is_from_letter
            )
            roles = spec.roles or (DateRole.ISSUE, DateRole.SIGNATURE)
            others = [
                each.value
                for each in dated
                if (Way.PLACE in each.ways or each.role is DateRole.END) and each.role not in roles
            ]
            for value in letter_dates.find_letter_dates(
                page, document.lines_of(page), spec, month_first=document.month_first
            ):
                # Another date may be the same day, but not at the same place.
                if not any(
                    each.value == value.value and (spec.roles or each.box == value.box)
                    for each in others
                ):
                    yield FoundValue(value, ways)
        if spec.addressee:
            lines = document.lines_of(page)
            for value, is_greeted in head_persons.find_addressees(page, lines, spec):
                ways = frozenset({Way.LETTER, Way.REPEATED} if is_greeted else {Way.LETTER})
                yield FoundValue(value, ways)


def _ways_of_letter_date(
    spec: FieldSpec, dated: Sequence[DateInContext], *, is_from_letter: bool
) -> frozenset[Way]:
    """Return the ways of the day of a letter: one if the committee met or decided on some day."""
    roles = {each.role for each in dated if not each.is_alone}
    if spec.letter_date == "fallback" and is_from_letter:
        return frozenset({Way.SENTENCE})
    if spec.letter_date == "fallback" or DateRole.DECISION in roles:
        return frozenset({Way.LETTER})
    return frozenset({Way.HEADING} if DateRole.REVIEW in roles else {Way.LETTER, Way.HEADING})


def search_top_names(document: SearchedDocument, spec: FieldSpec) -> Iterator[FoundValue]:
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
                for value in islice(head_persons.find_name_lines(page, lines, spec), _MAX_IN_HEAD):
                    yield FoundValue(value, frozenset({Way.HEADING}), RANK_OF_PEOPLE)
            for value in islice(head_persons.find_largest_names(page, lines, spec), 1):
                yield FoundValue(value, frozenset({Way.TYPE if spec.alone else Way.HEADING}))


def _names_at_top(page: PageReading, spec: FieldSpec) -> Iterator[FieldValue | None]:
    """Yield for each line at the top of a page the name that it consists of, or None.

    Words such as "Curriculum vitae of" before the name do not count.
    """
    end_of_head = LETTERHEAD_SHARE * page.height
    high = [word for word in page.words if word.box.bottom < end_of_head]
    first_words = geometry.first_words_of_runs(high)
    first_words.sort(key=lambda word: word.box.top)
    for word in first_words[:_MAX_LINES_BEFORE_NAME]:
        line = geometry.text_run_at(page, geometry.span_of_word(page, word))
        value = value_of_line(page, line, spec)
        plain = _CV_WORDS.sub("", value.value)
        value = replace(value, value=person_names.trim(plain) if plain != value.value else plain)
        is_name = len(line) > 1 and re.fullmatch(person_names.PATTERN, value.value)
        yield value if is_name else None


def search_head(document: SearchedDocument, spec: FieldSpec) -> Iterator[FoundValue]:
    """Yield the institution, or the title of the study, in the head of page 1."""
    for page in document.reading.pages[:1]:
        values: Iterator[FieldValue] = iter(())
        if spec.is_institution:
            lines = document.lines_of(page)
            values = chain(
                head_institutions.find_institutions_below_investigator(page, lines, spec),
                head_institutions.find_institutions(page, lines, spec),
            )
        elif spec.is_title:
            lines = document.lines_of(page)
            values = chain(
                head_titles.find_titles_beside_heading(page, lines, spec),
                head_titles.find_subject_titles(page, lines, spec),
                head_titles.find_paragraph_titles(page, lines, spec),
            )
        elif spec.is_laboratory:
            lines = document.lines_of(page)
            for value, is_announced in head_institutions.find_accredited_laboratories(
                page, lines, spec
            ):
                ways = {Way.SENTENCE, Way.PLACE} if is_announced else {Way.SENTENCE}
                yield FoundValue(value, frozenset(ways))
            values = head_institutions.find_laboratories(page, document.lines_of(page), spec)
        for value in islice(values, _MAX_IN_HEAD):
            yield FoundValue(value, frozenset({Way.HEADING}))
