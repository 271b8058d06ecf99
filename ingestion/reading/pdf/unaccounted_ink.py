"""Finds the areas of a born-digital page that may contain ink which no word accounts for.

The page's objects are examined without rendering. Text that was read is print, and a path that
runs exactly horizontally or vertically is a rule, a cell or a box. Everything else may be
handwriting: curves, slanted lines, images, shadings, annotations, and text that no word stands
for, such as a font that draws a signature. In doubt, an area is returned, because that costs the
rendering of the area, while an omitted area could cost a signature.
"""

from collections.abc import Iterable, Iterator, Sequence
from ctypes import byref, c_float, c_int, c_size_t
from enum import Enum
from itertools import islice
from math import ceil, inf

import cv2
import numpy as np
import pypdfium2
import pypdfium2.raw as pdfium
from numpy.typing import NDArray

from ingestion.reading.images.page_objects import (
    MAX_OBJECTS_PER_PAGE,
    PageObject,
    is_expanded_form,
    iter_annotations,
    iter_page_objects,
    list_object_rects,
)
from ingestion.reading.images.pdfium_calls import (
    get_font_address,
    get_path_segment,
    get_segment_point,
    get_segment_type,
)
from ingestion.reading.results import Box, Word

from .text_layer import convert_to_boxes, make_point_transform

Point = tuple[float, float]
Size = tuple[float, float]  # width and height in points
Grid = NDArray[np.uint8]  # cells of the page, 1 where ink is possible

CELL_POINTS = 2.0  # sides of a cell of the grid
MAX_PAGE_POINTS = 2_000.0  # of a page's longer side; a larger page is one area
# Around a word, what belongs to it: half a space beside it, and an accent above it.
WORD_MARGIN_X_POINTS, WORD_MARGIN_Y_POINTS = 4.0, 3.0
# Between words, the smallest free space in which a mark may be.
MIN_FREE_WIDTH_CELLS, MIN_FREE_HEIGHT_CELLS = 8, 3
# Areas within this distance are joined, because they may be strokes of one signature.
JOIN_WIDTH_CELLS, JOIN_HEIGHT_CELLS = 9, 5
MIN_AREA_WIDTH_CELLS, MIN_AREA_HEIGHT_CELLS = 17, 6  # smaller areas have no room for a mark
# A shorter segment may be a dot, or one step of a signature that is composed of squares.
MIN_RULE_SEGMENT_POINTS = 3.0
MAX_RULE_DEVIATION_POINTS = 0.05  # of a segment of a rule, from horizontal or vertical
MAX_PATH_SEGMENTS = 200  # of one path that are examined
# Segments of a clip path that is a rectangle. One with more may have the shape of a signature.
MAX_CLIP_SEGMENTS = 5
# A filled figure of this size may show a signature through its pattern or mask.
MIN_FILL_WIDTH_POINTS, MIN_FILL_HEIGHT_POINTS = 20.0, 6.0
INVISIBLE_ANNOTATIONS = {pdfium.FPDF_ANNOT_LINK, pdfium.FPDF_ANNOT_POPUP}


class FontSource(Enum):
    """The origins of a font's glyphs."""

    SUBSTITUTE = "substitute"  #: A font of the reader, whose glyphs are letters in any file.
    EMBEDDED = "embedded"  #: A font in the file, whose glyphs may be anything.
    TYPE_3 = "type-3"  #: A font that draws with any object and may state no size.


def find_unaccounted_areas(page: pypdfium2.PdfPage, words: Sequence[Word]) -> list[Box]:
    """Return the areas that may contain ink besides words and rules, in points. None overlap.

    `words` are the printed words of the page. The area is the whole page if the page is very
    large, has too many objects, or has text in a font of type 3.
    """
    size = page.get_size()
    objects = list(islice(iter_page_objects(page), MAX_OBJECTS_PER_PAGE))
    texts = _texts_by_font_source(objects)
    if (
        max(size) > MAX_PAGE_POINTS
        or len(objects) == MAX_OBJECTS_PER_PAGE
        or FontSource.TYPE_3 in texts
    ):
        return [Box(0.0, 0.0, *size)]
    to_box = make_point_transform(page)
    areas = [to_box(item.rect) for item in objects if _may_be_handwriting(item, page)]
    # Annotations that were not flattened into the page, and are drawn nevertheless.
    for annotation in iter_annotations(page):
        rect = pdfium.FS_RECTF()
        is_invisible = pdfium.FPDFAnnot_GetSubtype(annotation) in INVISIBLE_ANNOTATIONS
        is_drawn = not is_invisible or pdfium.FPDFAnnot_HasKey(annotation, b"AP")
        if is_drawn and pdfium.FPDFAnnot_GetRect(annotation, byref(rect)):
            areas.append(to_box((rect.left, rect.bottom, rect.right, rect.top)))
    boxes = convert_to_boxes(page, list_object_rects(texts.get(FontSource.EMBEDDED, ())))
    areas += _texts_without_words(boxes, words, size)
    return _join_areas(areas, size) if areas else []


