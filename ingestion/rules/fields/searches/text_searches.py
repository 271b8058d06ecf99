"""Finds values in the sentences and lines of the text: dates, names, titles, courses."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from itertools import islice

from ingestion.reading.results import PageReading, Word
from ingestion.rules import fuzzy_phrases
from ingestion.rules.document_types import FieldSpec
from ingestion.rules.fields import (
    course_names,
    geometry,
    text_readings,
)
from ingestion.rules.fields.candidates import Way
from ingestion.rules.fields.date_words import (
    DateRole,
    is_of_other_edition,
    is_of_other_validity,
    is_of_period,
    role_of_caption,
)
from ingestion.rules.fields.dates_in_context import DateInContext
from ingestion.rules.fields.heads import head_persons
from ingestion.rules.fields.heads.layout import LETTERHEAD_SHARE
from ingestion.rules.fields.month_dates import find_day, find_months
from ingestion.rules.fields.persons import names
from ingestion.rules.fields.persons.person_roles import (
    RANK_OF_CONTACTS,
    find_people_in_head,
)
from ingestion.rules.fields.searches.found_values import (
    RANK_OF_GENERAL_NAMES,
    RANK_OF_PEOPLE,
    RANK_OF_ROLES,
    FoundValue,
)
from ingestion.rules.fields.searches.searched_document import MAX_PAGES_WITH_ROLES, SearchedDocument
from ingestion.rules.fields.text_lines import TextLine, captions_of, line_gap
from ingestion.rules.fields.titles import placed_titles, title_texts, titles_in_text
from ingestion.rules.fields.values import find_date, value_at_start, value_of_line

_OTHER_PERSON = re.compile(
    r"(?i)^(?:other|co-?|sub-?)\s?(?:principal )?(?:investigator|researcher)"
    r"|\b(?:supervis|guide|advis|chair|secretar|contact|coordinator|officer|from|cc)"
)
_RANK_OF_TITLES = 2  # behind the captions of a title that name the study
# The roles that count for the day of an approval only at a caption.
_GENERAL_ROLES = frozenset({DateRole.BEGINNING, DateRole.ISSUE})
_MAX_BETWEEN_PERIODS = timedelta(days=31)
_MAX_TITLE_PAGES = 2  # pages from the first one on that name the title of the study
_MAX_RANK_OF_NAMED = 1  # of a name that the text calls the investigator or a researcher
_RANK_BELOW_LINE = 1  # of the name of a course below the words that announce it
_RANK_IN_SENTENCE = 4
_MAX_CAPTION_WORDS = 6  # before a month
_MAX_LINES_WITH_PHRASE = 3  # lines with a phrase of a course that are compared


def search_sentences(document: SearchedDocument, spec: FieldSpec) -> Iterator[FoundValue]:
    """Yield the values in sentences that have the words of the field."""
    for page in document.reading.pages if spec.sentences else ():
        values = text_readings.values_in_sentences(page, spec, month_first=document.month_first)
        for value in values:
            if spec.roles and any(
                each.value.value == value.value and is_of_other_edition(each.before)
                for each in document.dates_of(page)
            ):
                continue
            yield FoundValue(value, frozenset({Way.SENTENCE}))


def search_dates_by_role(document: SearchedDocument, spec: FieldSpec) -> Iterator[FoundValue]:
    """Yield the dates whose words show one of the roles of the field, an earlier role first."""
    if not spec.roles:
        return
    found = [each for page in document.reading.pages for each in document.dates_of(page)]
    found = _without_ends_before(found)
    is_approval, has_other = DateRole.APPROVAL in spec.roles[:1], False
    for rank, role in enumerate(map(DateRole, spec.roles), RANK_OF_ROLES):
        # The date of a letter below its heading shows only when it was written.
        of_role = [
            each
            for each in found
            if each.role is role
            and not (each.is_alone and spec.letter_date and document.is_in_head(each.value))
        ]
        if is_approval and role is DateRole.ISSUE and has_other:
            return  # the day of issue counts only if no other day is known
        is_behind = is_approval and role is DateRole.REVIEW and has_other
        has_other = has_other or bool(of_role)
        at_captions = {each.value.value for each in of_role if len(each.ways) > 1}
        for each in of_role:
            is_general = role in _GENERAL_ROLES and not is_of_period(each.before)
            if is_approval and is_general and Way.PLACE not in each.ways:
                continue  # in a sentence, anything may begin or be given
            if role is DateRole.END and document.is_of_study and is_of_other_validity(each.before):
                continue
            if spec.not_near and fuzzy_phrases.contains_phrase(each.before, spec.not_near):
                continue
            # Of several days of one role, none is without doubt, and neither is that of a meeting
            # beside that of an approval.
            is_only = len(at_captions) == 1 and not is_behind
            ways = each.ways if is_only else frozenset({Way.SENTENCE})
            yield FoundValue(replace(each.value, name=spec.name), ways, rank)


def _without_ends_before(found: Sequence[DateInContext]) -> list[DateInContext]:
    """Return the dates of a document without the end of a period directly before another one.

    As in "The current approval ends on 13 May. New period: from 14 May to 13 May of the next year".
    """
    ends = {each.value.day for each in found if each.role is DateRole.END and each.value.day}
    begins = {each.value.day for each in found if each.role is DateRole.BEGINNING}
    before = {
        end
        for end in ends
        for day in begins
        if day and timedelta() < day - end <= _MAX_BETWEEN_PERIODS and max(ends) > day
    }
    return [each for each in found if each.role is not DateRole.END or each.value.day not in before]


def search_months(document: SearchedDocument, spec: FieldSpec) -> Iterator[FoundValue]:
    """Yield the months behind short captions of the field in the same line."""
    for page in document.reading.pages if spec.month_is_enough else ():
        for line in page.text.split("\n"):
            for written in find_months(line):
                caption = line[: written.start]
                if len(caption.split()) > _MAX_CAPTION_WORDS or (
                    spec.not_near and fuzzy_phrases.contains_phrase(caption, spec.not_near)
                ):
                    continue
                role = role_of_caption(caption)
                if role is None or role.value not in spec.roles:
                    continue
                value = text_readings.value_of_text(page, spec, written.raw)
                value = replace(value, value=written.value, day=find_day(spec.name, written.value))
                yield FoundValue(value, frozenset({Way.SENTENCE}), RANK_OF_ROLES)


def search_dates_alone(document: SearchedDocument, spec: FieldSpec) -> Iterator[FoundValue]:
    """Yield the only date of a document that is all of its line, if no words give it a meaning."""
    if not spec.past or DateRole.COMPLETION not in spec.roles[:1]:
        return
    known = {each.value.day for page in document.reading.pages for each in document.dates_of(page)}
    alone = []
    for page in document.reading.pages:
        for line in document.lines_of(page):
            value = find_date(
                spec.name, page, line.words, month_first=document.month_first, max_gap=0
            )
            is_all = value is not None and value.box == line.box
            if value and is_all and value.day and value.day not in known:
                alone.append(value)
    if len(alone) == 1:
        yield FoundValue(alone[0], frozenset({Way.HEADING}), RANK_OF_GENERAL_NAMES)


def search_investigators(document: SearchedDocument, spec: FieldSpec) -> Iterator[FoundValue]:
    """Yield the names that words of an investigator's role stand beside.

    A name that two places call an investigator, and no other name, is confirmed by itself.
    """
    pages = document.reading.pages[:MAX_PAGES_WITH_ROLES] if spec.is_investigator else ()
    found = [(page, each) for page in pages for each in document.investigators_of(page)]
    if any(_is_addressed(document, page, spec) for page in pages[:1]):
        found = [(page, each) for page, each in found if each.rank < RANK_OF_CONTACTS]
    named = [each.name for _, each in found if each.rank <= _MAX_RANK_OF_NAMED]
    is_confirmed = len(named) > 1 and all(names.is_same_person(named[0], each) for each in named)
    for page, each in found:
        value = text_readings.value_of_text(page, spec, each.name)
        ways = {Way.SENTENCE}
        if is_confirmed and each.rank <= _MAX_RANK_OF_NAMED:
            ways.add(Way.REPEATED)
        yield FoundValue(value, frozenset(ways), RANK_OF_PEOPLE + 2 * each.rank)
    for page in pages[:1]:
        head = [
            line.text
            for line in document.lines_of(page)
            if line.box.bottom < LETTERHEAD_SHARE * page.height
            and not _is_of_other_person(line, document.lines_of(page))
        ]
        for name in find_people_in_head(head):
            value = text_readings.value_of_text(page, spec, name)
            yield FoundValue(value, frozenset({Way.HEADING}), RANK_OF_PEOPLE - 1)


def _is_addressed(document: SearchedDocument, page: PageReading, spec: FieldSpec) -> bool:
    """Return whether a page is a letter to a person, who is not the person to contact."""
    addressees = head_persons.find_addressees(page, document.lines_of(page), spec)
    return spec.addressee and next(addressees, None) is not None


def _is_of_other_person(line: TextLine, lines: Sequence[TextLine]) -> bool:
    """Return whether the caption beside a name is that of a supervisor, a chair or a colleague."""
    return any(
        _OTHER_PERSON.search(each.text) and geometry.is_on_same_line(each.box, line.box)
        for each in captions_of(line.box, lines)
    )


def search_titles(document: SearchedDocument, spec: FieldSpec) -> Iterator[FoundValue]:
    """Yield the titles of studies at captions, behind "Re:" and between quotation marks."""
    for page in document.reading.pages[:_MAX_TITLE_PAGES] if spec.is_title else ():
        lines = page.text.split("\n")
        at_captions = [*titles_in_text.titles_at_captions(lines)]
        by_place = [*placed_titles.find_titles_by_place(document.lines_of(page))]
        # The places show better than the order of the text where a title ends.
        at_captions = [placed_titles.correct_end(title, by_place) for title in at_captions]
        printed, gap = document.lines_of(page), line_gap(document.lines_of(page))
        placed = set(map(fuzzy_phrases.fold_letters, by_place))
        quoted = titles_in_text.quoted_titles(page.text)
        for rank, (titles, way) in enumerate(
            (
                (at_captions, Way.TEXT),
                (by_place if not at_captions else [], Way.PLACE),
                (quoted, Way.SENTENCE),
                (titles_in_text.titles_of_subjects(lines), Way.SENTENCE),
                (titles_in_text.titles_in_sentences(page.text), Way.SENTENCE),
                (titles_in_text.titles_without_sign(lines), Way.SENTENCE),
                (titles_in_text.short_titles(printed) if not at_captions else [], Way.SENTENCE),
            ),
            _RANK_OF_TITLES,
        ):
            for title in titles:
                if titles_in_text.ONLY_NUMBER.fullmatch(title):
                    continue
                # Marks of a quotation show where it ends.
                if titles is not quoted and title not in by_place:
                    title = placed_titles.end_at_paragraph(title, printed, gap)  # noqa: PLW2901 - shortened
                ways = {way}
                if way is Way.TEXT and fuzzy_phrases.fold_letters(title) in placed:
                    ways.add(Way.PLACE)
                elif way is Way.PLACE and title_texts.follows_caption(page.text, title):
                    ways.add(Way.TEXT)
                value = text_readings.value_of_text(page, spec, title)
                yield FoundValue(value, frozenset(ways), rank)


def search_course_names(document: SearchedDocument, spec: FieldSpec) -> Iterator[FoundValue]:
    """Yield the names of courses that the words before them announce."""
    for page in document.reading.pages[:1] if spec.line_with else ():
        for text, line in course_names.find_names_below(document.lines_of(page)):
            value = value_of_line(page, line.words, spec, text)
            yield FoundValue(value, frozenset({Way.SENTENCE}), _RANK_BELOW_LINE)
        for text in course_names.find_names_after_word(page.text):
            value = text_readings.value_of_text(page, spec, text)
            yield FoundValue(value, frozenset({Way.SENTENCE}), _RANK_IN_SENTENCE)


def search_lines_with_phrases(document: SearchedDocument, spec: FieldSpec) -> Iterator[FoundValue]:
    """Yield the lines that contain one of the phrases by which the field is known."""
    for page in document.reading.pages if spec.line_with else ():
        for phrase in spec.line_with:
            spans = list(islice(geometry.find_phrase(page, phrase), _MAX_LINES_WITH_PHRASE))
            runs = [geometry.text_run_at(page, span) for span in spans]
            for words in runs:
                if text := course_names.in_sentence(page.text, phrase, words):
                    named = text_readings.value_of_text(page, spec, text)
                    way = Way.HEADING if course_names.is_doubtful(text) else Way.SENTENCE
                    yield FoundValue(named, frozenset({way}))
                    return
            for words in runs[:1]:
                if value := value_at_start(page, words, spec, month_first=document.month_first):
                    whole = _whole_name(document.lines_of(page), words, value.value)
                    found = FoundValue(replace(value, value=whole), frozenset({Way.HEADING}))
                    # A line that begins with a small letter may be a part of any sentence.
                    is_part = whole.split()[0].islower()
                    yield replace(found, rank=RANK_OF_GENERAL_NAMES) if is_part else found
                    return


def _whole_name(lines: Sequence[TextLine], words: Sequence[Word], text: str) -> str:
    """Return the text of a line with the lines that continue it."""
    first = next((line for line in lines if line.words[-1] is words[-1]), None)
    if first is None or not first.text.endswith(text):
        return text
    return text + course_names.join_lines(first, lines).removeprefix(first.text)
