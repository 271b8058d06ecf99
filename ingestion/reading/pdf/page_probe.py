"""The first look at a page of a PDF: its text layer, or the knowledge that it has none.

Values typed into a form, and text typed over a page, live in annotations: they are flattened
into the page before it is read, or they would be lost without a sign.
"""

from contextlib import closing
from dataclasses import dataclass
from itertools import islice

import pypdfium2
import pypdfium2.raw as pdfium

from ingestion.reading.images.page_objects import MAX_OBJECTS_PER_PAGE, annotations, page_objects
from ingestion.reading.images.render import PlacedImage, list_images
from ingestion.reading.limits import ReadingLimits
from ingestion.reading.results import PageReading, TextSource
from ingestion.reading.routing import (
    MIN_PICTURE_SHARE,
    PageFacts,
    Route,
    choose_route,
)

from .mark_search import lazy_empty_squares, lazy_marks, lazy_scan_marks
from .pages import OpenPages
from .text_layer import lazy_words, read_text, unreadable_share
from .unaccounted_ink import INVISIBLE_ANNOTATIONS

TYPED = {pdfium.FPDF_ANNOT_WIDGET, pdfium.FPDF_ANNOT_FREETEXT}


@dataclass(frozen=True, slots=True)
class PageProbe:
    """A page after the first look; `page` is not complete where it still `needs_ocr`."""

    page: PageReading
    needs_ocr: bool = False


def probe_page(
    pages: OpenPages, number: int, limits: ReadingLimits, *, with_form: bool = True
) -> PageProbe:
    """Raises PageUnreadable, PdfiumError, MemoryError.

    `with_form` False leaves annotations and form fields out: some take for ever to be drawn.
    """
    page = pages.load(number)
    placed = list_images(page, limits)
    typed = False
    if with_form and (
        kinds := {pdfium.FPDFAnnot_GetSubtype(each) for each in annotations(page)}
        - INVISIBLE_ANNOTATIONS
    ):
        with closing(page.get_textpage()) as layer:
            printed = layer.count_chars()
        if pdfium.FPDF_ANNOT_INK in kinds:  # once drawn, it has a look to be flattened
            page.render(scale=1 / max(page.get_size())).close()
        pdfium.FPDFPage_Flatten(page, pdfium.FLAT_NORMALDISPLAY)
        pages.unload(number)  # the loaded page does not know yet what was flattened into it
        list_images(pages.load(number), limits)  # an annotation's break the budgets as well
        typed = bool(kinds & TYPED) and pages.text_layer(number).count_chars() > printed
    return _look_of(pages, number, placed, limits, typed=typed)


def _look_of(
    pages: OpenPages, number: int, placed: list[PlacedImage], limits: ReadingLimits, *, typed: bool
) -> PageProbe:
    page = pages.load(number)
    text, words = read_text(pages.text_layer(number)), lazy_words(pages, number, limits)
    wide, high = page.get_size()
    coverage = min(1.0, sum(each.area for each in placed) / (wide * high))
    facts = PageFacts(
        characters=sum(map(len, text.split())),
        unreadable_share=unreadable_share(text),
        coverage=coverage,
        hidden_text=coverage >= MIN_PICTURE_SHARE and _has_hidden_text(page),
    )
    way = choose_route(facts)
    native = TextSource.FORM if typed else TextSource.NATIVE
    if way is Route.OCR:
        return PageProbe(PageReading(number, wide, high, "", native), needs_ocr=True)
    if way is Route.OCR_AND_TEXT:
        return PageProbe(PageReading(number, wide, high, text, native, words.all), needs_ocr=True)
    if way is Route.OCR_LAYER:
        source = TextSource.FORM if typed else TextSource.OCR_LAYER
        marks = lazy_scan_marks(pages, number, words.all, limits)
    else:
        source = native
        marks = lazy_marks(pages, number, words.printed, limits, askew=bool(placed))
    squares = lazy_empty_squares(pages, number, limits)
    return PageProbe(PageReading(number, wide, high, text, source, words.all, marks, squares))


def _has_hidden_text(page: pypdfium2.PdfPage) -> bool:
    texts = islice(page_objects(page, pdfium.FPDF_PAGEOBJ_TEXT), MAX_OBJECTS_PER_PAGE)
    modes = (pdfium.FPDFTextObj_GetTextRenderMode(text.raw) for text in texts)
    return pdfium.FPDF_TEXTRENDERMODE_INVISIBLE in modes
