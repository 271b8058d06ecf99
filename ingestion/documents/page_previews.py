"""Renders previews of pages in a parser process, and caches them by the SHA-256 of the original.

A preview is for viewing only. The original is the record, and a preview that was removed is
rendered again.
"""

import asyncio
import logging
import os
import shutil
import tempfile
import threading
from datetime import datetime
from pathlib import Path

from django.conf import settings

from ingestion.core.errors import ReadingFault
from ingestion.models import Document
from ingestion.reading.preview_request import PreviewFailed, PreviewRequest
from ingestion.storage.archive import get_archive

MEDIA_TYPE = "image/webp"
ZOOMS = (1, 2)  # multiples of the usual width
MAX_CONCURRENT_RENDERINGS = 2  # of one web server process
# A request waits so long for another rendering to end, so that slow pages do not occupy all threads
# of the web server.
MAX_WAIT_SECONDS = 15
_renderings = threading.BoundedSemaphore(MAX_CONCURRENT_RENDERINGS)

logger = logging.getLogger(__name__)


def get_preview(document: Document, page: int, zoom: int = 1) -> bytes | None:
    """Return a page as WebP, from the cache or rendered now, or None if it cannot be rendered.

    `page` counts from 1; `zoom` is one of ZOOMS. The caller checks that the person may view the
    file (`downloads.can_view_file`). Raises FileNotFoundError if the archive lacks the original.
    """
    # OCR turned the page upright and found its words in the turned page, so the preview has the
    # same rotation.
    last = document.extractions.last()
    readings = last.pages if last else ()
    rotation = next((each.get("turned", 0) for each in readings if each["number"] == page), 0)
    request = PreviewRequest(page, rotation, zoom)
    name = f"{page}-{rotation}-{zoom}.webp"
    cached = Path(settings.PREVIEW_DIR) / document.sha256[:2] / document.sha256 / name
    if cached.is_file():
        os.utime(cached)  # so that previews in use are not pruned
        return cached.read_bytes()
    outcome = _render(document, request)
    if isinstance(outcome, PreviewFailed):
        logger.info("page %d of %s was not rendered: %s", page, document.subject, outcome.reason)
        return None
    try:
        # The file is complete or absent, because it is renamed when it is complete.
        cached.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=cached.parent, delete=False) as part:
            part.write(outcome)
        Path(part.name).rename(cached)
    except OSError:  # A full disk must not prevent people from viewing the page.
        logger.exception("a preview could not be cached")
    return outcome


def prune_previews(before: datetime) -> int:
    """Remove previews that were not viewed since then. Returns how many there were."""
    removed = 0
    for path in Path(settings.PREVIEW_DIR).glob("*/*/*"):
        if path.stat().st_mtime < before.timestamp():
            path.unlink(missing_ok=True)
            removed += 1
    return removed


def _render(document: Document, request: PreviewRequest) -> bytes | PreviewFailed:
    """Render a page, when fewer than MAX_CONCURRENT_RENDERINGS are being rendered."""
    from ingestion.reading.preview_images import render_preview  # noqa: PLC0415 - see there

    # The archive may be a bucket, so its bytes are copied to a file of this machine.
    with tempfile.NamedTemporaryFile(prefix="siteledger-page-") as local:
        with get_archive().open(document.sha256) as original:
            shutil.copyfileobj(original, local, 1 << 20)
        local.flush()
        if not _renderings.acquire(timeout=MAX_WAIT_SECONDS):
            return PreviewFailed("too many pages are being rendered")
        try:
            path = Path(local.name)
            return asyncio.run(render_preview(path, request, settings.READING_LIMITS))
        except ReadingFault:
            logger.exception("rendering %s failed", document.subject)
            return PreviewFailed("the reader failed")
        finally:
            _renderings.release()
