"""Where a born-digital page has ink that its words do not account for.

The page's own objects tell. Text that was read is print, and what runs straight across or down is
a rule, a cell or a box; everything else may have come from somebody's hand: curves, slanted
lines, pictures, shadings, annotations, and text that no word stands for, as in a font made of one
signature. When in doubt an area is given: that costs a look at its pixels, never a signature.
"""

from collections.abc import Iterable, Iterator, Sequence
from ctypes import addressof, byref, c_float, c_int, c_size_t
from enum import Enum
from itertools import islice
from math import ceil, inf
from typing import Any

import cv2
import numpy as np
import pypdfium2
import pypdfium2.raw as pdfium
from numpy.typing import NDArray

from ingestion.reading.images.page_objects import (
    MAX_OBJECTS_PER_PAGE,
    PageObject,
    PdfRect,
    annotations,
    is_expanded_form,
    page_objects,
)
from ingestion.reading.results import Box, Word

from .text_layer import point_transform

Point = tuple[float, float]
Size = tuple[float, float]  # points wide and high
Grid = NDArray[np.uint8]  # 1 where there may be ink

CELL = 2.0  # points
MAX_PAGE_POINTS = 2_000.0  # points of a page's longer side; a larger one is looked at as a whole
SPACE = (4.0, 3.0)  # points beside and above a word that belong to it: half a blank, an accent
FREE = (8, 3)  # cells wide and high that words leave free where a mark may stand
NEAR = (9, 5)  # cells; what is nearer is looked at together, as the strokes of one hand may be
MIN_AREA_CELLS = (17, 6)  # cells wide and high; in a smaller one no mark would be large enough
SHORT = 3.0  # points; a dot, or one step of a signature that is made of squares
STRAIGHT = 0.05  # points by which a rule may stray
MAX_PATH_POINTS = 200  # of one path that are followed
CORNERS = 5  # points of a clip that is a rectangle; with more it may be cut out like a signature
MIN_FILL_POINTS = (20.0, 6.0)  # points wide and high; as much could show a signature by its pattern
INVISIBLE_ANNOTATIONS = {pdfium.FPDF_ANNOT_LINK, pdfium.FPDF_ANNOT_POPUP}


class FontSource(Enum):
    """Where a text's letters come from."""

    OURS = "ours"  #: a font of the reader's own: letters, whoever wrote the file
    BROUGHT = "brought"  #: a font inside the file, whose letters may be anything
    DRAWN = "drawn"  #: a font of type 3, which draws with any object and may state no size


def find_unaccounted_areas(page: pypdfium2.PdfPage, words: Sequence[Word]) -> list[Box]:
    """Areas that do not touch; none when there is nothing but words and rules.

    The whole page where there is more on it, or less known of it, than is worth asking about.
    """
    size = page.get_size()
    objects = list(islice(page_objects(page), MAX_OBJECTS_PER_PAGE))
    letters = _letters(objects)
    if (
        max(size) > MAX_PAGE_POINTS
        or len(objects) == MAX_OBJECTS_PER_PAGE
        or FontSource.DRAWN in letters
    ):
        return [Box(0.0, 0.0, *size)]
    upright = point_transform(page)
    areas = [upright(each.rect) for each in objects if _may_be_a_hand(each, page)]
    areas += map(upright, _annotations(page))
    texts = [upright(text.rect) for text in letters.get(FontSource.BROUGHT, ())]
    areas += _without_words(texts, words, size)
    return _apart(areas, size) if areas else []


def _letters(objects: Iterable[PageObject]) -> dict[FontSource, list[PageObject]]:
    """The page's texts by where their letters come from, which is asked once of each font."""
    sources: dict[int, FontSource] = {}
    found: dict[FontSource, list[PageObject]] = {}
    for text in objects:
        if text.kind == pdfium.FPDF_PAGEOBJ_TEXT:
            font = pdfium.FPDFTextObj_GetFont(text.raw)
            key = addressof(font.contents) if font else 0
            if key not in sources:
                sources[key] = _source(font)
            found.setdefault(sources[key], []).append(text)
    return found


