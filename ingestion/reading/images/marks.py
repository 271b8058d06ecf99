"""Ink that is neither text nor ruled line: signatures, stamps, drawings.

Works on a picture of the page at 100 dpi: ink is told from paper, known words and long rules
are blanked out, and what remains close together makes a mark when it is as large as somebody's
hand would make it. Whether a mark is somebody's signature is for the rules to say.
"""

from collections.abc import Sequence
from dataclasses import replace
from statistics import median

import cv2
import numpy as np

from ingestion.reading.results import Box, Word

from .binarise import (
    DARK_BRIGHTNESS,
    MAX_THIN_PIXELS,
    WORD_PADDING_POINTS,
    Mask,
    divide_by_background,
    estimate_background,
    label_components,
    measure_components,
    pixel_bounds,
    threshold,
)
from .render import POINTS_PER_INCH, PageRaster

FAINT = 215  # of 255; what a thin grey rule leaves, and a watermark seldom
MIN_RULE_PIXELS = (
    50  # pixels, half an inch: few pens draw a straight line that long inside a signature
)
RULE_GAP = 4  # pixels; the scanner's noise breaks a grey rule
RULE_WIDTH = 5  # pixels that go with it
ASKEW = 0.06  # rise of a rule on a page scanned askew: 3.4 degrees
REACH = (13, 7)  # pixels sideways and down within which strokes belong together
MIN_STROKE_PIXELS = 6  # pixels of ink
MIN_PRINT_CONFIDENCE = 60.0  # of a word's confidence; below, OCR may have "read" a signature
TYPED = 100.0  # the confidence of a text layer, whose words are print at any size
TALL, TALL_AND_SURE = 1.5, 2.0  # times the usual height of a word
BESIDE = 10.0  # points between words of one line
MIN_MARK_SIZE = (20.0, 6.0)  # points wide and high
MIN_MARK_PIXELS = 50  # pixels; the corner of a table has fewer
INK_SHARE = (0.015, 0.6)  # of a mark's box: neither scattered dust nor a solid block


def find_marks(sheet: PageRaster, words: Sequence[Word]) -> tuple[Box, ...]:
    """Of a scanned page. Boxes in points, from the top of the page down."""
    ink, faint = _ink(sheet, words)
    if np.count_nonzero(ink) < MIN_MARK_PIXELS:
        return ()
    _remove_rules(ink, faint)
    boxes = _clusters(_without_dust(ink), sheet.dpi / POINTS_PER_INCH, sheet.corner)
    return tuple(sorted(boxes, key=lambda box: (box.top, box.left)))


def find_marks_in_area(
    picture: PageRaster, area: Box, words: Sequence[Word], *, askew: bool
) -> list[Box]:
    """Of an area of a born-digital page; `picture` shows a little more.

    `askew` when it shows a picture, which may be a scan.
    """
    grey = divide_by_background(picture.grey, estimate_background(picture.grey))
    ink, faint = _ink(replace(picture, grey=grey), words)
    if askew:
        _remove_rules(ink, faint)
    else:
        _remove_straight_rules(ink, faint)
    left, top, right, bottom = pixel_bounds(area, picture, pad=0.0)
    ink = np.ascontiguousarray(ink[top:bottom, left:right])
    if np.count_nonzero(ink) < MIN_MARK_PIXELS:
        return []
    corner = (picture.corner[0] + left, picture.corner[1] + top)
    return _clusters(_without_dust(ink), picture.dpi / POINTS_PER_INCH, corner)


def _printed(words: Sequence[Word]) -> list[Word]:
    """Words that are surely print. OCR "reads" signatures too: unsure, and larger than the print.

    An unsure word counts when it is no taller than the others and stands right beside one. Now and
    then OCR is sure of what it "read" there: then it is twice as tall as print. A heading may be as
    well; taken for a mark it does no harm, and a signature taken for print would cost a rejection.
    """
    sure = [word for word in words if word.confidence >= MIN_PRINT_CONFIDENCE]
    usual = median(map(_height, sure)) if sure else 0.0
    printed = [
        word for word in sure if word.confidence >= TYPED or _height(word) < TALL_AND_SURE * usual
    ]
    return printed + [
        word
        for word in words
        if word.confidence < MIN_PRINT_CONFIDENCE
        and _height(word) < TALL * usual
        and any(_beside(word.box, other.box) for other in printed)
    ]


