"""Extracts the fields of a document: each value with its page, position, source and confidence.

Each field has candidates, which are found in several ways: in a form field of the PDF, by a fixed
format, beside or below a caption, after it in the text, in a sentence, or at its place in the head
of the first page. The candidates of all fields are judged together (`candidates`). A value that
only one way led to, or that another value competes with, is not sure, and says so. Nothing is
guessed.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta

from ingestion.reading.results import DocumentReading
from ingestion.rules.document_types import DocumentType, FieldSpec
from ingestion.rules.fields import course_names, dates, study_titles, text_readings
from ingestion.rules.fields.candidates import Candidate, Choice, Way, choose_together
from ingestion.rules.fields.date_roles import DateRole
from ingestion.rules.fields.persons.names import (
    is_same_person,
    may_be_same_person,
    names_institution,
    split_name,
)
from ingestion.rules.fields.persons.person_names import is_full_name
from ingestion.rules.fields.reference_numbers import is_behind_bare_word
from ingestion.rules.fields.searches.all_searches import SEARCHES
from ingestion.rules.fields.searches.found_values import (
    MAX_RANK_OF_REFERENCES,
    RANK_OF_REFERENCES,
    RANK_OF_SENTENCES,
    FoundValue,
    add_found,
    key_of,
)
from ingestion.rules.fields.searches.head_searches import search_letter_head
from ingestion.rules.fields.searches.list_searches import read_list
from ingestion.rules.fields.searches.number_searches import search_reference_numbers
from ingestion.rules.fields.searches.searched_document import LIST_KINDS, SearchedDocument
from ingestion.rules.fields.searches.table_searches import search_reference_cells
from ingestion.rules.fields.searches.text_searches import search_dates_by_role, search_investigators
from ingestion.rules.fields.superseded_cells import without_superseded_cells
from ingestion.rules.fields.values import DOUBTFUL_CONFIDENCE, FieldValue

_BEGINNING_AND_ISSUE = (DateRole.BEGINNING.value, DateRole.ISSUE.value)
_MAX_YEARS = 5  # of a period
_LEADING = re.compile(r"(?i)\b(?:principal|chief|lead|responsible|PI)\b")
_MAX_RANK_OF_CAPTIONED = RANK_OF_REFERENCES + 2  # of the numbers that are named as those of a study
_UNCONFIRMED_CONFIDENCE = 70.0  # percent, at most, of a value that only one way led to


def find_month_first(
    reading: DocumentReading, kind: DocumentType, by_country: bool | None = None
) -> bool | None:
    """Return whether numeric dates of a document put the month first; None if not known.

    The form decides first, then the document's own dates, of which one may be definite. The country
    decides only if its site has one, and if the document does not contradict it.
    """
    if kind.us_dates:
        return True
    texts = [page.text for page in reading.pages]
    order_of_document = dates.find_date_order(texts)
    if order_of_document is None and dates.has_both_orders(texts):
        return None
    return by_country if order_of_document is None else order_of_document


def read_fields(
    reading: DocumentReading,
    kind: DocumentType,
    *,
    month_first: bool | None = None,
    names: Collection[str] | None = None,
) -> tuple[FieldValue, ...]:
    """Return one value for each field that was found, in the order of the type's fields.

    `month_first` is the order of day and month in the country of the site, if it is known. With
    `names`, only these fields are searched, and all dates if one of them is a date.
    """
    order = find_month_first(reading, kind, month_first)
    document = SearchedDocument(without_superseded_cells(reading), kind, order)
    lists: dict[str, FieldValue] = {}
    found: dict[str, dict[str, FoundValue]] = {}
    for spec in _select_fields(kind, names):
        if spec.kind == "choice":
            continue
        if spec.kind in LIST_KINDS:
            if value := read_list(document, spec):
                lists[spec.name] = value
        else:
            found[spec.name] = _collect(document, spec)
    candidates = {
        name: [
            Candidate(key, each.ways, each.score, each.rank, each.value.day)
            for key, each in values.items()
        ]
        for name, values in found.items()
    }
    order_of_dates = _date_order(kind)
    choices = choose_together(candidates, order_of_dates)
    values = dict(lists)
    for name, choice in choices.items():
        values[name] = _value_of_choice(choice, found[name])
    for begins, ends in order_of_dates:
        if begins in values and ends in values:
            values[ends] = _confirm_end(values[begins], values[ends], found[ends])
    return tuple(values[spec.name] for spec in kind.fields if spec.name in values)


def _select_fields(kind: DocumentType, names: Collection[str] | None) -> Sequence[FieldSpec]:
    """Return the fields with these names. The values of dates are chosen together."""
    if names is None:
        return kind.fields
    has_date = any(spec.kind == "date" and spec.name in names for spec in kind.fields)
    return [
        spec for spec in kind.fields if spec.name in names or (has_date and spec.kind == "date")
    ]


def _confirm_end(begin: FieldValue, end: FieldValue, found: Mapping[str, FoundValue]) -> FieldValue:
    """Return the end of a period without doubt if it is whole years after a certain beginning."""
    if not end.is_unconfirmed or not begin.is_sure or not begin.day or not end.day:
        return end
    after = end.day + timedelta(days=1)
    anniversaries = {dates.add_months(begin.day, 12 * years) for years in range(1, _MAX_YEARS + 1)}
    return found[key_of(end)].value if {end.day, after} & anniversaries else end


def _date_order(kind: DocumentType) -> list[tuple[str, str]]:
    """Return the pairs of date fields of a type of which the first cannot be the later one."""
    ends = kind.validity.expires or "expiry_date"
    known = {spec.name for spec in kind.fields if spec.kind == "date"}
    begins = known & {kind.validity.from_, kind.dated_by, "effective_date", "approval_date"}
    return [(name, ends) for name in sorted(begins - {ends}) if ends in known]


def _value_of_choice(choice: Choice[str], found: Mapping[str, FoundValue]) -> FieldValue:
    """Return the chosen value, with the readings that compete if it is in doubt."""
    value = found[choice.best.key].value
    if choice.rival is not None:
        rival = found[choice.rival.key].value
        readings = tuple(dict.fromkeys((value.value, rival.value)))
        return replace(
            value, confidence=min(value.confidence, DOUBTFUL_CONFIDENCE), readings=readings
        )
    if choice.is_without_doubt:
        return value
    confidence = min(value.confidence, _UNCONFIRMED_CONFIDENCE)
    return replace(value, confidence=confidence, is_unconfirmed=True)


def _collect(document: SearchedDocument, spec: FieldSpec) -> dict[str, FoundValue]:
    """Return the candidates of a field by their keys, each with all ways that led to it.

    The ways are tried from the surest one on, until a value is found in two ways.
    """
    found: dict[str, FoundValue] = {}
    for search in SEARCHES:
        has_new = False
        results = search(document, spec)
        for each in _clean_results(results, spec):
            if not document.is_printed(spec, each.value):
                add_found(found, each)
                has_new = True
        if has_new and _has_agreed(document, spec, found):
            break
    if spec.addressee:  # who may be named in full in the address only
        for each in search_letter_head(document, spec):
            add_found(found, each)
    _join_candidates(found, spec)
    # The name of who signs a certificate may be printed twice, too.
    if spec.kind != "date" and not spec.is_investigator and not spec.is_large:
        _add_repetitions(found, document.text)
    _doubt_values(document, spec, found)
    return found


def _has_agreed(
    document: SearchedDocument, spec: FieldSpec, found: Mapping[str, FoundValue]
) -> bool:
    """Return whether a value was found in two ways, so that no other way is tried."""
    return any(
        each.is_agreed
        and not document.is_outdated(spec, each.value)
        and not document.has_competing_days(spec, each.value)
        for each in found.values()
    )


def _doubt_values(
    document: SearchedDocument, spec: FieldSpec, found: dict[str, FoundValue]
) -> None:
    """Leave one way to each value that may be another one, or not the whole value."""
    if spec.roles[:2] == _BEGINNING_AND_ISSUE:
        _prefer_beginning(document, spec, found)
    if spec.is_reference:
        _prefer_captioned_number(document, spec, found)
        _doubt_references(found)
    if spec.is_investigator:
        _prefer_lead(document, spec, found)
    for key, each in found.items():
        if document.is_outdated(spec, each.value):
            found[key] = replace(each.with_best_way(), rank=each.rank + RANK_OF_SENTENCES)
        elif document.is_doubtful(spec, each.value):
            found[key] = each.with_best_way()


def _prefer_beginning(
    document: SearchedDocument, spec: FieldSpec, found: dict[str, FoundValue]
) -> None:
    """Put the day of issue behind the beginning of a validity if the document has both.

    The certificate of an insurance may be issued before its cover begins.
    """
    known = [each for page in document.reading.pages for each in document.dates_of(page)]
    begins = {each.value.value for each in known if each.role is DateRole.BEGINNING}
    behind = [key for key, each in found.items() if each.value.value not in begins]
    if len(begins) != 1 or not behind:
        return
    for each in search_dates_by_role(document, spec):
        add_found(found, each)
    for key in behind:
        found[key] = replace(found[key].with_best_way(), rank=RANK_OF_SENTENCES)


def _prefer_captioned_number(
    document: SearchedDocument, spec: FieldSpec, found: dict[str, FoundValue]
) -> None:
    """Put a number behind the bare word of a caption behind a number that has a caption.

    "Protocol AB-503, Category: Protocol" in a list of documents names one of the documents, if
    "IRB ID" is the caption of another number.
    """
    bare = [
        key
        for key, each in found.items()
        if each.is_agreed and is_behind_bare_word(document.text, each.value.value)
    ]
    if not bare:
        return
    for search in (search_reference_cells, search_reference_numbers):
        for each in search(document, spec):
            add_found(found, each)
    captioned = [
        each
        for key, each in found.items()
        if key not in bare and not is_behind_bare_word(document.text, each.value.value)
    ]
    if any(each.rank <= _MAX_RANK_OF_CAPTIONED for each in captioned):
        for key in bare:
            found[key] = replace(found[key].with_best_way(), rank=RANK_OF_SENTENCES)


def _prefer_lead(document: SearchedDocument, spec: FieldSpec, found: dict[str, FoundValue]) -> None:
    """Put the other researchers behind the one whom the text calls the principal investigator.

    "Researchers: Ann Smith (student), Dr. Ben Jones (principal investigator)" names both.
    """
    others = [key for key, each in found.items() if not _is_at_caption_of_lead(each, spec)]
    if not any(found[key].is_agreed for key in others):
        return
    leads = document.lead_investigators
    if not leads or not all(is_same_person(leads[0], each) for each in leads):
        return
    behind = [key for key in others if not may_be_same_person(found[key].value.value, leads[0])]
    for each in search_investigators(document, spec) if behind else ():
        add_found(found, each)
    for key in behind:
        found[key] = replace(found[key].with_best_way(), rank=RANK_OF_SENTENCES)


def _is_at_caption_of_lead(found: FoundValue, spec: FieldSpec) -> bool:
    """Return whether a name stands at a caption such as "Principal investigator"."""
    is_at_caption = bool(found.ways & {Way.PLACE, Way.TEXT}) and found.rank < len(spec.labels)
    return is_at_caption and _LEADING.search(spec.labels[found.rank]) is not None


def _doubt_references(found: dict[str, FoundValue]) -> None:
    """Leave each own reference one way if a document has several, as "Our ref" and "Project ID".

    None of them is without doubt then. The number of a register of many institutions is no other
    reference, and neither is a part of a longer number.
    """
    own = [
        key
        for key, each in found.items()
        if each.value.is_own_reference and RANK_OF_REFERENCES <= each.rank <= MAX_RANK_OF_REFERENCES
    ]
    texts = [found[key].value.value for key in own]
    longest = [text for text in texts if not any(_is_part(text, other) for other in texts)]
    for key in own if len(longest) > 1 else ():
        found[key] = found[key].with_best_way()


def _is_part(number: str, other: str) -> bool:
    """Return whether a number is one of several that are written as one, as in "HS24 (H20:1)"."""
    return number != other and re.search(rf"(?<!\w){re.escape(number)}(?!\w)", other) is not None


def _without_decoration(found: FoundValue) -> FoundValue:
    """Return a title without quotation marks, and without the number of the study before it."""
    plain = study_titles.clean(found.value.value)
    return replace(found, value=replace(found.value, value=plain)) if plain else found


def _clean_results(results: Iterable[FoundValue], spec: FieldSpec) -> Iterable[FoundValue]:
    """Return titles and the names of courses without the words around them."""
    if spec.is_title:
        return map(_without_decoration, results)
    return map(_without_words_behind, results) if spec.line_with else results


def _without_words_behind(found: FoundValue) -> FoundValue:
    """Return the name of a course without the words behind it."""
    plain = course_names.clean(found.value.value)
    return replace(found, value=replace(found.value, value=plain)) if plain else found


def _join_candidates(found: dict[str, FoundValue], spec: FieldSpec) -> None:
    if spec.kind == "name":
        _join_names(found)
    elif spec.wraps:
        _join_beginnings(found)
    elif spec.heading:
        _join_parts(found)


def _add_repetitions(found: dict[str, FoundValue], text: str) -> None:
    """Confirm the values that one way led to, and that are printed a second time."""
    for key, each in found.items():
        if len(each.ways) == 1 and text_readings.is_repeated(text, each.value.value):
            found[key] = replace(each, ways=each.ways | {Way.REPEATED})


def _join_names(found: dict[str, FoundValue]) -> None:
    """Give each full name the ways of the shorter names that may be the same person's.

    "Dr. Smith" in a salutation confirms "John Smith" in the address above it.
    """
    for key, each in list(found.items()):
        for fuller_key, fuller in list(found.items()):
            if key == fuller_key or each.ways <= fuller.ways:
                continue
            if _is_cell_of(each, fuller) or _is_writing_of_addressee(each, fuller):
                found[key] = replace(each, ways=each.ways | fuller.ways)
                found.pop(fuller_key)
                break
            is_fuller = _fullness(each.value.value) < _fullness(fuller.value.value)
            if is_fuller and may_be_same_person(each.value.value, fuller.value.value):
                better = max(each.score, fuller.score)
                rank = each.rank if each.score == better else fuller.rank
                found[fuller_key] = replace(fuller, ways=each.ways | fuller.ways, rank=rank)
                found.pop(key, None)
                break


def _is_cell_of(each: FoundValue, longer: FoundValue) -> bool:
    """Return whether a name is all of its cell, and a longer one goes on in the next cell."""
    return (
        Way.PLACE in each.ways
        and Way.PLACE not in longer.ways
        and longer.value.value.startswith(f"{each.value.value} ")
    )


def _is_writing_of_addressee(each: FoundValue, fuller: FoundValue) -> bool:
    """Return whether a full name at a caption is written differently where a letter is addressed.

    As "Ann Smith" at its caption, in an e-mail to "Smith, Ann B."
    """
    is_address = Way.LETTER in fuller.ways and Way.PLACE not in fuller.ways
    name = each.value.value
    return (
        is_address
        and Way.PLACE in each.ways
        and "," in fuller.value.value
        and "," not in name
        and is_full_name(name)
        and is_same_person(name, fuller.value.value)
    )


def _fullness(name: str) -> tuple[int, int]:
    """Return how many words a name has, and how many of them are more than an initial."""
    parts = [part for group in split_name(name) for part in group]
    return len(parts), sum(len(part) > 1 for part in parts)


def _join_parts(found: dict[str, FoundValue]) -> None:
    """Give each name of an institution the ways of the shorter names that it contains.

    "Ethics Committee" in the letterhead confirms "Ethics Committee of Ashby College".
    """
    for key, each in list(found.items()):
        longer = [other for other in found if other != key and key in other]
        if longer and not names_institution(each.value.value):
            whole = found[longer[0]]
            found[longer[0]] = replace(whole, ways=whole.ways | each.ways)
            found.pop(key)


def _join_beginnings(found: dict[str, FoundValue]) -> None:
    """Give each text the ways of the texts with which it begins: they are its first line."""
    for key, each in list(found.items()):
        longer = next((other for other in found if other != key and other.startswith(key)), None)
        # Only the order of the text shows where a text ends that has several lines.
        if longer is not None and found[longer].ways & {Way.TEXT, Way.SENTENCE, Way.FORM}:
            whole = found[longer]
            best = max(whole, each, key=lambda one: one.score)
            found[longer] = replace(whole, ways=whole.ways | each.ways, rank=best.rank)
            found.pop(key)
