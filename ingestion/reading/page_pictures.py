"""Writes PDFs that consist of pictures of pages, and of nothing else.

Such a PDF is what people see of a file whose original must not be opened, or of which some places
must not be seen. It has no text, no actions, no annotations, no forms, no attachments and no
metadata of the original. Places that are to be blackened are painted on the pixels of a page before
these are encoded, so that nothing is beneath them.

The functions for tasks run in a parser process, as does everything that opens a file of others.
`render_pictures` starts one for them. Each picture is written to the file before the next page is
rendered, so that the memory that is needed does not depend on the number of pages.
"""

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from ctypes import byref
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import version
from math import ceil, floor
from pathlib import Path

import cv2
import numpy as np
import pypdfium2
import pypdfium2.raw as pdfium
from PIL import Image, ImageDraw, ImageFont, ImageSequence

from ingestion.core.file_parts import FilePart, Region
from ingestion.reading.images.image_files import open_image
from ingestion.reading.images.page_objects import iter_page_objects
from ingestion.reading.images.render import (
    PAGE_ERRORS,
    POINTS_PER_INCH,
    PageRaster,
    PageUnreadable,
    PlacedImage,
    count_frames,
    list_images,
    load_frame,
    render_page,
)
from ingestion.reading.limits import ReadingLimits
from ingestion.reading.pdf.file_type import detect_media_type
from ingestion.reading.pdf.open_pdf import open_document, open_pdf
from ingestion.reading.picture_encoding import PagePicture, encode_picture
from ingestion.reading.picture_pdf import (
    PicturePage,
    WrittenPages,
    append_pages,
    finish_file,
)
from ingestion.reading.process_limits import limit_page_time
from ingestion.reading.processes.parser_processes import ParserProcesses, ProcessKilled
from ingestion.reading.results import Box, MediaType, Unreadable

PICTURE_DPI = 200  # small print is legible on a screen and on paper
BITONAL_DPI = 400  # the highest resolution of a page in black and white, which is compressed well
MAX_PICTURE_PIXELS = 10_000_000  # of one page; A3 at 200 dpi has 7.7 million
PAGES_PER_TASK = 8
MAX_FILE_BYTES = 400_000_000  # of all pictures together
MAX_PAGE_BYTES = 5_000_000  # of one picture
MAX_SECONDS = 1_800  # of the clock for a whole file; 500 ordinary pages take a tenth of it
MAX_GREY_SHARE = 0.05  # of the pixels of a scan in black and white, when it is rendered
GREYS = (64, 192)  # pixels between them are neither black nor white
PLACEHOLDER_POINTS = (595, 842)  # A4
PLACEHOLDER = "Page {number} of the original cannot be displayed."


