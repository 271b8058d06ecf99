"""Expands a container into the documents that it holds, and accounts for each of its entries.

It extends the division of files (`documents.division`): the row of the container stays the record,
in the state DIVIDED, and each entry becomes a row of its own, which is queued and checked as if it
had been sent alone. An entry has bytes of its own, which are archived before its row is written.
An entry that holds several documents is divided as usual, and one that is a container is expanded.
The pages of a PDF portfolio are accounted for as those of any divided file.
"""

from collections.abc import Mapping
from typing import Any, Final

from django.conf import settings

from audit.ledger.actors import Actor
from audit.translation import gettext_noop as _
from ingestion.core.container_entries import ENTRY_MARK, ContainerEntry, OpenedContainer
from ingestion.core.renditions import RenderedFile, RenditionKind
from ingestion.core.states import DocumentState
from ingestion.documents import division, renditions
from ingestion.documents.chunks import create_requeue_chunk
from ingestion.documents.transitions import EVENTS, WORKER_ACTOR, move_document
from ingestion.models import Document, ExcludedEntry
from ingestion.rules.findings import RuleFinding

MIGRATION: Final = ("ingestion", "0039_post_open_containers")
ENTRIES_KEY: Final = "entry_account"  # in the detail of the entry of an expanded container
MAX_CONTAINERS_AROUND: Final = 3  # of one entry: a packet in a message in a message
MAX_DOCUMENTS_OF_A_FILE: Final = 500  # entries of one received file, with those of its entries


def is_enabled() -> bool:
    """Return whether containers may be expanded: whether the upgrade to this release is finished.

    Until then, processes of the release before may be running, which know no entries.
    """
    return division.is_applied(MIGRATION)


def find_refusal(document: Document, opened: OpenedContainer) -> RuleFinding | None:
    """Return the finding for a container whose entries would be too many or too deep, or None."""
    depth, root = 1, document
    while root.part_of is not None:
        depth += root.is_entry
        root = root.part_of
    reason = ""
    if depth > MAX_CONTAINERS_AROUND:
        reason = _("packets are packed in each other too often")
    else:
        of_file = Document.objects.filter(batch=root.batch_id, site=root.site_id)
        others = of_file.filter(doc_id__startswith=f"{root.doc_id}{ENTRY_MARK}").count()
        if others + len(opened.documents) > MAX_DOCUMENTS_OF_A_FILE:
            reason = _("it contains too many files")
    return RuleFinding("CONTAINER_REFUSED", facts={"reason": reason}) if reason else None


def expand(
    document: Document, opened: OpenedContainer, *, by: Actor = WORKER_ACTOR, **columns: Any
) -> list[Document]:
    """Move a container to DIVIDED, and create and queue the rows of its entries. Returns them.

    The bytes of the entries have to be in the archive. `columns` change together with the state.
    Call it inside `ledger()`, with the row locked, and wake a worker after the commit. Raises the
    errors of `move_document`.
    """
    parts = _create_rows(document, opened.documents)
    pages = division.create_parts(document, opened.pages) if opened.pages else []
    ExcludedEntry.objects.bulk_create(
        ExcludedEntry(
            document=document,
            entry=entry.number,
            name=entry.name,
            sha256=entry.sha256,
            size=entry.size,
            use=str(entry.use),
        )
        for entry in opened.excluded
    )
    account = {
        "media_type": opened.media_type,
        "entries": [
            {**entry.as_json(), "document": row.subject, "doc_id": row.doc_id}
            for entry, row in zip(opened.documents, parts, strict=True)
        ],
        "excluded": [entry.as_json() for entry in opened.excluded],
    }
    detail: dict[str, Any] = {ENTRIES_KEY: account}
    if opened.pages:
        detail[division.DIVISION_KEY] = division.describe_account(
            opened.pages, pages, division.DECIDED_BY_RULES
        )
    move_document(
        document,
        DocumentState.DIVIDED,
        by=by,
        detail=detail,
        pages=opened.page_count or None,
        document_type="",
        **columns,
    )
    for entry, row in zip(opened.documents, parts, strict=True):
        facts: Mapping[str, Any] = {"container": document.subject, **entry.as_json()}
        row.record_at_revision(
            EVENTS[DocumentState.RECEIVED], by=by, to_state=DocumentState.RECEIVED, detail=facts
        )
        if entry.tool:
            rendered = RenderedFile(
                RenditionKind.MESSAGE_PDF,
                entry.path,
                entry.sha256,
                entry.size,
                "application/pdf",
                entry.tool,
            )
            renditions.record_rendition(row, rendered, by=by)
    for row in pages:
        division.record_part(document, row, by=by)
    return [*parts, *pages]


def _create_rows(document: Document, entries: list[ContainerEntry]) -> list[Document]:
    """Insert the rows of the entries that become documents, in chunks of their own."""
    rows = []
    for position, entry in enumerate(entries):
        if position % settings.CHUNK_SIZE == 0:
            chunk = create_requeue_chunk(document.batch, document.site)
        rows.append(
            Document(
                batch_id=document.batch_id,
                packet_id=document.packet_id,
                chunk=chunk,
                site=document.site,
                doc_id=f"{document.doc_id}{ENTRY_MARK}{entry.number}",
                filename=entry.name.replace("\\", "/").rpartition("/")[2][-255:],
                schema_version=document.schema_version,
                declared_language=document.declared_language,
                expected_sha256=entry.sha256,
                sha256=entry.sha256,
                size=entry.size,
                part_of=document,
                correlation_id=document.correlation_id,
                entry=entry.number,
                entry_name=entry.name,
                is_doubtful=entry.is_doubtful,
            )
        )
    return Document.objects.bulk_create(rows)
