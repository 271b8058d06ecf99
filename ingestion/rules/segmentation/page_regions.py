"""The regions of a page onto which several pages were copied, and the reading of one region."""

from collections.abc import Sequence
from dataclasses import replace

from ingestion.core.file_parts import Region
from ingestion.reading.pdf.lazy import LazyMarks, LazySequence, LazySquares
from ingestion.reading.results import AddedMark, Box, PageReading, Word
from ingestion.rules.fields import geometry


def region_box(page: PageReading, region: Region) -> Box:
    """Return a region of a page in points."""
    left, top, right, bottom = region
    return Box(left * page.width, top * page.height, right * page.width, bottom * page.height)


def cut_out(page: PageReading, region: Region) -> PageReading:
    """Return the content of a region as a page of its own, with the number of the page.

    Positions are relative to the upper left corner of the region. A word belongs to the region
    that contains its centre. Lazy marks and check boxes remain lazy, because most regions are cut
    out only to find out whether a sheet has two documents.
    """
    area = region_box(page, region)

    def move(box: Box) -> Box:
        return Box(
            box.left - area.left, box.top - area.top, box.right - area.left, box.bottom - area.top
        )

    def moved(boxes: Sequence[Box]) -> tuple[Box, ...]:
        return tuple(move(box) for box in boxes if area.contains_centre_of(box))

    lines: list[list[Word]] = []
    for word in sorted(page.words, key=lambda word: word.box.top):
        if not area.contains_centre_of(word.box):
            continue
        if lines and geometry.is_level_with(lines[-1][-1].box, word.box):
            lines[-1].append(word)
        else:
            lines.append([word])
    in_order = [sorted(line, key=lambda word: word.box.left) for line in lines]
    words = tuple(
        Word(word.text, move(word.box), word.confidence) for line in in_order for word in line
    )
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


def restore_box(box: Box, page: PageReading, region: Region) -> Box:
    """Return the position on `page` of a box within one of its regions."""
    area = region_box(page, region)
    return Box(
        box.left + area.left, box.top + area.top, box.right + area.left, box.bottom + area.top
    )