def _source(font: Any) -> FontSource:
    """A font of type 3 counts as embedded for pdfium, which has no font file of it."""
    if not font or not pdfium.FPDFFont_GetIsEmbedded(font):
        return FontSource.OURS
    length = c_size_t()
    known = pdfium.FPDFFont_GetFontData(font, None, 0, byref(length))
    return FontSource.BROUGHT if known and length.value else FontSource.DRAWN


def _may_be_a_hand(found: PageObject, page: pypdfium2.PdfPage) -> bool:
    if found.kind == pdfium.FPDF_PAGEOBJ_TEXT:
        return False
    if found.kind == pdfium.FPDF_PAGEOBJ_PATH:
        return not _is_rule(found) or _is_cut_out(found) or _shows_more(found, page)
    if is_expanded_form(found):
        return _is_cut_out(found) or bool(pdfium.FPDFPageObj_HasTransparency(found.raw))
    return True


def _is_rule(path: PageObject) -> bool:
    """Whether it runs straight across or down throughout, and not in small steps."""
    count = pdfium.FPDFPath_CountSegments(path.raw)
    if count > MAX_PATH_POINTS:
        return False
    more_long_than_short = 0
    for along, down in _steps(path, count):
        if min(along, down) > STRAIGHT:
            return False
        more_long_than_short += 1 if max(along, down) >= SHORT else -1
    return more_long_than_short >= 0


def _steps(path: PageObject, count: int) -> Iterator[tuple[float, float]]:
    """How far each piece of a path goes across the page and down it.

    Every figure is taken as closed, as it is where it is filled. A curve goes nowhere straight.
    """
    a, b, c, d = _turned(path)
    x, y = c_float(), c_float()
    start = last = None
    for at in range(count):
        piece = pdfium.FPDFPath_GetPathSegment(path.raw, at)
        pdfium.FPDFPathSegment_GetPoint(piece, byref(x), byref(y))
        here = (a * x.value + c * y.value, b * x.value + d * y.value)
        match pdfium.FPDFPathSegment_GetType(piece):
            case pdfium.FPDF_SEGMENT_LINETO if last:
                yield abs(here[0] - last[0]), abs(here[1] - last[1])
            case pdfium.FPDF_SEGMENT_MOVETO:
                yield from _closing(start, last)
                start = here
            case _:
                yield inf, inf
        last = here
    yield from _closing(start, last)


def _closing(start: Point | None, last: Point | None) -> Iterator[tuple[float, float]]:
    if start and last and start != last:
        yield abs(start[0] - last[0]), abs(start[1] - last[1])


def _turned(found: PageObject) -> tuple[float, float, float, float]:
    """How it is stretched and turned on the page, its forms included."""
    matrix, holder = found.matrix, found.form
    while holder is not None:
        matrix = matrix.multiply(holder.matrix)
        holder = holder.form
    a, b, c, d, *_ = matrix.get()
    return a, b, c, d


def _is_cut_out(found: PageObject) -> bool:
    """A clip may give any shape to what is plainly filled; a clip of letters counts no paths."""
    clip = pdfium.FPDFPageObj_GetClipPath(found.raw)
    paths = pdfium.FPDFClipPath_CountPaths(clip) if clip else -1
    return paths == 0 or any(
        pdfium.FPDFClipPath_CountPathSegments(clip, at) > CORNERS for at in range(paths)
    )


def _shows_more(path: PageObject, page: pypdfium2.PdfPage) -> bool:
    """A large plain figure may be filled with a pattern, or show through a mask."""
    fill, stroke = c_int(), c_int()
    pdfium.FPDFPath_GetDrawMode(path.raw, byref(fill), byref(stroke))
    left, bottom, right, top = path.rect
    if not fill.value or right - left < MIN_FILL_POINTS[0] or top - bottom < MIN_FILL_POINTS[1]:
        return False
    if pdfium.FPDFPageObj_HasTransparency(path.raw):
        return True
    pattern = pdfium.FPDFPageObj_GetRenderedFillPattern(page.pdf, path.raw)
    if pattern:
        pdfium.FPDFBitmap_Destroy(pattern)
    return bool(pattern)


