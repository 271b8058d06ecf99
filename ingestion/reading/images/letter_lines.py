"""Finds lines of large letters at any readable angle, as on stamps, and turns them upright.

OCR of a page reads lines that are nearly horizontal. Letters of one size whose centres are on a
straight line are found here by their connected components, whatever is around them: a frame, the
ring of a round stamp, a signature.
"""

from collections.abc import Iterator
from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from .binarise import WHITE, IntArray, Mask
from .render import POINTS_PER_INCH, GreyArray

MIN_LETTERS = 3  # of a line
MAX_LETTERS = 250  # that are examined, the largest first
MAX_DEGREES = 50.0  # of a line to the horizontal
MIN_LETTER_POINTS, MAX_LETTER_POINTS = 7.5, 80.0  # the longer side of a letter
MIN_FILL = 0.1  # of a letter's box that is ink
MIN_SIDE_SHARE = 0.1  # of the shorter side of a letter to its longer side
MIN_SIZE_SHARE = 0.55  # of a letter to its neighbour
MAX_DISTANCE_SIDES = 1.7  # between the centres of neighbouring letters
MAX_GAP_SIDES = 2.0  # between the centres of letters of one line
MAX_OFFSET_SIDES = 0.28  # of a letter's centre from its line
EXTENSION_SIDES = 2.2  # of a line's image at both ends: letters that touch are no letters above
HALF_BAND_SIDES = 0.95  # of a line's image, above and below its middle
LETTER_PIXELS = 36  # height of a letter for OCR
BORDER_PIXELS = 24  # of paper around the letters
MAX_FRAME_HEIGHTS = 1.5  # of a part that is higher than the letters
MAX_RULE_HEIGHT, MIN_RULE_WIDTH = 0.35, 2.0  # in heights of a letter: a piece of a frame

FloatArray = NDArray[np.float64]


class LetterLine(NamedTuple):
    """A line of letters in a mask, in pixels."""

    centre: tuple[float, float]
    degrees: float  # by which it falls to the right
    length: float  # between the centres of the first and of the last letter
    side: float  # of a letter
    letters: int
    box: tuple[int, int, int, int]  # left, top, right and bottom


def find_letter_lines(ink: Mask, dpi: float) -> Iterator[LetterLine]:
    """Yield the lines of large letters, the longest first."""
    _, _, stats, _ = cv2.connectedComponentsWithStats(ink, connectivity=8)
    boxes = np.asarray(stats[1:], np.int64)
    width, height = boxes[:, cv2.CC_STAT_WIDTH], boxes[:, cv2.CC_STAT_HEIGHT]
    side = np.maximum(width, height)
    scale = dpi / POINTS_PER_INCH
    boxes = boxes[
        (side >= MIN_LETTER_POINTS * scale)
        & (side <= MAX_LETTER_POINTS * scale)
        & (boxes[:, cv2.CC_STAT_AREA] >= MIN_FILL * width * height)
        & (np.minimum(width, height) >= MIN_SIDE_SHARE * side)
    ]
    sides = boxes[:, 2:4].max(axis=1).astype(np.float64)
    if len(boxes) > MAX_LETTERS:
        largest = np.argsort(-sides, kind="stable")[:MAX_LETTERS]
        boxes, sides = boxes[largest], sides[largest]
    if len(boxes) < MIN_LETTERS:
        return
    centres = boxes[:, :2] + boxes[:, 2:4] / 2.0
    for members, degrees in _straight_lines(centres, sides):
        first, last = centres[members[0]], centres[members[-1]]
        left, top = map(int, boxes[members, :2].min(axis=0))
        right, bottom = map(int, (boxes[members, :2] + boxes[members, 2:4]).max(axis=0))
        yield LetterLine(
            centre=(float(first[0] + last[0]) / 2, float(first[1] + last[1]) / 2),
            degrees=degrees,
            length=float(np.hypot(*(last - first))),
            side=float(np.median(sides[members])),
            letters=len(members),
            box=(left, top, right, bottom),
        )


class _Proposals(NamedTuple):
    """The lines through each pair of neighbouring letters: one row a line, one column a letter."""

    first: IntArray
    second: IntArray
    degrees: FloatArray
    size: FloatArray  # of the letters of the pair
    along: FloatArray  # distance of each letter from the first one, along the line
    offset: FloatArray  # distance of each letter from the line
    members: NDArray[np.bool_]


