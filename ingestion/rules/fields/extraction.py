"""Extracts the fields of a document: each value with its page, position, source and confidence.

Each field has candidates, which are found in several ways: in a form field of the PDF, by a fixed
format, beside or below a caption, after it in the text, in a sentence, or at its place in the head
of the first page. The candidates of all fields are judged together (`candidates`). A value that
only one way led to, or that another value competes with, is not sure, and says so. Nothing is
guessed.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta

from ingestion.reading.results import DocumentReading
from ingestion.rules.document_types import DocumentType, FieldSpec
from ingestion.rules.fields import course_names, dates
from ingestion.rules.fields.broken_words import join_broken_words
from ingestion.rules.fields.candidates import Candidate, Choice, Way, choose_together
from ingestion.rules.fields.competing_values import doubt_values
from ingestion.rules.fields.joined_candidates import add_repetitions, join_candidates
from ingestion.rules.fields.persons import names, person_names
from ingestion.rules.fields.searches.all_searches import SEARCHES
from ingestion.rules.fields.searches.found_values import FoundValue, add_found, key_of
from ingestion.rules.fields.searches.head_searches import search_letter_head
from ingestion.rules.fields.searches.list_searches import read_list
from ingestion.rules.fields.searches.searched_document import LIST_KINDS, SearchedDocument
from ingestion.rules.fields.superseded_cells import has_master_version, without_superseded_cells
from ingestion.rules.fields.titles import title_texts
from ingestion.rules.fields.value_model import Suggestions, ValueModel
from ingestion.rules.fields.values import DOUBTFUL_CONFIDENCE, FieldValue

_AT_CAPTION = frozenset({Way.PLACE, Way.TEXT, Way.FORM})
_MAX_YEARS = 5  # of a period
_UNCONFIRMED_CONFIDENCE = 70.0  # percent, at most, of a value that only one way led to


def find_month_first(
    reading: DocumentReading, kind: DocumentType, by_country: bool | None = None
) -> bool | None:
    """Return whether numeric dates of a document put the month first; None if not known.

    The form decides first, then the document's own dates, of which one may be definite. The country
    decides only if its site has one, and if the document does not contradict it. The language of
    the document decides last.
    """
    if kind.us_dates:
        return True
    texts = [page.text for page in reading.pages]
    order_of_document = dates.find_date_order(texts)
    if order_of_document is None and dates.has_both_orders(texts):
        return None
    if order_of_document is not None:
        return order_of_document
    return False if by_country is None and kind.day_first else by_country


def read_fields(
    reading: DocumentReading,
    kind: DocumentType,
    *,
    month_first: bool | None = None,
    names: Collection[str] | None = None,
    model: ValueModel | None = None,
) -> tuple[FieldValue, ...]:
    """Return one value for each field that was found, in the order of the type's fields.

    `month_first` is the order of day and month in the country of the site, if it is known. With
    `names`, only these fields are searched, and all dates if one of them is a date. `model`
    suggests values of all fields. By default, it is the built-in one.
    """
    order = find_month_first(reading, kind, month_first)
    plain = join_broken_words(without_superseded_cells(reading))
    document = SearchedDocument(plain, kind, order, has_master_version(reading))
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
    values = {**lists, **_choose_values(kind, found)}
    if names is None:
        values = Suggestions(document, _date_order(kind), model).complete(values, found)
    return tuple(values[spec.name] for spec in kind.fields if spec.name in values)


def _choose_values(
    kind: DocumentType, found: Mapping[str, Mapping[str, FoundValue]]
) -> dict[str, FieldValue]:
    """Return the best of the values that were found for each field."""
    candidates = {
        name: [
            Candidate(key, each.ways, each.score, each.rank, each.value.day)
            for key, each in values.items()
        ]
        for name, values in found.items()
    }
    order_of_dates = _date_order(kind)
    choices = choose_together(candidates, order_of_dates)
    values = {name: _value_of_choice(choice, found[name]) for name, choice in choices.items()}
    for begins, ends in order_of_dates:
        if begins in values and ends in values:
            values[ends] = _confirm_end(values[begins], values[ends], found[ends])
    return values


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
    join_candidates(found, spec)
    # The name of who signs a certificate may be printed twice, too.
    if spec.kind != "date" and not spec.is_investigator and not spec.is_large:
        add_repetitions(found, document.text)
    doubt_values(document, spec, found)
    return found


def _has_agreed(
    document: SearchedDocument, spec: FieldSpec, found: Mapping[str, FoundValue]
) -> bool:
    """Return whether a value was found in two ways, so that no other way is tried."""
    return any(
        each.is_agreed
        and not document.is_outdated(spec, each.value)
        and not document.has_competing_days(spec, each.value)
        and not (spec.line_with and course_names.is_cut(each.value.value))
        for each in found.values()
    )


def _without_decoration(found: FoundValue) -> FoundValue:
    """Return a title without quotation marks, and without the number of the study before it."""
    plain = title_texts.clean(found.value.value)
    return replace(found, value=replace(found.value, value=plain)) if plain else found


def _clean_results(results: Iterable[FoundValue], spec: FieldSpec) -> Iterable[FoundValue]:
    """Return titles and the names of courses without the words around them.

    The name of an institution is a title at a caption only. The name of who signs a certificate may
    stand above "Director of Training". At the caption of an institution, such as "Site", there may
    be a number.
    """
    if spec.is_title:
        return (
            _without_decoration(each)
            for each in results
            if each.ways & _AT_CAPTION or not title_texts.names_institution_only(each.value.value)
        )
    if spec.kind == "name":
        return (
            each for each in results if not person_names.has_ordinary_words_only(each.value.value)
        )
    if spec.is_institution:
        return (each for each in results if names.may_be_institution(each.value.value))
    if not spec.line_with:
        return results
    return (
        _without_words_behind(each)
        for each in results
        if course_names.may_be_course(each.value.value)
        and not person_names.find_name_line(each.value.value)
    )


def _without_words_behind(found: FoundValue) -> FoundValue:
    """Return the name of a course without the words behind it."""
    plain = course_names.clean(found.value.value)
    return replace(found, value=replace(found.value, value=plain)) if plain else found
