"""Ink that is neither text nor ruled line: signatures, stamps, drawings.

Works on a picture of the page at 100 dpi: ink is told from paper, known words and long rules
are blanked out, and what remains close together makes a mark when it is as large as somebody's
hand would make it. Whether a mark is somebody's signature is for the rules to say.
"""

from collections.abc import Sequence
from math import ceil
from statistics import median
from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from .facts import Box, Word
from .render import POINTS, Grey, Picture

Numbers = NDArray[np.integer]
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
TYPED = 100.0  # the confidence of a text layer, whose words are print at any size
TALL, TALL_AND_SURE = 1.5, 2.0  # times the usual height of a word
BESIDE = 10.0  # points between words of one line
SMALLEST = (20.0, 6.0)  # points wide and high
LEAST_INK = 50  # pixels; the corner of a table has fewer
INK_SHARE = (0.015, 0.6)  # of a mark's box: neither scattered dust nor a solid block
MARGIN = 0.04  # of each side: punch holes and the shadows of a scanner's edge
SPECK = 12  # pixels of ink; smaller pieces are the scanner's noise
HARDLY_ANY = 0.0004  # share of a page's pixels: less than one short word


def find_marks(picture: Picture, words: Sequence[Word]) -> tuple[Box, ...]:
    """Of a scanned page. Boxes in points, from the top of the page down."""
    small = picture.at(MARKS_DPI)
    ink, faint = _ink(small, words)
    if np.count_nonzero(ink) < LEAST_INK:
        return ()
    _remove_rules(ink, faint)
    boxes = _clusters(_without_dust(ink), small.dpi / POINTS, small.corner)
    return tuple(sorted(boxes, key=lambda box: (box.top, box.left)))


def marks_within(picture: Picture, area: Box, words: Sequence[Word], *, askew: bool) -> list[Box]:
    """Of an area of a born-digital page; `picture` shows a little more.

    `askew` when it shows a picture, which may be a scan.
    """
    ink, faint = _ink(picture, words)
    if askew:
        _remove_rules(ink, faint)
    else:
        _remove_straight_rules(ink, faint)
    left, top, right, bottom = _pixels(area, picture, pad=0.0)
    ink = np.ascontiguousarray(ink[top:bottom, left:right])
    if np.count_nonzero(ink) < LEAST_INK:
        return []
    corner = (picture.corner[0] + left, picture.corner[1] + top)
    return _clusters(_without_dust(ink), picture.dpi / POINTS, corner)


