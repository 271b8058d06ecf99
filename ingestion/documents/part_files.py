"""Provides a part of a file as a file of its own, cut out of the archived original.

The original is the record. A cut part is for reading only: it is kept with the page previews, and
one that was removed is cut out again.
"""

import asyncio
import logging
import os
import tempfile
from io import BytesIO
from pathlib import Path
from typing import IO

from django.conf import settings

from ingestion.core.errors import ReadingFault
from ingestion.core.file_parts import FilePart
from ingestion.documents import renditions
from ingestion.models import Document
from ingestion.storage import archive

logger = logging.getLogger(__name__)


def open_part(document: Document, part: FilePart, sha256: str = "") -> IO[bytes]:
    """Open the pages of a part as a file of the type of the file that they are cut out of.

    `sha256` is that of an archived rendition of the whole file. By default, they are cut out of the
    file that was read. Raises FileNotFoundError if it is missing, or if it cannot be cut.
    """
    sha256 = sha256 or renditions.get_read_sha256(document)
    folder = Path(settings.PREVIEW_DIR) / sha256[:2] / sha256
    cached = folder / f"part{part.suffix.replace('#', '-').replace('@', '-')}"
    if cached.is_file():
        os.utime(cached)  # so that files in use are not pruned
        return cached.open("rb")
    content = _cut(document, sha256, part)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder, delete=False) as incoming:
            incoming.write(content)
        Path(incoming.name).rename(cached)  # so that it is complete or absent
    except OSError:  # A full disk must not prevent people from reading the document.
        logger.exception("a part of a file could not be cached")
    return BytesIO(content)


def _cut(document: Document, sha256: str, part: FilePart) -> bytes:
    """Cut the part out of the archived file with this hash, in a parser process."""
    from ingestion.reading.cut_file import CutFailed, cut_file  # noqa: PLC0415 - loads libraries

    # The archive may be a bucket, so its bytes are copied to a file of this machine.
    with tempfile.NamedTemporaryFile(prefix="siteledger-part-") as local:
        archive.copy_to(sha256, Path(local.name))
        try:
            outcome = asyncio.run(cut_file(Path(local.name), part, settings.READING_LIMITS))
        except ReadingFault as fault:
            logger.exception("cutting %s out of its file failed", document.subject)
            raise FileNotFoundError("the reader failed") from fault
    if isinstance(outcome, CutFailed):
        logger.error("%s was not cut out of its file: %s", document.subject, outcome.reason)
        raise FileNotFoundError(outcome.reason)
    return outcome
