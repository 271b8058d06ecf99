"""Whether a document is signed and dated, and where.

Site packets are mostly ink on scanned paper, so what counts is a mark in the area around
the caption of a signature. A digital signature, a filled signature field and a typed "/s/"
or "electronically signed by" count as well; none of them is ever required.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from ingestion.reading.facts import Box, Page, Reading, Word
from ingestion.rules import dates, places
from ingestion.rules.fields import FORM, FieldValue, dated, form_value
from ingestion.rules.places import Place
from ingestion.rules.types import SignatureRule

ABOVE, BELOW, LEFT, RIGHT = 50.0, 34.0, 12.0, 260.0  # points around a caption that belong to it
_BESIDE = 45.0  # points above and below a caption between which its date stands
_GAP = 14.0  # points of white that set a caption apart from running text
_PAGE_WIDE = 0.6  # of a page's width and height: a larger mark is no signature
_TYPED = re.compile(
    r"/s/\s*\w|(?:electronically|digitally) (?:signed|approved) by|signed electronically by",
    re.IGNORECASE,
)
_BEHIND_TYPED = 120  # characters behind a typed signature within which its date stands
_DATE = re.compile(r"\b(?:date|dated|date signed|on)\b")
_OTHER_DATE = re.compile(r"(?:expir|version|birth|issued|effective)\w*[^\d]{0,20}$")


class Ink(Enum):
    SIGNED = "signed"
    EMPTY = "empty"  #: the place for it is there, with nothing in it; or there is no ink at all
    UNSEEN = "unseen"  #: there is ink, but no caption that says what it is: nobody can tell


@dataclass(frozen=True, slots=True)
class Signature:
    ink: Ink
    page: int = 0  # where it is, or where it should be
    area: Box | None = None  # where it was looked for
    date: FieldValue | None = None
    has_unread_date: bool = False  # something is written where the date belongs


@dataclass(frozen=True, slots=True)
class _Spot:
    """A caption under, above or before which somebody is to sign."""

    page: Page
    label: Place

    @property
    def area(self) -> Box:
        box = self.label.box
        return Box(box.left - LEFT, box.top - ABOVE, box.left + RIGHT, box.bottom + BELOW)

    @property
    def is_signed(self) -> bool:
        return any(places.touches(mark, self.area) for mark in _marks(self.page))


def find_signature(reading: Reading, rule: SignatureRule, *, month_first: bool) -> Signature:
    spots = _spots(reading, rule)
    spot = next((spot for spot in spots if spot.is_signed), next(iter(spots), None))
    typed = _typed_on(reading, rule)
    if typed is not None or (spot and spot.is_signed):
        number = spot.page.number if spot else typed or 0
        written = _date(reading, rule, spot, number, month_first=month_first)
        unread = written is None and spot is not None and _has_unread_date(spot)
        return Signature(Ink.SIGNED, number, spot.area if spot else None, written, unread)
    if spot:
        return Signature(Ink.EMPTY, spot.page.number, spot.area)
    if any(_marks(page) for page in reading.pages):
        return Signature(Ink.UNSEEN)
    return Signature(Ink.EMPTY, reading.pages[-1].number if reading.pages else 0)


def _spots(reading: Reading, rule: SignatureRule) -> list[_Spot]:
    """By the most telling caption alone: "Signature" heads many a column of a table."""
    for label in rule.labels:
        spots = [
            _Spot(page, place)
            for page in reading.pages
            for place in places.occurrences(page, label)
            if _stands_alone(page.words, place)
        ]
        if spots:
            return spots
    return []


def _stands_alone(words: Sequence[Word], place: Place) -> bool:
    """A caption, not a part of a sentence or of a heading such as "Protocol signature page"."""
    before = words[place.start - 1] if place.start else None
    behind = words[place.end] if place.end < len(words) else None
    if before and _joins(before.box, place.box) and not re.fullmatch(r"\W*\d*\W*", before.text):
        return False
    last = words[place.end - 1].text
    if behind is None or last.endswith(":") or not _joins(place.box, behind.box):
        return True
    return not behind.text[0].isalnum()


def _joins(left: Box, right: Box) -> bool:
    return places.same_line(left, right) and 0 <= right.left - left.right + 2 < _GAP


def _marks(page: Page) -> Iterator[Box]:
    for mark in page.marks:
        wide, high = mark.right - mark.left, mark.bottom - mark.top
        if wide < _PAGE_WIDE * page.width or high < _PAGE_WIDE * page.height:
            yield mark


def _typed_on(reading: Reading, rule: SignatureRule) -> int | None:
    """The page of a signature without ink; 0 when it belongs to the whole file."""
    typed = next((page.number for page in reading.pages if _TYPED.search(page.text)), None)
    if typed is not None:
        return typed
    if "digital-signature" in reading.flags or form_value(reading, rule.form):
        return 0
    return None


def _date(
    reading: Reading, rule: SignatureRule, spot: _Spot | None, number: int, *, month_first: bool
) -> FieldValue | None:
    text = form_value(reading, rule.date_form)
    if filled := next(dates.find(text, month_first=month_first), None):
        return dated("signature_date", filled, number, FORM, 100.0)
    if spot:
        return _date_beside(spot, month_first=month_first)
    return _date_behind_typed(reading, month_first=month_first)


def _date_beside(spot: _Spot, *, month_first: bool) -> FieldValue | None:
    """Of several dates the one behind the word "date", then the nearest."""
    found = []
    for line in _lines(_beside(spot)):
        text = " ".join(word.text for word in line)
        for written in dates.find(text, month_first=month_first):
            before = text[: written.start].casefold()
            place = places.nearest(spot.page, written.raw, spot.label)
            if place and not _OTHER_DATE.search(before):
                step = places.distance(place.box, spot.label.box)
                found.append((not _DATE.search(before), step, written, place))
    if not found:
        return None
    *_, written, place = min(found, key=lambda each: each[:2])
    page = spot.page
    return dated("signature_date", written, page.number, page.source, place.confidence, place)


def _date_behind_typed(reading: Reading, *, month_first: bool) -> FieldValue | None:
    for page in reading.pages:
        for typed in _TYPED.finditer(page.text):
            behind = page.text[typed.end() : typed.end() + _BEHIND_TYPED]
            if written := next(dates.find(behind, month_first=month_first), None):
                return dated("signature_date", written, page.number, page.source, page.confidence)
    return None


def _has_unread_date(spot: _Spot) -> bool:
    """Something is written behind the caption of the date, by hand or past recognition."""
    beside = _beside(spot)
    captions = [word for word in beside if _DATE.fullmatch(word.text.casefold().strip(" .:()"))]
    for caption in captions:
        box = caption.box
        area = Box(box.right, box.top - ABOVE / 2, box.right + RIGHT / 2, box.bottom + 4)
        if any(places.touches(mark, area) for mark in _marks(spot.page)):
            return True
        written = (word for word in beside if places.touches(word.box, area))
        if any(sign.isdigit() for word in written for sign in word.text):
            return True
    return False


def _beside(spot: _Spot) -> list[Word]:
    top, bottom = spot.label.box.top - _BESIDE, spot.label.box.bottom + _BESIDE
    return [word for word in spot.page.words if top < word.box.top and word.box.bottom < bottom]


def _lines(words: Sequence[Word]) -> list[list[Word]]:
    """From the top down, each from the left."""
    lines: list[list[Word]] = []
    for word in sorted(words, key=lambda word: (word.box.top, word.box.left)):
        line = next((line for line in lines if places.same_line(line[0].box, word.box)), None)
        if line is None:
            lines.append([word])
        else:
            line.append(word)
    return [sorted(line, key=lambda word: word.box.left) for line in lines]