def is_blank(picture: Picture) -> bool:
    """Hardly any ink inside the margins."""
    ink = _darker(_evened(picture.at(MARKS_DPI).grey), DARK)
    high, wide = ink.shape
    y, x = int(high * MARGIN), int(wide * MARGIN)
    inner = np.ascontiguousarray(ink[y : high - y, x : wide - x])
    _, labels = cv2.connectedComponents(inner, connectivity=8)
    areas = _pieces(labels).ink
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

    An unsure word counts when it is no taller than the others and stands right beside one. Now and
    then OCR is sure of what it "read" there: then it is twice as tall as print. A heading may be as
    well; taken for a mark it does no harm, and a signature taken for print would cost a rejection.
    """
    sure = [word for word in words if word.confidence >= SURE]
    usual = median(map(_height, sure)) if sure else 0.0
    printed = [
        word for word in sure if word.confidence >= TYPED or _height(word) < TALL_AND_SURE * usual
    ]
    return printed + [
        word
        for word in words
        if word.confidence < SURE
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
        faint & ~solid, 1, np.pi / 720, threshold=RULE // 2, minLineLength=RULE, maxLineGap=RULE_GAP
    )
    for left, top, right, bottom in [] if lines is None else lines.reshape(-1, 4).tolist():
        short, long = sorted((abs(right - left), abs(bottom - top)))
        if short <= ASKEW * long:
            cv2.line(ink, (left, top), (right, bottom), 0, thickness=RULE_WIDTH)


def _remove_straight_rules(ink: Mask, faint: Mask) -> None:
    """What was drawn by a program runs exactly across or down."""
    thin = faint & ~cv2.morphologyEx(faint, cv2.MORPH_OPEN, np.ones((5, 5), np.uint8))
    across = cv2.morphologyEx(thin, cv2.MORPH_OPEN, np.ones((1, RULE), np.uint8))
    down = cv2.morphologyEx(thin, cv2.MORPH_OPEN, np.ones((RULE, 1), np.uint8))
    around = np.ones((RULE_WIDTH, RULE_WIDTH), np.uint8)
    ink[cv2.dilate(across | down, around) > 0] = 0


def _ink(picture: Picture, words: Sequence[Word]) -> tuple[Mask, Mask]:
    """The ink, and the ink with what is faint, of all that is not a word."""
    even = _evened(picture.grey)
    ink, faint = _darker(even, DARK), _darker(even, FAINT)
    for word in _printed(words):
        left, top, right, bottom = _pixels(word.box, picture, PAD)
        ink[top:bottom, left:right] = 0
        faint[top:bottom, left:right] = 0
    return ink, faint


def _pixels(box: Box, picture: Picture, pad: float) -> tuple[int, int, int, int]:
    """For slices: nothing is left of the picture or above it."""
    scale, (x, y) = picture.dpi / POINTS, picture.corner
    left, top = int((box.left - pad) * scale) - x, int((box.top - pad) * scale) - y
    right, bottom = ceil((box.right + pad) * scale) - x, ceil((box.bottom + pad) * scale) - y
    return max(left, 0), max(top, 0), max(right, 0), max(bottom, 0)


def _without_dust(ink: Mask) -> Mask:
    """Without specks, and without the short ends of rules and the sides of boxes."""
    _, labels = cv2.connectedComponents(ink, connectivity=8)
    pieces = _pieces(labels)
    thin = np.minimum(pieces.right - pieces.left, pieces.bottom - pieces.top) <= 2
    keep = np.zeros(labels.max() + 1, np.uint8)
    keep[pieces.label] = ~(thin | (pieces.ink < DUST))
    return np.asarray(keep[labels])


def _clusters(ink: Mask, scale: float, corner: tuple[int, int]) -> list[Box]:
    """The boxes of strokes close together, if of a size and density that a pen leaves."""
    near = cv2.dilate(ink, np.ones(REACH[::-1], np.uint8))
    _, labels = cv2.connectedComponents(near, connectivity=8)
    pieces = _pieces(np.where(ink, labels, 0))
    wide, high = pieces.right - pieces.left, pieces.bottom - pieces.top
    share = pieces.ink / (wide * high)
    by_hand = (wide >= SMALLEST[0] * scale) & (high >= SMALLEST[1] * scale)
    by_hand &= (pieces.ink >= LEAST_INK) & (share >= INK_SHARE[0]) & (share <= INK_SHARE[1])
    edges = np.stack((pieces.left, pieces.top, pieces.right, pieces.bottom), axis=1)
    boxes = (edges[by_hand] + corner * 2) / scale
    return [Box(*box) for box in boxes.tolist()]


class _Pieces(NamedTuple):
    """What hangs together, each with its label, its edges and its pixels of ink."""

    label: Numbers
    left: Numbers
    top: Numbers
    right: Numbers
    bottom: Numbers
    ink: Numbers


def _pieces(labels: Numbers) -> _Pieces:
    """By the inked pixels alone: a page is nearly all paper."""
    y, x = np.nonzero(labels > 0)
    label = labels[y, x]
    order = np.argsort(label, kind="stable")
    label, starts, ink = np.unique(label[order], return_index=True, return_counts=True)
    x, y = x[order], y[order]
    return _Pieces(
        label=label,
        left=np.minimum.reduceat(x, starts),
        top=np.minimum.reduceat(y, starts),
        right=np.maximum.reduceat(x, starts) + 1,
        bottom=np.maximum.reduceat(y, starts) + 1,
        ink=ink,
    )
