"""Finds stamps in a text layer: lines of the words of a stamp that look like one.

They are larger than the usual print of the page, at an angle, in another colour, or a heading by
themselves.
"""

import math
from collections.abc import Iterator, Sequence
from ctypes import c_double, c_uint
from statistics import median
from typing import NamedTuple

import pypdfium2
import pypdfium2.raw as pdfium

from ingestion.reading.images.page_objects import PdfRect
from ingestion.reading.results import AddedMark, AddedMarkKind, compute_bounding_box
from ingestion.reading.stamp_words import StampLine, find_phrases, read_stamp_line

from .text_layer import make_point_transform, read_raw_text

# Characters whose size, angle and colour are measured to find out what is usual on a page.
USUAL_SAMPLE_CHARACTERS = 20
MIN_STAMP_SIZE_RATIO = 1.6  # of a stamp's font size to the usual one
MIN_STAMP_SIZE_POINTS = 14.0  # a loose character box of a font of 12 points
MAX_SIZE_DIFFERENCE = 0.4  # of the size of a letter, between letters of one line
MIN_STAMP_ANGLE_DEGREES = 3.0  # between a stamp and the usual direction of text
MIN_COLOUR_DISTANCE = 80  # of 255, by which red, green and blue of a coloured letter differ
MAX_INVISIBLE_BRIGHTNESS = 250  # of 255; lighter letters cannot be seen on white paper
# Beside a stamp in ordinary print, where no other words are, and how high the band is.
ISOLATION_WIDTH_POINTS = 24.0


