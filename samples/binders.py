"""Combines several documents in one file, as when a pile of paper is scanned at once."""

import io
from collections.abc import Sequence

import pikepdf

from ingestion.core.file_parts import QUARTERS

LETTER = (612.0, 792.0)  # points


def make_binder(documents: Sequence[bytes], *, turned: Sequence[int] = ()) -> bytes:
    """Return one PDF with the pages of all documents in order.

    `turned` lists the pages (counted from 1) that are rotated by 90 degrees.
    """
    with pikepdf.new() as binder:
        for content in documents:
            with pikepdf.open(io.BytesIO(content)) as document:
                binder.pages.extend(document.pages)
        for number in turned:
            binder.pages[number - 1].rotate(90, relative=True)
        return _save(binder)


def place_side_by_side(left: bytes, right: bytes) -> bytes:
    """Return one landscape sheet with the first pages of two documents, as a copier produces."""
    width, height = LETTER
    return _on_one_sheet((left, right), (height, width), ((0, 0), (height / 2, 0)))


def place_one_above_the_other(upper: bytes, lower: bytes) -> bytes:
    """Return one portrait sheet with the first pages of two documents, each at half its height."""
    return _on_one_sheet((upper, lower), LETTER, ((0, LETTER[1] / 2), (0, 0)))


def place_four_on_a_sheet(documents: Sequence[bytes]) -> bytes:
    """Return one portrait sheet with the first pages of four documents, each at half its size."""
    width, height = LETTER
    corners = [(left * width, (1 - bottom) * height) for left, _, _, bottom in QUARTERS]
    return _on_one_sheet(documents, LETTER, corners)


def _on_one_sheet(
    documents: Sequence[bytes], size: tuple[float, float], corners: Sequence[tuple[float, float]]
) -> bytes:
    """Return one sheet with these pages. `corners`: their lower left corners, in points."""
    width, height = size
    columns = len({left for left, _ in corners})
    area = (width / columns, height * columns / len(corners))
    with pikepdf.new() as sheet:
        page = sheet.add_blank_page(page_size=size)
        for number, (content, (left, bottom)) in enumerate(zip(documents, corners, strict=True)):
            with pikepdf.open(io.BytesIO(content)) as document:
                copied = sheet.copy_foreign(document.pages[0].as_form_xobject())
            placed = pikepdf.Rectangle(left, bottom, left + area[0], bottom + area[1])
            # Its name is given, because pikepdf chooses a different one each time.
            name = page.add_resource(copied, pikepdf.Name.XObject, pikepdf.Name(f"/Sheet{number}"))
            drawn = page.calc_form_xobject_placement(
                copied,
                name,
                placed,
                invert_transformations=True,
                allow_shrink=True,
                allow_expand=True,
            )
            page.contents_add(drawn)
        return _save(sheet)


def _save(document: pikepdf.Pdf) -> bytes:
    output = io.BytesIO()
    document.save(output, deterministic_id=True)
    return output.getvalue()
