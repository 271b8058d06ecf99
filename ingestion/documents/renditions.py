"""Stores and finds renditions: files derived from originals, for reading or for showing them.

A rendition is stored in the archive before its row is written, as an original is. The row and the
entry `document.rendition_made` are written in the transaction of the change for which it was made.
"""

from typing import Final

from audit.ledger.actors import Actor
from ingestion.core.renditions import RenderedFile, RenditionKind
from ingestion.documents.transitions import WORKER_ACTOR
from ingestion.models import Document, DocumentRendition
from ingestion.storage.archive import get_archive

RENDITION_MADE: Final = "document.rendition_made"
RENDITION_KEY: Final = "rendition"  # in the detail of the entry
# The kinds whose pages are read and shown in the place of the original, which has no pages.
READ_KINDS: Final = (RenditionKind.OFFICE_PDF,)


def store_rendition(rendered: RenderedFile) -> None:
    """Store the bytes of a rendition in the archive. Raises StorageUnavailable.

    Call it before `record_rendition`, and outside a transaction, because it blocks.
    """
    get_archive().put(rendered.path, rendered.sha256)


def record_rendition(
    document: Document, rendered: RenderedFile, *, by: Actor = WORKER_ACTOR
) -> DocumentRendition:
    """Write the row of a stored rendition and its ledger entry. Returns the row.

    Nothing is written if the document has the same rendition already. Call it inside `ledger()`,
    with the row of the document locked.
    """
    same = document.renditions.filter(kind=rendered.kind, sha256=rendered.sha256)
    if existing := same.first():
        return existing
    row = DocumentRendition.of(document, rendered)
    row.save()
    document.record(RENDITION_MADE, by=by, detail={RENDITION_KEY: row.as_json()})
    return row


def get_file_row(document: Document) -> Document:
    """Return the row of the file to which a document belongs: itself, unless it is a part."""
    while document.has_pages_of_a_file and document.part_of is not None:
        document = document.part_of
    return document


def find_rendition(document: Document, kind: RenditionKind) -> DocumentRendition | None:
    """Return the newest rendition of this kind, or None. `document` is not searched for its file.

    For renditions of a whole file, pass `get_file_row(document)`.
    """
    return document.renditions.filter(kind=kind).last()


def find_inert_rendition(document: Document) -> DocumentRendition | None:
    """Return the pictures of the pages of the file to which a document belongs, or None.

    For a file that was on file already, they are those of its twin.
    """
    file: Document | None = get_file_row(document)
    while file is not None:
        if found := find_rendition(file, RenditionKind.INERT):
            return found
        file = file.duplicate_of and get_file_row(file.duplicate_of)
    return None


def find_read_rendition(document: Document) -> DocumentRendition | None:
    """Return the rendition whose pages are those of the document, or None if it is the original."""
    return get_file_row(document).renditions.filter(kind__in=READ_KINDS).last()


def get_read_sha256(document: Document) -> str:
    """Return the SHA-256 of the archived file whose pages are those of the document."""
    rendition = find_read_rendition(document)
    return rendition.sha256 if rendition else document.sha256
