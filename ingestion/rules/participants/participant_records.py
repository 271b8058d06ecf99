"""Decides which pages are records of participants, and where their details are.

One detail alone says little: a CV has the date of birth of its own person, a certificate names the
participant of a course, and a log of the study has initials beside numbers of participants. So a
page is a record of a participant if it has two details of a person, and one of its captions occurs
only in such a record. Codes of a study are no such detail by themselves.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain

from ingestion.reading.languages import UNKNOWN
from ingestion.reading.results import Box, DocumentReading, PageReading
from ingestion.rules import fuzzy_phrases
from ingestion.rules.document_language import identify_page
from ingestion.rules.document_types import TRANSLATED_LANGUAGES, DocumentType
from ingestion.rules.fields import dates, geometry
from ingestion.rules.participants.captioned_details import (
    Detail,
    DetailKind,
    PrintedCaption,
    find_captioned_details,
    list_printed_captions,
)
from ingestion.rules.participants.patient_labels import (
    find_labels,
    find_named_in_text,
    may_print_label,
)
from ingestion.rules.participants.text_direction import find_direction, turn_back, turn_upright

MAX_AREAS_PER_PAGE = 200  # more are joined into one around all of them
_MAX_DISTANCE = 90.0  # points from a detail of a participant to a name whose caption is of anybody
_MIN_REPEATED_LETTERS = 5  # of a value that is searched on all pages
_MIN_SURNAME_LETTERS = 4
_CONSENT_REACH = 60.0  # points between the name of a participant and the date of the consent

_PERSONAL = frozenset(
    {
        DetailKind.NAME,
        DetailKind.INITIALS,
        DetailKind.BIRTH_DATE,
        DetailKind.RECORD_NUMBER,
        DetailKind.IDENTITY_NUMBER,
    }
)
_REPEATED = frozenset(DetailKind) - {DetailKind.INITIALS, DetailKind.STUDY_NUMBER}


def find_participant_areas(
    reading: DocumentReading, kind: DocumentType | None
) -> Mapping[int, Sequence[Box]]:
    """Return the places of the details of participants, in points, by the number of the page.

    `kind` is the type of the document, or None if it is not known. Pages without details are left
    out. The details of a page that is a record of a participant are searched on all pages.
    """
    records = {page.number: _find_record(page, kind) for page in reading.pages}
    known = list(chain.from_iterable(records.values()))
    if not known:
        return {}
    found = {}
    for page in reading.pages:
        own = [detail.box for detail in records[page.number]]
        repeated = _find_repetitions(turn_upright(page), known, has_record=bool(own))
        if boxes := [*own, *repeated]:
            direction = find_direction(page)
            found[page.number] = _merge([turn_back(box, direction, page) for box in boxes])
    return found


def _find_record(page: PageReading, kind: DocumentType | None) -> list[Detail]:
    """Return the details of a page if it is a record of a participant, or nothing.

    The places of the details are those on the page that was turned upright.
    """
    language = _choose_language(page)
    captions = list_printed_captions(page.text, language)
    if not _may_be_record(page, captions, kind) or not page.words:
        return []
    page = turn_upright(page)
    details = list(find_captioned_details(page, captions, language))
    if kind is not None and kind.has_participants:
        details = [_make_specific(detail) for detail in details]
    details += find_named_in_text(page, details, language)
    labels: list[Detail] = []
    if _may_have_labels(kind):
        labels = list(find_labels(page, details, language))
    if labels or _is_record(details) or _is_signed_consent(page, details, kind):
        return _keep_own(details + labels)
    return []


def _may_be_record(
    page: PageReading, captions: Iterable[PrintedCaption], kind: DocumentType | None
) -> bool:
    """Return False if the text of a page shows that it is no record of a participant."""
    if _may_have_labels(kind) and may_print_label(page.text):
        return True
    has_participants = kind is not None and kind.has_participants
    return any(each.is_decisive or (has_participants and each.is_name) for each in captions)


def _may_have_labels(kind: DocumentType | None) -> bool:
    """Return whether a document of this type may have labels of patients on it."""
    return kind is None or not kind.per_person


def _choose_language(page: PageReading) -> str:
    language = identify_page(page)
    return UNKNOWN if language == UNKNOWN or language not in TRANSLATED_LANGUAGES else language


def _make_specific(detail: Detail) -> Detail:
    if detail.kind is not DetailKind.NAME:
        return detail
    return Detail(detail.kind, detail.words, is_specific=True, text=detail.text)


def _is_record(details: Sequence[Detail]) -> bool:
    """Return whether some details of a page are those of a participant."""
    if any(detail.is_unique for detail in details):
        return True
    specific = [detail for detail in details if detail.is_specific]
    if not specific:
        return False
    kinds = {detail.kind for detail in details if detail.kind in _PERSONAL}
    kinds -= {DetailKind.NAME} - {detail.kind for detail in specific}
    is_coded = any(detail.kind is DetailKind.STUDY_NUMBER for detail in specific)
    records = [detail for detail in specific if detail.kind is DetailKind.RECORD_NUMBER]
    names = [each for each in details if each.kind in {DetailKind.NAME, DetailKind.NAME_PART}]
    if any(_is_near(name, records) for name in names):
        kinds.add(DetailKind.NAME)
    if kinds == {DetailKind.INITIALS, DetailKind.IDENTITY_NUMBER}:
        return False
    coded = {DetailKind.NAME, DetailKind.BIRTH_DATE, DetailKind.RECORD_NUMBER}
    return len(kinds) > 1 or (is_coded and not kinds.isdisjoint(coded))


def _is_near(detail: Detail, others: Sequence[Detail]) -> bool:
    return any(abs(detail.box.top - other.box.top) < _MAX_DISTANCE for other in others)


def _is_signed_consent(
    page: PageReading, details: Sequence[Detail], kind: DocumentType | None
) -> bool:
    """Return whether the page of a consent form has a participant's name and a date beside it."""
    if kind is None or not kind.has_participants:
        return False
    names = [each.box for each in details if each.kind is DetailKind.NAME and each.is_specific]
    for box in names:
        near = [word for word in page.words if abs(word.box.top - box.top) < _CONSENT_REACH]
        if next(dates.find_dates(" ".join(word.text for word in near)), None):
            return True
    return False


