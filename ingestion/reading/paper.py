"""Ink told from paper, on a picture of a page at 100 dpi.

What is looked for in it is elsewhere: marks in `marks`, text that OCR passed over in `uncovered`.
"""

from math import ceil
from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from .facts import Box
from .render import POINTS, Grey, Picture

Numbers = NDArray[np.integer]
Mask = NDArray[np.uint8]  # 1 where there is ink

SHEET_DPI = 100
DARK = 175  # of 255, the paper being white: watermarks and tinted cells are lighter, pens darker
FILLED = 128  # of 255: darker than paper is under a lamp, so it is a filled cell or a photograph
UNLIT = 0.5  # of the page's usual paper; what is darker is filled even where the light is poor
MARGIN = 0.04  # of each side: punch holes and the shadows of a scanner's edge
THIN = 2  # pixels; as thin are the ends of rules and the sides of boxes
PAD = 1.5  # points around a word: its box leaves out the edges of its letters
SPECK = 12  # pixels of ink; smaller pieces are the scanner's noise
HARDLY_ANY = 0.0004  # share of a page's pixels: less than one short word


def sheet(picture: Picture) -> Picture:
    """The whole page, small, as if on white paper under even light: a scan is on neither."""
    small = picture.at(SHEET_DPI)
    paper = paper_of(small.grey)
    usual = float(np.median(paper[::4, ::4]))
    return Picture(evened(small.grey, paper, min(FILLED, UNLIT * usual)), small.dpi)


def evened(grey: Grey, paper: Grey, filled: float = FILLED) -> Grey:
    """Compared with the paper around it; with white where that "paper" is itself filled."""
    paper = np.where(paper < filled, 255, paper).astype(np.uint8)
    return np.asarray(cv2.divide(grey, paper, scale=255))


def paper_of(grey: Grey) -> Grey:
    """How bright the paper is, also under the ink."""
    high, wide = grey.shape
    without_ink = cv2.dilate(grey, np.ones((5, 5), np.uint8))
    coarse = cv2.resize(without_ink, (wide // 4 + 1, high // 4 + 1), interpolation=cv2.INTER_AREA)
    smooth = cv2.medianBlur(coarse, 9)
    return np.asarray(cv2.resize(smooth, (wide, high), interpolation=cv2.INTER_LINEAR))


def darker(even: Grey, than: int) -> Mask:
    return np.asarray(even < than, np.uint8)


def is_blank(even: Picture) -> bool:
    """Of a `sheet`: hardly any ink inside the margins."""
    high, wide = even.grey.shape
    y, x = int(high * MARGIN), int(wide * MARGIN)
    inner = np.ascontiguousarray(darker(even.grey, DARK)[y : high - y, x : wide - x])
    areas = pieces(labelled(inner)).ink
    return bool(areas[areas >= SPECK].sum() < HARDLY_ANY * even.grey.size)


def pixels(box: Box, picture: Picture, pad: float) -> tuple[int, int, int, int]:
    """For slices: nothing is left of the picture or above it."""
    scale, (x, y) = picture.dpi / POINTS, picture.corner
    left, top = int((box.left - pad) * scale) - x, int((box.top - pad) * scale) - y
    right, bottom = ceil((box.right + pad) * scale) - x, ceil((box.bottom + pad) * scale) - y
    return max(left, 0), max(top, 0), max(right, 0), max(bottom, 0)


def labelled(ink: Mask) -> Numbers:
    """0 for paper, and a number for each piece of ink that hangs together."""
    _, labels = cv2.connectedComponents(ink, connectivity=8)
    return np.asarray(labels)


class Pieces(NamedTuple):
    """What hangs together, each with its label, its edges and its pixels of ink."""

    label: Numbers
    left: Numbers
    top: Numbers
    right: Numbers
    bottom: Numbers
    ink: Numbers

    @property
    def wide(self) -> Numbers:
        return self.right - self.left

    @property
    def high(self) -> Numbers:
        return self.bottom - self.top


def pieces(labels: Numbers) -> Pieces:
    """By the inked pixels alone: a page is nearly all paper."""
    y, x = np.nonzero(labels > 0)
    label = labels[y, x]
    order = np.argsort(label, kind="stable")
    label, starts, ink = np.unique(label[order], return_index=True, return_counts=True)
    x, y = x[order], y[order]
    return Pieces(
        label=label,
        left=np.minimum.reduceat(x, starts),
        top=np.minimum.reduceat(y, starts),
        right=np.maximum.reduceat(x, starts) + 1,
        bottom=np.maximum.reduceat(y, starts) + 1,
        ink=ink,
    )
