"""Finds the regions of a page onto which several pages were copied, and reads one region."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from statistics import median

from ingestion.core.file_parts import Region
from ingestion.reading.pdf.lazy import LazyMarks, LazySequence, LazySquares
from ingestion.reading.results import AddedMark, Box, PageReading, Word
from ingestion.rules.fields import geometry
from ingestion.rules.fields.values import SCAN_SOURCES

MIN_MEASURED_CHARACTERS = 4  # of a word whose width is measured


def convert_region_to_box(page: PageReading, region: Region) -> Box:
    """Return a region of a page in points."""
    left, top, right, bottom = region
    return Box(left * page.width, top * page.height, right * page.width, bottom * page.height)


class WordPlaces:
    """The words of a page, and their left, upper, right and lower edges in points.

    Several measures need them, and pages have hundreds of words, so they are listed once.
    """

    def __init__(self, words: Sequence[Word]) -> None:
        self.words = words
        self.lengths = [len(word[0]) for word in words]  # characters
        sides: Sequence[Sequence[float]] = list(zip(*[word[1] for word in words], strict=True))
        self.lefts, self.tops, self.rights, self.bottoms = sides or ((), (), (), ())

    @cached_property
    def character_width(self) -> float:
        """Return the median width of a character in the longer words, in points, or 0.0.

        It tells the size of print more exactly than the heights of words, which OCR often extends.
        """
        widths = [
            (right - left) / length
            for length, left, right in zip(self.lengths, self.lefts, self.rights, strict=True)
            if length >= MIN_MEASURED_CHARACTERS
        ]
        return median(widths) if widths else 0.0


def cut_out(page: PageReading, region: Region) -> PageReading:
    """Return the content of a region as a page of its own, with the number of the page.

    Positions are relative to the upper left corner of the region. A word belongs to the region
    that contains its centre. Lazy marks and check boxes remain lazy, because most regions are cut
    out only to find out whether a sheet has two documents.
    """
    area = convert_region_to_box(page, region)

    def move(box: Box) -> Box:
        return Box(
            box.left - area.left, box.top - area.top, box.right - area.left, box.bottom - area.top
        )

    def moved(boxes: Sequence[Box]) -> tuple[Box, ...]:
        return tuple(move(box) for box in boxes if area.contains_centre_of(box))

    in_order = _split_lines(
        page, [word for word in page.words if area.contains_centre_of(word.box)]
    )
    words = tuple(word.moved_to(move(word.box)) for line in in_order for word in line)
    return replace(
        page,
        width=area.right - area.left,
        height=area.bottom - area.top,
        text="\n".join(" ".join(word.text for word in line) for line in in_order),
        words=words,
        marks=(
            LazyMarks(
                lambda: [move(Box(0.0, 0.0, page.width, page.height))], lambda _: moved(page.marks)
            )
            if isinstance(page.marks, LazySequence)
            else moved(page.marks)
        ),
        empty_squares=(
            LazySquares(lambda: moved(page.empty_squares))
            if isinstance(page.empty_squares, LazySequence)
            else moved(page.empty_squares)
        ),
        forms=(),  # they were aligned with the whole sheet
        # A stamp across the whole sheet concerns each of its pages.
        added_marks=tuple(
            AddedMark(mark.kind, move(mark.box), mark.text)
            for mark in page.added_marks
            if area.intersects(mark.box)
        ),
    )


def _split_lines(page: PageReading, words: Sequence[Word]) -> Sequence[Sequence[Word]]:
    """Return the lines of some words of a page, each in reading order.

    OCR reads line by line, even on a sheet that was scanned askew. The order of the words of a text
    layer is not used.
    """
    lines: list[list[Word]] = []
    if page.source in SCAN_SOURCES:
        for word in words:
            before = lines[-1][-1].box if lines else None
            if before and word.box.left >= before.left and geometry.is_level_with(before, word.box):
                lines[-1].append(word)
            else:
                lines.append([word])
        return lines
    for word in sorted(words, key=lambda word: word.box.top):
        if lines and geometry.is_level_with(lines[-1][-1].box, word.box):
            lines[-1].append(word)
        else:
            lines.append([word])
    return [sorted(line, key=lambda word: word.box.left) for line in lines]


def restore_box(box: Box, page: PageReading, region: Region) -> Box:
    """Return the position on `page` of a box within one of its regions."""
    area = convert_region_to_box(page, region)
    return Box(
        box.left + area.left, box.top + area.top, box.right + area.left, box.bottom + area.top
    )
