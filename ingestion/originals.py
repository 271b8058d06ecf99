"""The bytes of a document, given out: who may have them, under which name, and the entry of it."""

from collections.abc import Mapping
from pathlib import PurePath
from typing import IO, Any

from audit.log import ledger
from ingestion import filing
from ingestion.archive import archive
from ingestion.core.states import DocumentState
from ingestion.filing import By
from ingestion.models import Document
from ingestion.reading.facts import SUFFIXES

UNKNOWN = "application/octet-stream"
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


def record_download(document: Document, *, by: By, detail: Mapping[str, Any]) -> None:
    """Enter that the bytes are given out, before the first of them leaves."""
    with ledger():
        row = Document.objects.select_for_update(of=("self",)).select_related("site")
        document = row.get(pk=document.pk)
        document.transitions += 1
        document.save(update_fields=["transitions"])
        filing.enter(document, "document.downloaded", code="", detail=detail, by=by)