def _height(word: Word) -> float:
    return word.box.bottom - word.box.top


def _beside(box: Box, other: Box) -> bool:
    gap = max(other.left - box.right, box.left - other.right)
    return gap < BESIDE and other.top < (box.top + box.bottom) / 2 < other.bottom


def _remove_rules(ink: Mask, faint: Mask) -> None:
    """A scan's rules are a little askew, so they are looked for as lines.

    In the faint ink: a grey rule that falls between two rows of pixels is hardly darker than paper.
    """
    solid = cv2.morphologyEx(faint, cv2.MORPH_OPEN, np.ones((5, 5), np.uint8))
    lines = cv2.HoughLinesP(
        faint & ~solid,
        1,
        np.pi / 720,
        threshold=MIN_RULE_PIXELS // 2,
        minLineLength=MIN_RULE_PIXELS,
        maxLineGap=RULE_GAP,
    )
    for left, top, right, bottom in [] if lines is None else lines.reshape(-1, 4).tolist():
        short, long = sorted((abs(right - left), abs(bottom - top)))
        if short <= ASKEW * long:
            cv2.line(ink, (left, top), (right, bottom), 0, thickness=RULE_WIDTH)


def _remove_straight_rules(ink: Mask, faint: Mask) -> None:
    """What was drawn by a program runs exactly across or down."""
    thin = faint & ~cv2.morphologyEx(faint, cv2.MORPH_OPEN, np.ones((5, 5), np.uint8))
    across = cv2.morphologyEx(thin, cv2.MORPH_OPEN, np.ones((1, MIN_RULE_PIXELS), np.uint8))
    down = cv2.morphologyEx(thin, cv2.MORPH_OPEN, np.ones((MIN_RULE_PIXELS, 1), np.uint8))
    around = np.ones((RULE_WIDTH, RULE_WIDTH), np.uint8)
    ink[cv2.dilate(across | down, around) > 0] = 0


def _ink(sheet: PageRaster, words: Sequence[Word]) -> tuple[Mask, Mask]:
    """The ink, and the ink with what is faint, of all that is not a word."""
    ink, faint = threshold(sheet.grey, DARK_BRIGHTNESS), threshold(sheet.grey, FAINT)
    for word in _printed(words):
        left, top, right, bottom = pixel_bounds(word.box, sheet, WORD_PADDING_POINTS)
        ink[top:bottom, left:right] = 0
        faint[top:bottom, left:right] = 0
    return ink, faint


def _without_dust(ink: Mask) -> Mask:
    """Without specks, and without the short ends of rules and the sides of boxes."""
    labels = label_components(ink)
    found = measure_components(labels)
    thin = np.minimum(found.wide, found.high) <= MAX_THIN_PIXELS
    keep = np.zeros(labels.max() + 1, np.uint8)
    keep[found.label] = ~(thin | (found.ink < MIN_STROKE_PIXELS))
    return np.asarray(keep[labels])


def _clusters(ink: Mask, scale: float, corner: tuple[int, int]) -> list[Box]:
    """The boxes of strokes close together, if of a size and density that a pen leaves."""
    near = np.asarray(cv2.dilate(ink, np.ones(REACH[::-1], np.uint8)))
    found = measure_components(np.where(ink, label_components(near), 0))
    share = found.ink / (found.wide * found.high)
    by_hand = (found.wide >= MIN_MARK_SIZE[0] * scale) & (found.high >= MIN_MARK_SIZE[1] * scale)
    by_hand &= (found.ink >= MIN_MARK_PIXELS) & (share >= INK_SHARE[0]) & (share <= INK_SHARE[1])
    edges = np.stack((found.left, found.top, found.right, found.bottom), axis=1)
    boxes = (edges[by_hand] + corner * 2) / scale
    return [Box(*box) for box in boxes.tolist()]
