"""Finds marks that people added to a born-digital page, without rendering it.

The text layer contains the words of stamps, and the page's objects are in the order in which they
are drawn. From them follows what is large, at an angle, in another colour, under a line, or under
an opaque area. Annotations are read before they become a part of the page.
"""

from collections.abc import Iterator, Sequence
from contextlib import closing
from ctypes import byref, c_double, c_ushort
from itertools import islice

import pypdfium2
import pypdfium2.raw as pdfium

from ingestion.reading.images.page_objects import (
    PageObject,
    PdfRect,
    iter_annotations,
    list_object_rects,
)
from ingestion.reading.limits import ReadingLimits
from ingestion.reading.results import AddedMark, AddedMarkKind
from ingestion.reading.stamp_words import may_contain_stamp

from .covered_words import find_covered_words
from .drawn_stamps import find_drawn_stamps
from .pages import StampMemory
from .text_layer import make_point_transform
from .text_stamps import find_text_stamps

DRAWN_KINDS = {pdfium.FPDF_PAGEOBJ_PATH, pdfium.FPDF_PAGEOBJ_IMAGE}
MAX_DRAWN_OBJECTS = 300  # paths and images at the end of one page that are examined
MAX_WATERMARK_OBJECTS = 100  # paths and images at the start of one page that are examined
MAX_MARKS_PER_PAGE = 50  # of one search; more are a drawing or a list of changes

MAX_STRIKE_THICKNESS_POINTS = 2.5
MIN_STRIKE_LENGTH_POINTS = 10.0
MAX_STRIKE_SHARE = 0.6  # of the page's width; a longer line is a rule of the layout
MAX_STRIKE_LINES_PER_PAGE = 40  # with more, the page is a table
# Places along a line at which printed characters have to be under it.
STRIKE_SAMPLES = (0.5, 0.3, 0.7)
# Share of a character's height, from its bottom, in which a line strikes it out.
MIN_STRIKE_LEVEL, MAX_STRIKE_LEVEL = 0.2, 0.8

MAX_TEXT_CHARACTERS = 200  # of a struck-out text that are kept

# Names of Acrobat's stamps, and what people type as the subject of their own (ISO 32000-1, table
# 181). The names occur with prefixes, as in "SBDraft" and "DReceived".
STAMP_NAMES = {
    "notapproved": AddedMarkKind.DRAFT,
    "forcomment": AddedMarkKind.DRAFT,
    "preliminary": AddedMarkKind.DRAFT,
    "draft": AddedMarkKind.DRAFT,
    "void": AddedMarkKind.VOID,
    "cancel": AddedMarkKind.VOID,
    "expired": AddedMarkKind.SUPERSEDED,
    "superseded": AddedMarkKind.SUPERSEDED,
    "obsolete": AddedMarkKind.SUPERSEDED,
    "copy": AddedMarkKind.COPY,
    "received": AddedMarkKind.RECEIVED,
}


def find_added_marks(
    page: pypdfium2.PdfPage,
    layer: pypdfium2.PdfTextPage,
    text: str,
    objects: Sequence[PageObject],
    known_stamps: StampMemory | None,
    limits: ReadingLimits,
) -> list[AddedMark]:
    """Return the stamps, strike-outs and covered words of a page. Raises PdfiumError.

    `text` is the text of the page, and `objects` are its objects in the order of drawing.
    `known_stamps` are those that are drawn on other pages of the file. With None, stamps that are
    drawn are not searched, because the page takes too long to draw.
    """
    found: list[AddedMark] = []
    if may_contain_stamp(text):
        found += islice(find_text_stamps(page, layer), MAX_MARKS_PER_PAGE)
    # What people add is drawn after the page, and a watermark before it, so the first and the last
    # objects are examined if there are many.
    drawn = [(place, item) for place, item in enumerate(objects) if item.kind in DRAWN_KINDS]
    if len(drawn) > MAX_DRAWN_OBJECTS + MAX_WATERMARK_OBJECTS:
        drawn = drawn[:MAX_WATERMARK_OBJECTS] + drawn[-MAX_DRAWN_OBJECTS:]
    rects: list[PdfRect] = []
    covered: list[AddedMark] = []
    if drawn:
        rects = list_object_rects(item for _, item in drawn)
        lines = [
            rect
            for (_, item), rect in zip(drawn, rects, strict=True)
            if item.kind == pdfium.FPDF_PAGEOBJ_PATH
        ]
        found += islice(_find_strike_outs(page, layer, lines), MAX_MARKS_PER_PAGE)
        areas = [(place, rect) for (place, _), rect in zip(drawn, rects, strict=True)]
        covered = list(islice(find_covered_words(page, layer, objects, areas), MAX_MARKS_PER_PAGE))
    if known_stamps is None:
        return found + covered
    placed = [(item, rect) for (_, item), rect in zip(drawn, rects, strict=True)]
    stamps = find_drawn_stamps(page, layer, objects, placed, known_stamps, limits)
    # A stamp lies over print, but is no sticker.
    found += (each for each in covered if not any(each.box.intersects(one.box) for one in stamps))
    return found + stamps


