"""Finds marks: ink that is neither text nor ruled line, as signatures, stamps, drawings.

The search works on a raster of the page at 100 dpi. It binarises the raster, removes known words
and long rules, and groups the remaining strokes. A group is a mark if it has the size and the
density of handwriting. Whether a mark is a signature, and whose, is decided by the rules.
"""

from collections.abc import Sequence
from statistics import median

import cv2
import numpy as np

from ingestion.reading.results import Box, Word

from .binarise import (
    INK_BRIGHTNESS,
    MAX_THIN_PIXELS,
    WORD_PADDING_POINTS,
    Mask,
    convert_to_pixel_bounds,
    divide_by_background,
    estimate_background,
    label_components,
    label_ink,
    measure_components,
    threshold,
)
from .render import POINTS_PER_INCH, PageRaster

# Brightness of faint ink, 0 to 255: that of a thin grey rule, which watermarks seldom have.
FAINT_INK_BRIGHTNESS = 215
MIN_RULE_PIXELS = 50  # half an inch: few pens draw a straight line that long in a signature
MAX_RULE_GAP_PIXELS = 4  # scanner noise breaks a grey rule
RULE_WIDTH_PIXELS = 5  # removed together with a rule
MIN_SOLID_PIXELS = 5  # sides of a square of ink that is no part of a rule
MAX_RULE_SLOPE = 0.06  # of a rule on a page that was scanned askew: 3.4 degrees
# Strokes whose distance is smaller than this, across and down, belong to one mark.
MAX_STROKE_GAP_X_PIXELS, MAX_STROKE_GAP_Y_PIXELS = 13, 7
MIN_STROKE_PIXELS = 6  # of ink
MIN_PRINT_CONFIDENCE = 60.0  # 0 to 100; words below it may be a signature that OCR read
TEXT_LAYER_CONFIDENCE = 100.0  # of words of a text layer, which are print at any size
# In median heights of a word: above them, an uncertain or a certain word is no print.
MAX_UNCERTAIN_WORD_HEIGHTS, MAX_CERTAIN_WORD_HEIGHTS = 1.5, 2.0
MAX_WORD_GAP_POINTS = 10.0  # between neighbouring words of one line
MIN_MARK_WIDTH_POINTS, MIN_MARK_HEIGHT_POINTS = 20.0, 6.0
MIN_MARK_PIXELS = 50  # of ink; the corner of a table has fewer
# Share of a mark's box that is ink: less is scattered dust, more is a solid block.
MIN_MARK_INK_SHARE, MAX_MARK_INK_SHARE = 0.015, 0.6


def find_marks(page: PageRaster, words: Sequence[Word]) -> tuple[Box, ...]:
    """Return the boxes of the marks of a scanned page, in points, from top to bottom.

    `page` is a result of `flatten_background`.
    """
    printed = _printed_words(words)
    ink = _without_words(threshold(page.grey, INK_BRIGHTNESS), page, printed)
    if cv2.countNonZero(ink) < MIN_MARK_PIXELS:
        return ()
    faint = _without_words(threshold(page.grey, FAINT_INK_BRIGHTNESS), page, printed)
    _remove_skewed_rules(ink, faint)
    boxes = _group_strokes(ink, page.dpi / POINTS_PER_INCH, page.offset)
    return tuple(sorted(boxes, key=lambda box: (box.top, box.left)))


def find_marks_in_area(
    raster: PageRaster, area: Box, words: Sequence[Word], *, may_be_skewed: bool
) -> list[Box]:
    """Return the boxes of the marks in an area of a born-digital page, in points.

    `raster` shows a little more than the area. `may_be_skewed` says that the page contains an
    image, which may be a scan.
    """
    left, top, right, bottom = convert_to_pixel_bounds(area, raster, padding=0.0)
    printed = _printed_words(words)
    # Relative to its background, no pixel is darker, so that most areas are known to have no mark.
    ink = _without_words(threshold(raster.grey, INK_BRIGHTNESS), raster, printed)
    if np.count_nonzero(ink[top:bottom, left:right]) < MIN_MARK_PIXELS:
        return []
    grey = divide_by_background(raster.grey, estimate_background(raster.grey))
    if grey is not raster.grey:
        ink = _without_words(threshold(grey, INK_BRIGHTNESS), raster, printed)
    faint = _without_words(threshold(grey, FAINT_INK_BRIGHTNESS), raster, printed)
    if may_be_skewed:
        _remove_skewed_rules(ink, faint)
    else:
        # A rule that a program drew is exactly horizontal or vertical.
        solid = np.ones((MIN_SOLID_PIXELS, MIN_SOLID_PIXELS), np.uint8)
        thin = faint & ~cv2.morphologyEx(faint, cv2.MORPH_OPEN, solid)
        across = cv2.morphologyEx(thin, cv2.MORPH_OPEN, np.ones((1, MIN_RULE_PIXELS), np.uint8))
        down = cv2.morphologyEx(thin, cv2.MORPH_OPEN, np.ones((MIN_RULE_PIXELS, 1), np.uint8))
        ink[cv2.dilate(across | down, np.ones((RULE_WIDTH_PIXELS,) * 2, np.uint8)) > 0] = 0
    ink = np.ascontiguousarray(ink[top:bottom, left:right])
    if np.count_nonzero(ink) < MIN_MARK_PIXELS:
        return []
    x, y, width, height = cv2.boundingRect(ink)
    ink = np.ascontiguousarray(ink[y : y + height, x : x + width])
    offset = (raster.offset[0] + left + x, raster.offset[1] + top + y)
    return _group_strokes(ink, raster.dpi / POINTS_PER_INCH, offset)


