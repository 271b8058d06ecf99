"""Pictures of pages, for people to look at. Drawn by a child, kept under the bytes' fingerprint.

A copy for the eyes: the original stays the record, and a picture that is gone is drawn again.
"""

import asyncio
import logging
import os
import shutil
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from django.conf import settings

from ingestion.models import Document
from ingestion.reading.preview_images import PreviewFailed, PreviewRequest, render_preview
from ingestion.reading.processes.parser_processes import ReadingFault
from ingestion.storage.archive import get_archive

MEDIA_TYPE = "image/webp"
ZOOMS = (1, 2)  # times its usual width
MAX_CONCURRENT_RENDERINGS = 2  # pages that one web process has drawn at a time
WAIT_SECONDS = 15  # for one's turn: pages that take long must not take all threads of the web
_drawing = threading.BoundedSemaphore(MAX_CONCURRENT_RENDERINGS)

logger = logging.getLogger(__name__)


def get_preview(document: Document, page: int, zoom: int = 1) -> bytes | None:
    """Page `page`, from 1, as WebP; None when it cannot be drawn. Raises FileNotFoundError.

    Whoever asks has seen to it that the person may look (`originals.may_see`).
    """
    sheet = PreviewRequest(page, _turned(document, page), zoom)
    kept = _path(document.sha256, sheet)
    if kept.is_file():
        os.utime(kept)  # what is looked at is not pruned
        return kept.read_bytes()
    answer = _drawn(document, sheet)
    if isinstance(answer, PreviewFailed):
        logger.info("page %d of %s was not drawn: %s", page, document.subject, answer.reason)
        return None
    _keep(kept, answer)
    return answer


def prune_previews(before: datetime) -> int:
    """Remove those that nobody has looked at since then. Answers how many."""
    removed = 0
    for path in Path(settings.PREVIEW_DIR).glob("*/*/*"):
        if path.stat().st_mtime < before.timestamp():
            path.unlink(missing_ok=True)
            removed += 1
    return removed


def _drawn(document: Document, sheet: PreviewRequest) -> bytes | PreviewFailed:
    with _as_file(document.sha256) as original:
        if not _drawing.acquire(timeout=WAIT_SECONDS):
            return PreviewFailed("too many are being drawn")
        try:
            return asyncio.run(render_preview(original, sheet, settings.READING_LIMITS))
        except ReadingFault:
            logger.exception("drawing %s failed", document.subject)
            return PreviewFailed("the reader failed")
        finally:
            _drawing.release()


def _turned(document: Document, page: int) -> int:
    """Degrees clockwise by which OCR turned it upright: the places that it found are of after."""
    last = document.extractions.last()
    pages = last.pages if last else ()
    return next((each.get("turned", 0) for each in pages if each["number"] == page), 0)


def _path(sha256: str, sheet: PreviewRequest) -> Path:
    name = f"{sheet.page}-{sheet.rotation}-{sheet.zoom}.webp"
    return Path(settings.PREVIEW_DIR) / sha256[:2] / sha256 / name


@contextmanager
def _as_file(sha256: str) -> Iterator[Path]:
    """The archive is a port: its bytes need not lie in a file of this machine."""
    with tempfile.NamedTemporaryFile(prefix="siteledger-page-") as local:
        with get_archive().open(sha256) as original:
            shutil.copyfileobj(original, local, 1 << 20)
        local.flush()
        yield Path(local.name)


def _keep(target: Path, content: bytes) -> None:
    """Whole or not at all. A full disk keeps nobody from looking."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=target.parent, delete=False) as part:
            part.write(content)
        Path(part.name).rename(target)
    except OSError:
        logger.exception("a picture could not be kept")
