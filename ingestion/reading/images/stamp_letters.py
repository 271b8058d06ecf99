"""Tells words of stamps from other words by the holes of their letters, without OCR.

A logo on empty paper is far more frequent than a stamp, and OCR of it takes long. The letter A has
a hole in its middle, P and R have one in their upper half, O and D a high one, and B has two, so
that "COPY" has other holes than "CAPE".
"""

from collections.abc import Iterator, Mapping, Sequence
from math import inf
from operator import contains, itemgetter
from typing import NamedTuple

import cv2
import numpy as np

from ingestion.reading.stamp_words import STAMP_PHRASES

from .binarise import Mask

WORD_GAPS = (0.25, 0.45)  # between the words of a line, in heights of a letter: in narrow fonts
MIN_HOLE_SHARE = 0.015  # of a letter's box; smaller holes are noise
# Letters that touch each other, as R and A in "DRAFT": how many, the width of each in heights of a
# letter, and of how many letters of a word one may have no place of its own.
MAX_JOINED_LETTERS, MIN_JOINED_WIDTH, LETTERS_PER_JOINED = 3, 0.5, 5
# The kinds of letters with holes. In all fonts, the hole of O and D is high and in the middle of
# the letter, that of P and R is in its upper half, and that of A is between them.
_KINDS = {"A": "A", "D": "O", "O": "O", "P": "P", "R": "P", "B": "B"}
_ROUND_CENTRES, _MIN_ROUND_HEIGHT = (0.43, 0.57), 0.45  # of a hole, in heights of the letter
_POINTED_CENTRES, _MAX_POINTED_HEIGHT = (0.3, 0.52), 0.75
_MAX_UPPER_CENTRE = 0.42
_NO_HOLE = "-"
# For each phrase of a stamp and each long word of one, the kinds of its letters ("DRAFT": "OPA--").
# A word without holes, as "null", would be found in nearly every logo.
_WORD_KINDS = frozenset(
    kinds
    for phrase in STAMP_PHRASES
    for word in (phrase.replace(" ", ""), *phrase.split())
    for kinds in ("".join(_KINDS.get(letter, _NO_HOLE) for letter in word.upper()),)
    if len(word) >= 4 and set(kinds) != {_NO_HOLE}
)


class _Part(NamedTuple):
    """A connected part of a line: a letter, or several letters that touch each other.

    `kinds` has one item for each of its letters with holes, from left to right: the kinds that the
    letter may have. `left` and `right` are its edges in usual heights of a letter.
    """

    kinds: Sequence[str]
    left: float
    right: float


def may_have_word_of_stamp(ink: Mask, lowest: int) -> bool:
    """Return whether upright ink may have a word of stamps, by the holes of its letters.

    `lowest` is the least height of a letter in pixels.
    """
    return any(map(_has_word_of_stamp, _parts_of_lines(ink, lowest)))


def _parts_of_lines(ink: Mask, lowest: int) -> Iterator[list[_Part]]:
    """Yield the parts of each line of letters from left to right."""
    contours, hierarchy = cv2.findContours(ink, cv2.RETR_CCOMP, cv2.CHAIN_APPROX_SIMPLE)
    if hierarchy is None:
        return
    parents = hierarchy[0][:, 3]
    outer = {
        index: cv2.boundingRect(contours[index]) for index in np.flatnonzero(parents < 0).tolist()
    }
    holes: dict[int, list[Sequence[int]]] = {index: [] for index in outer}
    for index in np.flatnonzero(parents >= 0).tolist():
        _, _, width, height = outer[parents[index]]
        if cv2.contourArea(contours[index]) >= MIN_HOLE_SHARE * width * height:
            holes[parents[index]].append(cv2.boundingRect(contours[index]))
    boxes = sorted((box[1] + box[3] / 2, index) for index, box in outer.items() if box[3] >= lowest)
    line: list[int] = []
    for level, index in boxes:
        if line and level > outer[line[0]][1] + outer[line[0]][3]:
            yield _line_of(line, outer, holes)
            line = []
        line.append(index)
    if line:
        yield _line_of(line, outer, holes)


def _line_of(
    line: Sequence[int],
    boxes: Mapping[int, Sequence[int]],
    holes: Mapping[int, Sequence[Sequence[int]]],
) -> list[_Part]:
    usual = float(np.median([boxes[index][3] for index in line]))
    parts = []
    for index in sorted(line, key=lambda index: boxes[index][0]):
        left, _, width, _ = boxes[index]
        kinds = tuple(_kinds_of_letters(boxes[index], holes[index]))
        parts.append(_Part(kinds, left / usual, (left + width) / usual))
    return parts


def _kinds_of_letters(box: Sequence[int], holes: Sequence[Sequence[int]]) -> Iterator[str]:
    """Yield for each letter with holes in a connected part the kinds that it may have.

    `box` and `holes` are the left edges, the upper edges, the widths and the heights of the part
    and of its holes.
    """
    _, top, _, height = box
    above: list[Sequence[int]] = []  # holes of one letter, which are one above the other
    for hole in sorted(holes, key=itemgetter(0)):
        if above and hole[0] >= above[0][0] + above[0][2] - 1:
            yield _kinds_of(above, top, height)
            above = []
        above.append(hole)
    if above:
        yield _kinds_of(above, top, height)


def _kinds_of(holes: Sequence[Sequence[int]], top: int, letter_height: int) -> str:
    """Return the kinds that a letter with these holes may have."""
    if len(holes) > 1:
        return "B" if len(holes) == 2 else ""
    ((_, start, _, length),) = holes
    centre, height = (start + length / 2 - top) / letter_height, length / letter_height
    is_round = _ROUND_CENTRES[0] <= centre <= _ROUND_CENTRES[1] and height >= _MIN_ROUND_HEIGHT
    is_pointed = (
        _POINTED_CENTRES[0] <= centre <= _POINTED_CENTRES[1] and height <= _MAX_POINTED_HEIGHT
    )
    return "O" * is_round + "A" * is_pointed + "P" * (centre <= _MAX_UPPER_CENTRE)


def _has_word_of_stamp(line: Sequence[_Part]) -> bool:
    """Return whether a word of a line, or the whole line, may be a word of stamps by its holes."""
    words = [word for gap in (*WORD_GAPS, inf) for word in _split(line, gap)]
    return any(
        _may_be_word(word, kinds)
        for word in words
        for kinds in _WORD_KINDS
        if len(word) >= len(kinds) - len(kinds) // LETTERS_PER_JOINED
    )


def _may_be_word(parts: Sequence[_Part], kinds: str) -> bool:
    """Return whether connected parts may be the letters of these kinds. Some letters may touch."""
    if not parts or len(parts) > len(kinds):
        return not parts and not kinds
    part = parts[0]
    for count in range(1, MAX_JOINED_LETTERS + 1):
        if count > 1 and part.right - part.left < count * MIN_JOINED_WIDTH:
            return False
        with_holes = kinds[:count].replace(_NO_HOLE, "")
        if (
            len(with_holes) == len(part.kinds)
            and all(map(contains, part.kinds, with_holes))
            and _may_be_word(parts[1:], kinds[count:])
        ):
            return True
    return False


def _split(line: Sequence[_Part], min_gap: float) -> list[list[_Part]]:
    """Return the parts of each word of a line."""
    words: list[list[_Part]] = [[]]
    right = line[0].left
    for part in line:
        if part.left - right > min_gap:
            words.append([])
        words[-1].append(part)
        right = max(right, part.right)
    return words
