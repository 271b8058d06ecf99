"""Filled specimens of registered forms, and what is read in their boxes."""

from dataclasses import replace

import numpy as np

from ingestion.reading.forms.catalogue import read_registered_forms
from ingestion.reading.forms.registration import find_form
from ingestion.reading.images.render import PageRaster
from ingestion.reading.results import MeasuredBox, RegisteredPage, Word
from ingestion.rules.forms.boxes import find_boxes
from samples.official_forms import Answer, Manner, PrintedPage, draw_form

ANSWERS = {
    "investigator": "Margaret Whitfield, MD\n120 Harbor Street, Boston, MA 02110",
    "facilities": "Harborview Medical Center, Department of Oncology",
    "labs": "Northgate Clinical Laboratory, 8 Mill Road, Salem, MA 01970",
    "irb": "Central Review Board, 55 Main Street, Albany, NY 12207",
    "subinvestigators": "Daniel Okafor, MD\nPriya Raman, PhD",
    "protocols": "ABC-2041-301, IND 104233",
    "signature_date": "03/12/2026",
    "submission_date": "03/10/2026",
    "sponsor": "Solaris Therapeutics Inc.",
    "drug_name": "SLX-301",
    "ind_number": "104233",
    "indication": "Chronic migraine",
    "submission_serial_number": "0004",
    "nct_numbers": "NCT01234567",
}


def make_form(key, manners=None):
    """Return a filled form. Of the squares of a group, the first is ticked.

    `manners` changes how boxes are filled in, by number or noun. A box with None is empty.
    """
    form, answers, ticked, changed = read_registered_forms()[key], [], set(), manners or {}
    for blank in form.pages:
        for box in blank.boxes:
            usual = {"tick": Manner.TICKED, "signature": Manner.BY_HAND}.get(box.kind, Manner.TYPED)
            manner = changed.get(box.noun, changed.get(box.number, usual))
            group = blank.number, box.number, box.noun or box.field
            is_left_empty = box.is_part or (box.kind == "tick" and group in ticked)
            ticked.add(group)
            if manner and not is_left_empty:
                is_square = box.kind == "tick"
                text = "" if is_square else ANSWERS.get(box.field, "Margaret Whitfield")
                answers.append(Answer(blank.number, tuple(box.area), manner, text))
    printed = [PrintedPage(page.width, page.height, page.words, page.rules) for page in form.pages]
    return draw_form(printed, answers, seed=key)


def print_of(blank, shift=lambda word, box: box):
    """Return the words of a blank page as if they had been read. `shift` moves or removes them."""
    moved = ((text, shift(text, box)) for text, box in blank.words)
    return tuple(Word(text, box, 96.0) for text, box in moved if box)


def register(words):
    """Return the registered page that a white page with these words is, or None."""
    white = PageRaster(np.full((1650, 1275), 255, np.uint8), 150.0)
    return next(iter(find_form(words, lambda: white)), None)


def states(reading, document_type):
    """Return the states of the boxes by page and number; for squares, of all with the number."""
    found = {}
    for box in find_boxes(reading, document_type):
        key = box.page.number, box.blank.number
        found.setdefault(key, []).append(box.state.value)
    return found


def with_blank_forms(reading, *keys):
    """Return a reading of one page as the blank pages of these editions, page by page."""
    forms, (first,) = read_registered_forms(), reading.pages
    more = (replace(first, number=number, text="", words=()) for number in range(2, len(keys) + 1))
    pages = [
        replace(
            page,
            forms=(
                RegisteredPage(
                    key,
                    page.number,
                    match=1.0,
                    is_edition_certain=True,
                    boxes=tuple(
                        MeasuredBox(position, box.area)
                        for position, box in enumerate(forms[key].pages[page.number - 1].boxes)
                    ),
                ),
            ),
        )
        for page, key in zip((first, *more), keys, strict=True)
    ]
    return replace(reading, pages=tuple(pages))