def _keep_own(details: Sequence[Detail]) -> list[Detail]:
    """Return the details without names and numbers that may be those of another person."""
    specific = [detail for detail in details if detail.is_specific]
    return [
        detail
        for detail in details
        if detail.is_specific
        or detail.kind in {DetailKind.BIRTH_DATE, DetailKind.NAME, DetailKind.IDENTITY_NUMBER}
        or _is_near(detail, specific)
    ]


def _find_repetitions(
    page: PageReading, known: Sequence[Detail], *, has_record: bool
) -> Iterator[Box]:
    """Yield the places where the values of known details are repeated.

    On a page with a record, parts of the names are searched too.
    """
    values = {detail.text.strip(" ,.;") for detail in known if detail.kind in _REPEATED}
    if has_record:
        values |= {
            part.strip(".")
            for detail in known
            if detail.kind in {DetailKind.NAME, DetailKind.NAME_PART}
            for part in detail.text.replace(",", " ").split()
        }
    shortest = _MIN_SURNAME_LETTERS if has_record else _MIN_REPEATED_LETTERS
    for value in sorted(values):
        # A name in Chinese characters is short.
        if not value.isascii() or len(fuzzy_phrases.fold_letters(value)) >= shortest:
            yield from (span.box for span in geometry.find_phrase(page, value))


def _merge(boxes: Sequence[Box]) -> list[Box]:
    """Return the boxes without those within others; of very many, one around all of them."""
    kept: list[Box] = []
    for box in sorted(
        set(boxes), key=lambda each: (each.left - each.right) * (each.bottom - each.top)
    ):
        if not any(_is_within(box, each) for each in kept):
            kept.append(box)
    if len(kept) > MAX_AREAS_PER_PAGE:
        lefts, tops, rights, bottoms = zip(*kept, strict=True)
        return [Box(min(lefts), min(tops), max(rights), max(bottoms))]
    return sorted(kept, key=lambda each: (each.top, each.left))


def _is_within(box: Box, other: Box) -> bool:
    return (
        other.left - 0.5 <= box.left
        and other.top - 0.5 <= box.top
        and box.right <= other.right + 0.5
        and box.bottom <= other.bottom + 0.5
    )
