"""Finds the boxes of the registered forms in a document, and how each of them is filled in."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from statistics import median_low

from ingestion.reading.forms.catalogue import BlankBox, BlankForm, read_registered_forms
from ingestion.reading.results import (
    DocumentReading,
    MeasuredBox,
    PageReading,
    RegisteredPage,
    Word,
)

# A dash by a pen has 10 square points, a handwritten "None" about 30, dust has less than 2.
_MAX_EMPTY_INK = 3.0  # square points of ink
_MIN_HANDWRITING_INK = 12.0  # square points of ink
_MAX_UNREAD_SHARE = 0.35  # of the ink of typed text that lies outside of its words
_MIN_LEGIBLE_CONFIDENCE = 60.0  # percent, the median of the words of a box
_MAX_STRAY_CONFIDENCE = 60.0  # percent; signs below it may be misread rules
# Share of the width of what is written that a straight line crosses. Handwriting may contain a long
# stroke of its own; typed words contain none.
_STRUCK_HANDWRITING_SHARE, _STRUCK_WORDS_SHARE = 0.9, 0.5
# Share of the inside of a square that is ink: a thin tick has 0.1, a misplaced side has 0.02.
_MAX_UNTICKED_SHARE, _MIN_TICKED_SHARE = 0.015, 0.06
_INSIDE_SHARE = 0.56**2  # of the area of a square that is its inside
_MAX_INK_AROUND_UNTICKED = 3.0  # square points
# Share in their places of the words that a blank form and a page have once. Aligned pages have 0.97
# and more, the same words in another layout 0.75 and less. The share matters if the printed edition
# was not read, and for a form that we have redrawn, because the form itself looks different.
_MIN_PLACED_SHARE = 0.9  # of the words


class BoxState(Enum):
    """Lists the states in which a box of a form may be."""

    EMPTY = "empty"
    TYPED = "typed"
    BY_HAND = "by hand"
    TICKED = "ticked"
    UNTICKED = "unticked"
    STRUCK_OUT = "struck out"
    UNCLEAR = "unclear"  #: something may be in it


NOTHING = frozenset({BoxState.EMPTY, BoxState.UNTICKED})


@dataclass(frozen=True, slots=True)
class FilledBox:
    """A box of a page of a registered form."""

    page: PageReading
    form: BlankForm
    blank: BlankBox
    measured: MeasuredBox

    @property
    def state(self) -> BoxState:
        """Return the state of the box. It is UNCLEAR if the box may lie elsewhere on the page."""
        is_tick = self.blank.kind == "tick"
        state = _state_of_tick(self.measured) if is_tick else _state_of_text(self.measured)
        if state in NOTHING and not self.measured.is_anchored:
            return BoxState.UNCLEAR  # another part of the page may be there
        return state


def find_pages(reading: DocumentReading) -> Iterator[tuple[PageReading, RegisteredPage]]:
    """Yield the pages that are certainly aligned with a registered form: their boxes are read."""
    for page in reading.pages:
        for found in page.forms:
            form = read_registered_forms().get(found.form)
            if form and _is_aligned(form, found):
                yield page, found


def find_editions(reading: DocumentReading) -> Iterator[tuple[PageReading, BlankForm]]:
    """Yield the pages of registered forms of which this is certainly the edition."""
    for page, found in find_pages(reading):
        if found.is_edition_certain:
            yield page, read_registered_forms()[found.form]


def _is_aligned(form: BlankForm, found: RegisteredPage) -> bool:
    if found.is_edition_certain and not form.is_redrawn:
        return True
    return found.placed >= _MIN_PLACED_SHARE


def find_forms(reading: DocumentReading) -> Iterator[tuple[PageReading, BlankForm]]:
    """Yield the pages whose print is that of a registered form, of whatever edition."""
    for page in reading.pages:
        for registered in page.forms:
            if form := read_registered_forms().get(registered.form):
                yield page, form


def find_boxes(reading: DocumentReading, document_type: str) -> list[FilledBox]:
    """Return the boxes of the registered forms of a document type, page by page."""
    found = []
    for page, registered in find_pages(reading):
        form = read_registered_forms()[registered.form]
        if form.document_type == document_type:
            blanks = form.pages[registered.page - 1].boxes
            found += [FilledBox(page, form, blanks[box.position], box) for box in registered.boxes]
    return found


def list_boxes_of_field(boxes: Sequence[FilledBox], name: str) -> list[FilledBox]:
    """Return the boxes whose value is the value of a field."""
    return [box for box in boxes if box.blank.field == name]


def is_choice_valid(squares: Iterable[FilledBox]) -> bool:
    """Return whether as many squares of a group are ticked as the form asks for."""
    ticked = [box for box in squares if box.state is BoxState.TICKED]
    return len(ticked) == 1 or (bool(ticked) and ticked[0].blank.choose == "any")


def list_written_words(box: MeasuredBox) -> list[Word]:
    """Return the words that were added to a box, without signs that may be misread rules."""
    return [
        word
        for word in box.words
        if any(map(str.isalnum, word.text)) or word.confidence >= _MAX_STRAY_CONFIDENCE
    ]


def _state_of_text(box: MeasuredBox) -> BoxState:
    words = [word for word in list_written_words(box) if any(map(str.isalnum, word.text))]
    least = _STRUCK_WORDS_SHARE if words else _STRUCK_HANDWRITING_SHARE
    if box.line >= least and box.ink >= _MIN_HANDWRITING_INK:
        return BoxState.STRUCK_OUT
    if not words:
        if box.ink <= _MAX_EMPTY_INK:
            return BoxState.EMPTY
        return BoxState.BY_HAND if box.ink >= _MIN_HANDWRITING_INK else BoxState.UNCLEAR
    if box.ink <= _MAX_EMPTY_INK:
        return BoxState.UNCLEAR  # print of the form that was misread, or an entry on top of it
    is_legible = median_low(word.confidence for word in words) >= _MIN_LEGIBLE_CONFIDENCE
    is_read = box.unread_ink <= max(_MIN_HANDWRITING_INK, _MAX_UNREAD_SHARE * box.ink)
    return BoxState.TYPED if is_legible and is_read else BoxState.BY_HAND


def _state_of_tick(box: MeasuredBox) -> BoxState:
    left, top, right, bottom = box.box
    share = box.ink / max(_INSIDE_SHARE * (right - left) * (bottom - top), 1.0)
    if share >= _MIN_TICKED_SHARE:
        return BoxState.TICKED
    if share <= _MAX_UNTICKED_SHARE and box.unread_ink <= _MAX_INK_AROUND_UNTICKED:
        return BoxState.UNTICKED
    return BoxState.UNCLEAR
