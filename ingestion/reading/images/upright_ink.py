"""Turns ink that may be the words of a stamp upright, without its frame, in the size for OCR."""

import math
from collections.abc import Sequence
from functools import cached_property
from math import inf
from statistics import median

import cv2
import numpy as np
from numpy.typing import NDArray

from .binarise import WHITE, IntArray, Mask, find_percentile, label_components
from .render import GreyArray
from .stamp_letters import may_have_word_of_stamp

MIN_CONTRAST = 8  # of 255, between the ink and its paper; the palest watermarks have 15
MIN_INK_PIXELS = 60
MIN_SHORT_SIDE_PIXELS = 8
MIN_SIDE_RATIO = 1.3  # of the long side of a line of letters to its short side
TURN_ITERATIONS = 4
MAX_TURN_ERROR_DEGREES = 9  # of the smallest rectangle around the letters of a short word
TURN_STEP_DEGREES = 1.5
TURN_SEARCH_PIXELS = 220  # width at which the turn is refined
MIN_FRAME_WIDTH_SHARE, MIN_FRAME_HEIGHT_SHARE = 0.8, 0.55  # of the ink's box
MAX_FRAME_INK_SHARE = 0.45  # of the frame's own box
MIN_LETTER_HEIGHT_SHARE = 0.55  # of the highest letter
MIN_LETTERS, MAX_LETTERS = 3, 40  # of a stamp
# Of the letters of a line of capitals, those that have its usual height, and by how much it varies.
MIN_SAME_HEIGHT_SHARE, MAX_HEIGHT_DIFFERENCE = 0.75, 0.15
MIN_LETTER_SHARE = 0.85  # of the ink of a stamp that is in its letters
MIN_LETTER_SHARE_OF_WORD = 0.5  # of the ink, if the letters are those of a word of stamps
MIN_STAMP_TURN_DEGREES = 4.0  # of a stamp on empty paper that is at an angle
MAX_HEIGHT_IN_LETTERS = 8  # of a stamp of several lines; a seal and a picture are higher
LETTER_PIXELS = 36  # height of a letter for OCR
MIN_SCALE, MAX_SCALE = 0.3, 4.0
BORDER_PIXELS = 24  # of paper around the letters

FloatArray = NDArray[np.float64]


