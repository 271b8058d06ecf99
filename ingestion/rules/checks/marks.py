"""Checks for marks that people added: stamps, strike-outs and covered words.

A correction follows good documentation practice if the original entry can be read and the person
who changed it added initials and the date (ICH E6(R3) 2.12.2). A strike-out without them, and
anything that covers printed text, is for QA. So is a stamp that says that the document does not
count: VOID, SUPERSEDED or DRAFT.
"""

import re
from collections.abc import Iterator
from itertools import islice

from ingestion.reading.results import AddedMark, AddedMarkKind, Box, DocumentReading, PageReading
from ingestion.rules.fields.dates import find_dates
from ingestion.rules.findings import Facts, RuleFinding, format_area

MAX_FINDINGS_PER_PAGE = 5  # of one kind; more say nothing new
# Around a strike-out, in points, where its initials and its date are.
INITIALS_REACH_X, INITIALS_REACH_Y = 160.0, 26.0
_MAX_STRUCK_CHARACTERS = 60  # of struck-out text that a sentence quotes
_INITIALS = re.compile(r"^[^\w]?(?:[A-Z]\.?-?){2,4}[^\w]?$")

_STAMP_CODES = {
    AddedMarkKind.VOID: "STAMPED_VOID",
    AddedMarkKind.SUPERSEDED: "STAMPED_SUPERSEDED",
    AddedMarkKind.DRAFT: "STAMPED_DRAFT",
    AddedMarkKind.COPY: "STAMPED_COPY",
    AddedMarkKind.RECEIVED: "STAMPED_RECEIVED",
}


def check_added_marks(reading: DocumentReading) -> Iterator[RuleFinding]:
    """Yield a finding for each added mark, with its place on the page as the fact `area`."""
    for page in reading.pages:
        for kind in AddedMarkKind:
            marks = (
                mark
                for mark in page.added_marks
                if mark.kind is kind and not _is_drawn_by_signature(mark, page, reading)
            )
            for mark in islice(marks, MAX_FINDINGS_PER_PAGE):
                yield _finding(mark, page)


def _is_drawn_by_signature(mark: AddedMark, page: PageReading, reading: DocumentReading) -> bool:
    """Return whether a mark is a part of what a digital signature draws over the page."""
    if mark.kind not in {AddedMarkKind.STRUCK_OUT, AddedMarkKind.COVERED}:
        return False
    return any(
        each.box is not None and each.page == page.number and each.box.intersects(mark.box)
        for each in reading.signatures
    )


def _finding(mark: AddedMark, page: PageReading) -> RuleFinding:
    place: Facts = {"page": page.number, "area": format_area(mark.box)}
    if mark.kind in _STAMP_CODES:
        return RuleFinding(_STAMP_CODES[mark.kind], page.number, {"stamp": mark.text, **place})
    if mark.kind is AddedMarkKind.COVERED:
        return RuleFinding("TEXT_COVERED", page.number, place)
    code = "TEXT_CORRECTED" if _is_initialled_and_dated(mark, page) else "TEXT_STRUCK_OUT"
    struck = mark.text if len(mark.text) <= _MAX_STRUCK_CHARACTERS else ""
    return RuleFinding(code, page.number, {"struck": struck, **place})


def _is_initialled_and_dated(mark: AddedMark, page: PageReading) -> bool:
    """Return whether initials and a date were read beside a strike-out, above it or below it.

    Handwriting that was not read leaves the question to a person.
    """
    left, top, right, bottom = mark.box
    around = Box(
        left - INITIALS_REACH_X,
        top - INITIALS_REACH_Y,
        right + INITIALS_REACH_X,
        bottom + INITIALS_REACH_Y,
    )
    near = [
        word
        for word in page.words
        if around.contains_centre_of(word.box) and not mark.box.contains_centre_of(word.box)
    ]
    has_initials = any(_INITIALS.match(word.text) for word in near)
    return has_initials and any(find_dates(" ".join(word.text for word in near)))


CHECKS_OF_ANY_FILE = (check_added_marks,)