def find_annotated_marks(page: pypdfium2.PdfPage) -> list[AddedMark]:
    """Return the stamps and the strike-outs among the annotations of a page."""
    to_box = make_point_transform(page)
    found = []
    for annotation in islice(iter_annotations(page), MAX_MARKS_PER_PAGE):
        kind = pdfium.FPDFAnnot_GetSubtype(annotation)
        rect = pdfium.FS_RECTF()
        if kind not in {pdfium.FPDF_ANNOT_STAMP, pdfium.FPDF_ANNOT_STRIKEOUT}:
            continue
        if not pdfium.FPDFAnnot_GetRect(annotation, byref(rect)):
            continue
        bounds = (rect.left, rect.bottom, rect.right, rect.top)
        if kind == pdfium.FPDF_ANNOT_STRIKEOUT:
            with closing(page.get_textpage()) as layer:
                struck = _text_within(layer, bounds)
            found.append(AddedMark(AddedMarkKind.STRUCK_OUT, to_box(bounds), struck))
            continue
        for key in (b"Name", b"Subj", b"Contents"):
            stated = _annotation_text(annotation, key)
            folded = "".join(filter(str.isalpha, stated.casefold()))
            name = next((each for each in STAMP_NAMES if each in folded), "")
            if name and len(stated.split()) <= 3:
                printed = name.upper().replace("NOTAPPROVED", "NOT APPROVED")
                found.append(AddedMark(STAMP_NAMES[name], to_box(bounds), printed))
                break
    return found


def _find_strike_outs(
    page: pypdfium2.PdfPage, layer: pypdfium2.PdfTextPage, paths: Sequence[PdfRect]
) -> Iterator[AddedMark]:
    """Yield the thin lines that run through the middle of printed characters.

    `paths` are the bounds of the page's paths.
    """
    to_box, max_length = make_point_transform(page), MAX_STRIKE_SHARE * page.get_width()
    lines = [
        (left, bottom, right, top)
        for left, bottom, right, top in paths
        if top - bottom <= MAX_STRIKE_THICKNESS_POINTS
        and MIN_STRIKE_LENGTH_POINTS <= right - left <= max_length
    ]
    if len(lines) > MAX_STRIKE_LINES_PER_PAGE:
        return
    for left, bottom, right, top in lines:
        level = (bottom + top) / 2
        places = (left + share * (right - left) for share in STRIKE_SAMPLES)
        if all(_is_through_character(layer, place, level) for place in places):
            around = (left, bottom - 3.0, right, top + 3.0)
            struck = _text_within(layer, around)
            yield AddedMark(AddedMarkKind.STRUCK_OUT, to_box(around), struck)


def _is_through_character(layer: pypdfium2.PdfTextPage, x: float, level: float) -> bool:
    """Return whether a horizontal line strikes out the character at this place."""
    index = pdfium.FPDFText_GetCharIndexAtPos(layer, x, level, 2.0, 0.0)
    if index < 0 or not chr(pdfium.FPDFText_GetUnicode(layer, index)).isalnum():
        return False
    left, right, bottom, top = c_double(), c_double(), c_double(), c_double()
    pdfium.FPDFText_GetCharBox(layer, index, left, right, bottom, top)
    height = top.value - bottom.value
    return MIN_STRIKE_LEVEL * height < level - bottom.value < MAX_STRIKE_LEVEL * height


def _text_within(layer: pypdfium2.PdfTextPage, rect: PdfRect) -> str:
    found = layer.get_text_bounded(*rect)
    return " ".join(found.split())[:MAX_TEXT_CHARACTERS]


def _annotation_text(annotation: object, key: bytes) -> str:
    length = pdfium.FPDFAnnot_GetStringValue(annotation, key, None, 0)
    buffer = (c_ushort * (length // 2 + 1))()
    pdfium.FPDFAnnot_GetStringValue(annotation, key, buffer, length)
    return bytes(buffer)[:length].decode("utf-16-le", "replace").rstrip("\0")
