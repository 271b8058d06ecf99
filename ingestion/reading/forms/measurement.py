"""Measures the boxes of a form: the words and the ink that the blank form does not have.

The raster of the page is warped to the blank page, so that its print and its rules lie where the
description says. They are erased, and what remains in a box was added by a person.
"""

from collections.abc import Sequence
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from ingestion.reading.images.binarise import (
    Mask,
    divide_by_background,
    estimate_background,
    label_components,
    measure_components,
    threshold,
)
from ingestion.reading.images.render import POINTS_PER_INCH, PageRaster
from ingestion.reading.results import Box, MeasuredBox, Word

from .catalogue import BlankPage, fold_signs

Transform = NDArray[np.floating[Any]]  # 3 by 3, between points of the blank page and the page

Piece = tuple[float, ...]  # left, top, right and bottom of a straight stroke, in pixels

FORM_DPI = 150  # the resolution of the measurement; pixels below are pixels at it
INK_BRIGHTNESS = 165  # of 255, relative to white paper
PRINT_PADDING = 1.5  # points around a printed word, whose box leaves out the edges of its letters
RULE_PADDING = 2.0  # points on each side of a rule, which may be drawn a little elsewhere
TICK_SURROUNDINGS = 8.0  # points around the inside of a square in which a tick may stand beside it
TICK_BORDER_SHARE = 0.22  # of a side of a square, next to each edge, that is not its inside
MIN_SPECK_PIXELS = 8  # of ink; smaller components are dust
MIN_READ_CONFIDENCE = 60.0  # percent; a word below it may be handwriting that was misread
MAX_LINE_PIXELS = 60  # that a piece of a straight stroke needs; of a short word, it needs fewer
MIN_LINE_PIXELS = 28
MIN_LINE_SHARE = 0.5  # of the width of a short word
LINE_BAND_PIXELS = 10  # above and below a line, in which its words are
MAX_PIECE_OFFSET_PIXELS = 5  # between a piece of a line and the other pieces
MAX_LINE_GAP_PIXELS = 1  # the gap between two letters is wider


def measure_boxes(
    blank: BlankPage, transform: Transform, words: Sequence[Word], raster: PageRaster
) -> tuple[MeasuredBox, ...]:
    """Return the boxes of a page in the order of its description.

    `transform` leads from points of the blank page to points of the page.
    """
    to_blank = np.linalg.inv(transform)
    ink = _warp_ink(blank, to_blank, raster)
    for rule in blank.rules:
        _erase(ink, rule, RULE_PADDING)
    added = [
        (word, place)
        for word in words
        if not _is_printed(word, place := _move(word.box, to_blank), blank)
    ]
    for _, box in blank.words:
        _erase(ink, box, PRINT_PADDING)
    unread = ink.copy()
    for word, place in added:
        if word.confidence >= MIN_READ_CONFIDENCE:
            _erase(unread, place, PRINT_PADDING)
    found = []
    for position, printed in enumerate(blank.boxes):
        is_tick = printed.kind == "tick"
        area = _inside(printed.area) if is_tick else printed.area
        inside = [(word, at) for word, at in added if printed.area.contains_centre_of(at)]
        # OCR reads the square of a tick as a letter, so its words do not count.
        around = _square_points(ink, _around(area)) if is_tick else _square_points(unread, area)
        found.append(
            MeasuredBox(
                position,
                _move(printed.area, transform),
                tuple(word for word, _ in inside),
                round(_square_points(ink, area), 1),
                round(around, 1),
                round(_longest_line(ink, area), 2),
            )
        )
    return tuple(found)


def _warp_ink(blank: BlankPage, to_blank: Transform, raster: PageRaster) -> Mask:
    """Return the ink of a page as a mask of the blank page at FORM_DPI."""
    even = divide_by_background(raster.grey, estimate_background(raster.grey))
    scale = FORM_DPI / POINTS_PER_INCH
    to_points = np.diag([POINTS_PER_INCH / raster.dpi, POINTS_PER_INCH / raster.dpi, 1.0])
    pixels = np.diag([scale, scale, 1.0]) @ to_blank @ to_points
    size = (round(blank.width * scale), round(blank.height * scale))
    interpolation = cv2.INTER_AREA if raster.dpi > FORM_DPI else cv2.INTER_LINEAR
    grey = cv2.warpPerspective(even, pixels, size, flags=interpolation, borderValue=255)
    ink = threshold(np.asarray(grey), INK_BRIGHTNESS)
    labels = label_components(ink)
    parts = measure_components(labels)
    is_speck = np.zeros(labels.max() + 1, np.uint8)
    is_speck[parts.label[parts.ink < MIN_SPECK_PIXELS]] = 1
    ink[is_speck[labels] > 0] = 0
    return ink


