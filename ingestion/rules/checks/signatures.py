"""Determines whether a document is signed, and the day of its signature.

Most site packets are scans of documents that were signed on paper. Therefore a mark in the area
around the caption of a signature counts. A filled text field for the signature counts as well, and
so do a typed "/s/" or "electronically signed by" and a digital signature in its place
(`digital_signatures` judges its quality). No particular form of signature is required.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum

from ingestion.reading.results import (
    Box,
    DigitalSignature,
    DocumentReading,
    PageReading,
    SignatureResult,
    Word,
)
from ingestion.rules import fuzzy_phrases
from ingestion.rules.checks.signature_areas import (
    POINTS_RIGHT,
    SignatureArea,
    find_signature_areas,
    has_marks,
    has_marks_in,
    list_digital_signature_boxes,
)
from ingestion.rules.document_types import DocumentType, SignatureRule
from ingestion.rules.fields import geometry
from ingestion.rules.fields.geometry import TextSpan
from ingestion.rules.fields.persons import names
from ingestion.rules.fields.values import (
    SCAN_SOURCES,
    FieldValue,
    find_date,
    read_form_date,
    read_form_field,
)

# Points above and below the caption of a signature between which its date stands.
_MAX_DATE_DISTANCE = 45.0
_MAX_DATE_GAP = 12  # characters after the word "date" within which the date begins
# The area after the word "date" that may contain a written date, in points.
_DATE_AREA_ABOVE, _DATE_AREA_BELOW, _DATE_AREA_WIDTH = 18, 4, POINTS_RIGHT / 2
_TYPED_SIGNATURES = ("electronically signed by", "electronically approved by")
# These words count only if the file contains a digital signature, which is then validated.
_CLAIMED_SIGNATURES = ("digitally signed by",)
DIGITAL_SIGNATURE_SOURCE = "digital-signature"  # source of a date: the time in the signature
_DATE_WORD = re.compile(
    r"\W*(?:date|dated|on|datum|fecha|data|dnia|le|den|дата|日付|年月日|日期|날짜|일자)\W*",
    re.IGNORECASE,
)
# Parts of words that ask for a signature, in the languages of the document types.
_SIGNATURE_WORDS = (
    "sign", "unterschrift", "unterzeichn", "firma", "assinatura", "handtekening", "podpis",
    "подпись", "署名", "签", "簽", "서명",
)  # fmt: skip


class SignatureState(Enum):
    """Lists what is known about the signature of a document."""

    SIGNED = "signed"
    EMPTY = "empty"  #: the signature area is empty, or the document has no ink at all
    CLAIMED = "claimed"  #: the page says that it is digitally signed, but the file is not
    UNSEEN = "unseen"  #: there is ink, but no caption that shows whether it is a signature


@dataclass(frozen=True, slots=True)
class DocumentSignature:
    """The signature of a document, or the place where it is missing."""

    state: SignatureState
    page: int = 0  # of the signature or its area; 0 for a signature of the whole file
    area: Box | None = None  # the area that was examined
    date: FieldValue | None = None
    may_be_dated: bool = False  # there may be a date that was not read
    digital: DigitalSignature | None = None  # the digital signature, whatever its quality
    is_misplaced: bool = False  # the digital signature is outside the area for it


def find_signature(
    reading: DocumentReading, rule: SignatureRule, *, month_first: bool | None, expected: str = ""
) -> DocumentSignature:
    """Return the signature of a document.

    `expected` is the name of the person who has to sign. If several digital signatures are in the
    signature area, the signature of that person counts.
    """
    areas = find_signature_areas(reading, rule)
    signed = next((area for area in areas if area.is_signed), None)
    signed = signed or _find_typed(reading, _TYPED_SIGNATURES)
    if signed or read_form_field(reading, rule.form):
        area = signed or next(iter(areas), None)
        return _describe(reading, rule, area, month_first=month_first)
    if digital := _choose_digital(reading, rule, areas, expected):
        return _describe_digital(reading, rule, areas, digital, month_first=month_first)
    if claim := _find_typed(reading, _CLAIMED_SIGNATURES):
        return DocumentSignature(SignatureState.CLAIMED, claim.page.number, claim.area)
    # In a letter, a caption such as "chair" stands below the signer's name, or in the text.
    if empty := next(
        (area for area in areas if not rule.is_letter or _asks_for_signature(area)), None
    ):
        return DocumentSignature(SignatureState.EMPTY, empty.page.number, empty.area)
    if any(has_marks(page, list_digital_signature_boxes(page, reading)) for page in reading.pages):
        return DocumentSignature(SignatureState.UNSEEN)
    last_page = reading.pages[-1].number if reading.pages else 0
    return DocumentSignature(SignatureState.EMPTY, last_page)


def _asks_for_signature(area: SignatureArea) -> bool:
    """Return whether the caption of an area contains the word "signature", "signed" or the like."""
    words = area.page.words[area.label.start : area.label.end]
    return any(part in word.text.casefold() for word in words for part in _SIGNATURE_WORDS)


def find_expected_signer(kind: DocumentType, fields: Mapping[str, FieldValue], person: str) -> str:
    """Return the name of the person who has to sign, or "" if it is not known.

    It is the name in the document, or else the `person` whom the sender declared.
    """
    rule = kind.signature
    value = fields.get(rule.signer) if rule and rule.signer else None
    if value:
        return value.value
    return person.title() if kind.per_person else ""


def _describe(
    reading: DocumentReading,
    rule: SignatureRule,
    area: SignatureArea | None,
    *,
    month_first: bool | None,
) -> DocumentSignature:
    """Return a signature in an area, or in a form field, with its date."""
    signed_on = read_form_date("signature_date", reading, rule.date_form, month_first=month_first)
    if area is None:
        return DocumentSignature(SignatureState.SIGNED, date=signed_on)
    signed_on = signed_on or _find_date_beside(area, month_first=month_first)
    may_be_dated = signed_on is None and _may_be_dated(area)
    return DocumentSignature(
        SignatureState.SIGNED, area.page.number, area.area, signed_on, may_be_dated
    )


def _describe_digital(
    reading: DocumentReading,
    rule: SignatureRule,
    areas: list[SignatureArea],
    digital: DigitalSignature,
    *,
    month_first: bool | None,
) -> DocumentSignature:
    """Return a digital signature with its own time, because its displayed date may be wrong."""
    area = next((area for area in areas if _is_in(digital, area)), None)
    written = _describe(reading, rule, area, month_first=month_first)
    is_misplaced = bool(areas) and area is None and not _has_field_of(digital, rule)
    signed_on = written.date
    if day := digital.signed_on:
        signed_on = FieldValue(
            "signature_date",
            day.isoformat(),
            digital.page,
            DIGITAL_SIGNATURE_SOURCE,
            100.0,
            digital.box,
            day,
        )
    return replace(
        written,
        page=areas[0].page.number if is_misplaced else digital.page,
        area=areas[0].area if is_misplaced else digital.box,
        date=signed_on,
        may_be_dated=False,
        digital=digital,
        is_misplaced=is_misplaced,
    )


def _choose_digital(
    reading: DocumentReading, rule: SignatureRule, areas: list[SignatureArea], expected: str
) -> DigitalSignature | None:
    """Return the digital signature that most likely signs the document, or None.

    It is in the signature area of the document, or anywhere if the document has none. A person
    judges a signature that is elsewhere on the page of the area, or is displayed nowhere. A
    signature that is displayed on another page signs what is there.
    """
    pages = {area.page.number for area in areas}
    candidates = [
        each
        for each in reading.signatures
        if each.result is not SignatureResult.EMPTY
        and (not areas or not each.page or each.page in pages)
    ]

    def sort_key(each: DigitalSignature) -> tuple[bool, bool, bool]:
        is_in_place = any(_is_in(each, area) for area in areas) or _has_field_of(each, rule)
        is_expected = bool(expected and each.signer) and names.is_same_person(each.signer, expected)
        return not is_in_place, not is_expected, not each.page

    return min(candidates, key=sort_key, default=None)


def _is_in(digital: DigitalSignature, area: SignatureArea) -> bool:
    box = digital.box
    return box is not None and digital.page == area.page.number and box.intersects(area.area)


def _has_field_of(digital: DigitalSignature, rule: SignatureRule) -> bool:
    """Return whether the field of a digital signature is the form's field for the signature."""
    name = fuzzy_phrases.strip_punctuation(digital.field.rsplit(".", 1)[-1])
    return bool(digital.page) and name in map(fuzzy_phrases.strip_punctuation, rule.form)


