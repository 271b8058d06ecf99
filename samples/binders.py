"""Several documents in one file, as when a pile of paper is scanned at once.

`plan_binders` plans binders of 2 to 12 documents with the truth about their boundaries, and
`write_binder` makes the PDF of one. Binders have documents of unsupported types, later pages
without a title, attachments, missing pages, blank backs of sheets, and sheets onto which a copier
put two or four pages.
"""

import io
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import pikepdf

from samples.layouts import LAYOUTS, make_specimen
from samples.people_and_sites import SITES
from samples.renditions import make_scan
from samples.unsupported import UNSUPPORTED, make_attachment, make_unsupported

LETTER = (612.0, 792.0)  # points
MAX_DOCUMENTS = 12
SEEDS_OF_SCANS = 1  # specimens of a layout that binders of scans contain; each is read by OCR once
LAYOUTS_OF_SCANS = 2  # layouts of a type that binders of scans contain
OTHER = "other"
SHARED_SHEETS_OF_SCANS = 12  # different sheets with several pages that binders of scans contain
Region = tuple[float, float, float, float]


class SpecimenKey(NamedTuple):
    """A document that a binder may contain. `type` is its slug, or OTHER, or "attachment"."""

    type: str
    layout: str = ""
    seed: int = 0


class PageKey(NamedTuple):
    """A page of a specimen, from 1."""

    specimen: SpecimenKey
    page: int


Sheet = tuple[PageKey, ...]  # one page, or two or four that a copier put onto it; () is blank


@dataclass(frozen=True, slots=True)
class BinderDocument:
    """A document of a binder, with the pages of the file, from 1."""

    first: int
    last: int
    region: Region | None
    type: str  # its slug; "" if the type is not supported


@dataclass(frozen=True, slots=True)
class Binder:
    """The plan of a binder, and the truth about it."""

    number: int
    is_scan: bool
    sheets: tuple[Sheet, ...]
    documents: tuple[BinderDocument, ...]
    blanks: tuple[int, ...]  # pages that are in no document


def plan_binders(count: int = 200, seed: int = 2026) -> Iterator[Binder]:
    """Yield the plans of binders, every second one of scans. The same seed gives the same plans."""
    for number in range(1, count + 1):
        yield _plan_binder(number, random.Random(f"binder {seed} {number}"), is_scan=not number % 2)


def write_binder(binder: Binder) -> bytes:
    """Return the PDF of a binder. A scanned one takes a few tenths of a second for each page."""
    with pikepdf.new() as file:
        for sheet in binder.sheets:
            with pikepdf.open(io.BytesIO(make_sheet(sheet))) as page:
                file.pages.extend(page.pages)
        content = _save(file)
    return make_scan(content, seed=f"binder {binder.number}") if binder.is_scan else content


def make_sheet(sheet: Sheet) -> bytes:
    """Return the PDF of one sheet, born digital."""
    if not sheet:
        with pikepdf.new() as file:
            file.add_blank_page(page_size=LETTER)
            return _save(file)
    pages = [_make_page(key) for key in sheet]
    if len(pages) == 1:
        return pages[0]
    if len(pages) == 2:
        return side_by_side(*pages)
    width, height = LETTER
    corners = ((0, height / 2), (width / 2, height / 2), (0, 0), (width / 2, 0))
    return _on_one_sheet(pages, LETTER, corners, (width / 2, height / 2))


def sheet_regions(sheet: Sheet) -> tuple[Region | None, ...]:
    """Return the region of each page of a sheet, in reading order."""
    if len(sheet) < 2:
        return (None,)
    if len(sheet) == 2:
        return ((0.0, 0.0, 0.5, 1.0), (0.5, 0.0, 1.0, 1.0))
    return tuple((x, y, x + 0.5, y + 0.5) for y in (0.0, 0.5) for x in (0.0, 0.5))


@lru_cache(maxsize=1024)
def make_document(key: SpecimenKey) -> bytes:
    """Return the PDF of a specimen."""
    site = SITES[key.seed % len(SITES)]
    if key.type == OTHER:
        return make_unsupported(key.layout, site, key.seed)
    if key.type == "attachment":
        return make_attachment(site, key.seed)
    return make_specimen(key.type, key.layout, key.seed).content


@lru_cache(maxsize=1024)
def count_pages(key: SpecimenKey) -> int:
    with pikepdf.open(io.BytesIO(make_document(key))) as document:
        return len(document.pages)


@lru_cache(maxsize=1024)
def _make_page(key: PageKey) -> bytes:
    with (
        pikepdf.open(io.BytesIO(make_document(key.specimen))) as document,
        pikepdf.new() as single,
    ):
        single.pages.append(document.pages[key.page - 1])
        return _save(single)


