"""The search of a born-digital page for marks that people added, without rendering it.

The text layer contains the words of stamps, and the page's objects are in the order in which they
are drawn. From them follows what is large, at an angle, in another colour, under a line, or under
an opaque area. Annotations are read before they become a part of the page.
"""

import math
from collections.abc import Iterator, Sequence
from contextlib import closing
from ctypes import addressof, byref, c_double, c_int, c_uint, c_ushort
from itertools import islice
from statistics import median
from typing import NamedTuple

import numpy as np
import pypdfium2
import pypdfium2.raw as pdfium

from ingestion.reading.images.page_objects import (
    PageObject,
    PdfRect,
    iter_annotations,
    list_object_rects,
)
from ingestion.reading.limits import ReadingLimits
from ingestion.reading.results import AddedMark, AddedMarkKind, compute_bounding_box
from ingestion.reading.stamp_words import (
    StampLine,
    find_phrases,
    may_contain_stamp,
    read_stamp_line,
)

from .drawn_stamps import find_drawn_stamps
from .pages import StampMemory
from .text_layer import make_point_transform, read_raw_text

DRAWN_KINDS = {pdfium.FPDF_PAGEOBJ_PATH, pdfium.FPDF_PAGEOBJ_IMAGE}
MAX_DRAWN_OBJECTS = 300  # paths and images at the end of one page that are examined
MAX_WATERMARK_OBJECTS = 100  # paths and images at the start of one page that are examined
MAX_MARKS_PER_PAGE = 50  # of one search; more are a drawing or a list of changes
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

MAX_STRIKE_THICKNESS_POINTS = 2.5
MIN_STRIKE_LENGTH_POINTS = 10.0
MAX_STRIKE_SHARE = 0.6  # of the page's width; a longer line is a rule of the layout
MAX_STRIKE_LINES_PER_PAGE = 40  # with more, the page is a table
# Places along a line at which printed characters have to be under it.
STRIKE_SAMPLES = (0.5, 0.3, 0.7)
# Share of a character's height, from its bottom, in which a line strikes it out.
MIN_STRIKE_LEVEL, MAX_STRIKE_LEVEL = 0.2, 0.8

MIN_COVER_WIDTH_POINTS, MIN_COVER_HEIGHT_POINTS = 12.0, 6.0
MAX_COVER_SEGMENTS = 24  # of a rectangle with round corners; a drawing has more
MAX_COVER_SHARE = 0.6  # of the page's area; a larger area is a background, or a scan over its text
RUNNING_HEAD_SHARE = 0.08  # of a page's height, at the top and at the bottom
COVER_MARGIN_POINTS = 1.0  # by which covered text may extend beyond its cover
CHARACTER_STEP_POINTS = 2.0  # between places at which covered characters are searched
MAX_CHARACTER_STEPS = 300
MIN_COVERED_CHARACTERS = 3  # letters and digits
MAX_TEXT_CHARACTERS = 200  # of a struck-out text that are kept

# Names of Acrobat's stamps, and what people type as the subject of their own (ISO 32000-1, table
# 181). The names occur with prefixes, as in "SBDraft" and "DReceived".
STAMP_NAMES = {
    "notapproved": AddedMarkKind.DRAFT,
    "forcomment": AddedMarkKind.DRAFT,
    "preliminary": AddedMarkKind.DRAFT,
    "draft": AddedMarkKind.DRAFT,
    "void": AddedMarkKind.VOID,
    "cancel": AddedMarkKind.VOID,
    "expired": AddedMarkKind.SUPERSEDED,
    "superseded": AddedMarkKind.SUPERSEDED,
    "obsolete": AddedMarkKind.SUPERSEDED,
    "copy": AddedMarkKind.COPY,
    "received": AddedMarkKind.RECEIVED,
}