class UprightInk:
    """The ink of what may be a stamp, turned so that its long side is horizontal.

    `parts` are the statistics of its connected parts, as OpenCV measures them. `degrees` says by
    how much it was turned, clockwise, and `bounds` are its left, top, right and bottom in the mask,
    in pixels.
    """

    def __init__(
        self, ink: Mask, parts: np.ndarray, degrees: float, bounds: tuple[int, int, int, int]
    ) -> None:
        self._ink, self._parts = ink, parts  # without the frame
        self.degrees = degrees
        self.bounds = bounds

    @cached_property
    def _letters(self) -> np.ndarray:
        """Return the statistics of the connected parts that are as high as letters."""
        parts = self._parts
        highest = int(np.percentile(parts[:, cv2.CC_STAT_HEIGHT], 95)) if len(parts) else 0
        limit = max(MIN_LETTER_HEIGHT_SHARE * highest, 4)
        return np.asarray(parts[parts[:, cv2.CC_STAT_HEIGHT] >= limit])

    @property
    def letters(self) -> int:
        """Return the number of connected parts that are as high as letters."""
        return len(self._letters)

    @property
    def letter_height(self) -> float:
        """Return the usual height of the letters in pixels. There has to be a letter."""
        return float(np.median(self._letters[:, cv2.CC_STAT_HEIGHT]))

    @property
    def letter_share(self) -> float:
        """Return the share of the ink that is in the letters, from 0 to 1."""
        in_letters = self._letters[:, cv2.CC_STAT_AREA].sum()
        return float(in_letters / np.count_nonzero(self._ink))

    @property
    def has_line_of_capitals(self) -> bool:
        """Return whether the letters of a line have the same height. Small letters have not."""
        return any(map(_may_be_capitals, _heights_by_line(self._letters)))

    @cached_property
    def has_word_of_stamp(self) -> bool:
        """Return whether the letters may be those of a word of stamps by their holes."""
        return may_have_word_of_stamp(self._ink, int(self._letters[:, cv2.CC_STAT_HEIGHT].min()))

    def may_be_stamp(self, *, is_over_print: bool) -> bool:
        """Return whether the ink looks like the words of a stamp, which OCR has to confirm.

        `is_over_print` says that it is drawn where print of the page is. Elsewhere, a logo with a
        few letters is more probable, so the letters have to be those of a stamp, or at an angle.
        """
        height, width = self._ink.shape
        if not MIN_LETTERS <= self.letters <= MAX_LETTERS or width < height:
            return False
        if height > MAX_HEIGHT_IN_LETTERS * self.letter_height or not self.has_line_of_capitals:
            return False
        share = self.letter_share
        if share < MIN_LETTER_SHARE:  # other lines are smaller, as the date of receipt
            return share >= MIN_LETTER_SHARE_OF_WORD and self.has_word_of_stamp
        is_turned = MIN_STAMP_TURN_DEGREES < abs(self.degrees) < 90 - MIN_STAMP_TURN_DEGREES
        return is_over_print or (is_turned and self.letters > MIN_LETTERS) or self.has_word_of_stamp

    def draw(self) -> GreyArray:
        """Return the image for OCR: black on white. There has to be a letter."""
        scale = float(np.clip(LETTER_PIXELS / self.letter_height, MIN_SCALE, MAX_SCALE))
        image = cv2.resize(
            np.asarray((1 - self._ink) * WHITE, np.uint8), None, fx=scale, fy=scale,
            interpolation=cv2.INTER_AREA if scale < 1 else cv2.INTER_CUBIC,
        )  # fmt: skip
        image = cv2.copyMakeBorder(
            image, *(BORDER_PIXELS,) * 4, borderType=cv2.BORDER_CONSTANT, value=(WHITE,)
        )
        return np.asarray(cv2.GaussianBlur(image, (3, 3), 0))


def isolate_ink(grey: GreyArray) -> Mask | None:
    """Return the mask of what is drawn on even paper, or None if there is no contrast."""
    counts = cv2.calcHist([grey], [0], None, [WHITE + 1], [0, WHITE + 1]).ravel()
    # Most of a stamp is paper, also within its frame.
    paper = int(counts.argmax())
    differences = np.abs(np.arange(WHITE + 1) - paper)
    is_ink = (differences >= MIN_CONTRAST) & (counts > 0)
    if not is_ink.any():
        return None
    strongest = find_percentile(differences[is_ink], counts[is_ink].astype(np.int64), 90)
    is_ink = differences >= max(strongest / 2, MIN_CONTRAST)
    return np.asarray(cv2.LUT(grey, is_ink.astype(np.uint8)))


def has_parts_of_letters(ink: Mask | None) -> bool:
    """Return whether ink has as many connected parts as the shortest stamp has letters."""
    # The paper is one of the components.
    return ink is not None and cv2.connectedComponents(ink, connectivity=8)[0] > MIN_LETTERS


def turn_upright(ink: Mask) -> UprightInk | None:
    """Return the ink turned upright, or None if it cannot be a line of letters."""
    if cv2.countNonZero(ink) < MIN_INK_PIXELS:
        return None
    left, top, width, height = cv2.boundingRect(ink)
    if min(width, height) < MIN_SHORT_SIDE_PIXELS:
        return None
    cut = np.ascontiguousarray(ink[top : top + height, left : left + width])
    if not has_parts_of_letters(cut):
        return None
    degrees = _refine_turn(cut, _rough_turn(cv2.findNonZero(ink)))
    turned = _crop(_turn(cut, degrees))
    if turned is None:
        return None
    letters, parts = _without_frame(turned)
    upright = _crop(letters)
    if upright is None:
        return None
    return UprightInk(upright, parts, degrees, (left, top, left + width, top + height))


