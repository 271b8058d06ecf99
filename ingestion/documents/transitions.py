"""Changes the states of documents, each change together with its ledger entry.

No other module changes the state of a document. Workers do so by `dispatch.worker_steps`, which
checks their lease first; reviewers do so by `review.decisions`. This layer exists because state,
findings and entry have to change together for both of them.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db.models import F
from django.utils import timezone

from audit import outbox
from audit.ledger.actors import Actor
from ingestion.core.errors import LeaseLost
from ingestion.core.states import DocumentState, check_move
from ingestion.models import Chunk, Document, Finding
from ingestion.rules.codes import CODES
from ingestion.rules.findings import RuleFinding
from ingestion.search import writing

WORKER_ACTOR = Actor.software("worker", "worker")

EVENTS: Mapping[DocumentState, str] = {
    DocumentState.RECEIVED: "document.received",
    DocumentState.VALIDATING: "document.checking",
    DocumentState.IN_REVIEW: "document.sent_to_review",
    DocumentState.ARCHIVED: "document.filed",
    DocumentState.REJECTED: "document.rejected",
    DocumentState.DEDUPED: "document.already_on_file",
    DocumentState.DIVIDED: "document.divided",
    DocumentState.HELD: "document.held",
    DocumentState.CANCELLED: "document.cancelled",
    DocumentState.RETURNED: "document.returned",
    DocumentState.WITHDRAWN: "document.withdrawn",
}


def requeue_interrupted_documents(chunk: Chunk) -> None:
    """Move documents that a dead worker was checking back to RECEIVED.

    Call it inside `ledger()`, after the chunk was leased again.
    """
    for document in chunk.documents.filter(state=DocumentState.VALIDATING).select_related(
        "site__study", "packet", "batch"
    ):
        move_document(document, DocumentState.RECEIVED)


def move_document(  # noqa: PLR0913 - callers name each argument
    document: Document,
    state: DocumentState,
    *,
    findings: Sequence[RuleFinding] = (),
    primary: RuleFinding | None = None,
    portal: Mapping[str, str | int] | None = None,
    by: Actor = WORKER_ACTOR,
    event: str = "",
    reason_code: str = "",
    detail: Mapping[str, Any] | None = None,
    at: datetime | None = None,
    **columns: Any,
) -> None:
    """Change the state of a document, store its findings, and record the entry.

    `primary` is the finding whose code the document receives. `portal` are facts about the answer
    of its portal. `event` replaces the event of the state. `detail` is added to what findings and
    portal say in the entry. `at` is the time of a signature. `columns` change together with the
    state.

    Call it inside `ledger()`. The UPDATE is fenced by the state and the number of the last entry.
    Raises LeaseLost if another process moved the document, and IllegalMove if `core.states` does
    not permit the move.
    """
    old = DocumentState(document.state)
    check_move(old, state)
    columns["state"] = state
    columns.setdefault("code", primary.code if primary else "")
    columns["next_attempt_at"] = None
    if state.is_settled:
        columns["settled_at"] = timezone.now()
    if not document.change_if_current(columns):
        raise LeaseLost(f"{document.subject} was moved by another process")
    Finding.objects.bulk_create(
        Finding(
            document=document,
            code=finding.code,
            page=finding.page,
            facts=dict(finding.facts),
            is_primary=finding is primary,
            rules_version=document.rules_version,
            attempt=document.revision,
        )
        for finding in findings
    )
    _update_index(document, old, state, findings)
    recorded: dict[str, Any] = {"portal": dict(portal)} if portal else {}
    if findings:
        recorded["findings"] = [
            {"code": finding.code, "page": finding.page, "facts": dict(finding.facts)}
            for finding in findings
        ]
    document.record_at_revision(
        event or EVENTS[state],
        by=by,
        from_state=old,
        to_state=state,
        code=document.code,
        reason_code=reason_code,
        occurred_at=at,
        detail={**recorded, **(detail or {})} or None,
    )


def move_documents(documents: Sequence[Document], state: DocumentState, *, by: Actor) -> None:
    """Move many documents to the same state, with an entry for each.

    Call it inside `ledger()`, with the rows locked. One UPDATE takes the next number of all of
    them, because `RecordedRow.change_if_current` would send a statement for each document. Raises
    LeaseLost if another process moved one of them.
    """
    old = {document.pk: DocumentState(document.state) for document in documents}
    for before in set(old.values()):
        check_move(before, state)
    moved = Document.objects.filter(pk__in=old, state__in=set(old.values())).update(
        state=state,
        code="",
        next_attempt_at=None,
        settled_at=timezone.now(),
        revision=F("revision") + 1,
    )
    if moved != len(old):
        raise LeaseLost(f"{len(old) - moved} documents were moved by another process")
    if state in _UNSEARCHABLE:
        writing.delete_pages(list(old))
    for document in documents:
        document.revision += 1
        document.record_at_revision(
            EVENTS[state], by=by, from_state=old[document.pk], to_state=state
        )


# Documents in these states are not found by their words: the twin of a repetition is, and a
# cancelled document was not decided.
_UNSEARCHABLE = (DocumentState.DEDUPED, DocumentState.CANCELLED)


def _update_index(
    document: Document,
    old: DocumentState,
    state: DocumentState,
    findings: Sequence[RuleFinding],
) -> None:
    """Delete what is indexed of a document that must not be found by its words any more.

    A document that QA files in spite of a quarantine is read and indexed again by a message.
    """
    if state in _UNSEARCHABLE or any(CODES[finding.code].quarantine for finding in findings):
        writing.delete_pages([document.pk])
    elif (
        state is DocumentState.ARCHIVED
        and old is not DocumentState.VALIDATING
        and document.extractions.exists()
        and not document.indexed_pages.exists()
    ):
        outbox.post(writing.REBUILD_KIND, {"document": document.pk}, key=document.subject)