def find_added_marks(
    page: pypdfium2.PdfPage,
    layer: pypdfium2.PdfTextPage,
    text: str,
    objects: Sequence[PageObject],
    known_stamps: StampMemory | None,
    limits: ReadingLimits,
) -> list[AddedMark]:
    """Return the stamps, strike-outs and covered words of a page. Raises PdfiumError.

    `text` is the text of the page, and `objects` are its objects in the order of drawing.
    `known_stamps` are those that are drawn on other pages of the file. With None, stamps that are
    drawn are not searched, because the page takes too long to draw.
    """
    found: list[AddedMark] = []
    if may_contain_stamp(text):
        found += islice(_find_stamps(page, layer), MAX_MARKS_PER_PAGE)
    # What people add is drawn after the page, and a watermark before it, so the first and the last
    # objects are examined if there are many.
    drawn = [(place, item) for place, item in enumerate(objects) if item.kind in DRAWN_KINDS]
    if len(drawn) > MAX_DRAWN_OBJECTS + MAX_WATERMARK_OBJECTS:
        drawn = drawn[:MAX_WATERMARK_OBJECTS] + drawn[-MAX_DRAWN_OBJECTS:]
    rects: list[PdfRect] = []
    covered: list[AddedMark] = []
    if drawn:
        rects = list_object_rects(item for _, item in drawn)
        lines = [
            rect
            for (_, item), rect in zip(drawn, rects, strict=True)
            if item.kind == pdfium.FPDF_PAGEOBJ_PATH
        ]
        found += islice(_find_strike_outs(page, layer, lines), MAX_MARKS_PER_PAGE)
        areas = [(place, rect) for (place, _), rect in zip(drawn, rects, strict=True)]
        covered = list(islice(_find_covered_words(page, layer, objects, areas), MAX_MARKS_PER_PAGE))
    if known_stamps is None:
        return found + covered
    placed = [(item, rect) for (_, item), rect in zip(drawn, rects, strict=True)]
    stamps = find_drawn_stamps(page, layer, objects, placed, known_stamps, limits)
    # A stamp lies over print, but is no sticker.
    found += (each for each in covered if not any(each.box.intersects(one.box) for one in stamps))
    return found + stamps


def find_annotated_marks(page: pypdfium2.PdfPage) -> list[AddedMark]:
    """Return the stamps and the strike-outs among the annotations of a page."""
    to_box = make_point_transform(page)
    found = []
    for annotation in islice(iter_annotations(page), MAX_MARKS_PER_PAGE):
        kind = pdfium.FPDFAnnot_GetSubtype(annotation)
        rect = pdfium.FS_RECTF()
        if kind not in {pdfium.FPDF_ANNOT_STAMP, pdfium.FPDF_ANNOT_STRIKEOUT}:
            continue
        if not pdfium.FPDFAnnot_GetRect(annotation, byref(rect)):
            continue
        bounds = (rect.left, rect.bottom, rect.right, rect.top)
        if kind == pdfium.FPDF_ANNOT_STRIKEOUT:
            with closing(page.get_textpage()) as layer:
                struck = _text_within(layer, bounds)
            found.append(AddedMark(AddedMarkKind.STRUCK_OUT, to_box(bounds), struck))
            continue
        for key in (b"Name", b"Subj", b"Contents"):
            stated = _annotation_text(annotation, key)
            folded = "".join(filter(str.isalpha, stated.casefold()))
            name = next((each for each in STAMP_NAMES if each in folded), "")
            if name and len(stated.split()) <= 3:
                printed = name.upper().replace("NOTAPPROVED", "NOT APPROVED")
                found.append(AddedMark(STAMP_NAMES[name], to_box(bounds), printed))
                break
    return found


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


def _find_stamps(page: pypdfium2.PdfPage, layer: pypdfium2.PdfTextPage) -> Iterator[AddedMark]:
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


def _measure_usual_print(layer: pypdfium2.PdfTextPage, raw: str) -> "_UsualPrint":
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
    sample: "_Character",
) -> tuple[int, int]:
    """Return the part of a line around a phrase that has its size, its angle and its colour."""
    (start, end), (first, last) = phrase, line
    while start > first and _is_alike(layer, raw, start - 1, sample):
        start -= 1
    while end < last and _is_alike(layer, raw, end, sample):
        end += 1
    return start, end


def _is_alike(layer: pypdfium2.PdfTextPage, raw: str, place: int, sample: "_Character") -> bool:
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


