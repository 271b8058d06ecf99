"""Carries out retries that a person requests: of held, failed and waiting documents.

The ledger entry of a retry and the columns that put it into effect are written in one transaction.
"""

import hashlib
import json
from collections.abc import Iterable
from functools import partial
from itertools import groupby

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext

from audit.ledger.actors import Actor
from audit.ledger.context import use_change_reason
from audit.ledger.log import ledger
from ingestion.core.errors import AddressNotApproved, LeaseLost
from ingestion.core.states import BatchState, DocumentState
from ingestion.dispatch import wakeup
from ingestion.documents import portal_sources, transitions
from ingestion.documents.chunks import create_requeue_chunk
from ingestion.intake import corrections
from ingestion.intake.submission import IdempotencyKeyReused
from ingestion.models import Batch, BatchRetry, Chunk, Document
from sites.models import Portal

_LANGUAGE_CODE = "LANGUAGE_NOT_INSTALLED"
_APPROVAL_CODE = AddressNotApproved.code
DOWNLOAD_FAILED = "DOWNLOAD_FAILED"
MAX_DOCUMENTS_PER_RETRY = 500  # held documents in one transaction


class RetryRefused(Exception):
    """The document or the batch cannot be retried. The message is for people."""


def retry_held(held: "QuerySet[Document]", *, by: Actor) -> int:
    """Queue held documents again, with new attempts. Returns how many there were.

    All of them are queued or none. Documents in other states are skipped. The entry of each names
    the person.
    """
    with ledger():
        return _requeue_all(held.filter(state=DocumentState.HELD), by)


def retry_batch(batch: Batch, *, by: Actor, owner: str, key: str, reason: str = "") -> BatchRetry:
    """Queue the held documents of a batch and its failed downloads again, with new attempts.

    With the same key, the same request returns the same retry, and continues it if the process died
    that began it. Raises RetryRefused if there is nothing to retry, and IdempotencyKeyReused.
    """
    digest = hashlib.sha256(json.dumps([batch.pk, owner, reason]).encode()).hexdigest()
    retry = BatchRetry.objects.filter(idempotency_key=key).first()
    if retry is None:
        if batch.state == BatchState.CANCELLED:
            raise RetryRefused(gettext("The batch was cancelled. Submit its documents again."))
        number = _find_retryable(batch).count()
        if not number:
            raise RetryRefused(
                gettext("The batch has no held documents and no failed downloads to retry.")
            )
        try:
            with use_change_reason(reason), ledger():
                retry = BatchRetry.objects.create(
                    batch=batch, idempotency_key=key, request_digest=digest, requested_by=by.name
                )
                detail = {"documents": number, "reason": reason}
                batch.record("batch.retried", by=by, detail=detail)
        except IntegrityError:  # The same request was received twice, and the other was first.
            retry = BatchRetry.objects.get(idempotency_key=key)
    if retry.request_digest != digest:
        raise IdempotencyKeyReused(f"the key {key!r} was used for another retry")
    while retry.finished_at is None:
        with use_change_reason(reason), ledger():
            keys = list(
                _find_retryable(batch).values_list("pk", flat=True)[:MAX_DOCUMENTS_PER_RETRY]
            )
            retry.documents += _requeue_all(Document.objects.filter(pk__in=keys), by)
            retry.finished_at = None if len(keys) == MAX_DOCUMENTS_PER_RETRY else timezone.now()
            retry.save(update_fields=["documents", "finished_at"])
    return retry


def _find_retryable(batch: Batch) -> "QuerySet[Document]":
    """Return the held documents of a batch, and its failed downloads that nobody corrected."""
    failed = Q(state=DocumentState.REJECTED, code=DOWNLOAD_FAILED)
    corrected = Document.objects.filter(corrects=OuterRef("pk"))
    uncorrected = ~Exists(corrected.exclude(state=DocumentState.CANCELLED))
    rows = batch.documents.filter(Q(state=DocumentState.HELD) | (failed & uncorrected))
    return rows.order_by("pk")


