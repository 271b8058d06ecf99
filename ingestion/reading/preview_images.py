"""Renders pages for people: in colour, with a uniform width, as WebP.

`render_webp` runs in a parser process, as does everything that opens a file of others.
`render_previews` starts one for it.
"""

from collections.abc import AsyncIterator, Iterable
from dataclasses import replace
from io import BytesIO
from pathlib import Path

from PIL import Image, ImageSequence

from ingestion.reading.limits import ReadingLimits
from ingestion.reading.pdf.file_type import detect_media_type
from ingestion.reading.pdf.open_pdf import open_pdf
from ingestion.reading.preview_request import PREVIEW_WIDTH, PreviewFailed, PreviewRequest
from ingestion.reading.process_limits import limit_page_time
from ingestion.reading.processes.parser_processes import ParserProcesses, ProcessKilled
from ingestion.reading.results import MediaType, Unreadable

from .images.image_files import open_image
from .images.render import (
    PAGE_ERRORS,
    PageUnreadable,
    apply_orientation,
    describe_page_error,
    list_images,
)

MAX_PREVIEW_HEIGHT = 4_000  # pixels, for a page with the shape of a till receipt
WEBP_QUALITY = 80  # 0 to 100; the edges of letters stay sharp


async def render_previews(
    path: Path, requests: Iterable[PreviewRequest], limits: ReadingLimits
) -> AsyncIterator[tuple[PreviewRequest, bytes | PreviewFailed]]:
    """Render pages in one parser process, and yield each as WebP. Raises ReadingFault.

    To start the process takes longer than to render a page. If it is killed, for example because a
    form takes too long to draw, the page is rendered once more without its form.
    """
    task_limits = replace(
        limits, processes=1, task_seconds=2 * limits.page_seconds, second_engine=None
    )
    async with ParserProcesses(task_limits) as processes:
        repaired = processes.scratch / "repaired.pdf"
        for request in requests:
            outcome = await processes.run(render_webp, path, repaired, request, limits)
            if isinstance(outcome, ProcessKilled):
                outcome = await processes.run(
                    render_webp, path, repaired, request, limits, with_form=False
                )
            if isinstance(outcome, ProcessKilled):
                outcome = PreviewFailed(outcome.reason)
            yield request, outcome


def render_webp(
    path: Path,
    repaired: Path,
    request: PreviewRequest,
    limits: ReadingLimits,
    *,
    with_form: bool = True,
) -> bytes | PreviewFailed:
    """Render a page as WebP. Without `with_form`, form values and annotations are left out.

    A repaired copy of a damaged document is written to `repaired`.
    """
    media_type = detect_media_type(path, limits)
    if isinstance(media_type, Unreadable):
        return PreviewFailed(media_type.code)
    seconds = (
        min(limits.first_look_seconds, limits.page_seconds) if with_form else limits.page_seconds
    )
    with limit_page_time(seconds):
        try:
            if media_type is MediaType.PDF:
                image = _render_pdf_page(path, repaired, request, limits, with_form=with_form)
            else:
                image = _load_colour_frame(path, media_type, request.page, limits)
        except PAGE_ERRORS as error:
            return PreviewFailed(describe_page_error(error))
        if request.rotation:
            image = image.rotate(-request.rotation, expand=True)
        size = (request.zoom * PREVIEW_WIDTH, request.zoom * MAX_PREVIEW_HEIGHT)
        image.thumbnail(size, Image.Resampling.LANCZOS)
        output = BytesIO()
        image.save(output, "WEBP", quality=WEBP_QUALITY)
        return output.getvalue()


def _render_pdf_page(
    path: Path, repaired: Path, request: PreviewRequest, limits: ReadingLimits, *, with_form: bool
) -> Image.Image:
    """Return the page in colour, before its rotation. Raises one of PAGE_ERRORS."""
    opened = open_pdf(path, repaired, limits, with_form=with_form)
    if isinstance(opened, Unreadable):
        raise PageUnreadable(opened.code)
    try:
        if not 0 < request.page <= len(opened.pdf):
            raise PageUnreadable(f"there is no page {request.page}")
        page = opened.pdf.get_page(request.page - 1)
        # This checks the limits: pdfium renders blank what does not fit in memory.
        list_images(page, limits)
        width, height = page.get_size()
        if request.rotation in {90, 270}:
            width, height = height, width
        scale = request.zoom * min(PREVIEW_WIDTH / width, MAX_PREVIEW_HEIGHT / height)
        bitmap = page.render(scale=scale)
        image: Image.Image = bitmap.to_pil().convert("RGB")  # a copy of pdfium's memory
        bitmap.close()
        return image
    finally:
        opened.pdf.close()


def _load_colour_frame(
    path: Path, media_type: MediaType, number: int, limits: ReadingLimits
) -> Image.Image:
    """Return page `number`, from 1, of an image file in colour. Raises one of PAGE_ERRORS."""
    if number < 1:
        raise PageUnreadable("there is no page 0")
    try:
        with open_image(path, media_type) as image:
            frame = ImageSequence.Iterator(image)[number - 1]
            if frame.width * frame.height <= limits.max_image_pixels:
                return apply_orientation(frame).convert("RGB")
    except MemoryError:
        raise
    except Exception as error:
        raise PageUnreadable("the picture cannot be decoded") from error
    raise PageUnreadable("the picture has too many pixels")
