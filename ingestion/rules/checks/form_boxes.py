"""Determines the content of the numbered boxes of a form: typed, printed or handwritten.

A box is called empty only if its caption and the caption after it were found and there is nothing
between them: neither a word that is not printed on the blank form, nor ink. The boxes of a
registered form are examined in their places instead (`rules.forms.boxes`).
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from enum import Enum
from itertools import islice, product

from ingestion.reading.pdf.lazy import iter_marks_near, list_squares_near
from ingestion.reading.results import Box, DocumentReading, PageReading
from ingestion.rules.checks.signature_areas import has_marks_in
from ingestion.rules.document_types import DocumentType, FieldSpec
from ingestion.rules.fields import geometry
from ingestion.rules.fields.searches.caption_searches import is_caption_in_context
from ingestion.rules.fields.values import FieldValue
from ingestion.rules.forms.boxes import (
    NOTHING,
    BoxState,
    find_boxes,
    is_choice_valid,
    list_boxes_of_field,
)

_MAX_CAPTIONS_PER_BOX = 20  # occurrences of its captions that are examined
_BOX_NUMBER = re.compile(r"^\W*\d{1,2}\W+")  # the number before the caption
_MIN_READ_CONFIDENCE = 60.0  # percent; a word below it may be handwriting that was misread
_MAX_SQUARE_DISTANCE = 30.0  # points to the left of an option within which its square stands


class BoxContent(Enum):
    """Lists what may be in a box of a form."""

    EMPTY = "empty"
    UNREAD = "unread"  #: its content was not read, or its end was not found
    NOT_FOUND = "not found"  #: its caption was not found
    CHOSEN = "chosen"  #: an option is ticked, or may be
    READ = "read"  #: its content was read from the box of a registered form
    STRUCK_OUT = "struck out"  #: on a registered form


def find_box_content(
    reading: DocumentReading, spec: FieldSpec, kind: DocumentType
) -> tuple[BoxContent, int]:
    """Return the content of the box of a field without a value, and its page; 0 if unknown."""
    if spec.kind == "choice":
        return _find_choice(reading, spec)
    found = list(islice(_find_boxes(reading, spec, kind), _MAX_CAPTIONS_PER_BOX))
    unread = [each for each in found if each[0] is BoxContent.UNREAD]
    return next(iter([*unread, *found]), (BoxContent.NOT_FOUND, 0))


def find_registered_content(
    reading: DocumentReading, spec: FieldSpec, kind: DocumentType, value: FieldValue | None
) -> tuple[BoxContent, int] | None:
    """Return the content of the box of a field on a registered form, and its page.

    `value` is the value of the field, which was read from the box. Return None if the document is
    no registered form that has the box.
    """
    boxes = list_boxes_of_field(find_boxes(reading, kind.slug), spec.name)
    if not boxes:
        return None
    page = boxes[0].page.number
    boxes = [box for box in boxes if box.page.number == page]
    states = {box.state for box in boxes}
    entries = {box.state for box in boxes if not box.blank.is_part}
    if states <= NOTHING:
        # A form field of the PDF has a value that its page does not show.
        return (BoxContent.UNREAD if value else BoxContent.EMPTY), page
    if states <= {BoxState.TICKED, BoxState.UNTICKED}:
        return (BoxContent.CHOSEN if is_choice_valid(boxes) else BoxContent.UNREAD), page
    if BoxState.STRUCK_OUT in states:
        return BoxContent.STRUCK_OUT, page
    is_read = entries == {BoxState.TYPED} and value is not None
    return (BoxContent.READ if is_read else BoxContent.UNREAD), page


def has_unread_ink(page: PageReading, spec: FieldSpec) -> bool:
    """Return whether the box of a field contains ink that was not read: handwriting or a stamp."""
    captions = (span for label in spec.labels for span in geometry.find_phrase(page, label))
    areas = [
        area
        for caption in islice(captions, _MAX_CAPTIONS_PER_BOX)
        if is_caption_in_context(page, caption, spec) and (area := _area_below(page, caption, spec))
    ]
    # A box may have two captions on one line; its content begins below the lower one.
    return bool(areas) and _has_unread_ink_in(page, max(areas, key=lambda area: area.top))


def _find_boxes(
    reading: DocumentReading, spec: FieldSpec, kind: DocumentType
) -> Iterator[tuple[BoxContent, int]]:
    """Yield the content and the page at each occurrence of a caption."""
    for label, page in product(spec.labels, reading.pages):
        for caption in geometry.find_phrase(page, label):
            if is_caption_in_context(page, caption, spec):
                area = _area_below(page, caption, spec)
                is_empty = area is not None and not (
                    _has_text_in(page, area, caption, kind) or _has_unread_ink_in(page, area)
                )
                yield (BoxContent.EMPTY if is_empty else BoxContent.UNREAD), page.number


def _area_below(page: PageReading, caption: geometry.TextSpan, spec: FieldSpec) -> Box | None:
    """Return the area from below a caption to the top of the next phrase, or None without one."""
    next_tops = [
        span.box.top
        for phrase in spec.until
        for span in geometry.find_phrase(page, phrase)
        if span.box.top > caption.box.bottom - 2
    ]
    return Box(0.0, caption.box.bottom, page.width, min(next_tops)) if next_tops else None


def _has_text_in(
    page: PageReading, area: Box, caption: geometry.TextSpan, kind: DocumentType
) -> bool:
    """Return whether the area, or the line of the caption, has text that the blank form has not."""
    label = page.words[caption.start].box
    words = [
        word
        for word in page.words
        if area.contains_centre_of(word.box)
        # The words of a watermark are much larger.
        and geometry.has_similar_height(label, word.box)
    ]
    words += geometry.words_right_of(page, caption)
    first_words = (geometry.first_word_of_run(page, word) for word in words)
    runs = {id(first): first for first in first_words}
    for first in runs.values():
        run = geometry.text_run_at(page, geometry.span_of_word(page, first))
        text = _BOX_NUMBER.sub("", " ".join(word.text for word in run))
        if any(map(str.isalnum, text)) and not kind.is_printed(text):
            return True
    return False


def _has_unread_ink_in(page: PageReading, area: Box) -> bool:
    """Return whether an area contains ink that no read word covers.

    Words that were read in a second pass leave the marks of the first pass in their place.
    """
    inner = Box(area.left, area.top + 1, area.right, max(area.bottom - 1, area.top + 1))
    if not (marks := list(iter_marks_near(page, inner))):
        return False
    words = [word.box for word in page.words if word.confidence >= _MIN_READ_CONFIDENCE]
    unread = []
    for mark in marks:
        covered = sum(
            (min(mark.right, word.right) - max(mark.left, word.left))
            * (min(mark.bottom, word.bottom) - max(mark.top, word.top))
            for word in words
            if word.intersects(mark)
        )
        if covered <= (mark.right - mark.left) * (mark.bottom - mark.top) / 2:
            unread.append(mark)
    return has_marks_in(replace(page, marks=tuple(unread)), inner)


def _find_choice(reading: DocumentReading, spec: FieldSpec) -> tuple[BoxContent, int]:
    """Return EMPTY if each of the options has an empty square beside it."""
    first_page = 0
    for page in reading.pages:
        options = [list(geometry.find_phrase(page, label)) for label in spec.labels]
        unticked = [any(_is_unticked(page, span) for span in spans) for spans in options]
        if any(unticked):
            if all(unticked):
                return BoxContent.EMPTY, page.number
            return (BoxContent.CHOSEN if all(options) else BoxContent.UNREAD), page.number
        first_page = first_page or (page.number if any(options) else 0)
    return (BoxContent.CHOSEN if first_page else BoxContent.NOT_FOUND), first_page


def _is_unticked(page: PageReading, option: geometry.TextSpan) -> bool:
    left, top, _, bottom = option.box
    beside = Box(left - _MAX_SQUARE_DISTANCE, top - 3, left, bottom + 3)
    return any(beside.contains_centre_of(square) for square in list_squares_near(page, beside))
