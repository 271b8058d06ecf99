"""The first look at a page of a PDF: its text layer, or the knowledge that it has none.

Values typed into a form, and text typed over a page, live in annotations: they are flattened
into the page before it is read, or they would be lost without a sign.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice

import pypdfium2
import pypdfium2.raw as pdfium

from .facts import Box, Page, TextSource, Word
from .limits import ReadingLimits
from .marks import MARKS_DPI, RULE, find_marks, marks_within
from .objects import MOST_OBJECTS, drawn_on
from .render import POINTS, Placed, page_picture, placed_pictures
from .routing import MOSTLY, PageFacts, Route, route
from .unread import MOST_ANNOTATIONS, SILENT, unread_areas
from .words import text_layer, unreadable_share

EDGE = RULE / 2 * POINTS / MARKS_DPI  # points around an area: a rule shows where it goes on
TYPED = {pdfium.FPDF_ANNOT_WIDGET, pdfium.FPDF_ANNOT_FREETEXT}


@dataclass(frozen=True, slots=True)
class Sheet:
    """A page after the first look; `page` is not complete where it still `needs_ocr`."""

    page: Page
    needs_ocr: bool = False


def first_look(opened: pypdfium2.PdfDocument, number: int, limits: ReadingLimits) -> Sheet:
    """Page `number`, from 1. Raises PageUnreadable, PdfiumError, MemoryError."""
    page = opened.get_page(number - 1)
    try:
        placed = placed_pictures(page, limits)
        kinds = _annotations(page)
        typed = False
        if kinds - SILENT:
            printed = _count(page)
            if pdfium.FPDF_ANNOT_INK in kinds:  # once drawn, it has a look to be flattened
                page.render(scale=1 / max(page.get_size())).close()
            pdfium.FPDFPage_Flatten(page, pdfium.FLAT_NORMALDISPLAY)
            page.close()  # the loaded page does not know yet what was flattened into it
            page = opened.get_page(number - 1)
            typed = bool(kinds & TYPED) and _count(page) > printed
        sheet = _sheet(page, number, placed, limits)
    finally:
        page.close()
    return replace(sheet, page=replace(sheet.page, source=TextSource.FORM)) if typed else sheet


def _sheet(
    page: pypdfium2.PdfPage, number: int, placed: list[Placed], limits: ReadingLimits
) -> Sheet:
    text, words, printed = text_layer(page)
    wide, high = page.get_size()
    coverage = min(1.0, sum(each.area for each in placed) / (wide * high))
    facts = PageFacts(
        characters=sum(map(len, text.split())),
        unreadable_share=unreadable_share(text),
        coverage=coverage,
        hidden_text=coverage >= MOSTLY and _has_hidden_text(page),
    )
    way = route(facts)
    native = Page(number, wide, high, text, TextSource.NATIVE, words)
    if way is Route.OCR:
        return Sheet(replace(native, text="", words=()), needs_ocr=True)
    if way is Route.OCR_AND_TEXT:
        return Sheet(native, needs_ocr=True)
    source = TextSource.OCR_LAYER if way is Route.OCR_LAYER else TextSource.NATIVE
    if way is Route.OCR_LAYER:
        marks = find_marks(page_picture(page, MARKS_DPI, limits), words)
    else:
        marks = _drawn_marks(page, printed, limits, askew=bool(placed))
    return Sheet(replace(native, source=source, marks=marks))


def _drawn_marks(
    page: pypdfium2.PdfPage, words: Sequence[Word], limits: ReadingLimits, *, askew: bool
) -> tuple[Box, ...]:
    """The same marks as in a picture of the whole page; only where one may be is it drawn."""
    marks = []
    for area in unread_areas(page, words):
        around = Box(area.left - EDGE, area.top - EDGE, area.right + EDGE, area.bottom + EDGE)
        picture = page_picture(page, MARKS_DPI, limits, around)
        near = [word for word in words if _touches(word.box, around)]
        marks += marks_within(picture, area, near, askew=askew)
    return tuple(sorted(marks, key=lambda box: (box.top, box.left)))


def _touches(one: Box, other: Box) -> bool:
    across = one.left < other.right and other.left < one.right
    return across and one.top < other.bottom and other.top < one.bottom


def _annotations(page: pypdfium2.PdfPage) -> set[int]:
    kinds = set()
    for at in range(min(pdfium.FPDFPage_GetAnnotCount(page), MOST_ANNOTATIONS)):
        if annotation := pdfium.FPDFPage_GetAnnot(page, at):
            kinds.add(pdfium.FPDFAnnot_GetSubtype(annotation))
            pdfium.FPDFPage_CloseAnnot(annotation)
    return kinds


def _count(page: pypdfium2.PdfPage) -> int:
    layer = page.get_textpage()
    try:
        return int(layer.count_chars())
    finally:
        layer.close()


def _has_hidden_text(page: pypdfium2.PdfPage) -> bool:
    texts = (each.raw for each in drawn_on(page) if each.kind == pdfium.FPDF_PAGEOBJ_TEXT)
    modes = (pdfium.FPDFTextObj_GetTextRenderMode(text) for text in islice(texts, MOST_OBJECTS))
    return pdfium.FPDF_TEXTRENDERMODE_INVISIBLE in modes
