"""Finds stamps that are drawn on a born-digital page: as images, outlines or glyphs.

Such a stamp has no words in the text layer. Word writes a watermark as the outlines of its letters,
a PDF editor as a form XObject or an image, and other programs as a font without a meaning. The
objects of the page tell where one may be. Only such an object is rendered, without the print
around it, and only if it looks like a line of letters is it read by OCR. The result is kept for
the other pages of the file, because a watermark is usually on all of them.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from ctypes import byref, c_int, c_size_t, c_uint
from typing import NamedTuple

import numpy as np
import pypdfium2
import pypdfium2.raw as pdfium

from ingestion.reading.images.binarise import Mask
from ingestion.reading.images.page_objects import PageObject, PdfRect
from ingestion.reading.images.pdfium_calls import (
    count_segments,
    get_draw_mode,
    get_fill_colour,
    get_font_address,
    get_path_segment,
    get_segment_type,
    set_is_active,
)
from ingestion.reading.images.render import POINTS_PER_INCH, PageRaster, render_page
from ingestion.reading.images.upright_ink import (
    has_parts_of_letters,
    isolate_ink,
    turn_upright,
)
from ingestion.reading.limits import ReadingLimits
from ingestion.reading.results import AddedMark, Box

from .pages import KnownStamp, StampMemory
from .text_layer import make_point_transform

MAX_CANDIDATES_PER_PAGE, MAX_CANDIDATES_PER_FILE = 4, 20
MIN_LONG_SIDE_POINTS, MIN_SHORT_SIDE_POINTS = 30.0, 8.0  # of a stamp
MIN_LETTER_POINTS = 8.0  # the longer side of a letter, with or without a turn
MAX_LETTER_GAP = 1.6  # between letters of one stamp, in longer sides of the larger one
MAX_LETTERS = 60  # of one stamp; more outlines are a chart or a text
MIN_LETTERS, MIN_SEGMENTS_OF_ONE_PATH = 3, 16  # paths, or segments of one path with all letters
MAX_SEGMENTS = 5_000  # of one path that are examined
MIN_LETTER_SEGMENTS, RECTANGLE_SEGMENTS = 4, 5  # the letter I may be a rectangle
MAX_RECTANGLE_SHARE = 0.6  # of the letters of a stamp; more rectangles are cells or bars
MAX_IMAGE_SHARE = 0.7  # of the page's area; a larger image may be a scan or a background
MAX_IMAGE_PIXELS = 4_000_000  # of an image that may show a stamp
# Bytes per pixel of an image as it is compressed. A stamp has few colours, so that its bytes are
# few, and on an empty page they are fewer still. A photograph and a scan have many.
MAX_BACKGROUND_BYTES, MAX_IMAGE_BYTES = 0.02, 0.4
MIN_PHOTOGRAPH_PIXELS = 60_000
MAX_SIDE_PIXELS = 400  # of a candidate that is rendered; 380 find as many stamps as 560
# An image with more pixels takes long to render. Over print, it may be a background without any
# letters, so a coarse raster has to show parts first. Nearly all other images have parts.
MAX_QUICK_PIXELS, COARSE_SIDE_PIXELS = 200_000, 280
MIN_DPI, MAX_DPI = 40.0, 200.0
BORDER_POINTS = 3.0  # around a candidate that is rendered
MIN_INKED_SHARE = 0.6  # of the width of a candidate; of less ink, only its place is rendered
MAX_TEXT_OBJECTS = 60  # at the start and at the end of the page that are examined

OCR_DPI = 300  # that is stated for a candidate, whose letters have the size for OCR
OCR_SECONDS = 3.0  # for one candidate


class DrawnCandidate(NamedTuple):
    """Objects of a page that may draw a stamp."""

    objects: tuple[PageObject, ...]
    rect: PdfRect
    is_over_print: bool  # whether print of the page lies below it or above it
    key: tuple[object, ...]  # equal for the same stamp on another page of the file
    pixels: int = 0  # of an image


def find_drawn_stamps(
    page: pypdfium2.PdfPage,
    layer: pypdfium2.PdfTextPage,
    objects: Sequence[PageObject],
    drawn: Sequence[tuple[PageObject, PdfRect]],
    memory: StampMemory,
    limits: ReadingLimits,
) -> list[AddedMark]:
    """Return the stamps of a page that are drawn. Raises PdfiumError.

    `objects` are all objects of the page, and `drawn` are its paths and images with their bounds.
    `memory` is what candidates of other pages of the file show.
    """
    bounds = page.get_bbox()
    drawn = [(item, _clipped(rect, bounds)) for item, rect in drawn]
    candidates = [
        *_image_candidates(page, layer, drawn),
        *_letter_candidates(layer, [*drawn, *_glyphs_without_words(objects, bounds)]),
    ]
    candidates.sort(key=lambda each: (not each.is_over_print, -_area(each.rect)))
    candidates = candidates[:MAX_CANDIDATES_PER_PAGE]
    to_box = make_point_transform(page)
    if any(each.key not in memory for each in candidates):
        with _hidden(objects):
            for each in candidates:
                if each.key not in memory and len(memory) < MAX_CANDIDATES_PER_FILE:
                    memory[each.key] = _read_candidate(page, each, to_box(each.rect), limits)
    found = []
    for each in candidates:
        if known := memory.get(each.key):
            box, place = to_box(each.rect), known.place
            width, height = box.right - box.left, box.bottom - box.top
            inked = Box(
                box.left + place.left * width,
                box.top + place.top * height,
                box.left + place.right * width,
                box.top + place.bottom * height,
            )
            found.append(AddedMark(known.stamp.kind, inked, known.stamp.phrase))
    return found


def _area(rect: PdfRect) -> float:
    return (rect[2] - rect[0]) * (rect[3] - rect[1])


def _clipped(rect: PdfRect, bounds: PdfRect) -> PdfRect:
    """Return the part of a rectangle that is on the page."""
    left, bottom, right, top = bounds
    return (max(rect[0], left), max(rect[1], bottom), min(rect[2], right), min(rect[3], top))


def _has_size_of_stamp(rect: PdfRect) -> bool:
    short, long = sorted((rect[2] - rect[0], rect[3] - rect[1]))
    return short >= MIN_SHORT_SIDE_POINTS and long >= MIN_LONG_SIDE_POINTS


def _is_over_print(layer: pypdfium2.PdfTextPage, rect: PdfRect) -> bool:
    left, bottom, right, top = rect
    return bool(pdfium.FPDFText_GetBoundedText(layer, left, top, right, bottom, None, 0))


def _image_candidates(
    page: pypdfium2.PdfPage,
    layer: pypdfium2.PdfTextPage,
    drawn: Sequence[tuple[PageObject, PdfRect]],
) -> Iterator[DrawnCandidate]:
    """Yield the images that may show a stamp.

    An image that fills the page may be a scan or a background. It is examined only if it is so
    simple that it can hardly show more than a stamp.
    """
    max_area = MAX_IMAGE_SHARE * page.get_width() * page.get_height()
    for item, rect in drawn:
        if item.kind != pdfium.FPDF_PAGEOBJ_IMAGE or not _has_size_of_stamp(rect):
            continue
        across, down = c_uint(), c_uint()
        pdfium.FPDFImageObj_GetImagePixelSize(item.raw, byref(across), byref(down))
        length = pdfium.FPDFImageObj_GetImageDataRaw(item.raw, None, 0)
        pixels = across.value * down.value
        is_background = _area(rect) > max_area and length > MAX_BACKGROUND_BYTES * pixels
        is_photograph = pixels > MIN_PHOTOGRAPH_PIXELS and length > MAX_IMAGE_BYTES * pixels
        if is_background or is_photograph or pixels > MAX_IMAGE_PIXELS:
            continue
        left, bottom, right, top = rect
        key = ("image", across.value, down.value, length, round(right - left), round(top - bottom))
        yield DrawnCandidate((item,), rect, _is_over_print(layer, rect), key, pixels)


def _letter_candidates(
    layer: pypdfium2.PdfTextPage,
    drawn: Sequence[tuple[PageObject, PdfRect]],
) -> Iterator[DrawnCandidate]:
    """Yield the groups of paths and glyphs that may be the letters of a stamp."""
    group: list[tuple[PageObject, PdfRect]] = []
    for item, rect in drawn:
        if item.kind == pdfium.FPDF_PAGEOBJ_IMAGE or not _may_be_letter(item, rect):
            continue
        if group and not _continues(group[-1], (item, rect)):
            yield from _group_candidate(layer, group)
            group = []
        group.append((item, rect))
    if group:
        yield from _group_candidate(layer, group)


def _group_candidate(
    layer: pypdfium2.PdfTextPage, group: Sequence[tuple[PageObject, PdfRect]]
) -> Iterator[DrawnCandidate]:
    lefts, bottoms, rights, tops = zip(*(rect for _, rect in group), strict=True)
    rect = (min(lefts), min(bottoms), max(rights), max(tops))
    if not _has_size_of_stamp(rect) or len(group) > MAX_LETTERS:
        return
    segments = [
        count_segments(item.raw) if item.kind == pdfium.FPDF_PAGEOBJ_PATH else 0
        for item, _ in group
    ]
    if group[0][0].kind == pdfium.FPDF_PAGEOBJ_PATH:
        outlines = segments
        if len(group) < MIN_LETTERS:
            if max(segments) < MIN_SEGMENTS_OF_ONE_PATH:
                return
            outlines = [count for item, _ in group for count in _outlines_of_path(item)]
        rectangles = sum(count <= RECTANGLE_SEGMENTS for count in outlines)
        if len(outlines) < MIN_LETTERS or rectangles > MAX_RECTANGLE_SHARE * len(outlines):
            return
    key = ("letters", *segments, round(rect[2] - rect[0]), round(rect[3] - rect[1]))
    yield DrawnCandidate(tuple(item for item, _ in group), rect, _is_over_print(layer, rect), key)


def _outlines_of_path(path: PageObject) -> list[int]:
    """Return the number of segments of each outline of a path, such as those of the letter O."""
    outlines: list[int] = []
    for index in range(min(count_segments(path.raw), MAX_SEGMENTS)):
        segment = get_path_segment(path.raw, index)
        if not outlines or get_segment_type(segment) == pdfium.FPDF_SEGMENT_MOVETO:
            outlines.append(0)
        outlines[-1] += 1
    return outlines


def _may_be_letter(item: PageObject, rect: PdfRect) -> bool:
    if max(rect[2] - rect[0], rect[3] - rect[1]) < MIN_LETTER_POINTS:
        return False
    if item.kind == pdfium.FPDF_PAGEOBJ_TEXT:
        return True
    if count_segments(item.raw) < MIN_LETTER_SEGMENTS:
        return False
    fill, stroke = c_int(), c_int()
    get_draw_mode(item.raw, byref(fill), byref(stroke))
    return bool(fill.value)


def _continues(last: tuple[PageObject, PdfRect], item: tuple[PageObject, PdfRect]) -> bool:
    """Return whether an object may be the next letter of a stamp."""
    (one, a), (other, b) = last, item
    if one.kind != other.kind or one.level != other.level:
        return False
    longest = max(a[2] - a[0], a[3] - a[1], b[2] - b[0], b[3] - b[1])
    gap = max(b[0] - a[2], a[0] - b[2], b[1] - a[3], a[1] - b[3])
    return gap <= MAX_LETTER_GAP * longest and _colour(one) == _colour(other)


def _colour(item: PageObject) -> tuple[int, ...]:
    channels = [c_uint() for _ in range(4)]
    get_fill_colour(item.raw, *map(byref, channels))
    return tuple(channel.value for channel in channels)


def _glyphs_without_words(
    objects: Sequence[PageObject], bounds: PdfRect
) -> Iterator[tuple[PageObject, PdfRect]]:
    """Yield the large text objects whose font has no meaning: those of type 3."""
    texts = [item for item in objects if item.kind == pdfium.FPDF_PAGEOBJ_TEXT]
    if len(texts) > 2 * MAX_TEXT_OBJECTS:
        texts = texts[:MAX_TEXT_OBJECTS] + texts[-MAX_TEXT_OBJECTS:]
    sources: dict[int | None, bool] = {}
    for item in texts:
        key = get_font_address(item.raw)
        if key not in sources:
            font, size = pdfium.FPDFTextObj_GetFont(item.raw), c_size_t()
            sources[key] = bool(
                font
                and pdfium.FPDFFont_GetIsEmbedded(font)
                and not (pdfium.FPDFFont_GetFontData(font, None, 0, byref(size)) and size.value)
            )
        if sources[key]:
            yield item, _clipped(item.rect, bounds)


def _read_candidate(
    page: pypdfium2.PdfPage,
    candidate: DrawnCandidate,
    box: Box,
    limits: ReadingLimits,
) -> KnownStamp | None:
    """Return the stamp that a candidate shows, or None. All objects of the page are hidden."""
    with _visible(candidate.objects):
        if candidate.is_over_print and candidate.pixels > MAX_QUICK_PIXELS:
            coarse = _render_area(page, box, limits, COARSE_SIDE_PIXELS, is_smooth=False)
            if not has_parts_of_letters(isolate_ink(coarse.grey)):
                return None
        raster = _render_area(page, box, limits)
        ink = isolate_ink(raster.grey)
        if ink is None:
            return None
        inked = _inked_box(ink, raster)
        if (inked.right - inked.left) < MIN_INKED_SHARE * (box.right - box.left):
            raster = _render_area(page, inked, limits)  # a small stamp in a large image
            ink = isolate_ink(raster.grey)
    upright = None if ink is None else turn_upright(ink)
    if upright is None or not upright.may_be_stamp(is_over_print=candidate.is_over_print):
        return None
    from ingestion.reading.ocr.engines import (  # noqa: PLC0415 - seldom needed
        OcrFailed,
        SegmentationMode,
        get_engine,
    )
    from ingestion.reading.ocr.stamps import read_stamp_image  # noqa: PLC0415 - as the one before

    engine = get_engine(limits.engine, limits.first_language)
    try:
        # Each mode reads stamps that the other one omits.
        modes = (SegmentationMode.SINGLE_COLUMN, SegmentationMode.SINGLE_BLOCK)
        stamp = read_stamp_image(
            upright.draw(), OCR_DPI, engine, OCR_SECONDS, modes, upright.letters
        )
    except OcrFailed:
        return None
    if stamp is None:
        return None
    return KnownStamp(stamp, _share_of(inked, box))


def _render_area(
    page: pypdfium2.PdfPage,
    area: Box,
    limits: ReadingLimits,
    side: int = MAX_SIDE_PIXELS,
    *,
    is_smooth: bool = True,
) -> PageRaster:
    """Render an area of a page, with a border around it, so that its longer side has `side` pixels.

    The resolution is limited.
    """
    longest = max(area.right - area.left, area.bottom - area.top)
    dpi = min(max(side * POINTS_PER_INCH / longest, MIN_DPI), MAX_DPI)
    left, top, right, bottom = area
    border = BORDER_POINTS
    width, height = page.get_size()
    wider = Box(
        max(left - border, 0.0),
        max(top - border, 0.0),
        min(right + border, width),
        min(bottom + border, height),
    )
    return render_page(page, dpi, limits, wider, is_smooth=is_smooth)


def _inked_box(ink: Mask, raster: PageRaster) -> Box:
    """Return the place of the ink of a raster on the page, in points."""
    rows, columns = np.flatnonzero(ink.any(axis=1)), np.flatnonzero(ink.any(axis=0))
    (x, y), scale = raster.offset, raster.dpi / POINTS_PER_INCH
    return Box(
        (x + columns[0]) / scale,
        (y + rows[0]) / scale,
        (x + columns[-1] + 1) / scale,
        (y + rows[-1] + 1) / scale,
    )


def _share_of(inner: Box, outer: Box) -> Box:
    """Return a box as shares of the width and the height of another one."""
    width, height = outer.right - outer.left, outer.bottom - outer.top
    return Box(
        (inner.left - outer.left) / width,
        (inner.top - outer.top) / height,
        (inner.right - outer.left) / width,
        (inner.bottom - outer.top) / height,
    )


@contextmanager
def _hidden(objects: Sequence[PageObject]) -> Iterator[None]:
    """Hide all objects of a page for the block."""
    hidden = [item.raw for item in objects if set_is_active(item.raw, 0)]
    try:
        yield
    finally:
        for raw in hidden:
            set_is_active(raw, 1)


@contextmanager
def _visible(chosen: Sequence[PageObject]) -> Iterator[None]:
    """Show some hidden objects of a page for the block, with the forms that contain them."""
    visible = []
    for item in chosen:
        holder: PageObject | None = item
        while holder is not None:
            visible.append(holder.raw)
            holder = holder.form
    for raw in visible:
        pdfium.FPDFPageObj_SetIsActive(raw, 1)
    try:
        yield
    finally:
        for raw in visible:
            pdfium.FPDFPageObj_SetIsActive(raw, 0)