def _propose_lines(centres: FloatArray, sides: FloatArray) -> _Proposals:
    distance = np.hypot(*(centres[:, None] - centres[None]).transpose(2, 0, 1))
    smaller = np.minimum(sides[:, None], sides[None])
    larger = np.maximum(sides[:, None], sides[None])
    is_near = distance < MAX_DISTANCE_SIDES * (smaller + larger) / 2
    first, second = np.nonzero(np.triu(is_near & (smaller > MIN_SIZE_SHARE * larger), 1))
    x, y = (centres[second] - centres[first]).T
    degrees = (np.degrees(np.arctan2(y, x)) + 90) % 180 - 90
    readable = np.abs(degrees) <= MAX_DEGREES
    first, second, degrees = first[readable], second[readable], degrees[readable]
    cos, sin = np.cos(np.radians(degrees))[:, None], np.sin(np.radians(degrees))[:, None]
    x, y = (centres[None] - centres[first][:, None]).transpose(2, 0, 1)
    along, offset = x * cos + y * sin, y * cos - x * sin
    size = (sides[first] + sides[second]) / 2
    members = (
        (np.abs(offset) < MAX_OFFSET_SIDES * size[:, None])
        & (sides[None] > MIN_SIZE_SHARE * size[:, None])
        & (MIN_SIZE_SHARE * sides[None] < size[:, None])
    )
    return _Proposals(first, second, degrees, size, along, offset, members)


def _straight_lines(centres: FloatArray, sides: FloatArray) -> Iterator[tuple[list[int], float]]:
    """Yield the letters of each line from left to right, and its angle in degrees."""
    lines = _propose_lines(centres, sides)
    free = np.ones(len(centres), bool)
    while len(lines.first):
        counts = (lines.members & free).sum(axis=1) * (free[lines.first] & free[lines.second])
        if counts.max() < MIN_LETTERS:
            return
        best = min(
            np.flatnonzero(counts == counts.max()).tolist(),
            key=lambda line: float(np.abs(lines.offset[line][lines.members[line] & free]).sum()),
        )
        along, offset = lines.along[best], lines.offset[best]
        members = np.flatnonzero(lines.members[best] & free)
        members = members[np.argsort(along[members], kind="stable")]
        gaps = np.diff(along[members]) > MAX_GAP_SIDES * lines.size[best]
        runs = np.split(members, np.flatnonzero(gaps) + 1)
        run = next(each for each in runs if lines.first[best] in each)
        if len(run) < MIN_LETTERS:
            free[lines.first[best]] = False
            continue
        free[run] = False
        slope = float(np.polyfit(along[run], offset[run], 1)[0])
        yield run.tolist(), float(lines.degrees[best] + np.degrees(np.arctan(slope)))


def turn_line_upright(grey: GreyArray, line: LetterLine) -> GreyArray | None:
    """Return the image of a line, horizontal and without a frame, for OCR; None if it is empty.

    `grey` is the image in which the line was found, with dark ink on white.
    """
    length = line.length + 2 * EXTENSION_SIDES * line.side
    band = 2 * HALF_BAND_SIDES * line.side
    scale = LETTER_PIXELS / line.side
    size = (max(int(length * scale), 1), max(int(band * scale), 1))
    transform = np.asarray(cv2.getRotationMatrix2D(line.centre, line.degrees, scale))
    transform[:, 2] += (size[0] / 2 - line.centre[0], size[1] / 2 - line.centre[1])
    reduce = cv2.INTER_AREA if scale < 1 else cv2.INTER_CUBIC
    turned = np.asarray(cv2.warpAffine(grey, transform, size, flags=reduce, borderValue=WHITE))
    ink = np.asarray(turned < WHITE / 2, np.uint8)
    _, labels, stats, centres = cv2.connectedComponentsWithStats(ink, connectivity=8)
    height, width = stats[:, cv2.CC_STAT_HEIGHT], stats[:, cv2.CC_STAT_WIDTH]
    is_central = np.abs(centres[:, 1] - size[1] / 2) < LETTER_PIXELS / 3
    is_letter = (
        is_central & (height > LETTER_PIXELS / 2) & (height < MAX_FRAME_HEIGHTS * LETTER_PIXELS)
    )
    is_letter[0] = False
    if np.count_nonzero(is_letter) < MIN_LETTERS - 1:
        return None
    letter = float(np.median(height[is_letter]))
    is_frame = (height > MAX_FRAME_HEIGHTS * letter) | (
        (height < MAX_RULE_HEIGHT * letter) & (width > MIN_RULE_WIDTH * letter)
    )
    is_frame[0] = False
    frame = cv2.dilate(np.asarray(is_frame[labels], np.uint8), np.ones((5, 5), np.uint8))
    turned[(frame > 0) & ~np.isin(labels, np.flatnonzero(~is_frame)[1:])] = WHITE
    # Only the rows of the letters, so that other lines of a stamp are left out.
    tops, bottoms = stats[is_letter, 1], stats[is_letter, 1] + height[is_letter]
    top = max(int(np.percentile(tops, 20) - 0.2 * letter), 0)
    bottom = int(np.percentile(bottoms, 80) + 0.2 * letter)
    rows = np.ascontiguousarray(turned[top:bottom])
    return np.asarray(
        cv2.copyMakeBorder(
            rows, *(BORDER_PIXELS,) * 4, borderType=cv2.BORDER_CONSTANT, value=(WHITE,)
        )
    )
