"""Finds words that were covered, as by a sticker: an opaque area was drawn over them."""

from collections.abc import Iterator, Sequence
from ctypes import addressof, byref, c_double, c_int, c_uint, c_ushort

import numpy as np
import pypdfium2
import pypdfium2.raw as pdfium

from ingestion.reading.images.page_objects import PageObject, PdfRect, list_object_rects
from ingestion.reading.results import AddedMark, AddedMarkKind

from .text_layer import make_point_transform

MIN_COVER_WIDTH_POINTS, MIN_COVER_HEIGHT_POINTS = 12.0, 6.0
MAX_COVER_SEGMENTS = 24  # of a rectangle with round corners; a drawing has more
MAX_COVER_SHARE = 0.6  # of the page's area; a larger area is a background, or a scan over its text
RUNNING_HEAD_SHARE = 0.08  # of a page's height, at the top and at the bottom
COVER_MARGIN_POINTS = 1.0  # by which covered text may extend beyond its cover
CHARACTER_STEP_POINTS = 2.0  # between places at which covered characters are searched
MAX_CHARACTER_STEPS = 300
MIN_COVERED_CHARACTERS = 3  # letters and digits


def find_covered_words(
    page: pypdfium2.PdfPage,
    layer: pypdfium2.PdfTextPage,
    objects: Sequence[PageObject],
    areas: Sequence[tuple[int, PdfRect]],
) -> Iterator[AddedMark]:
    """Yield the opaque areas that were drawn over printed words.

    `areas` are the places of paths and images among the objects, with their bounds.
    """
    texts = [place for place, item in enumerate(objects) if item.kind == pdfium.FPDF_PAGEOBJ_TEXT]
    if not texts:
        return
    width, height = page.get_size()
    max_area = MAX_COVER_SHARE * width * height  # of a cover, in square points
    _, low, _, high = page.get_bbox()
    covers = [
        (place, rect)
        for place, rect in areas
        if place > texts[0]
        and rect[2] - rect[0] >= MIN_COVER_WIDTH_POINTS
        and rect[3] - rect[1] >= MIN_COVER_HEIGHT_POINTS
        and (rect[2] - rect[0]) * (rect[3] - rect[1]) <= max_area
        and not _is_running_head(objects[place], rect, (low, high))
        and _is_opaque(objects[place])
        and pdfium.FPDFText_GetBoundedText(layer, rect[0], rect[3], rect[2], rect[1], None, 0)
    ]
    if not covers:
        return
    rects = np.array(list_object_rects(objects[place] for place in texts))
    to_box = make_point_transform(page)
    for cover, rect in covers:
        left, bottom, right, top = rect
        levels = (rects[:, 1] + rects[:, 3]) / 2
        is_near = (bottom < levels) & (levels < top)
        is_near &= np.minimum(rects[:, 2], right) - np.maximum(rects[:, 0], left) > 0
        near = [(texts[index], rects[index]) for index in np.flatnonzero(is_near)]
        hidden = " ".join(
            _characters_within(layer, objects[place], text_rect, rect)
            for place, text_rect in near
            if place < cover and _is_printed(objects[place])
        )
        if sum(map(str.isalnum, hidden)) < MIN_COVERED_CHARACTERS:
            continue
        # Some programs draw the same text twice, the second time over the background of a cell.
        later = (_object_text(objects[place], layer).strip() for place, _ in near if place > cover)
        if not any(text in hidden or hidden.strip() in text for text in later if text):
            yield AddedMark(AddedMarkKind.COVERED, to_box(rect))


def _characters_within(
    layer: pypdfium2.PdfTextPage, text: PageObject, text_rect: PdfRect, area: PdfRect
) -> str:
    """Return the characters of a text object that are completely inside an area."""
    level = (text_rect[1] + text_rect[3]) / 2
    start, end = max(text_rect[0], area[0]), min(text_rect[2], area[2])
    steps = int(min((end - start) / CHARACTER_STEP_POINTS, MAX_CHARACTER_STEPS))
    margin, found = COVER_MARGIN_POINTS, dict[int, str]()
    left, right, bottom, top = c_double(), c_double(), c_double(), c_double()
    for step in range(steps + 1):
        x = start + step * CHARACTER_STEP_POINTS
        index = pdfium.FPDFText_GetCharIndexAtPos(layer, x, level, 0.0, 3.0)
        if index < 0 or index in found:
            continue
        holder = pdfium.FPDFText_GetTextObject(layer, index)
        if not holder or addressof(holder.contents) != addressof(text.raw.contents):
            continue
        pdfium.FPDFText_GetCharBox(layer, index, left, right, bottom, top)
        if (
            left.value >= area[0] - margin
            and right.value <= area[2] + margin
            and bottom.value >= area[1] - margin
            and top.value <= area[3] + margin
        ):
            found[index] = chr(pdfium.FPDFText_GetUnicode(layer, index))
    return "".join(found[index] for index in sorted(found))


def _is_printed(text: PageObject) -> bool:
    """Return whether a text object is drawn visibly. Hidden text is that of an OCR layer."""
    mode = pdfium.FPDFTextObj_GetTextRenderMode(text.raw)
    return bool(mode != pdfium.FPDF_TEXTRENDERMODE_INVISIBLE)


def _is_running_head(item: PageObject, rect: PdfRect, ends: tuple[float, float]) -> bool:
    """Return whether an object may be the logo of a running head or foot.

    In the printout of a web page, it hides the line that the page before ends with. `ends` are the
    lower and the upper end of the page.
    """
    low, high = ends
    margin = RUNNING_HEAD_SHARE * (high - low)
    is_in_margin = rect[1] > high - margin or rect[3] < low + margin
    return bool(item.kind == pdfium.FPDF_PAGEOBJ_IMAGE and is_in_margin)


def _is_opaque(item: PageObject) -> bool:
    """Return whether an object hides what was drawn before it."""
    holder: PageObject | None = item
    while holder is not None:
        if pdfium.FPDFPageObj_HasTransparency(holder.raw):
            return False
        holder = holder.form
    if item.kind == pdfium.FPDF_PAGEOBJ_IMAGE:
        return True
    if pdfium.FPDFPath_CountSegments(item.raw) > MAX_COVER_SEGMENTS:
        return False  # the outlines of letters, or a drawing
    fill, stroke = c_int(), c_int()
    pdfium.FPDFPath_GetDrawMode(item.raw, byref(fill), byref(stroke))
    red, green, blue, alpha = (c_uint() for _ in range(4))
    has_colour = pdfium.FPDFPageObj_GetFillColor(item.raw, red, green, blue, alpha)
    return bool(fill.value and has_colour and alpha.value == 255)


def _object_text(item: PageObject, layer: pypdfium2.PdfTextPage) -> str:
    length = pdfium.FPDFTextObj_GetText(item.raw, layer, None, 0)
    buffer = (c_ushort * (length // 2 + 1))()
    pdfium.FPDFTextObj_GetText(item.raw, layer, buffer, length)
    return bytes(buffer)[:length].decode("utf-16-le", "replace").rstrip("\0")
