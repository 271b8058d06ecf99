"""Finds the areas in which a document has to be signed, and the ink in them."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from ingestion.reading.pdf.lazy import iter_marks, iter_marks_near
from ingestion.reading.results import Box, DocumentReading, PageReading
from ingestion.rules.document_types import SignatureRule
from ingestion.rules.fields import geometry
from ingestion.rules.fields.geometry import TextSpan

# The area around a caption, in points: people sign above it, to its right or in the box below.
POINTS_ABOVE, POINTS_BELOW, POINTS_LEFT, POINTS_RIGHT = 50.0, 34.0, 12.0, 260.0
_MAX_CAPTIONS_PER_LABEL = 200  # occurrences of one label that are examined
# Share of the width and height of a page. A mark that is larger in both is not a signature.
_MAX_SIGNATURE_SHARE = 0.6


@dataclass(frozen=True, slots=True)
class SignatureArea:
    """The surroundings of the caption of a signature."""

    page: PageReading
    label: TextSpan
    # The boxes of digital signatures on the page. What they draw is not ink.
    signatures: tuple[Box, ...] = ()

    @property
    def area(self) -> Box:
        """Return the area around the caption in which a signature is expected, in points."""
        box = self.label.box
        return Box(
            box.left - POINTS_LEFT,
            box.top - POINTS_ABOVE,
            box.left + POINTS_RIGHT,
            box.bottom + POINTS_BELOW,
        )

    @property
    def is_signed(self) -> bool:
        """Return whether the area contains marks that may be handwriting."""
        return has_marks_in(self.page, self.area, self.signatures)


def find_signature_areas(reading: DocumentReading, rule: SignatureRule) -> list[SignatureArea]:
    """Return the signature areas of the most specific caption that the document has, in order.

    "Signature" alone is also the heading of many table columns. A caption stands by itself, unlike
    the words of a heading such as "Protocol signature page".
    """
    for label in rule.labels:
        # People sign at the end, so the last captions are examined if there are too many.
        captions = (
            (page, span)
            for page in reversed(reading.pages)
            for span in reversed(list(geometry.find_phrase(page, label)))
        )
        found = [
            SignatureArea(page, span, list_digital_signature_boxes(page, reading))
            for page, span in islice(captions, _MAX_CAPTIONS_PER_LABEL)
            if geometry.has_no_text_before(page, span) and geometry.has_no_text_after(page, span)
        ]
        if found:
            return found[::-1]
    return []


def list_digital_signature_boxes(page: PageReading, reading: DocumentReading) -> tuple[Box, ...]:
    """Return the boxes of the digital signatures that are displayed on a page."""
    return tuple(each.box for each in reading.signatures if each.page == page.number and each.box)


def has_marks_in(page: PageReading, area: Box, ignored: Sequence[Box] = ()) -> bool:
    """Return whether an area contains marks that may be handwriting, outside the ignored boxes."""
    near = (mark for mark in iter_marks_near(page, area) if mark.intersects(area))
    return any(_may_be_handwriting(mark, page, ignored) for mark in near)


def has_marks(page: PageReading, ignored: Sequence[Box] = ()) -> bool:
    """Return whether a page contains marks that may be handwriting, outside the ignored boxes."""
    return any(_may_be_handwriting(mark, page, ignored) for mark in iter_marks(page))


def _may_be_handwriting(mark: Box, page: PageReading, ignored: Sequence[Box]) -> bool:
    if any(box.contains_centre_of(mark) for box in ignored):
        return False
    width, height = mark.right - mark.left, mark.bottom - mark.top
    return width < _MAX_SIGNATURE_SHARE * page.width or height < _MAX_SIGNATURE_SHARE * page.height