def _find_strike_outs(
    page: pypdfium2.PdfPage, layer: pypdfium2.PdfTextPage, paths: Sequence[PdfRect]
) -> Iterator[AddedMark]:
    """Yield the thin lines that run through the middle of printed characters.

    `paths` are the bounds of the page's paths.
    """
    to_box, max_length = make_point_transform(page), MAX_STRIKE_SHARE * page.get_width()
    lines = [
        (left, bottom, right, top)
        for left, bottom, right, top in paths
        if top - bottom <= MAX_STRIKE_THICKNESS_POINTS
        and MIN_STRIKE_LENGTH_POINTS <= right - left <= max_length
    ]
    if len(lines) > MAX_STRIKE_LINES_PER_PAGE:
        return
    for left, bottom, right, top in lines:
        level = (bottom + top) / 2
        places = (left + share * (right - left) for share in STRIKE_SAMPLES)
        if all(_is_through_character(layer, place, level) for place in places):
            around = (left, bottom - 3.0, right, top + 3.0)
            struck = _text_within(layer, around)
            yield AddedMark(AddedMarkKind.STRUCK_OUT, to_box(around), struck)


def _is_through_character(layer: pypdfium2.PdfTextPage, x: float, level: float) -> bool:
    """Return whether a horizontal line strikes out the character at this place."""
    index = pdfium.FPDFText_GetCharIndexAtPos(layer, x, level, 2.0, 0.0)
    if index < 0 or not chr(pdfium.FPDFText_GetUnicode(layer, index)).isalnum():
        return False
    left, right, bottom, top = c_double(), c_double(), c_double(), c_double()
    pdfium.FPDFText_GetCharBox(layer, index, left, right, bottom, top)
    height = top.value - bottom.value
    return MIN_STRIKE_LEVEL * height < level - bottom.value < MAX_STRIKE_LEVEL * height


def _find_covered_words(
    page: pypdfium2.PdfPage,
    layer: pypdfium2.PdfTextPage,
    objects: Sequence[PageObject],
    areas: Sequence[tuple[int, PdfRect]],
) -> Iterator[AddedMark]:
    """Yield the opaque areas that were drawn over printed words.

    `areas` are the places of paths and images among the objects, with their bounds.
    """
    width, height = page.get_size()
    max_area = MAX_COVER_SHARE * width * height  # of a cover, in square points
    _, low, _, high = page.get_bbox()
    covers = [
        (place, rect)
        for place, rect in areas
        if rect[2] - rect[0] >= MIN_COVER_WIDTH_POINTS
        and rect[3] - rect[1] >= MIN_COVER_HEIGHT_POINTS
        and (rect[2] - rect[0]) * (rect[3] - rect[1]) <= max_area
        and not _is_running_head(objects[place], rect, (low, high))
        and _is_opaque(objects[place])
        and pdfium.FPDFText_GetBoundedText(layer, rect[0], rect[3], rect[2], rect[1], None, 0)
    ]
    if not covers:
        return
    texts = [place for place, item in enumerate(objects) if item.kind == pdfium.FPDF_PAGEOBJ_TEXT]
    if not texts or covers[-1][0] < texts[0]:
        return
    rects = np.array(list_object_rects(objects[place] for place in texts))
    to_box = make_point_transform(page)
    for cover, rect in covers:
        left, bottom, right, top = rect
        levels = (rects[:, 1] + rects[:, 3]) / 2
        is_near = (bottom < levels) & (levels < top)
        is_near &= np.minimum(rects[:, 2], right) - np.maximum(rects[:, 0], left) > 0
        near = [(texts[index], rects[index]) for index in np.flatnonzero(is_near)]
        hidden = " ".join(
            _characters_within(layer, objects[place], text_rect, rect)
            for place, text_rect in near
            if place < cover and _is_printed(objects[place])
        )
        if sum(map(str.isalnum, hidden)) < MIN_COVERED_CHARACTERS:
            continue
        # Some programs draw the same text twice, the second time over the background of a cell.
        later = (_object_text(objects[place], layer).strip() for place, _ in near if place > cover)
        if not any(text in hidden or hidden.strip() in text for text in later if text):
            yield AddedMark(AddedMarkKind.COVERED, to_box(rect))