def find_text_stamps(page: pypdfium2.PdfPage, layer: pypdfium2.PdfTextPage) -> Iterator[AddedMark]:
    """Yield the lines of the text layer that consist of the words of a stamp and look like one."""
    raw, to_box = read_raw_text(layer), make_point_transform(page)
    phrases = list(find_phrases(raw))
    if not phrases:
        return
    usual = _measure_usual_print(layer, raw)
    end_of_last = 0
    for start, end in phrases:
        if start < end_of_last:
            continue
        sample = _measure_character(layer, (start + end) // 2)
        first, last = _line_around(raw, start, end)
        if usual.stands_out(sample):  # its line may continue with ordinary print
            first, last = _run_around(layer, raw, (start, end), (first, last), sample)
        stamp = read_stamp_line(raw[first:last])
        if stamp is None or not sample.is_visible:
            continue
        end_of_last = last
        letters = [
            _measure_character(layer, place) for place in range(first, last) if raw[place].isalpha()
        ]
        if usual.is_stamp(stamp, sample) or (
            _is_heading_like(stamp) and _is_isolated(layer, letters)
        ):
            box = compute_bounding_box(to_box(letter.rect) for letter in letters)
            yield AddedMark(stamp.kind, box, stamp.phrase)


class _Character(NamedTuple):
    """One character of a text layer: its box in PDF coordinates, size in points and colour."""

    rect: PdfRect
    size: float
    degrees: float
    colour: tuple[int, int, int, int]

    @property
    def is_coloured(self) -> bool:
        return max(self.colour[:3]) - min(self.colour[:3]) >= MIN_COLOUR_DISTANCE

    @property
    def is_visible(self) -> bool:
        return self.colour[3] > 0 and min(self.colour[:3]) <= MAX_INVISIBLE_BRIGHTNESS


class _UsualPrint(NamedTuple):
    """The usual size of the characters of a page, their direction, and whether they have colour."""

    size: float
    degrees: float
    is_coloured: bool

    def is_turned(self, character: _Character) -> bool:
        turn = abs((character.degrees - self.degrees + 180) % 360 - 180)
        return turn > MIN_STAMP_ANGLE_DEGREES

    def is_large(self, character: _Character) -> bool:
        return character.size >= max(MIN_STAMP_SIZE_RATIO * self.size, MIN_STAMP_SIZE_POINTS)

    def is_in_colour(self, character: _Character) -> bool:
        return character.is_coloured and not self.is_coloured

    def stands_out(self, character: _Character) -> bool:
        return self.is_turned(character) or self.is_large(character) or self.is_in_colour(character)

    def is_stamp(self, stamp: StampLine, character: _Character) -> bool:
        """Return whether a line with the words of a stamp looks like one."""
        return (
            self.is_turned(character)
            or (self.is_large(character) and stamp.phrase != "SAMPLE")
            or (self.is_in_colour(character) and stamp.is_capital)
        )


def _measure_usual_print(layer: pypdfium2.PdfTextPage, raw: str) -> _UsualPrint:
    """Measure characters that are distributed over the page."""
    step = max(len(raw) // USUAL_SAMPLE_CHARACTERS, 1)
    sample = [
        _measure_character(layer, place)
        for place in range(0, len(raw), step)
        if not raw[place].isspace()
    ]
    return _UsualPrint(
        size=median(each.size for each in sample) if sample else 0.0,
        degrees=median(each.degrees for each in sample) if sample else 0.0,
        is_coloured=2 * sum(each.is_coloured for each in sample) > len(sample),
    )


def _line_around(raw: str, start: int, end: int) -> tuple[int, int]:
    """Return where the line of a phrase begins and ends in the text."""
    first = max(raw.rfind("\n", 0, start), raw.rfind("\r", 0, start)) + 1
    ends = [place for place in (raw.find("\r", end), raw.find("\n", end)) if place >= 0]
    return first, min(ends, default=len(raw))


def _run_around(
    layer: pypdfium2.PdfTextPage,
    raw: str,
    phrase: tuple[int, int],
    line: tuple[int, int],
    sample: _Character,
) -> tuple[int, int]:
    """Return the part of a line around a phrase that has its size, its angle and its colour."""
    (start, end), (first, last) = phrase, line
    while start > first and _is_alike(layer, raw, start - 1, sample):
        start -= 1
    while end < last and _is_alike(layer, raw, end, sample):
        end += 1
    return start, end


def _is_alike(layer: pypdfium2.PdfTextPage, raw: str, place: int, sample: _Character) -> bool:
    """Return whether a character is a space, or has the size, angle and colour of another one."""
    if raw[place].isspace():
        return True
    character = _measure_character(layer, place)
    turn = abs((character.degrees - sample.degrees + 180) % 360 - 180)
    return (
        turn < MIN_STAMP_ANGLE_DEGREES
        and abs(character.size - sample.size) <= MAX_SIZE_DIFFERENCE * sample.size
        and character.colour == sample.colour
    )


def _is_heading_like(stamp: StampLine) -> bool:
    """Return whether a stamp counts in ordinary print, as in the header of a draft."""
    return stamp.is_capital and stamp.kind in {
        AddedMarkKind.DRAFT,
        AddedMarkKind.VOID,
        AddedMarkKind.SUPERSEDED,
    }


def _is_isolated(layer: pypdfium2.PdfTextPage, letters: Sequence[_Character]) -> bool:
    """Return whether nothing is printed beside a line, as it would be in a row of a table."""
    left = min(letter.rect[0] for letter in letters)
    right = max(letter.rect[2] for letter in letters)
    level = (letters[0].rect[1] + letters[0].rect[3]) / 2
    distance = ISOLATION_WIDTH_POINTS
    beside = [left - distance * share for share in (0.2, 0.5, 0.9)]
    beside += [right + distance * share for share in (0.2, 0.5, 0.9)]
    return all(pdfium.FPDFText_GetCharIndexAtPos(layer, x, level, 2.0, 2.0) < 0 for x in beside)


def _measure_character(layer: pypdfium2.PdfTextPage, index: int) -> _Character:
    rect = pdfium.FS_RECTF()
    left, right, bottom, top = c_double(), c_double(), c_double(), c_double()
    pdfium.FPDFText_GetCharBox(layer, index, left, right, bottom, top)
    pdfium.FPDFText_GetLooseCharBox(layer, index, rect)
    colour = [c_uint() for _ in range(4)]
    pdfium.FPDFText_GetFillColor(layer, index, *colour)
    degrees = math.degrees(pdfium.FPDFText_GetCharAngle(layer, index))
    is_upright = abs((degrees + 45) % 90 - 45) < MIN_STAMP_ANGLE_DEGREES
    height, width = abs(rect.top - rect.bottom), abs(rect.right - rect.left)
    # The box of a turned character is larger than the character.
    size = max(height, width)
    if is_upright:
        size = width if round(degrees / 90) % 2 else height
    red, green, blue, alpha = (each.value for each in colour)
    return _Character(
        (left.value, bottom.value, right.value, top.value), size, degrees, (red, green, blue, alpha)
    )
