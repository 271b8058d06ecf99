"""Suggests the document type of an uploaded file before it is submitted.

The rules are those of the checks, and the file is opened in a parser process. A few files are read
at a time, because each occupies a core; for the others, the form uses the file's name.
"""

import logging
import threading
from pathlib import Path

from django.conf import settings

from ingestion.core.errors import ReadingFault
from ingestion.reading.results import DocumentReading
from ingestion.rules.classification.classify import classify
from ingestion.rules.classification.type_model import Model

MAX_CONCURRENT_SUGGESTIONS = 2  # of one web server process

logger = logging.getLogger(__name__)
_slots = threading.BoundedSemaphore(MAX_CONCURRENT_SUGGESTIONS)


def suggest_type(path: Path, model: Model | None = None) -> str | None:
    """Return the slug of the type that the pages show, or "" if they show none.

    Types are recognised with `model`, and by default with that of the package. Returns None if
    there was no time to read the file. It takes at most GUESS_SECONDS; with 0, no file is read.
    """
    # Commands and pages that read no file start faster without the libraries that open files.
    from ingestion.reading.quick_classification import read_quickly  # noqa: PLC0415 - as stated

    seconds = settings.GUESS_SECONDS
    if not seconds or not _slots.acquire(timeout=seconds):
        return None
    try:
        reading = read_quickly(path, settings.READING_LIMITS, seconds=seconds)
    except ReadingFault:
        # The file is kept. The checks will read it again and report the fault.
        logger.exception("an uploaded file could not be read for a suggestion")
        return None
    finally:
        _slots.release()
    if reading is None:
        return None
    return classify(reading, model=model).slug if isinstance(reading, DocumentReading) else ""
