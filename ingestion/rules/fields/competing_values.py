"""Doubts values of a field that compete: each keeps one way, or stands behind another value."""

import re
from collections.abc import Iterable
from dataclasses import replace

from ingestion.rules import fuzzy_phrases
from ingestion.rules.document_types import FieldSpec
from ingestion.rules.fields import course_names
from ingestion.rules.fields.candidates import Way
from ingestion.rules.fields.date_words import DateRole
from ingestion.rules.fields.heads.head_institutions import names_whole_board
from ingestion.rules.fields.persons.names import (
    is_same_person,
    may_be_same_person,
)
from ingestion.rules.fields.reference_numbers import is_behind_bare_word
from ingestion.rules.fields.searches.found_values import (
    MAX_RANK_OF_REFERENCES,
    RANK_OF_GENERAL_NAMES,
    RANK_OF_REFERENCES,
    RANK_OF_SENTENCES,
    FoundValue,
    add_found,
    key_of,
)
from ingestion.rules.fields.searches.head_searches import search_letter_head
from ingestion.rules.fields.searches.number_searches import (
    search_reference_numbers,
    search_sponsor_numbers,
)
from ingestion.rules.fields.searches.searched_document import SearchedDocument
from ingestion.rules.fields.searches.table_searches import (
    search_investigator_cells,
    search_reference_cells,
)
from ingestion.rules.fields.searches.text_searches import search_dates_by_role, search_investigators
from ingestion.rules.fields.values import SCAN_SOURCES

_BEGINNING_AND_ISSUE = (DateRole.BEGINNING.value, DateRole.ISSUE.value)
_IN_HEADING_OR_TEXT = frozenset({Way.HEADING, Way.SENTENCE})  # not at a caption
_LEADING = re.compile(r"(?i)\b(?:principal|chief|lead|responsible|PI)\b")
_OF_SITE = re.compile(
    r"(?i)\b(?:site|local)\s(?:principal\s)?investigator\b"
    r"|\binvestigator\s(?:at|of)\s(?:the|this)\s(?:site|cent(?:re|er))\b"
)
_OF_TRIAL = r"\b(?:coordinating|chief|national)\s(?:principal\s)?investigator"
_RANK_OF_COMMITTEE = 2  # of a number that is named as the committee's, behind those of a study
_MAX_RANK_OF_CAPTIONED = RANK_OF_REFERENCES + 2  # of the numbers that are named as those of a study


def doubt_values(document: SearchedDocument, spec: FieldSpec, found: dict[str, FoundValue]) -> None:
    """Leave one way to each value that may be another one, or not the whole value."""
    if spec.kind == "date":
        _doubt_days(document, spec, found)
    if spec.is_reference:
        _prefer_captioned_number(document, spec, found)
        _prefer_number_of_sponsor(document, spec, found)
        _doubt_references(found)
        _doubt_beside_own_number(document, spec, found)
        _doubt_parts(found)
    if spec.heading:
        _prefer_whole_board(found)
    if spec.is_investigator:
        _prefer_lead(document, spec, found)
        _prefer_investigator_of_site(document, spec, found)
        _doubt_beside_addressee(document, spec, found)
    for key, each in found.items():
        longer = [
            other.value.value[len(each.value.value) :]
            for other in found.values()
            if other.value.value.startswith(each.value.value) and other is not each
        ]
        # On a scan, the last word may have lost letters here.
        is_cut = each.value.source in SCAN_SOURCES and any(rest[:1].isalnum() for rest in longer)
        is_cut = is_cut or bool(spec.line_with and longer and course_names.is_cut(each.value.value))
        if document.is_outdated(spec, each.value) or is_cut:
            found[key] = replace(each.with_best_way(), rank=each.rank + RANK_OF_SENTENCES)
        elif document.is_doubtful(spec, each.value) or (spec.is_title and _lack_acronym(longer)):
            found[key] = each.with_best_way()


