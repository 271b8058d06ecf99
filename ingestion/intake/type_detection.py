"""Suggests the document type of an uploaded file, or its documents, before it is submitted.

The rules are those of the checks, and the file is opened in a parser process. A few files are read
at a time, because each occupies a core; for the others, the form uses the file's name.
"""

import logging
import threading
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings

from ingestion.core.errors import ReadingFault
from ingestion.intake.registration import SEVERAL_DOCUMENTS
from ingestion.reading.results import MediaType, Unreadable
from ingestion.rules.classification.classify import classify
from ingestion.rules.classification.type_model import Model
from ingestion.rules.segmentation.parts import ProposedCut, propose_cut

MAX_CONCURRENT_DETECTIONS = 2  # of one web server process

logger = logging.getLogger(__name__)
_slots = threading.BoundedSemaphore(MAX_CONCURRENT_DETECTIONS)


@dataclass(frozen=True, slots=True)
class DetectedContents:
    """Contains the type that an uploaded file seems to have, or its proposed division."""

    # The slug of the type that the pages show, SEVERAL_DOCUMENTS, or "" if they show none.
    document_type: str = ""
    # The proposed division; None if the file seems to be one document, or was not read completely.
    cut: ProposedCut | None = None


def detect_contents(path: Path, model: Model | None = None) -> DetectedContents | None:
    """Return what a file seems to be, or None if there was no time to read it.

    Types are recognised with `model`, and by default with the built-in one. It takes at most
    GUESS_SECONDS; with 0, no file is read.
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
        logger.exception("an uploaded file could not be read to detect its type")
        return None
    finally:
        _slots.release()
    if reading is None:
        return None
    if isinstance(reading, MediaType | Unreadable):
        is_container = isinstance(reading, MediaType) and reading.is_container
        return DetectedContents(SEVERAL_DOCUMENTS if is_container else "")
    cut = propose_cut(reading.document)
    # Without sheets, pages that were not read may begin a document.
    is_known = reading.is_complete or bool(cut.separators)
    if is_known and cut.parts and not cut.is_one_document:
        return DetectedContents(SEVERAL_DOCUMENTS, cut)
    return DetectedContents(classify(reading.document, model=model).slug)