def retry_installed_languages(*, by: Actor) -> int:
    """Queue the documents again that were held for a language that is installed now.

    Returns how many there were. A document with pages in several such languages waits for all of
    them.
    """
    installed = set(settings.READING_LIMITS.languages.split("+"))
    held = Document.objects.held().filter(code=_LANGUAGE_CODE).prefetch_related("findings")
    readable = [
        document.pk
        for document in held.order_by("pk")[:MAX_DOCUMENTS_PER_RETRY]
        if {
            str(finding.facts.get("data", ""))
            for finding in document.current_findings
            if finding.code == _LANGUAGE_CODE
        }
        <= installed
    ]
    return retry_held(Document.objects.filter(pk__in=readable), by=by) if readable else 0


def retry_approved_portals(*, by: Actor) -> int:
    """Queue the documents again that were held until the address of their portal was approved.

    Returns how many there were.
    """
    held = Document.objects.held().filter(code=_APPROVAL_CODE)
    portals = Portal.objects.filter(pk__in=held.values("site__portal"))
    approved = [portal.pk for portal in portals if portal_sources.is_approved(portal)]
    keys = list(
        held.filter(site__portal__in=approved)
        .order_by("pk")
        .values_list("pk", flat=True)[:MAX_DOCUMENTS_PER_RETRY]
    )
    return retry_held(Document.objects.filter(pk__in=keys), by=by) if keys else 0


def retry_download(document: Document, *, by: Actor) -> None:
    """Queue a document again whose download failed. Raises RetryRefused."""
    with ledger():
        row = Document.lock(document.pk)
        if not DocumentState(row.state).is_settled:
            raise RetryRefused(gettext("The download is already being retried."))
        if (row.state, row.code) != (DocumentState.REJECTED, DOWNLOAD_FAILED):
            raise RetryRefused(gettext("Only a failed download from a portal can be retried."))
        if corrections.find_correction(row):
            raise RetryRefused(gettext("A corrected file was already sent."))
        _requeue(row, create_requeue_chunk(row.batch, row.site), by)
        transaction.on_commit(partial(wakeup.wake_worker, row.batch.reference))


def retry_waiting_now(waiting: "QuerySet[Document]", *, by: Actor) -> int:
    """End the waiting time of documents before their next attempt. Returns how many there were.

    Documents in other states than RECEIVED are skipped. A portal that is down still receives only
    probes.
    """
    with ledger():
        rows = waiting.waiting().filter(chunk__isnull=False)  # type: ignore[attr-defined]
        rows = rows.select_related("site", "batch")
        documents = list(rows.select_for_update(of=("self",)).order_by("pk"))
        for document in documents:
            if not document.change_if_current({"next_attempt_at": None}):
                raise LeaseLost(f"{document.subject} was moved by another process")
            document.record_at_revision("document.tried_at_once", by=by)
        own = {document.chunk_id for document in documents}
        Chunk.objects.waiting().filter(pk__in=own).update(next_dispatch_at=Now())
        transaction.on_commit(partial(wakeup.wake_worker, _find_only_batch(documents)))
    return len(documents)


def _requeue_all(rows: "QuerySet[Document]", by: Actor) -> int:
    """Queue documents again, in chunks of their batch and site. Call this inside `ledger()`."""
    locked = rows.select_for_update(of=("self",)).select_related("site", "batch")
    documents = list(locked.order_by("batch", "site", "pk"))
    documents.sort(key=_chunk_key)
    for _key, group in groupby(documents, key=_chunk_key):
        for number, document in enumerate(group):
            if number % settings.CHUNK_SIZE == 0:
                chunk = create_requeue_chunk(document.batch, document.site)
            _requeue(document, chunk, by)
    transaction.on_commit(partial(wakeup.wake_worker, _find_only_batch(documents)))
    return len(documents)


def _find_only_batch(documents: Iterable[Document]) -> str:
    """Return the reference of the batch of all these documents, or "" if they are of several."""
    references = {document.batch.reference for document in documents}
    return references.pop() if len(references) == 1 else ""


def _chunk_key(document: Document) -> tuple[int, int, bool]:
    """Return what the documents of one chunk have in common, so that one queue holds them all."""
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