def _doubt_days(document: SearchedDocument, spec: FieldSpec, found: dict[str, FoundValue]) -> None:
    if spec.roles[:2] == _BEGINNING_AND_ISSUE:
        _prefer_beginning(document, spec, found)
    if spec.roles[:1] == (DateRole.COMPLETION.value,):
        _prefer_completion(document, found)
    if spec.letter_date == "value":
        _doubt_day_of_meeting(document, spec, found)
    _doubt_days_at_equal_captions(document, spec, found)


def _doubt_days_at_equal_captions(
    document: SearchedDocument, spec: FieldSpec, found: dict[str, FoundValue]
) -> None:
    """Doubt all days at equal captions if one of them is in doubt.

    As of a certificate that has the caption "Effective date" again in the head of a table. Letters
    have several dates with the caption "Date".
    """
    if spec.letter_date:
        return
    at_captions = {key: each for key, each in found.items() if Way.PLACE in each.ways}
    ranks = {each.rank for each in at_captions.values() if document.is_doubtful(spec, each.value)}
    for key, each in at_captions.items():
        if each.rank in ranks:
            found[key] = each.with_best_way()


def _prefer_whole_board(found: dict[str, FoundValue]) -> None:
    """Put the committees without their institution behind those with it, and doubt them.

    The sender of a memorandum may be "Institutional Review Board, Office of Research", and its text
    may name the board of a college. A name at a caption stays as it is.
    """
    general = [
        key
        for key, each in found.items()
        if each.ways <= _IN_HEADING_OR_TEXT and not names_whole_board(each.value.value)
    ]
    for key in general if len(general) < len(found) else ():
        found[key] = replace(found[key].with_best_way(), rank=RANK_OF_GENERAL_NAMES)


def _lack_acronym(longer: Iterable[str]) -> bool:
    """Return whether a title has a part in brackets at another place, as an acronym of the study.

    `longer` are the rests of longer titles.
    """
    return any(rest.startswith(" (") and rest.endswith(")") for rest in longer)


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


def _prefer_completion(document: SearchedDocument, found: dict[str, FoundValue]) -> None:
    """Put the day on which a certificate was issued behind that of the course, and doubt it."""
    roles = _roles_of_days(document)
    if not any(DateRole.COMPLETION in roles.get(each.value.value, ()) for each in found.values()):
        return
    for key, each in found.items():
        if roles.get(each.value.value) == {DateRole.ISSUE}:
            found[key] = replace(each.with_best_way(), rank=RANK_OF_SENTENCES)


def _roles_of_days(document: SearchedDocument) -> dict[str, set[DateRole | None]]:
    """Return the roles of each day that a document prints."""
    roles: dict[str, set[DateRole | None]] = {}
    for page in document.reading.pages:
        for dated in document.dates_of(page):
            roles.setdefault(dated.value.value, set()).add(dated.role)
    return roles


def _doubt_day_of_meeting(
    document: SearchedDocument, spec: FieldSpec, found: dict[str, FoundValue]
) -> None:
    """Doubt the day of a meeting if the letter has another day.

    The committee may have decided later, as when its chair reviewed the answers.
    """
    roles = _roles_of_days(document)
    meetings = [
        key for key, each in found.items() if roles.get(each.value.value) == {DateRole.REVIEW}
    ]
    letters = [key_of(each.value) for each in search_letter_head(document, spec) if meetings]
    if any(key not in meetings for key in letters):
        for key in meetings:
            found[key] = found[key].with_doubt()


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


def _prefer_investigator_of_site(
    document: SearchedDocument, spec: FieldSpec, found: dict[str, FoundValue]
) -> None:
    """Put the investigator of the whole trial behind that of the site, if a document has both."""
    behind = [
        key
        for key, each in found.items()
        if re.search(
            rf"(?i){_OF_TRIAL}\W{{1,6}}(?:name\W{{1,6}})?{re.escape(each.value.value)}",
            document.text,
        )
    ]
    if not behind or not _OF_SITE.search(document.text):
        return
    for each in search_investigator_cells(document, spec):
        add_found(found, each)
    for key in behind:
        found[key] = replace(found[key].with_best_way(), rank=RANK_OF_SENTENCES)


