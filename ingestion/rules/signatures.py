"""Whether a document is signed, and when.

Site packets are mostly ink on scanned paper, so what counts is a mark in the area around
the caption of a signature. A digital signature, a filled signature field and a typed "/s/"
or "electronically signed by" count as well; none of them is ever required.
"""

import re
from dataclasses import dataclass
from enum import Enum

from ingestion.reading.facts import Box, Page, Reading, Word
from ingestion.rules import places
from ingestion.rules.fields import SCANS, FieldValue, date_in, form_date, form_value
from ingestion.rules.places import Place
from ingestion.rules.spots import RIGHT, Spot, has_marks, has_marks_in, spots
from ingestion.rules.types import SignatureRule

_BESIDE = 45.0  # points above and below a caption between which the date of its signature stands
_DATE_WITHIN = 12  # characters behind the word "date"
_TYPED = ("electronically signed by", "digitally signed by", "electronically approved by")
_DATE = re.compile(r"\W*(?:date|dated|on)\W*", re.IGNORECASE)


class Ink(Enum):
    SIGNED = "signed"
    EMPTY = "empty"  #: the place for it is there, with nothing in it; or there is no ink at all
    UNSEEN = "unseen"  #: there is ink, but no caption that says what it is: nobody can tell


@dataclass(frozen=True, slots=True)
class Signature:
    ink: Ink
    page: int = 0  # where it is, or where it should be; 0 for one of the whole file
    area: Box | None = None  # where it was looked for
    date: FieldValue | None = None
    may_be_dated: bool = False  # nobody can tell from what was read


def find_signature(reading: Reading, rule: SignatureRule, *, month_first: bool) -> Signature:
    found = spots(reading, rule)
    inked = next((spot for spot in found if spot.is_signed), None)
    spot = inked or _typed(reading) or next(iter(found), None)
    if inked or _typed(reading) or _is_electronic(reading, rule):
        signed_on = form_date("signature_date", reading, rule.date_form, month_first=month_first)
        if spot is None:
            return Signature(Ink.SIGNED, date=signed_on)
        signed_on = signed_on or _date_beside(spot, month_first=month_first)
        doubt = signed_on is None and _may_be_dated(spot)
        return Signature(Ink.SIGNED, spot.page.number, spot.area, signed_on, doubt)
    if spot:
        return Signature(Ink.EMPTY, spot.page.number, spot.area)
    if any(map(has_marks, reading.pages)):
        return Signature(Ink.UNSEEN)
    return Signature(Ink.EMPTY, reading.pages[-1].number if reading.pages else 0)


def _typed(reading: Reading) -> Spot | None:
    """A signature in letters, with a name behind it: "electronically signed by Jane Doe"."""
    for page in reading.pages:
        for phrase in _TYPED:
            for place in places.occurrences(page, phrase):
                if any(word.text[0].isalpha() for word in places.behind(page, place)[:1]):
                    return Spot(page, place)
        slashed = page.words if "/s/" in page.text.casefold() else ()
        for at, word in enumerate(slashed):
            if word.text.casefold().startswith("/s/"):
                return Spot(page, Place(word.box, word.confidence, at, at + 1))
    return None


def _is_electronic(reading: Reading, rule: SignatureRule) -> bool:
    return "digital-signature" in reading.flags or bool(form_value(reading, rule.form))


def _date_beside(spot: Spot, *, month_first: bool) -> FieldValue | None:
    """Behind or below the word "date" beside the signature; else the nearest date there."""
    page, captions = spot.page, _date_captions(spot)
    for caption in captions:
        for words in (places.behind(page, caption), places.below(page, caption)):
            value = _date(page, words, _DATE_WITHIN, month_first=month_first)
            if value and _is_beside(value.box, spot):
                return value
    runs = [(word, *places.behind(page, places.at(page, word))) for word in _beside(spot)]
    values = [_date(page, run, 0, month_first=month_first) for run in runs]
    near = [value for value in values if value and value.box]
    return min(near, key=lambda value: _step(value, spot), default=None)


def _may_be_dated(spot: Spot) -> bool:
    """Something is written behind the word "date", or the scan has lost even that word."""
    captions = _date_captions(spot)
    for caption in captions:
        box = caption.box
        area = Box(box.right, box.top - 18, box.right + RIGHT / 2, box.bottom + 4)
        if has_marks_in(spot.page, area):
            return True
        written = (word for word in _beside(spot) if word.box.touches(area))
        if any(sign.isdigit() for word in written for sign in word.text):
            return True
    return not captions and spot.page.source in SCANS


def _date_captions(spot: Spot) -> list[Place]:
    return [places.at(spot.page, word) for word in _beside(spot) if _DATE.fullmatch(word.text)]


def _beside(spot: Spot) -> list[Word]:
    return [word for word in spot.page.words if _is_beside(word.box, spot)]


def _is_beside(box: Box | None, spot: Spot) -> bool:
    label = spot.label.box
    return box is not None and label.top - _BESIDE < box.top < label.bottom + _BESIDE


def _date(
    page: Page, words: tuple[Word, ...], within: int, *, month_first: bool
) -> FieldValue | None:
    return date_in("signature_date", page, words, month_first=month_first, within=within)


def _step(value: FieldValue, spot: Spot) -> float:
    return places.distance(value.box, spot.label.box) if value.box else 0.0
