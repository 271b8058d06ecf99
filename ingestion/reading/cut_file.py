"""Cuts the pages of one part out of a file. The file itself is not changed.

`cut_pages` runs in a parser process, as does everything that opens a file of others. `cut_file`
starts one for it.
"""

from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path

import pikepdf
from PIL import ImageSequence

from ingestion.core.file_parts import FilePart, Region
from ingestion.reading.images.image_files import open_image
from ingestion.reading.limits import ReadingLimits
from ingestion.reading.pdf.file_type import detect_media_type
from ingestion.reading.process_limits import limit_page_time
from ingestion.reading.processes.parser_processes import ParserProcesses, ProcessKilled
from ingestion.reading.results import MediaType, Unreadable

# Pillow's formats of cut parts. Pages of a HEIF file become TIFF, because pi-heif only reads.
_IMAGE_FORMATS = {
    MediaType.TIFF: "TIFF",
    MediaType.PNG: "PNG",
    MediaType.JPEG: "JPEG",
    MediaType.WEBP: "WEBP",
    MediaType.HEIC: "TIFF",
}


@dataclass(frozen=True, slots=True)
class CutFailed:
    """The reason why a part was not cut out, for the log. People see a general message."""

    reason: str


async def cut_file(path: Path, part: FilePart, limits: ReadingLimits) -> bytes | CutFailed:
    """Return the pages of a part as a file of the same type. Raises ReadingFault.

    The same file and part give the same bytes.
    """
    task_limits = replace(
        limits, processes=1, task_seconds=2 * limits.page_seconds, second_engine=None
    )
    async with ParserProcesses(task_limits) as processes:
        outcome = await processes.run(cut_pages, path, part, limits)
    return CutFailed(outcome.reason) if isinstance(outcome, ProcessKilled) else outcome


def cut_pages(path: Path, part: FilePart, limits: ReadingLimits) -> bytes | CutFailed:
    """Return the pages of a part as a file of the same type."""
    media_type = detect_media_type(path, limits)
    if isinstance(media_type, Unreadable):
        return CutFailed(media_type.code)
    with limit_page_time(limits.page_seconds):
        try:
            if media_type is MediaType.PDF:
                return _cut_pdf(path, part)
            return _cut_frames(path, part, media_type)
        except MemoryError:
            raise
        except Exception as error:  # noqa: BLE001 - libraries raise many types on hostile input
            return CutFailed(str(error))


def _cut_pdf(path: Path, part: FilePart) -> bytes:
    output = BytesIO()
    with pikepdf.open(path) as file, pikepdf.new() as cut:
        for number in part.numbers:
            cut.pages.append(file.pages[number - 1])
        if part.region:
            _crop(cut.pages[0], part.region)
        cut.save(output, deterministic_id=True)
    return output.getvalue()


def _crop(page: pikepdf.Page, region: Region) -> None:
    """Reduce a page to a region of what it shows, after its own rotation."""
    left, bottom, right, top = (float(side) for side in page.cropbox)
    width, height = right - left, top - bottom
    quarter_turns = int(page.obj.get("/Rotate", 0)) // 90 % 4
    x0, y0, x1, y1 = region
    for _ in range(quarter_turns):  # each turns the page back by 90 degrees
        x0, y0, x1, y1 = y0, 1 - x1, y1, 1 - x0
    box = (left + x0 * width, top - y1 * height, left + x1 * width, top - y0 * height)
    page.mediabox = page.cropbox = pikepdf.Array([round(side, 2) for side in box])


def _cut_frames(path: Path, part: FilePart, media_type: MediaType) -> bytes:
    output = BytesIO()
    with open_image(path, media_type) as image:
        frames = [
            frame.copy()
            for number, frame in enumerate(ImageSequence.Iterator(image), start=1)
            if number in part.numbers
        ]
    if part.region:
        left, top, right, bottom = part.region
        width, height = frames[0].size
        box = (left * width, top * height, right * width, bottom * height)
        frames = [frames[0].crop(box)]
    first, *others = frames
    options = {"save_all": True, "append_images": others} if others else {}
    first.save(output, _IMAGE_FORMATS[media_type], **options)
    return output.getvalue()
