"""The bytes of a document, given out: who may have them, under which name, and the entry of it."""

from contextlib import ExitStack
from datetime import timedelta
from pathlib import PurePath
from typing import IO

from django.utils import timezone

from audit import history
from audit.log import ledger
from ingestion import filing
from ingestion.archive import archive
from ingestion.core.states import DocumentState
from ingestion.filing import By
from ingestion.models import Document
from ingestion.reading.facts import SUFFIXES

UNKNOWN = "application/octet-stream"
DOWNLOADED = "document.downloaded"
GOES_ON = timedelta(hours=1)
# States whose bytes anybody who sees the document may have. Those of a document in review may
# be withheld from all but QA (decision 16); the review page of a later part gives them there.
_OPEN = (DocumentState.ARCHIVED, DocumentState.DEDUPED)


def is_open(document: Document) -> bool:
    """Whether everybody who sees the document may have its bytes."""
    return bool(document.sha256) and document.state in _OPEN


def open_original(document: Document) -> IO[bytes]:
    """Raises FileNotFoundError, also for what is withheld."""
    if not is_open(document):
        raise FileNotFoundError(f"the bytes of {document.subject} are withheld")
    return archive().open(document.sha256)


def name_of(document: Document) -> str:
    return document.filename or f"{document.doc_id}.pdf"


def media_type(filename: str) -> str:
    """By its name, of the kinds that we take in; everything else is bytes without a meaning."""
    return SUFFIXES.get(PurePath(filename.lower()).suffix, UNKNOWN)


def record_download(
    document: Document, content: IO[bytes], *, by: By, part: str = "", goes_on: bool = False
) -> None:
    """Enter that `content` is given out, before the first byte of it leaves: no entry, no bytes.

    A `part` that `goes_on` behind the beginning belongs to the download of these bytes by the same
    that began within the last hour, where there is one: that is on record already. Closes the
    content when it fails.
    """
    with ExitStack() as refused:
        refused.callback(content.close)
        with ledger():
            _enter_download(document, by, part, goes_on)
        refused.pop_all()


def _enter_download(document: Document, by: By, part: str, goes_on: bool) -> None:
    row = filing.locked(document)
    began = timezone.now() - GOES_ON
    if goes_on and history.happened(row.subject, DOWNLOADED, by.actor, since=began):
        return
    filing.enter_next(row, DOWNLOADED, detail={"range": part}, by=by)