def _find_typed(reading: DocumentReading, phrases: tuple[str, ...]) -> SignatureArea | None:
    """Return the first typed signature, such as "electronically signed by Jane Doe", or None.

    The text that a digital signature displays does not count.
    """
    for page in reading.pages:
        ignored = list_digital_signature_boxes(page, reading)
        for area in _typed_signatures_on(page, phrases):
            if not any(box.contains_centre_of(area.label.box) for box in ignored):
                return area
    return None


def _typed_signatures_on(page: PageReading, phrases: tuple[str, ...]) -> Iterator[SignatureArea]:
    for phrase in phrases:
        for span in geometry.find_phrase(page, phrase):
            if any(word.text[0].isalpha() for word in geometry.words_right_of(page, span)[:1]):
                yield SignatureArea(page, span)
    if phrases is _TYPED_SIGNATURES and "/s/" in page.text.casefold():
        for number, word in enumerate(page.words):
            if word.text.casefold().startswith("/s/"):
                span = TextSpan(word.box, word.confidence, number, number + 1)
                yield SignatureArea(page, span)


def _find_date_beside(area: SignatureArea, *, month_first: bool | None) -> FieldValue | None:
    """Return the date after or below the word "date" beside a signature, or the nearest date."""
    page = area.page
    for caption in _date_captions(area):
        for find_words in (geometry.words_right_of, geometry.words_below):
            value = find_date(
                "signature_date",
                page,
                find_words(page, caption),
                month_first=month_first,
                max_gap=_MAX_DATE_GAP,
            )
            if value and _is_beside(value.box, area):
                return value
    nearest, least_distance = None, 0.0
    for word in _words_beside(area):
        run = (word, *geometry.words_right_of(page, geometry.span_of_word(page, word)))
        value = find_date("signature_date", page, run, month_first=month_first, max_gap=0)
        if value and value.box:
            distance = geometry.distance(value.box, area.label.box)
            if nearest is None or distance < least_distance:
                nearest, least_distance = value, distance
    return nearest