def _texts_by_font_source(objects: Iterable[PageObject]) -> dict[FontSource, list[PageObject]]:
    """Return the page's text objects by the source of their font.

    Each font is examined once. pdfium reports a font of type 3 as embedded, and has no font file
    of it.
    """
    sources: dict[int | None, FontSource] = {}
    found: dict[FontSource, list[PageObject]] = {}
    for text in objects:
        if text.kind != pdfium.FPDF_PAGEOBJ_TEXT:
            continue
        key = get_font_address(text.raw)
        if key not in sources:
            font, size = pdfium.FPDFTextObj_GetFont(text.raw), c_size_t()
            if not font or not pdfium.FPDFFont_GetIsEmbedded(font):
                sources[key] = FontSource.SUBSTITUTE
            elif pdfium.FPDFFont_GetFontData(font, None, 0, byref(size)) and size.value:
                sources[key] = FontSource.EMBEDDED
            else:
                sources[key] = FontSource.TYPE_3
        found.setdefault(sources[key], []).append(text)
    return found


def _may_be_handwriting(item: PageObject, page: pypdfium2.PdfPage) -> bool:
    if item.kind == pdfium.FPDF_PAGEOBJ_TEXT:
        return False
    if item.kind == pdfium.FPDF_PAGEOBJ_PATH:
        return not _is_rule(item) or _is_clipped(item) or _has_pattern_or_mask(item, page)
    if is_expanded_form(item):
        return _is_clipped(item) or bool(pdfium.FPDFPageObj_HasTransparency(item.raw))
    return True


def _is_rule(path: PageObject) -> bool:
    """Return whether a path is exactly horizontal or vertical throughout.

    A path of mostly short segments is no rule.
    """
    count = pdfium.FPDFPath_CountSegments(path.raw)
    if count > MAX_PATH_SEGMENTS:
        return False
    long_minus_short = 0
    for across, down in _segment_extents(path, count):
        if min(across, down) > MAX_RULE_DEVIATION_POINTS:
            return False
        long_minus_short += 1 if max(across, down) >= MIN_RULE_SEGMENT_POINTS else -1
    return long_minus_short >= 0


def _segment_extents(path: PageObject, count: int) -> Iterator[tuple[float, float]]:
    """Yield how far each segment of a path extends across the page and down it, in points.

    Every figure is treated as closed, as it is when it is filled. A curve is neither horizontal nor
    vertical, so its extents are infinite.
    """
    matrix, holder = path.matrix, path.form
    while holder is not None:
        matrix = matrix.multiply(holder.matrix)
        holder = holder.form
    a, b, c, d, *_ = matrix.get()
    x, y = c_float(), c_float()
    to_x, to_y = byref(x), byref(y)
    start = last = None
    for index in range(count):
        segment = get_path_segment(path.raw, index)
        get_segment_point(segment, to_x, to_y)
        point = (a * x.value + c * y.value, b * x.value + d * y.value)
        match get_segment_type(segment):
            case pdfium.FPDF_SEGMENT_LINETO if last:
                yield abs(point[0] - last[0]), abs(point[1] - last[1])
            case pdfium.FPDF_SEGMENT_MOVETO:
                yield from _closing_extent(start, last)
                start = point
            case _:
                yield inf, inf
        last = point
    yield from _closing_extent(start, last)


def _closing_extent(start: Point | None, last: Point | None) -> Iterator[tuple[float, float]]:
    """Yield the extent of the segment that closes a figure, if it is not closed already."""
    if start and last and start != last:
        yield abs(start[0] - last[0]), abs(start[1] - last[1])


def _is_clipped(item: PageObject) -> bool:
    """Return whether an object has a clip path that may give it any shape.

    A clip path of text has no paths.
    """
    clip = pdfium.FPDFPageObj_GetClipPath(item.raw)
    paths = pdfium.FPDFClipPath_CountPaths(clip) if clip else -1
    return paths == 0 or any(
        pdfium.FPDFClipPath_CountPathSegments(clip, index) > MAX_CLIP_SEGMENTS
        for index in range(paths)
    )