def _rough_turn(points: np.ndarray) -> float:
    """Return the turn of the smallest rectangle around the ink, in degrees clockwise."""
    # The rectangle touches the ink only at the ends of rows, which are a fraction of the points.
    rows = points.reshape(-1, 2)[:, 1]
    is_end = np.ones(len(points), bool)
    is_end[1:-1] = (rows[1:-1] != rows[:-2]) | (rows[1:-1] != rows[2:])
    _, (width, height), degrees = cv2.minAreaRect(points[is_end])
    if max(width, height) < MIN_SIDE_RATIO * min(width, height):
        return float((degrees + 45) % 90 - 45)  # a stamp of several lines
    if width < height:
        degrees -= 90
    return float((degrees + 90) % 180 - 90)


def _refine_turn(ink: Mask, rough: float) -> float:
    """Return the turn near `rough` at which the letters stand in one row.

    Capitals have the same top and the same bottom, so their middles are on a line. Only if too
    few letters are apart, the turn is searched at which the ink falls into the fewest rows.
    """
    factor = min(TURN_SEARCH_PIXELS / max(ink.shape), 1.0)
    height, width = (max(round(side * factor), 1) for side in ink.shape)
    small = cv2.resize(ink * WHITE, (width, height), interpolation=cv2.INTER_AREA)
    small = np.asarray(small >= WHITE / 3, np.uint8)
    x, y, starts = _outermost_points(small)
    if not len(starts):  # the strokes are too thin to be letters
        return rough
    turn = rough
    for _ in range(TURN_ITERATIONS):
        across, down = _turn_across(x, y, turn), _turn_down(x, y, turn)
        tops, bottoms = (each.reduceat(down, starts) for each in (np.minimum, np.maximum))
        lefts, rights = (each.reduceat(across, starts) for each in (np.minimum, np.maximum))
        heights = bottoms - tops
        is_letter = rights - lefts < MIN_FRAME_WIDTH_SHARE * np.ptp(across)
        if not is_letter.any():
            break
        is_letter &= heights >= MIN_LETTER_HEIGHT_SHARE * heights[is_letter].max()
        middles, levels = (lefts + rights)[is_letter] / 2, (tops + bottoms)[is_letter] / 2
        if len(middles) < MIN_LETTERS or np.ptp(middles) < np.ptp(levels):
            break
        away = middles - middles.mean()
        slope = float(away @ levels) / float(away @ away)  # of the line that fits best
        turn += math.degrees(math.atan(slope))
    else:
        return turn
    return _sharpest_turn(small, rough)


def _outermost_points(ink: Mask) -> tuple[FloatArray, FloatArray, IntArray]:
    """Return points of each connected part, and where those of each part start.

    At any turn, the outermost points of a part are among them: they are the ends of its rows.
    """
    is_end = ink.astype(bool)
    is_end[:, 1:-1] &= (ink[:, :-2] & ink[:, 2:]) == 0
    ends = np.flatnonzero(is_end)
    part = label_components(ink).ravel()[ends]
    order = np.argsort(part, kind="stable")
    y, x = (each.astype(np.float64) for each in np.divmod(ends[order], ink.shape[1]))
    return x, y, np.flatnonzero(np.diff(part[order], prepend=0))


def _sharpest_turn(ink: Mask, rough: float) -> float:
    """Return the turn near `rough` at which the ink falls into the fewest rows."""
    y, x = (each.astype(np.float64) for each in np.nonzero(ink))
    steps = np.arange(-MAX_TURN_ERROR_DEGREES, MAX_TURN_ERROR_DEGREES + 0.1, TURN_STEP_DEGREES)
    # Letters have straight edges at their top and at their bottom, so the rows change abruptly.
    sharpness = []
    for step in steps:
        rows = np.rint(_turn_down(x, y, rough + step)).astype(np.intp)
        edges = np.diff(np.bincount(rows - rows.min(), minlength=2))
        sharpness.append(int(edges @ edges))
    return rough + float(steps[int(np.argmax(sharpness))])


