"""Where somebody is to sign: the captions of signatures, and the ink in the area around each."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from ingestion.reading.pdf.lazy import marks_near
from ingestion.reading.results import Box, DocumentReading, PageReading
from ingestion.rules.document_types import SignatureRule
from ingestion.rules.fields import geometry
from ingestion.rules.fields.geometry import TextSpan

# Points around a caption that belong to it: people sign above it, behind it or in the box below.
ABOVE, BELOW, LEFT, RIGHT = 50.0, 34.0, 12.0, 260.0
_MAX_CAPTIONS_PER_LABEL = 200  # looked at for one label
_MAX_SIGNATURE_SHARE = 0.6  # of a page's width and height: a larger mark is no signature


@dataclass(frozen=True, slots=True)
class SignatureArea:
    page: PageReading
    label: TextSpan
    signatures: tuple[Box, ...] = ()  # of digital signatures on its page: what they draw is no ink

    @property
    def area(self) -> Box:
        box = self.label.box
        return Box(box.left - LEFT, box.top - ABOVE, box.left + RIGHT, box.bottom + BELOW)

    @property
    def is_signed(self) -> bool:
        return has_marks_in(self.page, self.area, self.signatures)


def spots(reading: DocumentReading, rule: SignatureRule) -> list[SignatureArea]:
    """By the most telling caption alone: "Signature" heads many a column of a table.

    A caption stands by itself, unlike the words of a heading such as "Protocol signature page".
    """
    for label in rule.labels:
        captions = islice(_from_the_end(reading, label), _MAX_CAPTIONS_PER_LABEL)
        if found := [spot for spot in captions if _stands_alone(spot)]:
            return found[::-1]
    return []


def signature_boxes(page: PageReading, reading: DocumentReading) -> tuple[Box, ...]:
    """The boxes of the digital signatures that are shown on a page."""
    return tuple(each.box for each in reading.signatures if each.page == page.number and each.box)


def _from_the_end(reading: DocumentReading, label: str) -> Iterator[SignatureArea]:
    """People sign at the end."""
    for page in reversed(reading.pages):
        for place in reversed(list(geometry.occurrences(page, label))):
            yield SignatureArea(page, place, signature_boxes(page, reading))


def _stands_alone(spot: SignatureArea) -> bool:
    page, label = spot.page, spot.label
    return geometry.begins_alone(page, label) and geometry.ends_alone(page, label)


def has_marks_in(page: PageReading, area: Box, ignored: Sequence[Box] = ()) -> bool:
    """Return whether somebody's hand may be in the area, but for what is drawn in `ignored`."""
    near = (mark for mark in marks_near(page, area) if mark.intersects(area))
    return any(_by_hand(mark, page, ignored) for mark in near)


def has_marks(page: PageReading, ignored: Sequence[Box] = ()) -> bool:
    return any(_by_hand(mark, page, ignored) for mark in page.marks)


def _by_hand(mark: Box, page: PageReading, ignored: Sequence[Box]) -> bool:
    """Whether it may be somebody's hand."""
    if any(box.contains_center_of(mark) for box in ignored):
        return False
    wide, high = mark.right - mark.left, mark.bottom - mark.top
    return wide < _MAX_SIGNATURE_SHARE * page.width or high < _MAX_SIGNATURE_SHARE * page.height