def _plan_binder(number: int, rng: random.Random, *, is_scan: bool) -> Binder:
    sheets: list[Sheet] = []
    documents: list[BinderDocument] = []
    blanks: list[int] = []
    is_duplex = is_scan and rng.random() < 0.3
    wanted, previous = rng.randint(2, MAX_DOCUMENTS), None
    while len(documents) < wanted:
        if rng.random() < 0.06 and wanted - len(documents) >= 2:
            count = 4 if rng.random() < 0.25 and wanted - len(documents) >= 4 else 2
            sheet = _plan_shared_sheet(rng, count, is_scan=is_scan)
            sheets.append(sheet)
            documents += (
                BinderDocument(len(sheets), len(sheets), region, page.specimen.type)
                for page, region in zip(sheet, sheet_regions(sheet), strict=True)
            )
            previous = None
            continue
        key = _choose_specimen(rng, is_scan=is_scan)
        if previous and key.type == previous.type and key.seed == previous.seed:
            continue  # nobody can tell two copies of one document from one document
        previous = key
        pages = _plan_pages(key, rng, is_duplex=is_duplex)
        first = len(sheets) + 1
        sheets += pages
        last = max(first + place for place, sheet in enumerate(pages) if sheet)
        documents.append(BinderDocument(first, last, None, "" if key.type == OTHER else key.type))
        blanks += range(last + 1, len(sheets) + 1)
    return Binder(number, is_scan, tuple(sheets), tuple(documents), tuple(blanks))


def _plan_pages(key: SpecimenKey, rng: random.Random, *, is_duplex: bool) -> list[Sheet]:
    """Return the sheets of one document, with an attachment, a lost page or blank backs."""
    pages: list[Sheet] = [(PageKey(key, page),) for page in range(1, count_pages(key) + 1)]
    if len(pages) > 1 and rng.random() < 0.06:
        del pages[rng.randrange(1, len(pages))]  # lost at the copier
    if key.type.startswith("irb-") and rng.random() < 0.1:
        pages.append((PageKey(SpecimenKey("attachment", seed=key.seed), 1),))
    if is_duplex and rng.random() < 0.5:  # printed on one side
        return [side for sheet in pages for side in (sheet, ())]
    if is_duplex and len(pages) % 2:
        pages.append(())
    return pages


def _choose_specimen(rng: random.Random, *, is_scan: bool) -> SpecimenKey:
    seeds = SEEDS_OF_SCANS if is_scan else 12
    if rng.random() < 0.15:
        return SpecimenKey(OTHER, rng.choice(list(UNSUPPORTED)), rng.randrange(seeds))
    slug = rng.choice(list(LAYOUTS))
    layouts = LAYOUTS[slug]
    if is_scan:
        layouts = tuple(random.Random(slug).sample(layouts, min(LAYOUTS_OF_SCANS, len(layouts))))
    return SpecimenKey(slug, rng.choice(layouts), rng.randrange(seeds))


def _plan_shared_sheet(rng: random.Random, count: int, *, is_scan: bool) -> Sheet:
    """Return a sheet with different documents of one page each."""
    if is_scan:
        rng = random.Random(f"sheet {count} {rng.randrange(SHARED_SHEETS_OF_SCANS // count)}")
    pages: dict[str, PageKey] = {}
    while len(pages) < count:
        key = _choose_specimen(rng, is_scan=is_scan)
        if key.type != OTHER and count_pages(key) == 1:
            pages[key.type] = PageKey(key, 1)
    return tuple(pages.values())


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


def side_by_side(left: bytes, right: bytes) -> bytes:
    """Return one landscape sheet with the first pages of two documents, as a copier produces."""
    width, height = LETTER
    return _on_one_sheet(
        (left, right), (height, width), ((0, 0), (height / 2, 0)), (height / 2, width)
    )


def one_above_the_other(upper: bytes, lower: bytes) -> bytes:
    """Return one portrait sheet with the first pages of two documents, each at half its height."""
    width, height = LETTER
    return _on_one_sheet((upper, lower), LETTER, ((0, height / 2), (0, 0)), (width, height / 2))


def _on_one_sheet(
    contents: Sequence[bytes],
    size: tuple[float, float],
    corners: Sequence[tuple[float, float]],
    area: tuple[float, float],
) -> bytes:
    """Return one sheet with several pages.

    `corners` are their lower left corners, and `area` the width and height of each, in points.
    """
    with pikepdf.new() as sheet:
        page = sheet.add_blank_page(page_size=size)
        for content, (left, bottom) in zip(contents, corners, strict=True):
            with pikepdf.open(io.BytesIO(content)) as document:
                placed = pikepdf.Rectangle(left, bottom, left + area[0], bottom + area[1])
                page.add_overlay(document.pages[0], placed)
        return _save(sheet)


def _save(document: pikepdf.Pdf) -> bytes:
    output = io.BytesIO()
    document.save(output, deterministic_id=True)
    return output.getvalue()