def _annotations(page: pypdfium2.PdfPage) -> Iterator[PdfRect]:
    """Those that were not flattened into the page and are drawn all the same."""
    for annotation in annotations(page):
        rect = pdfium.FS_RECTF()
        is_silent = pdfium.FPDFAnnot_GetSubtype(annotation) in INVISIBLE_ANNOTATIONS
        is_drawn = not is_silent or pdfium.FPDFAnnot_HasKey(annotation, b"AP")
        if is_drawn and pdfium.FPDFAnnot_GetRect(annotation, byref(rect)):
            yield rect.left, rect.bottom, rect.right, rect.top


def _without_words(texts: list[Box], words: Sequence[Word], size: Size) -> list[Box]:
    """Of what is drawn with letters, that which leaves room for a mark between its words."""
    if not texts:
        return []
    grid = _grid(size)
    _paint(grid, texts)
    for left, top, right, bottom in _cells_within(words):
        grid[top:bottom, left:right] = 0
    free = cv2.morphologyEx(grid, cv2.MORPH_OPEN, np.ones(FREE[::-1], np.uint8))
    if not free.any():
        return []
    cells = zip(texts, _cells(texts), strict=True)
    return [
        text for text, (left, top, right, bottom) in cells if free[top:bottom, left:right].any()
    ]


def _apart(areas: list[Box], size: Size) -> list[Box]:
    """The areas around what is near to each other."""
    grid = _grid(size)
    _paint(grid, areas)
    grid = np.asarray(cv2.dilate(grid, np.ones(NEAR[::-1], np.uint8)))
    found: list[Sequence[int]] = []
    before = -1
    while len(found) != before:  # filling one area up may make it touch another
        before = len(found)
        contours, _ = cv2.findContours(grid, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE)
        found = [cv2.boundingRect(contour) for contour in contours]
        for left, top, wide, high in found:
            grid[top : top + high, left : left + wide] = 1
    edges = (
        (left, top, left + wide, top + high)
        for left, top, wide, high in found
        if (wide >= MIN_AREA_CELLS[0] and high >= MIN_AREA_CELLS[1])
        or _is_cut_off(left, top, left + wide, top + high, grid)
    )
    return [Box(*(edge * CELL for edge in each)) for each in edges]


def _is_cut_off(left: int, top: int, right: int, bottom: int, grid: Grid) -> bool:
    """At the page's edge an area has not grown to all sides."""
    high, wide = grid.shape
    return left == 0 or top == 0 or right == wide or bottom == high


def _grid(size: Size) -> Grid:
    wide, high = size
    return np.zeros((ceil(high / CELL), ceil(wide / CELL)), np.uint8)


def _paint(grid: Grid, boxes: list[Box]) -> None:
    for left, top, right, bottom in _cells(boxes):
        grid[top:bottom, left:right] = 1


def _cells(boxes: list[Box]) -> list[list[int]]:
    """Every cell that a box touches."""
    edges = np.array(boxes, np.float64).reshape(-1, 4) / CELL
    edges[:, :2] = np.floor(edges[:, :2])
    edges[:, 2:] = np.maximum(np.ceil(edges[:, 2:]), edges[:, :2] + 1)
    return _numbers(edges)


def _cells_within(words: Sequence[Word]) -> list[list[int]]:
    """Every cell that a word covers altogether, with the white that belongs to it."""
    edges = np.array([word.box for word in words], np.float64).reshape(-1, 4)
    edges += (-SPACE[0], -SPACE[1], *SPACE)
    edges /= CELL
    edges[:, :2] = np.ceil(edges[:, :2])
    edges[:, 2:] = np.floor(edges[:, 2:])
    return _numbers(edges)


def _numbers(edges: NDArray[np.float64]) -> list[list[int]]:
    """For slices: nothing is left of the page or above it, and nothing far beyond."""
    whole: list[list[int]] = np.clip(edges, 0, MAX_PAGE_POINTS).astype(int).tolist()
    return whole
