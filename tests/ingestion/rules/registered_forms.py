"""Filled specimens of registered forms, and what is read in their boxes."""

from dataclasses import replace

from ingestion.reading.forms.catalogue import registered_forms
from ingestion.reading.results import MeasuredBox, RegisteredPage
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
}


def make_form(key, manners=None, *, pages=None):
    """Return a filled form. `manners` changes how boxes are filled in: by number; None is empty.

    Of two squares with one number, the first is ticked.
    """
    form, answers, ticked = registered_forms()[key], [], set()
    for blank in form.pages:
        for box in blank.boxes:
            usual = {"tick": Manner.TICKED, "signature": Manner.BY_HAND}.get(box.kind, Manner.TYPED)
            manner = (manners or {}).get(box.number, usual)
            is_second = box.kind == "tick" and (blank.number, box.number) in ticked
            ticked.add((blank.number, box.number))
            if manner and not is_second:
                text = ANSWERS.get(box.field, "Margaret Whitfield")
                answers.append(Answer(blank.number, tuple(box.area), manner, text))
    printed = [PrintedPage(page.width, page.height, page.words, page.rules) for page in form.pages]
    return draw_form(printed, answers, seed=key)


def states(reading, document_type):
    """Return the states of the boxes by page and number; for squares, of all with the number."""
    found = {}
    for box in find_boxes(reading, document_type):
        key = box.page.number, box.blank.number
        found.setdefault(key, []).append(box.state.value)
    return found


def with_blank_forms(reading, *keys):
    """Return a reading of one page as the blank pages of these editions, page by page."""
    forms, (first,) = registered_forms(), reading.pages
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