def _characters_within(
    layer: pypdfium2.PdfTextPage, text: PageObject, text_rect: PdfRect, area: PdfRect
) -> str:
    """Return the characters of a text object that are completely inside an area."""
    level = (text_rect[1] + text_rect[3]) / 2
    start, end = max(text_rect[0], area[0]), min(text_rect[2], area[2])
    steps = int(min((end - start) / CHARACTER_STEP_POINTS, MAX_CHARACTER_STEPS))
    margin, found = COVER_MARGIN_POINTS, dict[int, str]()
    left, right, bottom, top = c_double(), c_double(), c_double(), c_double()
    for step in range(steps + 1):
        x = start + step * CHARACTER_STEP_POINTS
        index = pdfium.FPDFText_GetCharIndexAtPos(layer, x, level, 0.0, 3.0)
        if index < 0 or index in found:
            continue
        holder = pdfium.FPDFText_GetTextObject(layer, index)
        if not holder or addressof(holder.contents) != addressof(text.raw.contents):
            continue
        pdfium.FPDFText_GetCharBox(layer, index, left, right, bottom, top)
        if (
            left.value >= area[0] - margin
            and right.value <= area[2] + margin
            and bottom.value >= area[1] - margin
            and top.value <= area[3] + margin
        ):
            found[index] = chr(pdfium.FPDFText_GetUnicode(layer, index))
    return "".join(found[index] for index in sorted(found))


def _is_printed(text: PageObject) -> bool:
    """Return whether a text object is drawn visibly. Hidden text is that of an OCR layer."""
    mode = pdfium.FPDFTextObj_GetTextRenderMode(text.raw)
    return bool(mode != pdfium.FPDF_TEXTRENDERMODE_INVISIBLE)


def _is_running_head(item: PageObject, rect: PdfRect, ends: tuple[float, float]) -> bool:
    """Return whether an object may be the logo of a running head or foot.

    In the printout of a web page, it hides the line that the page before ends with. `ends` are the
    lower and the upper end of the page.
    """
    low, high = ends
    margin = RUNNING_HEAD_SHARE * (high - low)
    is_in_margin = rect[1] > high - margin or rect[3] < low + margin
    return bool(item.kind == pdfium.FPDF_PAGEOBJ_IMAGE and is_in_margin)


def _is_opaque(item: PageObject) -> bool:
    """Return whether an object hides what was drawn before it."""
    holder: PageObject | None = item
    while holder is not None:
        if pdfium.FPDFPageObj_HasTransparency(holder.raw):
            return False
        holder = holder.form
    if item.kind == pdfium.FPDF_PAGEOBJ_IMAGE:
        return True
    if pdfium.FPDFPath_CountSegments(item.raw) > MAX_COVER_SEGMENTS:
        return False  # the outlines of letters, or a drawing
    fill, stroke = c_int(), c_int()
    pdfium.FPDFPath_GetDrawMode(item.raw, byref(fill), byref(stroke))
    red, green, blue, alpha = (c_uint() for _ in range(4))
    has_colour = pdfium.FPDFPageObj_GetFillColor(item.raw, red, green, blue, alpha)
    return bool(fill.value and has_colour and alpha.value == 255)


def _object_text(item: PageObject, layer: pypdfium2.PdfTextPage) -> str:
    length = pdfium.FPDFTextObj_GetText(item.raw, layer, None, 0)
    buffer = (c_ushort * (length // 2 + 1))()
    pdfium.FPDFTextObj_GetText(item.raw, layer, buffer, length)
    return bytes(buffer)[:length].decode("utf-16-le", "replace").rstrip("\0")


def _text_within(layer: pypdfium2.PdfTextPage, rect: PdfRect) -> str:
    found = layer.get_text_bounded(*rect)
    return " ".join(found.split())[:MAX_TEXT_CHARACTERS]


def _annotation_text(annotation: object, key: bytes) -> str:
    length = pdfium.FPDFAnnot_GetStringValue(annotation, key, None, 0)
    buffer = (c_ushort * (length // 2 + 1))()
    pdfium.FPDFAnnot_GetStringValue(annotation, key, buffer, length)
    return bytes(buffer)[:length].decode("utf-16-le", "replace").rstrip("\0")
