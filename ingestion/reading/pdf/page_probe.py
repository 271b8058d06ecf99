"""Probes a PDF page: reads its text layer if it has one, or decides that it needs OCR.

Values of form fields and text typed over a page are annotations. They are flattened into the page
before it is read, because they would otherwise be lost without notice.
"""

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import islice

import pypdfium2
import pypdfium2.raw as pdfium

from ingestion.reading.images.page_objects import (
    MAX_OBJECTS_PER_PAGE,
    PageObject,
    iter_annotations,
    iter_page_objects,
)
from ingestion.reading.images.pdfium_calls import get_text_render_mode
from ingestion.reading.images.render import PlacedImage
from ingestion.reading.limits import ReadingLimits
from ingestion.reading.results import PageReading, TextSource, drop_repetitions
from ingestion.reading.routing import (
    MIN_IMAGE_SHARE,
    PageFacts,
    Route,
    choose_route,
)

from .added_marks import find_added_marks, find_annotated_marks
from .mark_search import (
    lazy_empty_squares,
    lazy_forms,
    lazy_marks,
    lazy_scan_marks,
    lazy_separator_codes,
)
from .pages import OpenPages
from .text_layer import clean_text, lazy_words, measure_unreadable_share, read_raw_text
from .unaccounted_ink import INVISIBLE_ANNOTATIONS

TEXT_ANNOTATIONS = {pdfium.FPDF_ANNOT_WIDGET, pdfium.FPDF_ANNOT_FREETEXT}


@dataclass(frozen=True, slots=True)
class PageProbe:
    """A page after its probe. If it `needs_ocr`, `page` is not complete yet."""

    page: PageReading
    needs_ocr: bool = False


def probe_page(
    pages: OpenPages, number: int, limits: ReadingLimits, *, with_form: bool = True
) -> PageProbe:
    """Probe page `number`, from 1.

    Without `with_form`, annotations and form fields are left out, because some take extremely long
    to draw. Raises PageUnreadable, PdfiumError or MemoryError.
    """
    page = pages.load(number)
    objects = _list_objects(page)
    images = pages.list_images(number, limits, objects)
    annotated = find_annotated_marks(page) if with_form else []
    has_typed_text = with_form and _flatten_annotations(pages, number, limits)
    native = TextSource.FORM if has_typed_text else TextSource.NATIVE
    if pages.load(number) is not page:  # it was loaded again, with its annotations
        page = pages.load(number)
        objects = _list_objects(page)
    layer = pages.text_layer(number)
    raw = read_raw_text(layer)
    text, words = clean_text(raw), lazy_words(pages, number, raw, limits)
    route = _choose_route(page, text, images, objects)
    found = find_added_marks(
        page, layer, text, objects, pages.known_stamps if with_form else None, limits
    )
    width, height = page.get_size()
    added = drop_repetitions([*annotated, *found])
    reading = PageReading(number, width, height, text, native, words.all, added_marks=added)
    if route is Route.OCR:
        return PageProbe(replace(reading, text="", words=()), needs_ocr=True)
    if route is Route.OCR_AND_TEXT:
        return PageProbe(reading, needs_ocr=True)
    if not pages.all_remain_loaded:
        len(words.all)  # while the page is loaded, because nearly every page of a file needs them
    is_scan = route is Route.OCR_LAYER
    if is_scan and not has_typed_text:
        reading = replace(reading, source=TextSource.OCR_LAYER)
    return PageProbe(
        replace(
            reading,
            marks=(
                lazy_scan_marks(pages, number, words.all, limits)
                if is_scan
                else lazy_marks(pages, number, words.printed, limits, may_be_skewed=bool(images))
            ),
            empty_squares=lazy_empty_squares(pages, number, limits),
            forms=lazy_forms(pages, reading, limits),
            separator_codes=lazy_separator_codes(pages, reading, limits, is_scan=is_scan),
        )
    )


def _list_objects(page: pypdfium2.PdfPage) -> list[PageObject]:
    return list(islice(iter_page_objects(page), MAX_OBJECTS_PER_PAGE))


def _choose_route(
    page: pypdfium2.PdfPage,
    text: str,
    images: Sequence[PlacedImage],
    objects: Sequence[PageObject],
) -> Route:
    """Return how a page with this text, these images and these objects is read."""
    width, height = page.get_size()
    coverage = min(1.0, sum(image.area for image in images) / (width * height))
    facts = PageFacts(
        characters=sum(map(len, text.split())),
        unreadable_share=measure_unreadable_share(text),
        coverage=coverage,
        hidden_text=coverage >= MIN_IMAGE_SHARE and _has_hidden_text(objects),
    )
    return choose_route(facts)


def _flatten_annotations(pages: OpenPages, number: int, limits: ReadingLimits) -> bool:
    """Make the annotations a part of the page. Return whether typed text was among them."""
    page = pages.load(number)
    kinds = {pdfium.FPDFAnnot_GetSubtype(each) for each in iter_annotations(page)}
    kinds -= INVISIBLE_ANNOTATIONS
    if not kinds:
        return False
    with closing(page.get_textpage()) as layer:
        printed_characters = layer.count_chars()
    if pdfium.FPDF_ANNOT_INK in kinds:
        # Rendering gives an ink annotation the appearance stream that flattening needs.
        page.render(scale=1 / max(page.get_size())).close()
    pdfium.FPDFPage_Flatten(page, pdfium.FLAT_NORMALDISPLAY)
    pages.unload(number)  # the loaded page does not contain what was flattened into it
    pages.list_images(number, limits)  # images of annotations may exceed the limits too
    if not kinds & TEXT_ANNOTATIONS:
        return False
    return bool(pages.text_layer(number).count_chars() > printed_characters)


def _has_hidden_text(objects: Sequence[PageObject]) -> bool:
    """Return whether some text of a page is drawn in invisible mode, as OCR layers are."""
    invisible, text = pdfium.FPDF_TEXTRENDERMODE_INVISIBLE, pdfium.FPDF_PAGEOBJ_TEXT
    return any(
        item.kind == text and get_text_render_mode(item.raw) == invisible for item in objects
    )
