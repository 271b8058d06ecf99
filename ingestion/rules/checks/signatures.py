"""Whether a document is signed, and when.

Site packets are mostly ink on scanned paper, so what counts is a mark in the area around
the caption of a signature. A filled text field for it and a typed "/s/" or "electronically
signed by" count as well; so does a digital signature at its place (`digital_signatures` says
what each is worth). None of them is ever required.
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
    RIGHT,
    SignatureArea,
    has_marks,
    has_marks_in,
    signature_boxes,
    spots,
)
from ingestion.rules.document_types import DocumentType, SignatureRule
from ingestion.rules.fields import geometry, names
from ingestion.rules.fields.extraction import (
    SCANS,
    FieldValue,
    date_in,
    form_date,
    form_value,
)
from ingestion.rules.fields.geometry import TextSpan

_MAX_DATE_DISTANCE = (
    45.0  # points above and below a caption between which the date of its signature stands
)
_MAX_DATE_GAP = 12  # characters behind the word "date"
_TYPED = ("electronically signed by", "electronically approved by")
_CLAIMS = ("digitally signed by",)  # a digital signature is validated, or it is nothing but words
SIGNATURE = "digital-signature"  # the source of a date: the signature's own time
_DATE = re.compile(r"\W*(?:date|dated|on)\W*", re.IGNORECASE)


class Ink(Enum):
    SIGNED = "signed"
    EMPTY = "empty"  #: the place for it is there, with nothing in it; or there is no ink at all
    CLAIMED = "claimed"  #: the page says that it is digitally signed, and the file is not
    UNSEEN = "unseen"  #: there is ink, but no caption that says what it is: nobody can tell


@dataclass(frozen=True, slots=True)
class DocumentSignature:
    ink: Ink
    page: int = 0  # where it is, or where it should be; 0 for one of the whole file
    area: Box | None = None  # where it was looked for
    date: FieldValue | None = None
    may_be_dated: bool = False  # nobody can tell from what was read
    digital: DigitalSignature | None = None  # the one that it is, whatever that is worth
    is_misplaced: bool = False  # it is digital, and not in the area that was looked at


def find_signature(
    reading: DocumentReading, rule: SignatureRule, *, month_first: bool, expected: str = ""
) -> DocumentSignature:
    """Return what there is of a document's signature.

    `expected` is the name of who signs: of several digital signatures at the place, theirs counts.
    """
    found = spots(reading, rule)
    inked = next((spot for spot in found if spot.is_signed), None) or _typed(reading, _TYPED)
    if inked or form_value(reading, rule.form):
        spot = inked or next(iter(found), None)
        return _signed(reading, rule, spot, month_first=month_first)
    if digital := _digital(reading, rule, found, expected):
        return _digitally_signed(reading, rule, found, digital, month_first=month_first)
    if claim := _typed(reading, _CLAIMS):
        return DocumentSignature(Ink.CLAIMED, claim.page.number, claim.area)
    if found:
        return DocumentSignature(Ink.EMPTY, found[0].page.number, found[0].area)
    if any(has_marks(page, signature_boxes(page, reading)) for page in reading.pages):
        return DocumentSignature(Ink.UNSEEN)
    return DocumentSignature(Ink.EMPTY, reading.pages[-1].number if reading.pages else 0)


def expected_signer(kind: DocumentType, fields: Mapping[str, FieldValue], person: str) -> str:
    """Return the name of who has to sign, as the document gives it or its sender; or ""."""
    rule = kind.signature
    value = fields.get(rule.signer) if rule and rule.signer else None
    if value:
        return value.value
    return person.title() if kind.per_person else ""


def _signed(
    reading: DocumentReading, rule: SignatureRule, spot: SignatureArea | None, *, month_first: bool
) -> DocumentSignature:
    signed_on = form_date("signature_date", reading, rule.date_form, month_first=month_first)
    if spot is None:
        return DocumentSignature(Ink.SIGNED, date=signed_on)
    signed_on = signed_on or _date_beside(spot, month_first=month_first)
    doubt = signed_on is None and _may_be_dated(spot)
    return DocumentSignature(Ink.SIGNED, spot.page.number, spot.area, signed_on, doubt)


def _digitally_signed(
    reading: DocumentReading,
    rule: SignatureRule,
    found: list[SignatureArea],
    digital: DigitalSignature,
    *,
    month_first: bool,
) -> DocumentSignature:
    """Dated by its own time: what it shows as a date may be anything."""
    spot = next((spot for spot in found if _is_in(digital, spot)), None)
    written = _signed(reading, rule, spot, month_first=month_first)
    place = spot or next(iter(found), None)
    is_misplaced = bool(found) and spot is None and not _is_named(digital, rule)
    return replace(
        written,
        page=place.page.number if is_misplaced and place else digital.page,
        area=place.area if is_misplaced and place else digital.box,
        date=_own_date(digital) or written.date,
        may_be_dated=False,
        digital=digital,
        is_misplaced=is_misplaced,
    )


def _digital(
    reading: DocumentReading, rule: SignatureRule, found: list[SignatureArea], expected: str
) -> DigitalSignature | None:
    """Return the digital signature that most likely signs the document, if there is one.

    It belongs to the area that the document has for it; where there is none, to the document. One
    that is elsewhere on the same page, or shown nowhere, is left to a person to judge; one that is
    shown on another page signs what is there.
    """
    pages = {spot.page.number for spot in found}
    candidates = [
        each
        for each in reading.signatures
        if each.result is not SignatureResult.EMPTY
        and (not found or not each.page or each.page in pages)
    ]

    def rank(each: DigitalSignature) -> tuple[bool, bool, bool]:
        is_there = any(_is_in(each, spot) for spot in found) or _is_named(each, rule)
        is_theirs = bool(expected and each.signer) and names.is_same_person(each.signer, expected)
        return not is_there, not is_theirs, not each.page

    return min(candidates, key=rank, default=None)


def _is_in(digital: DigitalSignature, spot: SignatureArea) -> bool:
    box = digital.box
    return box is not None and digital.page == spot.page.number and box.intersects(spot.area)


def _is_named(digital: DigitalSignature, rule: SignatureRule) -> bool:
    """Whether its field is the one that the form has for it."""
    name = fuzzy_phrases.bare(digital.field.rsplit(".", 1)[-1])
    return bool(digital.page) and name in {fuzzy_phrases.bare(each) for each in rule.form}


def _own_date(digital: DigitalSignature) -> FieldValue | None:
    day = digital.signed_on
    if day is None:
        return None
    value, box = day.isoformat(), digital.box
    return FieldValue("signature_date", value, digital.page, SIGNATURE, 100.0, box, day)


def _typed(reading: DocumentReading, phrases: tuple[str, ...]) -> SignatureArea | None:
    """A signature in letters, with a name behind it: "electronically signed by Jane Doe".

    What a digital signature shows of itself is none.
    """
    for page in reading.pages:
        ignored = signature_boxes(page, reading)
        for spot in _in_letters(page, phrases):
            if not any(box.contains_center_of(spot.label.box) for box in ignored):
                return spot
    return None


def _in_letters(page: PageReading, phrases: tuple[str, ...]) -> Iterator[SignatureArea]:
    for phrase in phrases:
        for place in geometry.occurrences(page, phrase):
            if any(word.text[0].isalpha() for word in geometry.behind(page, place)[:1]):
                yield SignatureArea(page, place)
    if phrases is _TYPED and "/s/" in page.text.casefold():
        for at, word in enumerate(page.words):
            if word.text.casefold().startswith("/s/"):
                yield SignatureArea(page, TextSpan(word.box, word.confidence, at, at + 1))


def _date_beside(spot: SignatureArea, *, month_first: bool) -> FieldValue | None:
    """Behind or below the word "date" beside the signature; else the nearest date there."""
    page, captions = spot.page, _date_captions(spot)
    for caption in captions:
        for words in (geometry.behind(page, caption), geometry.below(page, caption)):
            value = _date(page, words, _MAX_DATE_GAP, month_first=month_first)
            if value and _is_beside(value.box, spot):
                return value
    runs = [(word, *geometry.behind(page, geometry.at(page, word))) for word in _beside(spot)]
    values = [_date(page, run, 0, month_first=month_first) for run in runs]
    near = [value for value in values if value and value.box]
    return min(near, key=lambda value: _step(value, spot), default=None)


def _may_be_dated(spot: SignatureArea) -> bool:
    """Something is written behind the word "date", or the scan has lost even that word."""
    captions = _date_captions(spot)
    for caption in captions:
        box = caption.box
        area = Box(box.right, box.top - 18, box.right + RIGHT / 2, box.bottom + 4)
        if has_marks_in(spot.page, area):
            return True
        written = (word for word in _beside(spot) if word.box.intersects(area))
        if any(sign.isdigit() for word in written for sign in word.text):
            return True
    return not captions and spot.page.source in SCANS


def _date_captions(spot: SignatureArea) -> list[TextSpan]:
    return [geometry.at(spot.page, word) for word in _beside(spot) if _DATE.fullmatch(word.text)]


def _beside(spot: SignatureArea) -> list[Word]:
    return [word for word in spot.page.words if _is_beside(word.box, spot)]


def _is_beside(box: Box | None, spot: SignatureArea) -> bool:
    label = spot.label.box
    return (
        box is not None
        and label.top - _MAX_DATE_DISTANCE < box.top < label.bottom + _MAX_DATE_DISTANCE
    )


def _date(
    page: PageReading, words: tuple[Word, ...], within: int, *, month_first: bool
) -> FieldValue | None:
    return date_in("signature_date", page, words, month_first=month_first, within=within)


def _step(value: FieldValue, spot: SignatureArea) -> float:
    return geometry.distance(value.box, spot.label.box) if value.box else 0.0
