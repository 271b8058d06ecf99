"""Renders previews of pages in a parser process, and caches them by the SHA-256 of the original.

A preview is for viewing only. The original is the record, and a preview that was removed is
rendered again.
"""

import asyncio
import logging
import os
import tempfile
import threading
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from django.conf import settings

from ingestion.core.errors import ReadingFault
from ingestion.documents import renditions
from ingestion.models import Document, DocumentRendition
from ingestion.reading.preview_request import PreviewFailed, PreviewRequest
from ingestion.storage import archive

MEDIA_TYPE = "image/webp"
ZOOMS = (1, 2)  # multiples of the usual width
MAX_CONCURRENT_RENDERINGS = 2  # of one web server process
# A request waits so long for another rendering to end, so that slow pages do not occupy all threads
# of the web server.
MAX_WAIT_SECONDS = 15
_renderings = threading.BoundedSemaphore(MAX_CONCURRENT_RENDERINGS)

logger = logging.getLogger(__name__)


def get_preview(
    document: Document,
    page: int,
    zoom: int = 1,
    *,
    ahead: int = 0,
    rendition: DocumentRendition | None = None,
) -> bytes | None:
    """Return a page as WebP, from the cache or rendered now, or None if it cannot be rendered.

    With `rendition`, the page of this rendition of exactly the pages of the document is rendered.

    `page` counts from 1; `zoom` is one of ZOOMS. If the page is rendered now, the next `ahead`
    pages are rendered and cached with it, for a list of pages. The caller checks that the person
    may view the file (`downloads.can_view_file`). Raises FileNotFoundError if the archive lacks the
    original.
    """
    # OCR turned the page upright and found its words in the turned page, so the preview has the
    # same rotation.
    last = document.extractions.last()
    turned = {each["number"]: each.get("turned", 0) for each in (last.pages if last else ())}
    sha256 = rendition.sha256 if rendition else renditions.get_read_sha256(document)
    # A rendition of a part of a file begins with page 1.
    shift = document.page_numbers[0] - 1 if rendition and document.page_numbers else 0
    following = range(page + 1, page + 1 + ahead)
    numbers = [page, *(number for number in following if number in document.page_numbers)]
    requests = [PreviewRequest(number - shift, turned.get(number, 0), zoom) for number in numbers]
    cached = _cache_path(sha256, requests[0])
    if not cached.is_file():
        return _render(document, sha256, requests)
    os.utime(cached)  # so that previews in use are not pruned
    return cached.read_bytes()


def _cache_path(sha256: str, request: PreviewRequest) -> Path:
    folder = Path(settings.PREVIEW_DIR) / sha256[:2] / sha256
    return folder / f"{request.page}-{request.rotation}-{request.zoom}.webp"


def _write_to_cache(cached: Path, image: bytes) -> None:
    try:
        # The file is complete or absent, because it is renamed when it is complete.
        cached.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=cached.parent, delete=False) as part:
            part.write(image)
        Path(part.name).rename(cached)
    except OSError:  # A full disk must not prevent people from viewing the page.
        logger.exception("a preview could not be cached")


def prune_previews(before: datetime) -> int:
    """Remove previews that were not viewed since then. Returns how many there were."""
    removed = 0
    for path in Path(settings.PREVIEW_DIR).glob("*/*/*"):
        if path.stat().st_mtime < before.timestamp():
            path.unlink(missing_ok=True)
            removed += 1
    return removed


def _render(document: Document, sha256: str, requests: Sequence[PreviewRequest]) -> bytes | None:
    """Render pages when fewer than MAX_CONCURRENT_RENDERINGS run. Returns the first page.

    `sha256` is that of the archived file with the pages: of the original, or of its rendition.
    """
    # The archive may be a bucket, so its bytes are copied to a file of this machine.
    with tempfile.NamedTemporaryFile(prefix="siteledger-page-") as local:
        archive.copy_to(sha256, Path(local.name))
        if not _renderings.acquire(timeout=MAX_WAIT_SECONDS):
            logger.info("page %d of %s has to wait", requests[0].page, document.subject)
            return None
        try:
            cached = _cache_path(sha256, requests[0])
            if cached.is_file():  # another request rendered it ahead in the meantime
                return cached.read_bytes()
            return asyncio.run(_render_and_cache(document, sha256, Path(local.name), requests))
        except ReadingFault:
            logger.exception("rendering %s failed", document.subject)
            return None
        finally:
            _renderings.release()


async def _render_and_cache(
    document: Document, sha256: str, path: Path, requests: Sequence[PreviewRequest]
) -> bytes | None:
    """Render pages in one process and cache them. Returns the first page, or None."""
    from ingestion.reading.preview_images import render_previews  # noqa: PLC0415 - see there

    wanted, first = requests[0], None
    missing = (
        each for each in requests if each is wanted or not _cache_path(sha256, each).is_file()
    )
    async for request, outcome in render_previews(path, missing, settings.READING_LIMITS):
        if isinstance(outcome, PreviewFailed):
            page, reason = request.page, outcome.reason
            logger.info("page %d of %s was not rendered: %s", page, document.subject, reason)
            continue
        _write_to_cache(_cache_path(sha256, request), outcome)
        if request is wanted:
            first = outcome
    return first
