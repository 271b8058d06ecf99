"""Ink that is neither text nor ruled line: signatures, stamps, drawings.

Works on a picture of the page at 100 dpi: ink is told from paper, known words and long rules
are blanked out, and what remains close together makes a mark when it is as large as somebody's
hand would make it. Whether a mark is somebody's signature is for the rules to say.
"""

from collections.abc import Sequence
from statistics import median

import cv2
import numpy as np
from numpy.typing import NDArray

from .facts import Box, Word
from .render import POINTS, Grey, Picture

Mask = NDArray[np.uint8]  # 1 where there is ink

MARKS_DPI = 100
DARK = 175  # of 255, the paper being white: watermarks and tinted cells are lighter, pens darker
FAINT = 215  # of 255; what a thin grey rule leaves, and a watermark seldom
RULE = 50  # pixels, half an inch: few pens draw a straight line that long inside a signature
RULE_GAP = 4  # pixels; the scanner's noise breaks a grey rule
RULE_WIDTH = 5  # pixels that go with it
ASKEW = 0.06  # rise of a rule on a page scanned askew: 3.4 degrees
REACH = (13, 7)  # pixels sideways and down within which strokes belong together
DUST = 6  # pixels of ink
PAD = 1.5  # points around a word: its box leaves out the edges of its letters
SURE = 60.0  # of a word's confidence; below, OCR may have "read" a signature
TALL = 1.5  # times the usual height of a word
BESIDE = 10.0  # points between words of one line
SMALLEST = (20.0, 6.0)  # points wide and high
LEAST_INK = 50  # pixels; the corner of a table has fewer
INK_SHARE = (0.015, 0.6)  # of a mark's box: neither scattered dust nor a solid block
MARGIN = 0.04  # of each side: punch holes and the shadows of a scanner's edge
SPECK = 12  # pixels of ink; smaller pieces are the scanner's noise
HARDLY_ANY = 0.0004  # share of a page's pixels: less than one short word


def find_marks(picture: Picture, words: Sequence[Word]) -> tuple[Box, ...]:
    """Boxes in points, from the top of the page down."""
    small = picture.at(MARKS_DPI)
    scale = small.dpi / POINTS
    even = _evened(small.grey)
    ink, faint = _darker(even, DARK), _darker(even, FAINT)
    for word in _printed(words):
        _blank_out(ink, word.box, scale)
        _blank_out(faint, word.box, scale)
    if np.count_nonzero(ink) < LEAST_INK:
        return ()
    _remove_rules(ink, faint)
    boxes = _clusters(_without_dust(ink), scale)
    return tuple(sorted(boxes, key=lambda box: (box.top, box.left)))


def is_blank(picture: Picture) -> bool:
    """Hardly any ink inside the margins."""
    ink = _darker(_evened(picture.at(MARKS_DPI).grey), DARK)
    high, wide = ink.shape
    y, x = int(high * MARGIN), int(wide * MARGIN)
    inner = np.ascontiguousarray(ink[y : high - y, x : wide - x])
    _, _, stats, _ = cv2.connectedComponentsWithStats(inner, connectivity=8)
    areas = stats[1:, cv2.CC_STAT_AREA]
    return bool(areas[areas >= SPECK].sum() < HARDLY_ANY * ink.size)


def _evened(grey: Grey) -> Grey:
    """As if on white paper under even light: a scan's paper is neither."""
    high, wide = grey.shape
    without_ink = cv2.dilate(grey, np.ones((5, 5), np.uint8))
    coarse = cv2.resize(without_ink, (wide // 4 + 1, high // 4 + 1), interpolation=cv2.INTER_AREA)
    paper = cv2.resize(cv2.medianBlur(coarse, 9), (wide, high), interpolation=cv2.INTER_LINEAR)
    # Where the "paper" is itself dark, there is a filled cell or a photograph: compare with white.
    paper = np.where(paper < 128, 255, paper).astype(np.uint8)
    return np.asarray(cv2.divide(grey, paper, scale=255))


def _darker(even: Grey, than: int) -> Mask:
    return np.asarray(even < than, np.uint8)


def _printed(words: Sequence[Word]) -> list[Word]:
    """Words that are surely print. OCR "reads" signatures too: unsure, and larger than the print.

    An unsure word counts when it is no taller than the others and stands right beside one.
    """
    sure = [word for word in words if word.confidence >= SURE]
    usual = median(word.box.bottom - word.box.top for word in sure) if sure else 0.0
    return sure + [
        word
        for word in words
        if word.confidence < SURE
        and word.box.bottom - word.box.top < TALL * usual
        and any(_beside(word.box, other.box) for other in sure)
    ]


def _beside(box: Box, other: Box) -> bool:
    gap = max(other.left - box.right, box.left - other.right)
    return gap < BESIDE and other.top < (box.top + box.bottom) / 2 < other.bottom


def _remove_rules(ink: Mask, faint: Mask) -> None:
    """A scan's rules are a little askew, so they are looked for as lines.

    In the faint ink: a grey rule that falls between two rows of pixels is hardly darker than paper.
    """
    solid = cv2.morphologyEx(faint, cv2.MORPH_OPEN, np.ones((5, 5), np.uint8))
    lines = cv2.HoughLinesP(
        faint & ~solid, 1, np.pi / 720, threshold=RULE // 2, minLineLength=RULE, maxLineGap=RULE_GAP
    )
    for left, top, right, bottom in [] if lines is None else lines.reshape(-1, 4).tolist():
        short, long = sorted((abs(right - left), abs(bottom - top)))
        if short <= ASKEW * long:
            cv2.line(ink, (left, top), (right, bottom), 0, thickness=RULE_WIDTH)


def _blank_out(ink: Mask, box: Box, scale: float) -> None:
    top, bottom = int((box.top - PAD) * scale), int(np.ceil((box.bottom + PAD) * scale))
    left, right = int((box.left - PAD) * scale), int(np.ceil((box.right + PAD) * scale))
    ink[max(top, 0) : max(bottom, 0), max(left, 0) : max(right, 0)] = 0


def _without_dust(ink: Mask) -> Mask:
    """Without specks, and without the short ends of rules and the sides of boxes."""
    _, labels, stats, _ = cv2.connectedComponentsWithStats(ink, connectivity=8)
    thin = np.minimum(stats[:, cv2.CC_STAT_WIDTH], stats[:, cv2.CC_STAT_HEIGHT]) <= 2
    dust = stats[:, cv2.CC_STAT_AREA] < DUST
    keep = ~(thin | dust)
    keep[0] = False  # the paper
    return np.asarray(keep[labels], np.uint8)


def _clusters(ink: Mask, scale: float) -> list[Box]:
    near = cv2.dilate(ink, np.ones(REACH[::-1], np.uint8))
    count, labels = cv2.connectedComponents(near, connectivity=8)
    labels[ink == 0] = 0
    boxes = (_box(labels == each, scale) for each in range(1, count))
    return [box for box in boxes if box is not None]


def _box(strokes: NDArray[np.bool_], scale: float) -> Box | None:
    """The box of one cluster, if it is of a size and density that a pen leaves."""
    left, top, wide, high = cv2.boundingRect(strokes.astype(np.uint8))
    if wide < SMALLEST[0] * scale or high < SMALLEST[1] * scale:
        return None
    ink = np.count_nonzero(strokes)
    if ink < LEAST_INK or not INK_SHARE[0] <= ink / (wide * high) <= INK_SHARE[1]:
        return None
    return Box(left / scale, top / scale, (left + wide) / scale, (top + high) / scale)