def _has_pattern_or_mask(path: PageObject, page: pypdfium2.PdfPage) -> bool:
    """Return whether a large figure is filled with a pattern, or is seen through a mask."""
    fill, stroke = c_int(), c_int()
    pdfium.FPDFPath_GetDrawMode(path.raw, byref(fill), byref(stroke))
    left, bottom, right, top = path.rect
    is_small = right - left < MIN_FILL_WIDTH_POINTS or top - bottom < MIN_FILL_HEIGHT_POINTS
    if not fill.value or is_small:
        return False
    if pdfium.FPDFPageObj_HasTransparency(path.raw):
        return True
    pattern = pdfium.FPDFPageObj_GetRenderedFillPattern(page.pdf, path.raw)
    if pattern:
        pdfium.FPDFBitmap_Destroy(pattern)
    return bool(pattern)


def _texts_without_words(texts: list[Box], words: Sequence[Word], size: Size) -> list[Box]:
    """Return the text objects that have room for a mark besides their words."""
    if not texts:
        return []
    grid = _empty_grid(size)
    cells = _cells_touched(texts)
    for left, top, right, bottom in cells:
        grid[top:bottom, left:right] = 1
    # A word covers every cell that is completely inside its box and the margin around it.
    edges = np.array([word.box for word in words], np.float64).reshape(-1, 4)
    margin = (WORD_MARGIN_X_POINTS, WORD_MARGIN_Y_POINTS)
    edges += (-margin[0], -margin[1], *margin)
    edges /= CELL_POINTS
    edges[:, :2] = np.ceil(edges[:, :2])
    edges[:, 2:] = np.floor(edges[:, 2:])
    for left, top, right, bottom in _clipped(edges):
        grid[top:bottom, left:right] = 0
    room = np.ones((MIN_FREE_HEIGHT_CELLS, MIN_FREE_WIDTH_CELLS), np.uint8)
    free = cv2.morphologyEx(grid, cv2.MORPH_OPEN, room)
    if not free.any():
        return []
    return [
        text
        for text, (left, top, right, bottom) in zip(texts, cells, strict=True)
        if free[top:bottom, left:right].any()
    ]


def _join_areas(areas: list[Box], size: Size) -> list[Box]:
    """Return boxes around areas that are near each other, as far as they have room for a mark."""
    grid = _empty_grid(size)
    for left, top, right, bottom in _cells_touched(areas):
        grid[top:bottom, left:right] = 1
    grid = np.asarray(cv2.dilate(grid, np.ones((JOIN_HEIGHT_CELLS, JOIN_WIDTH_CELLS), np.uint8)))
    found: list[Sequence[int]] = []
    before = -1
    while len(found) != before:  # a filled bounding box may touch another area
        before = len(found)
        contours, _ = cv2.findContours(grid, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE)
        found = [cv2.boundingRect(contour) for contour in contours]
        for left, top, width, height in found:
            grid[top : top + height, left : left + width] = 1
    boxes = []
    for left, top, width, height in found:
        right, bottom = left + width, top + height
        is_large = width >= MIN_AREA_WIDTH_CELLS and height >= MIN_AREA_HEIGHT_CELLS
        # At an edge of the page, an area could not grow in all directions.
        is_at_edge = left == 0 or top == 0 or right == grid.shape[1] or bottom == grid.shape[0]
        if is_large or is_at_edge:
            boxes.append(Box(*(edge * CELL_POINTS for edge in (left, top, right, bottom))))
    return boxes


def _empty_grid(size: Size) -> Grid:
    width, height = size
    return np.zeros((ceil(height / CELL_POINTS), ceil(width / CELL_POINTS)), np.uint8)


def _cells_touched(boxes: list[Box]) -> list[list[int]]:
    """Return for each box the bounds of the cells that it touches."""
    edges = np.array(boxes, np.float64).reshape(-1, 4) / CELL_POINTS
    edges[:, :2] = np.floor(edges[:, :2])
    edges[:, 2:] = np.maximum(np.ceil(edges[:, 2:]), edges[:, :2] + 1)
    return _clipped(edges)


def _clipped(edges: NDArray[np.float64]) -> list[list[int]]:
    """Return edges as numbers for slices: not negative, and at most that of the largest page."""
    whole: list[list[int]] = np.clip(edges, 0, MAX_PAGE_POINTS).astype(int).tolist()
    return whole