def _printed_words(words: Sequence[Word]) -> list[Word]:
    """Return the words that are certainly print.

    OCR also "reads" signatures, usually with low confidence and larger than the print. A word of
    low confidence counts as print if it is no taller than the others and next to one of them.
    Sometimes OCR is confident of a signature, which is then twice as tall as print. A heading may
    be that tall too. A heading that is taken for a mark does no harm, but a signature that is
    taken for print would cause a rejection.
    """
    certain = [word for word in words if word.confidence >= MIN_PRINT_CONFIDENCE]
    usual_height = median(map(_height, certain)) if certain else 0.0
    printed = [
        word
        for word in certain
        if word.confidence >= TEXT_LAYER_CONFIDENCE
        or _height(word) < MAX_CERTAIN_WORD_HEIGHTS * usual_height
    ]
    return printed + [
        word
        for word in words
        if word.confidence < MIN_PRINT_CONFIDENCE
        and _height(word) < MAX_UNCERTAIN_WORD_HEIGHTS * usual_height
        and any(_is_next_to(word.box, other.box) for other in printed)
    ]


def _height(word: Word) -> float:
    return word.box.bottom - word.box.top


def _is_next_to(box: Box, other: Box) -> bool:
    """Return whether a word's box is beside another one on the same line."""
    gap = max(other.left - box.right, box.left - other.right)
    return gap < MAX_WORD_GAP_POINTS and other.top < (box.top + box.bottom) / 2 < other.bottom


def _remove_skewed_rules(ink: Mask, faint: Mask) -> None:
    """Remove the rules of a scan from `ink`. They are a little askew, so lines are searched.

    The search uses the faint ink, because a grey rule that falls between two rows of pixels is
    hardly darker than paper.
    """
    solid = np.ones((MIN_SOLID_PIXELS, MIN_SOLID_PIXELS), np.uint8)
    lines = cv2.HoughLinesP(
        faint & ~cv2.morphologyEx(faint, cv2.MORPH_OPEN, solid),
        1,
        np.pi / 720,
        threshold=MIN_RULE_PIXELS // 2,
        minLineLength=MIN_RULE_PIXELS,
        maxLineGap=MAX_RULE_GAP_PIXELS,
    )
    for left, top, right, bottom in [] if lines is None else lines.reshape(-1, 4).tolist():
        short, long = sorted((abs(right - left), abs(bottom - top)))
        if short <= MAX_RULE_SLOPE * long:
            cv2.line(ink, (left, top), (right, bottom), 0, thickness=RULE_WIDTH_PIXELS)


def _without_words(ink: Mask, page: PageRaster, printed: Sequence[Word]) -> Mask:
    """Return a mask of a page after the printed words were removed from it."""
    for word in printed:
        left, top, right, bottom = convert_to_pixel_bounds(word.box, page, WORD_PADDING_POINTS)
        ink[top:bottom, left:right] = 0
    return ink


def _group_strokes(ink: Mask, scale: float, offset: tuple[int, int]) -> list[Box]:
    """Return the boxes, in points, of groups of strokes that may be handwriting.

    `scale` is in pixels per point. `offset` is the place of the mask's corner on the page, in
    pixels.
    """
    # Specks are removed, and so are the short ends of rules and the sides of boxes.
    labelled = label_ink(ink)
    parts = labelled.components
    thin = np.minimum(parts.width, parts.height) <= MAX_THIN_PIXELS
    is_stroke = np.zeros(parts.label.max(initial=0) + 1, bool)
    is_stroke[parts.label] = ~(thin | (parts.ink < MIN_STROKE_PIXELS))
    strokes = np.zeros(ink.shape, np.uint8)
    strokes.ravel()[labelled.pixels[is_stroke[labelled.labels]]] = 1

    kernel = np.ones((MAX_STROKE_GAP_Y_PIXELS, MAX_STROKE_GAP_X_PIXELS), np.uint8)
    near = np.asarray(cv2.dilate(strokes, kernel))
    groups = measure_components(label_components(near) * strokes)
    share = groups.ink / (groups.width * groups.height)
    chosen = groups.width >= MIN_MARK_WIDTH_POINTS * scale
    chosen &= groups.height >= MIN_MARK_HEIGHT_POINTS * scale
    chosen &= groups.ink >= MIN_MARK_PIXELS
    chosen &= (share >= MIN_MARK_INK_SHARE) & (share <= MAX_MARK_INK_SHARE)
    edges = np.stack((groups.left, groups.top, groups.right, groups.bottom), axis=1)
    boxes = (edges[chosen] + offset * 2) / scale
    return [Box(*box) for box in boxes.tolist()]
