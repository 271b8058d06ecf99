"""What an uploaded file may be, before it is sent: by what it says, else by its name.

The rules are those of the check itself, and the file is opened in a guarded child of this process.
A few at a time: each takes a core, and whoever finds no place goes by the name.
"""

import logging
import threading
from pathlib import Path

from django.conf import settings

from ingestion.reading.processes.parser_processes import ReadingFault
from ingestion.reading.quick_classification import read_quickly
from ingestion.reading.results import DocumentReading
from ingestion.rules.classification.classify import classify

MAX_CONCURRENT_SUGGESTIONS = 2  # of one web server process

logger = logging.getLogger(__name__)
_places = threading.BoundedSemaphore(MAX_CONCURRENT_SUGGESTIONS)


def suggest_type(path: Path) -> str | None:
    """A type's slug, "" when nobody can tell by the pages, None when there was no time to look.

    Takes at most GUESS_SECONDS; 0 is not to look at all.
    """
    seconds = settings.GUESS_SECONDS
    if not seconds or not _places.acquire(timeout=seconds):
        return None
    try:
        seen = read_quickly(path, settings.READING_LIMITS, seconds=seconds)
    except ReadingFault:
        # Ours, and nothing is lost: the check itself will tell, and report what is wrong with us.
        logger.exception("an uploaded file could not be looked at")
        return None
    finally:
        _places.release()
    if seen is None:
        return None
    return classify(seen).slug if isinstance(seen, DocumentReading) else ""