@dataclass(frozen=True, slots=True)
class BlackenedPage:
    """The places of a page that are painted black.

    `boxes` are in points, with y downwards, on a page that is `width` and `height` points large. If
    OCR turned the page upright, as `Extraction.pages` say, `turned` are the degrees clockwise, and
    size and boxes are those of the turned page.
    """

    width: float
    height: float
    boxes: tuple[Box, ...]
    turned: int = 0  # 0, 90, 180 or 270

    def list_regions(self) -> Iterator[Region]:
        """Yield the places as shares of width and height of the page as it is in the file."""
        for box in self.boxes:
            x0, x1 = (min(max(x / self.width, 0.0), 1.0) for x in (box.left, box.right))
            y0, y1 = (min(max(y / self.height, 0.0), 1.0) for y in (box.top, box.bottom))
            for _ in range(self.turned // 90 % 4):  # each turns the page back by 90 degrees
                x0, y0, x1, y1 = y0, 1 - x1, y1, 1 - x0
            yield x0, y0, x1, y1


@dataclass(frozen=True, slots=True)
class RenderedPictures:
    """Describes a PDF of pictures that was written."""

    pages: int
    tool: str  # names and versions of the programs that made it
    undisplayed: tuple[int, ...]  # numbers of pages in whose place a sentence says so


@dataclass(frozen=True, slots=True)
class WrittenPictures:
    """Describes what was written so far, and the last pages that cannot be displayed."""

    written: WrittenPages
    undisplayed: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PicturesFailed:
    """Says why no pictures were made, for the log. People see a general message."""

    reason: str


@dataclass(frozen=True, slots=True)
class PictureSource:
    """Describes a file whose pages are rendered."""

    path: Path  # the file to read from: the original or its repaired copy
    media_type: MediaType
    pages: int


@dataclass(frozen=True, slots=True)
class PictureOrder:
    """Says which pages of a file are rendered, and how."""

    numbers: tuple[int, ...]  # from 1
    max_bytes: int  # of one picture
    region: Region | None = None  # the only place of the page that is shown
    blackened: Mapping[int, BlackenedPage] | None = None
    with_form: bool = True  # whether form values and annotations are drawn
    is_placeholder: bool = False  # whether a sentence takes the place of each page


async def render_pictures(
    path: Path,
    target: Path,
    limits: ReadingLimits,
    *,
    part: FilePart | None = None,
    blackened: Mapping[int, BlackenedPage] | None = None,
) -> RenderedPictures | PicturesFailed:
    """Write a PDF with a picture of each page of a PDF or of an image file to `target`.

    With `part`, only its pages are rendered, or its region of a page. `blackened` are the places to
    paint black, by the number of the page in the file, from 1. The same arguments give the same
    bytes with the same versions of the tools.

    A page that cannot be rendered is replaced by a sentence that says so. A page that takes too
    long is rendered once more without its form. Raises ReadingFault.
    """
    task_limits = replace(
        limits,
        processes=1,
        task_seconds=2 * PAGES_PER_TASK * limits.page_seconds,
        second_engine=None,
    )
    try:
        async with asyncio.timeout(MAX_SECONDS), ParserProcesses(task_limits) as processes:
            repaired = processes.scratch / "repaired.pdf"
            source = await processes.run(open_picture_source, path, repaired, limits)
            if not isinstance(source, PictureSource):
                return PicturesFailed(source.reason)
            numbers = part.numbers if part else range(1, source.pages + 1)
            if numbers[-1] > source.pages:
                return PicturesFailed(f"there is no page {numbers[-1]}")
            order = PictureOrder(
                tuple(numbers),
                min(MAX_PAGE_BYTES, MAX_FILE_BYTES // len(numbers)),
                part.region if part else None,
                blackened,
            )
            return await _render_in(processes, source, order, target, limits)
    except TimeoutError:
        return PicturesFailed(f"it took more than {MAX_SECONDS} seconds")


async def _render_in(
    processes: ParserProcesses,
    source: PictureSource,
    order: PictureOrder,
    target: Path,
    limits: ReadingLimits,
) -> RenderedPictures | PicturesFailed:
    """Render pages in a parser process, a few at a time, and join their files in `target`."""
    written = WrittenPages()
    undisplayed: list[int] = []
    waiting = [
        replace(order, numbers=order.numbers[at : at + PAGES_PER_TASK])
        for at in reversed(range(0, len(order.numbers), PAGES_PER_TASK))
    ]
    while waiting:
        some = waiting.pop()
        outcome = await processes.run(write_pictures, source, some, target, written, limits)
        if isinstance(outcome, PicturesFailed):
            return outcome
        if isinstance(outcome, ProcessKilled):
            waiting += _repeat_more_cautiously(some)
            continue
        written = outcome.written
        undisplayed += outcome.undisplayed
    await asyncio.to_thread(finish_file, target, written)
    return RenderedPictures(len(order.numbers), describe_tool(), tuple(undisplayed))


def _repeat_more_cautiously(order: PictureOrder) -> list[PictureOrder]:
    """Return orders in the place of one whose process was killed, the first one last."""
    if len(order.numbers) > 1:
        return [replace(order, numbers=(number,)) for number in reversed(order.numbers)]
    return [replace(order, is_placeholder=not order.with_form, with_form=False)]


def open_picture_source(
    path: Path, repaired: Path, limits: ReadingLimits
) -> PictureSource | PicturesFailed:
    """Return what is known of a file before its pages are rendered.

    A repaired copy of a damaged document is written to `repaired`.
    """
    media_type = detect_media_type(path, limits)
    if isinstance(media_type, Unreadable):
        return PicturesFailed(media_type.code)
    if media_type.is_office or media_type.is_container:
        return PicturesFailed(f"a file of the type {media_type} has no pages")
    with limit_page_time(limits.page_seconds):
        if media_type is not MediaType.PDF:
            frames = count_frames(path, media_type, limits)
            if isinstance(frames, Unreadable):
                return PicturesFailed(frames.code)
            return PictureSource(path, media_type, frames)
        opened = open_pdf(path, repaired, limits, with_form=False)
        if isinstance(opened, Unreadable):
            return PicturesFailed(opened.code)
        pages = len(opened.pdf)
        opened.pdf.close()
        return PictureSource(opened.path, media_type, pages)


def write_pictures(
    source: PictureSource,
    order: PictureOrder,
    target: Path,
    written: WrittenPages,
    limits: ReadingLimits,
) -> WrittenPictures | PicturesFailed:
    """Append pictures of pages to those that were written to `target` before."""
    undisplayed: list[int] = []

    def render() -> Iterator[PicturePage]:
        for number in order.numbers:
            with limit_page_time(limits.page_seconds):
                picture = None if order.is_placeholder else _draw(source, number, order, limits)
                if picture is None:
                    undisplayed.append(number)
                    picture = _draw_placeholder(number)
                encoded = encode_picture(picture, order.max_bytes)
            yield encoded

    try:
        return WrittenPictures(append_pages(target, written, render()), tuple(undisplayed))
    except OSError as error:
        return PicturesFailed(str(error))


@cache
def describe_tool() -> str:
    """Return names and versions of the programs that make pictures of pages."""
    names = ("pypdfium2", "pillow")
    return "page pictures with " + ", ".join(f"{name} {version(name)}" for name in names)


def _draw(
    source: PictureSource, number: int, order: PictureOrder, limits: ReadingLimits
) -> PagePicture | None:
    """Return a page with its blackened places, or None if it cannot be rendered."""
    picture_limits = replace(limits, max_render_pixels=MAX_PICTURE_PIXELS, ocr_dpi=BITONAL_DPI)
    try:
        if source.media_type is MediaType.PDF:
            picture = _render_pdf_page(source, number, picture_limits, with_form=order.with_form)
        else:
            picture = _load_frame(source, number, picture_limits)
    except PAGE_ERRORS:
        return None
    if places := (order.blackened or {}).get(number):
        picture = replace(picture, raster=_blacken(picture.raster, places.list_regions()))
    return replace(picture, raster=_crop(picture.raster, order.region)) if order.region else picture


def _render_pdf_page(
    source: PictureSource, number: int, limits: ReadingLimits, *, with_form: bool
) -> PagePicture:
    """Return a page of a PDF, in colour unless all of it is grey. Raises one of PAGE_ERRORS."""
    with open_document(source.path, with_form=with_form) as pdf:
        if not 0 < number <= len(pdf):
            raise PageUnreadable(f"there is no page {number}")
        page = pdf.get_page(number - 1)
        try:
            dpi = _find_bitonal_dpi(page, list_images(page, limits))
            raster = render_page(page, dpi or PICTURE_DPI, limits, in_colour=True)
        finally:
            page.close()
    if dpi and _has_only_black_and_white(raster):
        return PagePicture(raster, is_bitonal=True)
    return PagePicture(_reduce(raster, PICTURE_DPI))


def _load_frame(source: PictureSource, number: int, limits: ReadingLimits) -> PagePicture:
    """Return a page of an image file. Raises PageUnreadable."""
    raster = load_frame(source.path, source.media_type, number, limits)
    with open_image(source.path, source.media_type) as image:
        is_bitonal = ImageSequence.Iterator(image)[number - 1].mode == "1"
    if is_bitonal and raster.dpi >= PICTURE_DPI and _has_only_black_and_white(raster):
        return PagePicture(raster, is_bitonal=True)
    return PagePicture(_reduce(raster, PICTURE_DPI))


def _find_bitonal_dpi(page: pypdfium2.PdfPage, images: Sequence[PlacedImage]) -> float | None:
    """Return the resolution of a scan in black and white, or None if the page is none."""
    largest = max(images, key=lambda image: image.area, default=None)
    width, height = page.get_size()
    if largest is None or largest.area < width * height / 2:
        return None
    for item in iter_page_objects(page, pdfium.FPDF_PAGEOBJ_IMAGE):
        if item.kind != pdfium.FPDF_PAGEOBJ_IMAGE:
            continue
        facts = pdfium.FPDF_IMAGEOBJ_METADATA()
        is_known = pdfium.FPDFImageObj_GetImageMetadata(item.raw, page, byref(facts))
        if not is_known or facts.bits_per_pixel != 1:
            return None
    return min(max(largest.dpi, PICTURE_DPI), BITONAL_DPI)


def _has_only_black_and_white(raster: PageRaster) -> bool:
    """Return whether nothing but the edges of letters would be lost in black and white."""
    if raster.colour is not None:
        return False
    darker, lighter = GREYS
    greys = cv2.inRange(raster.grey, np.array([darker]), np.array([lighter]))
    return cv2.countNonZero(greys) < MAX_GREY_SHARE * raster.grey.size


def _reduce(raster: PageRaster, dpi: float) -> PageRaster:
    """Return the raster with at most this resolution, in the same colours."""
    grey = raster.downsampled(dpi)
    if raster.colour is None or grey is raster:
        return grey
    size = grey.grey.shape[::-1]
    colour = np.asarray(cv2.resize(raster.colour, size, interpolation=cv2.INTER_AREA))
    return replace(grey, colour=colour)


def _blacken(raster: PageRaster, regions: Iterable[Region]) -> PageRaster:
    """Return a page with places painted black, and with them the pixels around each."""
    height, width = raster.grey.shape
    grey = raster.grey.copy()
    colour = None if raster.colour is None else raster.colour.copy()
    for x0, y0, x1, y1 in regions:
        rows = slice(max(floor(y0 * height) - 1, 0), ceil(y1 * height) + 1)
        columns = slice(max(floor(x0 * width) - 1, 0), ceil(x1 * width) + 1)
        grey[rows, columns] = 0
        if colour is not None:
            colour[rows, columns] = 0
    return replace(raster, grey=grey, colour=colour)


def _crop(raster: PageRaster, region: Region) -> PageRaster:
    height, width = raster.grey.shape
    x0, y0, x1, y1 = region
    rows = slice(round(y0 * height), max(round(y1 * height), round(y0 * height) + 1))
    columns = slice(round(x0 * width), max(round(x1 * width), round(x0 * width) + 1))
    colour = None if raster.colour is None else raster.colour[rows, columns]
    return replace(raster, grey=raster.grey[rows, columns], colour=colour)


def _draw_placeholder(number: int) -> PagePicture:
    """Return a page that says that a page of the original cannot be displayed."""
    scale = PICTURE_DPI / POINTS_PER_INCH
    size = round(PLACEHOLDER_POINTS[0] * scale), round(PLACEHOLDER_POINTS[1] * scale)
    picture = Image.new("L", size, 255)
    font = ImageFont.load_default(14 * scale)
    text = PLACEHOLDER.format(number=number)
    ImageDraw.Draw(picture).text((72 * scale, 72 * scale), text, fill=0, font=font)
    return PagePicture(PageRaster(np.asarray(picture), PICTURE_DPI))
