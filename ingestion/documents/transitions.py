"""The moves of a document: its state and its ledger entry, in one transaction.

The only place that changes a document's state. What a worker does with it is in `steps`, behind the
fence of its lease.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db.models import F
from django.utils import timezone

from audit.ledger.actors import Actor
from ingestion.core.errors import LeaseLost
from ingestion.core.states import DocumentState, check_move
from ingestion.models import Chunk, Document, Finding
from ingestion.rules.findings import RuleFinding

WORKER_ACTOR = Actor.software("worker", "worker")

EVENTS: Mapping[DocumentState, str] = {
    DocumentState.RECEIVED: "document.received",
    DocumentState.VALIDATING: "document.checking",
    DocumentState.IN_REVIEW: "document.sent_to_review",
    DocumentState.ARCHIVED: "document.filed",
    DocumentState.REJECTED: "document.rejected",
    DocumentState.DEDUPED: "document.already_on_file",
    DocumentState.HELD: "document.held",
    DocumentState.CANCELLED: "document.cancelled",
    DocumentState.RETURNED: "document.returned",
    DocumentState.WITHDRAWN: "document.withdrawn",
}


def requeue_interrupted_documents(chunk: Chunk) -> None:
    """Its last worker died while these were being checked: they start afresh. Inside ledger()."""
    for document in chunk.documents.filter(state=DocumentState.VALIDATING).select_related("site"):
        move_document(document, DocumentState.RECEIVED)


def move_document(  # noqa: PLR0913 - what a move carries; callers name each
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
    """Change the row and record the entry. The UPDATE is fenced by state and transition number.

    Inside ledger(). `detail` joins what findings and portal say. A worker's own moves are made by
    `steps`, behind their fence.
    """
    old = DocumentState(document.state)
    check_move(old, state)
    columns["state"] = state
    columns.setdefault("code", primary.code if primary else "")
    columns["next_attempt_at"] = None
    if state.is_settled:
        columns["settled_at"] = timezone.now()
    if not document.change_if_current(columns):
        raise LeaseLost(f"{document.subject} was moved by somebody else")
    _keep(document, findings, primary)
    document.record_at_revision(
        event or EVENTS[state],
        by=by,
        from_state=old,
        to_state=state,
        code=document.code,
        reason_code=reason_code,
        occurred_at=at,
        detail={**_detail(findings, portal), **(detail or {})} or None,
    )


def move_documents(documents: Sequence[Document], state: DocumentState, *, by: Actor) -> None:
    """Move many documents to the same state, with an entry for each. Inside ledger().

    The caller has locked the rows. One UPDATE takes the next number of all of them, because
    `RecordedRow.change_if_current` would send a statement for each document.
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
        raise LeaseLost(f"{len(old) - moved} documents were moved by somebody else")
    for document in documents:
        document.revision += 1
        document.record_at_revision(
            EVENTS[state], by=by, from_state=old[document.pk], to_state=state
        )


def _detail(
    findings: Sequence[RuleFinding], portal: Mapping[str, str | int] | None
) -> dict[str, Any]:
    detail: dict[str, Any] = {"portal": dict(portal)} if portal else {}
    if findings:
        detail["findings"] = [
            {"code": seen.code, "page": seen.page, "facts": dict(seen.facts)} for seen in findings
        ]
    return detail


def _keep(document: Document, findings: Sequence[RuleFinding], primary: RuleFinding | None) -> None:
    Finding.objects.bulk_create(
        Finding(
            document=document,
            code=seen.code,
            page=seen.page,
            facts=dict(seen.facts),
            is_primary=seen is primary,
            rules_version=document.rules_version,
            attempt=document.revision,
        )
        for seen in findings
    )