def _is_printed(word: Word, place: Box, blank: BlankPage) -> bool:
    """Return whether a word is print of the blank form, perhaps misread."""
    text = fold_signs(word.text)
    for printed, box in blank.words:
        if not box.intersects(place):
            continue
        if fold_signs(printed) == text:
            return True
        across = min(box.right, place.right) - max(box.left, place.left)
        down = min(box.bottom, place.bottom) - max(box.top, place.top)
        if across * down > 0.5 * (place.right - place.left) * (place.bottom - place.top):
            return True
    # A rule, or a part of one, that OCR read as a sign.
    return not text and any(rule.intersects(place) for rule in blank.rules)


def _erase(ink: Mask, box: Box, padding: float) -> None:
    left, top, right, bottom = _pixels(box, padding)
    ink[top:bottom, left:right] = 0


def _pixels(box: Box, padding: float = 0.0) -> tuple[int, int, int, int]:
    scale = FORM_DPI / POINTS_PER_INCH
    left, top = ((side - padding) * scale for side in box[:2])
    right, bottom = ((side + padding) * scale for side in box[2:])
    return max(int(left), 0), max(int(top), 0), max(round(right), 0), max(round(bottom), 0)


def _inside(square: Box) -> Box:
    x = (square.right - square.left) * TICK_BORDER_SHARE
    y = (square.bottom - square.top) * TICK_BORDER_SHARE
    return Box(square.left + x, square.top + y, square.right - x, square.bottom - y)


def _around(square: Box) -> Box:
    left, top, right, bottom = square
    border = TICK_SURROUNDINGS
    return Box(left - border, top - border, right + border, bottom + border)


def _square_points(ink: Mask, area: Box) -> float:
    left, top, right, bottom = _pixels(area)
    pixels = int(np.count_nonzero(ink[top:bottom, left:right]))
    return pixels * (POINTS_PER_INCH / FORM_DPI) ** 2


def _longest_line(ink: Mask, area: Box) -> float:
    """Return the length of the longest straight stroke, as a share of the width of its words."""
    left, top, right, bottom = _pixels(area)
    part = np.ascontiguousarray(ink[top:bottom, left:right])
    columns = np.flatnonzero(part.any(axis=0))
    if not columns.size:
        return 0.0
    width = int(columns[-1] - columns[0]) + 1
    shortest = round(min(max(MIN_LINE_SHARE * width, MIN_LINE_PIXELS), MAX_LINE_PIXELS))
    # A line that is a little askew steps from one row of pixels to the next.
    thick = np.asarray(cv2.dilate(part, np.ones((3, 1), np.uint8)))
    lines = cv2.HoughLinesP(
        thick, 1, np.pi / 360, shortest // 2, minLineLength=shortest, maxLineGap=MAX_LINE_GAP_PIXELS
    )
    if lines is None:
        return 0.0
    pieces = [tuple(map(float, line)) for line in lines.reshape(-1, 4)]
    shares = []
    for piece in pieces:
        middle = round((piece[1] + piece[3]) / 2)
        band = part[max(middle - LINE_BAND_PIXELS, 0) : middle + LINE_BAND_PIXELS]
        columns = np.flatnonzero(band.any(axis=0))
        length = _covered([other for other in pieces if _is_in_line(piece, other)])
        shares.append(length / float(columns[-1] - columns[0] + 1))
    return min(max(shares), 1.0)


def _is_in_line(piece: Piece, other: Piece) -> bool:
    """Return whether another piece continues a piece, on either side."""
    left, top, right, bottom = piece
    middle = (other[0] + other[2]) / 2
    slope = (bottom - top) / max(right - left, 1.0)
    height = top + slope * (middle - left)
    return abs(height - (other[1] + other[3]) / 2) <= MAX_PIECE_OFFSET_PIXELS


def _covered(pieces: Sequence[Piece]) -> float:
    """Return the width in pixels that some pieces of a line cover together."""
    covered = end = 0.0
    for left, _, right, _ in sorted(pieces):
        covered += max(right - max(left, end), 0.0)
        end = max(end, right)
    return covered


def _move(box: Box, transform: Transform) -> Box:
    """Return the bounding box of a box after a transform."""
    left, top, right, bottom = box
    corners = np.array([[(left, top), (right, top), (right, bottom), (left, bottom)]], np.float64)
    moved = cv2.perspectiveTransform(corners, transform)[0]
    x, y = moved[:, 0], moved[:, 1]
    return Box(float(x.min()), float(y.min()), float(x.max()), float(y.max()))