def _doubt_beside_addressee(
    document: SearchedDocument, spec: FieldSpec, found: dict[str, FoundValue]
) -> None:
    """Leave one way to a name at a caption such as "Student investigators" of a letter to another.

    The person to whom the letter is written may be the principal investigator.
    """
    addressees = [each.value.value for each in found.values() if Way.LETTER in each.ways]
    leads = document.lead_investigators if addressees else []
    for key, each in found.items() if addressees else ():
        name = each.value.value
        is_lead = any(may_be_same_person(name, lead) for lead in leads) or (
            # The rank of a name in a sentence is not that of its caption.
            Way.SENTENCE not in each.ways and _is_at_caption_of_lead(each, spec)
        )
        is_addressed = any(may_be_same_person(name, addressee) for addressee in addressees)
        if each.is_agreed and not is_lead and not is_addressed:
            found[key] = each.with_best_way()


def _is_at_caption_of_lead(found: FoundValue, spec: FieldSpec) -> bool:
    """Return whether a name stands at a caption such as "Principal investigator"."""
    is_at_caption = bool(found.ways & {Way.PLACE, Way.TEXT}) and found.rank < len(spec.labels)
    return is_at_caption and _LEADING.search(spec.labels[found.rank]) is not None


def _prefer_number_of_sponsor(
    document: SearchedDocument, spec: FieldSpec, found: dict[str, FoundValue]
) -> None:
    """Put all other numbers behind the one that is named as the sponsor's."""
    named = {key_of(each.value) for each in search_sponsor_numbers(document, spec)}
    for key, each in found.items() if named & found.keys() else ():
        if key not in named:
            found[key] = replace(each.with_best_way(), rank=RANK_OF_SENTENCES + each.rank)


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


def _doubt_beside_own_number(
    document: SearchedDocument, spec: FieldSpec, found: dict[str, FoundValue]
) -> None:
    """Doubt the number of a protocol if the committee names its own number, too.

    A letter with "Sponsor protocol: AB-503" and "IRB number: 2024-117" names the study twice, and a
    person may mean either number.
    """
    agreed = [
        key for key, each in found.items() if each.is_agreed and not each.value.is_own_reference
    ]
    if not agreed:
        return
    own = [
        each.value.value
        for search, first in (
            (search_reference_numbers, RANK_OF_REFERENCES),
            (search_reference_cells, RANK_OF_SENTENCES),
        )
        for each in search(document, spec)
        if each.rank <= first + _RANK_OF_COMMITTEE
    ]
    for key in agreed:
        each = found[key]
        if any(_is_other_number(number, each.value.value) for number in own):
            found[key] = each.with_doubt()


def _doubt_parts(found: dict[str, FoundValue]) -> None:
    """Put the parts of a number such as "12 / 34" behind the whole number, and doubt both."""
    whole = [each.value.value for each in found.values() if " / " in each.value.value]
    for key, each in found.items() if whole else ():
        if any(each.value.value in text.split(" / ") for text in whole):
            found[key] = replace(each.with_best_way(), rank=RANK_OF_SENTENCES + each.rank)
        elif each.value.value in whole:
            found[key] = each.with_best_way()


def _is_part(number: str, other: str) -> bool:
    """Return whether a number is one of several that are written as one, as in "HS24 (H20:1)"."""
    return number != other and re.search(rf"(?<!\w){re.escape(number)}(?!\w)", other) is not None


def _is_other_number(one: str, other: str) -> bool:
    """Return whether two numbers differ, and neither is a part of the other."""
    is_same = fuzzy_phrases.fold_letters(one) == fuzzy_phrases.fold_letters(other)
    return not is_same and not _is_part(one, other) and not _is_part(other, one)
