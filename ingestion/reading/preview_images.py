"""Pages as people look at them: in colour, all of one width, as WebP.

`draw_page` runs in a child, as everything does that opens a file from outside; `drawn` starts one.
"""

from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path

import pypdfium2
from PIL import Image, ImageSequence

from ingestion.reading.limits import ReadingLimits
from ingestion.reading.pdf.file_type import detect_media_type
from ingestion.reading.pdf.open_pdf import open_pdf
from ingestion.reading.process_limits import page_time_limit
from ingestion.reading.processes.parser_processes import ParserProcesses, ProcessKilled
from ingestion.reading.results import MediaType, Unreadable

from .images.render import (
    PAGE_ERRORS,
    PageUnreadable,
    apply_orientation,
    error_text,
    list_images,
)

PREVIEW_WIDTH = 980  # pixels: small print can be read on it, and a page has about 40 KB
MAX_PREVIEW_HEIGHT = 4_000  # pixels: of a page like a till's receipt
WEBP_QUALITY = 80  # of WebP; the edges of letters stay clean


@dataclass(frozen=True, slots=True)
class PreviewFailed:
    """Why there is no picture, for the log: people are told that it could not be drawn."""

    reason: str


@dataclass(frozen=True, slots=True)
class PreviewRequest:
    """Which page, from 1, and how: `turned` is in degrees clockwise, `zoom` in its usual width."""

    page: int
    rotation: int = 0
    zoom: int = 1


async def render_preview(
    path: Path, sheet: PreviewRequest, limits: ReadingLimits
) -> bytes | PreviewFailed:
    """Drawn by a child of its own. Raises ReadingFault when it is our fault."""
    children = ParserProcesses(replace(limits, processes=1, task_seconds=2 * limits.page_seconds))
    try:
        repaired = children.scratch / "repaired.pdf"
        answer = await children.run(render_webp, path, repaired, sheet, limits)
        if isinstance(answer, ProcessKilled):
            answer = await children.run(render_webp, path, repaired, sheet, limits, with_form=False)
    finally:
        await children.close()
    return PreviewFailed(answer.reason) if isinstance(answer, ProcessKilled) else answer


def render_webp(
    path: Path,
    repaired: Path,
    sheet: PreviewRequest,
    limits: ReadingLimits,
    *,
    with_form: bool = True,
) -> bytes | PreviewFailed:
    """Draw a page as WebP. `with_form` False leaves out entries that take too long to draw."""
    media_type = detect_media_type(path, limits)
    if isinstance(media_type, Unreadable):
        return PreviewFailed(media_type.code)
    seconds = min(limits.probe_seconds, limits.page_seconds) if with_form else limits.page_seconds
    with page_time_limit(seconds):
        try:
            if media_type is MediaType.PDF:
                picture = _of_pdf(path, repaired, sheet, limits, with_form=with_form)
            else:
                picture = _of_frame(path, sheet.page, limits)
        except PAGE_ERRORS as error:
            return PreviewFailed(error_text(error))
        return _as_webp(picture, sheet)


def _of_pdf(
    path: Path, repaired: Path, sheet: PreviewRequest, limits: ReadingLimits, *, with_form: bool
) -> Image.Image:
    opened = open_pdf(path, repaired, limits, with_form=with_form)
    if isinstance(opened, Unreadable):
        raise PageUnreadable(opened.code)
    try:
        if not 0 < sheet.page <= len(opened.pdf):
            raise PageUnreadable(f"there is no page {sheet.page}")
        return _rendered(opened.pdf.get_page(sheet.page - 1), sheet, limits)
    finally:
        opened.pdf.close()


def _rendered(page: pypdfium2.PdfPage, sheet: PreviewRequest, limits: ReadingLimits) -> Image.Image:
    list_images(page, limits)  # it guards: pdfium draws blank what does not fit in memory
    wide, high = page.get_size()
    if sheet.rotation in {90, 270}:
        wide, high = high, wide
    bitmap = page.render(scale=sheet.zoom * min(PREVIEW_WIDTH / wide, MAX_PREVIEW_HEIGHT / high))
    picture: Image.Image = bitmap.to_pil().convert("RGB")  # a copy: the bitmap is pdfium's
    bitmap.close()
    return picture


def _of_frame(path: Path, page: int, limits: ReadingLimits) -> Image.Image:
    if page < 1:
        raise PageUnreadable("there is no page 0")
    try:
        with Image.open(path) as image:
            frame = ImageSequence.Iterator(image)[page - 1]
            if frame.width * frame.height <= limits.max_image_pixels:
                return apply_orientation(frame).convert("RGB")
    except MemoryError:
        raise
    except Exception as error:
        raise PageUnreadable("the picture cannot be decoded") from error
    raise PageUnreadable("the picture has too many pixels")


def _as_webp(picture: Image.Image, sheet: PreviewRequest) -> bytes:
    stands = picture.rotate(-sheet.rotation, expand=True) if sheet.rotation else picture
    stands.thumbnail(
        (sheet.zoom * PREVIEW_WIDTH, sheet.zoom * MAX_PREVIEW_HEIGHT), Image.Resampling.LANCZOS
    )
    written = BytesIO()
    stands.save(written, "WEBP", quality=WEBP_QUALITY)
    return written.getvalue()
