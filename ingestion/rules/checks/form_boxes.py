"""What stands in the numbered boxes of a form, wherever it came from: typed, printed or by hand.

A box is called empty only where its caption was found, the caption that follows it too, and nothing
between them: neither a word that is not printed on the blank form, nor ink.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from enum import Enum
from itertools import chain, islice, product

from ingestion.reading.pdf.lazy import marks_near
from ingestion.reading.results import Box, DocumentReading, PageReading
from ingestion.rules.checks.signature_areas import has_marks_in
from ingestion.rules.document_types import DocumentType, FieldSpec
from ingestion.rules.fields import geometry
from ingestion.rules.fields.extraction import in_context

_MAX_CAPTIONS_PER_BOX = 20  # looked at for one box
_NUMBER = re.compile(r"^\W*\d{1,2}\W+")  # of a box, before its caption
_MIN_READ_CONFIDENCE = 60.0  # of 100; a word of which recognition was less sure may be handwriting
_MAX_SQUARE_DISTANCE = 30.0  # points to the left of a choice within which its square stands


class Content(Enum):
    EMPTY = "empty"
    UNREAD = "unread"  #: there is something in it that was not read, or its end was not found
    NOT_FOUND = "not found"  #: its caption was not found
    CHOSEN = "chosen"  #: a choice that is ticked, or may be


def content(reading: DocumentReading, spec: FieldSpec, kind: DocumentType) -> tuple[Content, int]:
    """Return what the box of a field holds that has no value, and its page; 0 where unknown."""
    if spec.kind == "choice":
        return _choice(reading, spec)
    seen = list(islice(_entries(reading, spec, kind), _MAX_CAPTIONS_PER_BOX))
    unread = (each for each in seen if each[0] is Content.UNREAD)
    return next(chain(unread, seen), (Content.NOT_FOUND, 0))


def has_unread_ink(page: PageReading, spec: FieldSpec) -> bool:
    """Whether there is ink in the box of a field that nobody read: handwriting, or a stamp."""
    captions = (place for label in spec.labels for place in geometry.occurrences(page, label))
    areas = (
        _area(page, place, spec)
        for place in islice(captions, _MAX_CAPTIONS_PER_BOX)
        if in_context(page, place, spec)
    )
    found = [area for area in areas if area]
    # From below the last of its captions: a box may have two on one line.
    return bool(found) and _has_ink(page, max(found, key=lambda area: area.top))


def _entries(
    reading: DocumentReading, spec: FieldSpec, kind: DocumentType
) -> Iterator[tuple[Content, int]]:
    for label, page in product(spec.labels, reading.pages):
        for place in geometry.occurrences(page, label):
            if in_context(page, place, spec):
                area = _area(page, place, spec)
                is_empty = area is not None and not _holds(page, area, place, kind)
                yield (Content.EMPTY if is_empty else Content.UNREAD), page.number


def _area(page: PageReading, caption: geometry.TextSpan, spec: FieldSpec) -> Box | None:
    """From below the caption to the top of what follows; None where that was not found."""
    below = [
        place.box.top
        for phrase in spec.until
        for place in geometry.occurrences(page, phrase)
        if place.box.top > caption.box.bottom - 2
    ]
    return Box(0.0, caption.box.bottom, page.width, min(below)) if below else None


def _holds(page: PageReading, area: Box, caption: geometry.TextSpan, kind: DocumentType) -> bool:
    label = page.words[caption.start].box
    below = (word for word in page.words if area.contains_center_of(word.box))
    within = [word for word in below if geometry.alike(label, word.box)]  # no watermark
    within += geometry.behind(page, caption)
    runs = {id(first): first for first in (geometry.first_joined(page, word) for word in within)}
    texts = (
        _NUMBER.sub(
            "", " ".join(word.text for word in geometry.run(page, geometry.at(page, first)))
        )
        for first in runs.values()
    )
    if any(any(map(str.isalnum, text)) and not kind.prints(text) for text in texts):
        return True
    return _has_ink(page, area)


def _has_ink(page: PageReading, area: Box) -> bool:
    """But for what was read at a second look, which leaves the mark of the first one there."""
    inner = Box(area.left, area.top + 1, area.right, max(area.bottom - 1, area.top + 1))
    if not marks_near(page, inner):
        return False
    read = [word.box for word in page.words if word.confidence >= _MIN_READ_CONFIDENCE]
    unread = tuple(mark for mark in marks_near(page, inner) if not _is_covered(mark, read))
    return has_marks_in(replace(page, marks=unread), inner)


def _is_covered(mark: Box, words: Iterable[Box]) -> bool:
    """Whether words that were read fill most of it."""
    shares = (_overlap(mark, word) for word in words if word.intersects(mark))
    return sum(shares) > (mark.right - mark.left) * (mark.bottom - mark.top) / 2


def _overlap(one: Box, other: Box) -> float:
    wide = min(one.right, other.right) - max(one.left, other.left)
    return wide * (min(one.bottom, other.bottom) - max(one.top, other.top))


def _choice(reading: DocumentReading, spec: FieldSpec) -> tuple[Content, int]:
    """Empty where each of the choices stands behind a square with nothing in it."""
    found = 0
    for page in reading.pages:
        options = [list(geometry.occurrences(page, label)) for label in spec.labels]
        unticked = [any(_is_unticked(page, place) for place in places_of) for places_of in options]
        if any(unticked):
            if all(unticked):
                return Content.EMPTY, page.number
            return (Content.CHOSEN if all(options) else Content.UNREAD), page.number
        found = found or (page.number if any(options) else 0)
    return (Content.CHOSEN if found else Content.NOT_FOUND), found


def _is_unticked(page: PageReading, option: geometry.TextSpan) -> bool:
    left, top, _, bottom = option.box
    beside = Box(left - _MAX_SQUARE_DISTANCE, top - 3, left, bottom + 3)
    return any(beside.contains_center_of(square) for square in page.empty_squares)