def _may_be_dated(area: SignatureArea) -> bool:
    """Return whether something is written after the word "date", or a scan lost that word."""
    captions = _date_captions(area)
    for caption in captions:
        box = caption.box
        date_area = Box(
            box.right,
            box.top - _DATE_AREA_ABOVE,
            box.right + _DATE_AREA_WIDTH,
            box.bottom + _DATE_AREA_BELOW,
        )
        if has_marks_in(area.page, date_area):
            return True
        written = (word for word in _words_beside(area) if word.box.intersects(date_area))
        if any(sign.isdigit() for word in written for sign in word.text):
            return True
    return not captions and area.page.source in SCAN_SOURCES


def _date_captions(area: SignatureArea) -> list[TextSpan]:
    return [
        geometry.span_of_word(area.page, word)
        for word in _words_beside(area)
        if _DATE_WORD.fullmatch(word.text)
    ]


def _words_beside(area: SignatureArea) -> list[Word]:
    return [word for word in area.page.words if _is_beside(word.box, area)]


def _is_beside(box: Box | None, area: SignatureArea) -> bool:
    """Return whether a box is level enough with the caption of a signature to be its date."""
    label = area.label.box
    return (
        box is not None
        and label.top - _MAX_DATE_DISTANCE < box.top < label.bottom + _MAX_DATE_DISTANCE
    )
