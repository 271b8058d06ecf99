"""Several documents in one file, as when a whole pile is scanned at once."""

import io
from collections.abc import Sequence

import pikepdf

LETTER = (612.0, 792.0)  # points


def make_binder(documents: Sequence[bytes], *, turned: Sequence[int] = ()) -> bytes:
    """Return one PDF with the pages of all documents in order.

    `turned` lists the pages (counted from 1) that are rotated by 90 degrees.
    """
    with pikepdf.new() as together:
        for content in documents:
            with pikepdf.open(io.BytesIO(content)) as document:
                together.pages.extend(document.pages)
        for number in turned:
            together.pages[number - 1].rotate(90, relative=True)
        return _saved(together)


def side_by_side(left: bytes, right: bytes) -> bytes:
    """Return one landscape sheet with the first pages of two documents, as a copier produces."""
    wide, high = LETTER
    return _on_one_sheet(left, right, (high, wide), ((0, 0), (high / 2, 0)))


def one_above_the_other(upper: bytes, lower: bytes) -> bytes:
    """Return one portrait sheet with the first pages of two documents, each at half its height."""
    return _on_one_sheet(upper, lower, LETTER, ((0, LETTER[1] / 2), (0, 0)))


def _on_one_sheet(
    one: bytes, other: bytes, size: tuple[float, float], corners: Sequence[tuple[float, float]]
) -> bytes:
    """Return one sheet with both pages. `corners`: their lower left corners, in points."""
    wide, high = size
    area = (wide / 2, high) if wide > high else (wide, high / 2)
    with pikepdf.new() as sheet:
        page = sheet.add_blank_page(page_size=size)
        for content, (left, bottom) in zip((one, other), corners, strict=True):
            with pikepdf.open(io.BytesIO(content)) as document:
                placed = pikepdf.Rectangle(left, bottom, left + area[0], bottom + area[1])
                page.add_overlay(document.pages[0], placed)
        return _saved(sheet)


def _saved(document: pikepdf.Pdf) -> bytes:
    output = io.BytesIO()
    document.save(output, deterministic_id=True)
    return output.getvalue()
