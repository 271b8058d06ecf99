"""The moves of a document: its state and its ledger entry, in one transaction.

The only place that changes a document's state. What a worker does with it is in `steps`, behind the
fence of its lease.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import F
from django.utils import timezone

from audit.ledger.log import ledger, record
from ingestion.core.errors import LeaseLost
from ingestion.core.states import DocumentState, check_move
from ingestion.models import Chunk, Document, Finding
from ingestion.rules.findings import RuleFinding

WORKER = "system:worker"


@dataclass(frozen=True, slots=True)
class Actor:
    """Whose move it is, in the ledger's words."""

    actor: str
    role: str


WORKER_ACTOR = Actor(WORKER, "worker")

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
    columns |= {"state": state, "transitions": document.transitions + 1}
    columns.setdefault("code", primary.code if primary else "")
    columns["next_attempt_at"] = None
    if state.is_settled:
        columns["settled_at"] = timezone.now()
    if not document.change(columns):
        raise LeaseLost(f"{document.subject} was moved by somebody else")
    _keep(document, findings, primary)
    record_entry(
        document,
        event or EVENTS[state],
        from_state=old,
        to_state=state,
        code=document.code,
        by=by,
        reason_code=reason_code,
        at=at,
        detail={**_detail(findings, portal), **(detail or {})} or None,
    )


def move_documents(documents: Sequence[Document], state: DocumentState, *, by: Actor) -> None:
    """Many at once, for the same reason: one UPDATE, and an entry for each. Inside ledger().

    The rows are locked, so that all that was read of them is still true.
    """
    old = {document.pk: DocumentState(document.state) for document in documents}
    for before in set(old.values()):
        check_move(before, state)
    moved = Document.objects.filter(pk__in=old, state__in=set(old.values())).update(
        state=state,
        code="",
        next_attempt_at=None,
        settled_at=timezone.now(),
        transitions=F("transitions") + 1,
    )
    if moved != len(old):
        raise LeaseLost(f"{len(old) - moved} documents were moved by somebody else")
    for document in documents:
        document.transitions += 1
        record_entry(
            document,
            EVENTS[state],
            from_state=old[document.pk],
            to_state=state,
            code="",
            by=by,
            detail=None,
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
            attempt=document.transitions,
        )
        for seen in findings
    )


def lock_document(document: Document) -> Document:
    """Its row as it is now, and nobody moves it meanwhile. Inside ledger()."""
    rows = Document.objects.select_for_update(of=("self",)).select_related("site")
    return rows.get(pk=document.pk)


def record_next_entry(
    row: Document,
    event: str,
    *,
    detail: Mapping[str, Any],
    by: Actor,
    reason_code: str = "",
    at: datetime | None = None,
) -> None:
    """An entry that moves nothing, such as a look at it. The row is `locked`. Inside ledger()."""
    row.transitions += 1
    row.save(update_fields=["transitions"])
    record_entry(row, event, code="", detail=detail, by=by, reason_code=reason_code, at=at)


def record_refused_deletion(document: Document, why: str, *, by: Actor) -> None:
    """That somebody tried is on record; the document stays (21 CFR 11.10(c))."""
    with ledger():
        detail = {"kept_because": why}
        record_next_entry(
            lock_document(document), "document.deletion_refused", detail=detail, by=by
        )


def record_entry(  # noqa: PLR0913 - what an entry says; callers name each
    document: Document,
    event: str,
    *,
    code: str,
    detail: Mapping[str, Any] | None,
    from_state: str = "",
    to_state: str = "",
    by: Actor = WORKER_ACTOR,
    rules: str = "",
    reason_code: str = "",
    at: datetime | None = None,
) -> None:
    """Record an entry of the document, as its transition of the number that it has now.

    `rules`: their version, where they are not those of its decision. `at`: when it was signed.
    """
    record(
        event,
        subject=document.subject,
        n=document.transitions,
        site=document.site.site_id,
        doc_id=document.doc_id,
        sha256=document.sha256,
        from_state=from_state,
        to_state=to_state,
        code=code,
        correlation_id=str(document.correlation_id),
        actor=by.actor,
        role=by.role,
        reason_code=reason_code,
        rules=rules or document.rules_version,
        schema_version=document.schema_version,
        detail=detail,
        occurred_at=at,
    )