def _turn_across(x: FloatArray, y: FloatArray, degrees: float) -> FloatArray:
    """Return how far to the right points are in an image that is turned anticlockwise."""
    angle = np.radians(degrees)
    return np.asarray(np.cos(angle) * x + np.sin(angle) * y)


def _turn_down(x: FloatArray, y: FloatArray, degrees: float) -> FloatArray:
    """Return how far down points are in an image that is turned anticlockwise."""
    angle = np.radians(degrees)
    return np.asarray(np.cos(angle) * y - np.sin(angle) * x)


def _turn(ink: Mask, degrees: float) -> Mask:
    height, width = ink.shape
    matrix = np.asarray(cv2.getRotationMatrix2D((width / 2, height / 2), degrees, 1.0))
    cos, sin = np.abs(matrix[0, :2])
    side = int(np.hypot(width, height)) + 4  # enough for any turn
    # An even number of pixels less is enough for this turn, so the middle stays between the same.
    across = side - 2 * int((side - (width * cos + height * sin + 4)) / 2)
    down = side - 2 * int((side - (width * sin + height * cos + 4)) / 2)
    matrix[:, 2] += (across / 2 - width / 2, down / 2 - height / 2)
    turned = cv2.warpAffine(ink * WHITE, matrix, (across, down), flags=cv2.INTER_LINEAR)
    return np.asarray(turned >= WHITE / 2).view(np.uint8)


def _crop(ink: Mask) -> Mask | None:
    left, top, width, height = cv2.boundingRect(ink)
    if not width:
        return None
    return np.ascontiguousarray(ink[top : top + height, left : left + width])


def _without_frame(ink: Mask) -> tuple[Mask, np.ndarray]:
    """Return the ink without the parts that surround nearly all of it.

    The second array has the statistics of the parts that remain.
    """
    _, labels, stats, _ = cv2.connectedComponentsWithStats(ink, connectivity=8)
    height, width = ink.shape
    widths, heights = stats[:, cv2.CC_STAT_WIDTH], stats[:, cv2.CC_STAT_HEIGHT]
    is_frame = (
        (widths >= MIN_FRAME_WIDTH_SHARE * width)
        & (heights >= MIN_FRAME_HEIGHT_SHARE * height)
        & (stats[:, cv2.CC_STAT_AREA] <= MAX_FRAME_INK_SHARE * widths * heights)
    )
    is_frame[0] = False  # the paper
    if len(stats) <= MIN_LETTERS or not is_frame.any():
        return ink, stats[1:]
    return np.asarray(np.where(is_frame[labels], 0, ink), np.uint8), stats[1:][~is_frame[1:]]


def _may_be_capitals(heights: Sequence[int]) -> bool:
    usual = median(heights)
    same = sum(abs(height - usual) <= MAX_HEIGHT_DIFFERENCE * usual for height in heights)
    return len(heights) >= MIN_LETTERS and same >= MIN_SAME_HEIGHT_SHARE * len(heights)


def _heights_by_line(letters: np.ndarray) -> list[list[int]]:
    """Return the heights of the letters of each line."""
    lines: list[list[int]] = []
    bottom = -inf  # of the first letter of the line
    tops, heights = letters[:, cv2.CC_STAT_TOP], letters[:, cv2.CC_STAT_HEIGHT]
    for middle, height in sorted(zip(tops + heights / 2, heights.tolist(), strict=True)):
        if middle > bottom:
            lines.append([])
            bottom = middle + height / 2
        lines[-1].append(height)
    return lines
