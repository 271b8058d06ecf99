"""Retries that a person asks for: held documents, failed downloads, waiting documents.

The entry that records a retry and the columns that put it into effect are written in one
transaction.
"""

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Now
from django.utils.translation import gettext

from audit.ledger.actors import Actor
from audit.ledger.log import ledger
from ingestion.core.errors import LeaseLost
from ingestion.core.states import DocumentState
from ingestion.dispatch import wakeup
from ingestion.documents import batches, transitions
from ingestion.intake import corrections
from ingestion.intake.submission import create_requeue_chunk
from ingestion.models import Chunk, Document


class RetryRefused(Exception):
    """It is not asked for again; the message tells people why."""


MAX_DOCUMENTS_PER_RETRY = 500  # held documents that one transaction takes


def retry_held(held: "QuerySet[Document]", *, by: Actor) -> int:
    """Put held documents back into the queue, with new budgets. Answers how many there were.

    All or nothing: others than HELD ones are passed over. Each gets an entry that names who did it.
    """
    with ledger():
        locked = held.filter(state=DocumentState.HELD).select_for_update(of=("self",))
        documents = list(locked.select_related("site", "batch").order_by("batch", "site", "pk"))
        chunk: Chunk | None = None
        size = 0
        documents.sort(key=_kind)
        of_chunk: tuple[int, int, bool] | None = None
        for document in documents:
            if chunk is None or size >= settings.CHUNK_SIZE or of_chunk != _kind(document):
                chunk, size = create_requeue_chunk(document.batch, document.site), 0
            size, of_chunk = size + 1, _kind(document)
            _requeue(document, chunk, by)
        batches.restart_polls({document.batch_id for document in documents})
        transaction.on_commit(wakeup.wake_worker)
    return len(documents)


def retry_download(document: Document, *, by: Actor) -> None:
    """Ask its portal once more for what it would not give. Raises NotRetried."""
    with ledger():
        row = Document.lock(document.pk)
        if not DocumentState(row.state).is_settled:
            raise RetryRefused(gettext("The download is already being retried."))
        if (row.state, row.code) != (DocumentState.REJECTED, "DOWNLOAD_FAILED"):
            raise RetryRefused(gettext("Only a failed download from a portal can be retried."))
        if corrections.find_correction(row):
            raise RetryRefused(gettext("A corrected file was already sent."))
        _requeue(row, create_requeue_chunk(row.batch, row.site), by)
        batches.restart_polls({row.batch_id})
        transaction.on_commit(wakeup.wake_worker)


def retry_waiting_now(waiting: "QuerySet[Document]", *, by: Actor) -> int:
    """Documents that wait for their next attempt need not wait. Answers how many there were.

    Others than RECEIVED ones are passed over. A portal that is down is still only probed.
    """
    with ledger():
        rows = waiting.waiting().filter(chunk__isnull=False)  # type: ignore[attr-defined]
        documents = list(rows.select_related("site").select_for_update(of=("self",)).order_by("pk"))
        for document in documents:
            if not document.change_if_current({"next_attempt_at": None}):
                raise LeaseLost(f"{document.subject} was moved by another process")
            document.record_at_revision("document.tried_at_once", by=by)
        own = {document.chunk_id for document in documents}
        Chunk.objects.waiting().filter(pk__in=own).update(next_dispatch_at=Now())
        transaction.on_commit(wakeup.wake_worker)
    return len(documents)


def _kind(document: Document) -> tuple[int, int, bool]:
    """What the documents of one chunk have in common: one queue takes them all."""
    return document.batch_id, document.site_id, bool(document.spooled)


def _requeue(document: Document, chunk: Chunk, by: Actor) -> None:
    transitions.move_document(
        document,
        DocumentState.RECEIVED,
        by=by,
        event="document.tried_again",
        chunk_id=chunk.pk,
        attempts=0,
        fetch_tries=0,
        counted_tries=0,
        failing_since=None,
        settled_at=None,
    )
