"""The moves of a document: its state and its ledger entry, in one transaction.

The only place that changes a document's state. What the machine does is fenced by the lease of the
document's chunk: a worker that lost it gets LeaseLost and has written nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import IntegrityError
from django.db.models import F
from django.utils import timezone

from audit.log import ledger, record
from ingestion.core.errors import LeaseLost
from ingestion.core.states import DocumentState, check_move
from ingestion.models import Chunk, Document, Finding
from ingestion.rules.checks import Verdict
from ingestion.rules.findings import Finding as Seen

WORKER = "system:worker"


@dataclass(frozen=True, slots=True)
class By:
    """Whose move it is, in the ledger's words."""

    actor: str
    role: str


BY_WORKER = By(WORKER, "worker")

EVENTS: Mapping[DocumentState, str] = {
    DocumentState.RECEIVED: "document.received",
    DocumentState.VALIDATING: "document.checking",
    DocumentState.IN_REVIEW: "document.sent_to_review",
    DocumentState.ARCHIVED: "document.filed",
    DocumentState.REJECTED: "document.rejected",
    DocumentState.DEDUPED: "document.already_on_file",
    DocumentState.HELD: "document.held",
    DocumentState.CANCELLED: "document.cancelled",
}


def take_up(document_id: int, lease: UUID, *, budget: int) -> bool:
    """Charge one attempt, before anything can crash. False: it was held as POISON."""
    with ledger():
        _refuse_unless_held(document_id, lease)
        # Nearly always this is all there is to do: the row is not even read.
        within = Document.objects.filter(pk=document_id, attempts__lt=budget)
        if within.update(attempts=F("attempts") + 1):
            return True
        document = ours(document_id, lease)
        poison = Seen("POISON", facts={"attempts": document.attempts})
        move(document, DocumentState.HELD, findings=[poison], primary=poison)
    return False


def start_checking(
    document_id: int,
    lease: UUID,
    *,
    sha256: str,
    size: int,
    portal: Mapping[str, str | int] | None = None,
) -> bool:
    """VALIDATING, or DEDUPED when the same bytes are on file. False: DEDUPED.

    `portal` is what its portal showed of itself, for the record: `core.work.Fetched.facts`.
    """
    with ledger():
        document = ours(document_id, lease)
        document.sha256, document.size = sha256, size
        if twin := _on_file(document):
            _dedupe(document, twin)
            return False
        move(document, DocumentState.VALIDATING, portal=portal, sha256=sha256, size=size)
    return True


def conclude(
    document_id: int, lease: UUID, verdict: Verdict, *, pages: int | None
) -> DocumentState:
    """Record the decision. The bytes must be in the archive already: that is the commit order.

    Bytes durable, then state and entry together. If we die in between, the document is still
    VALIDATING, and the next lease finds its bytes stored and goes the same way again.
    """
    try:
        return _conclude(document_id, lease, verdict, pages)
    except IntegrityError:
        # PostgreSQL: another worker filed the same bytes between our look and our write, and
        # `document_is_filed_once` refused us. Now the look sees it.
        return _conclude(document_id, lease, verdict, pages)


def _conclude(document_id: int, lease: UUID, verdict: Verdict, pages: int | None) -> DocumentState:
    with ledger():
        document = ours(document_id, lease)
        if verdict.state is DocumentState.ARCHIVED and (twin := _on_file(document)):
            return _dedupe(document, twin)
        move(
            document,
            verdict.state,
            findings=verdict.findings,
            primary=verdict.primary,
            pages=pages,
            document_type=document.document_type or verdict.document_type,
            rules_version=verdict.rules_version,
        )
    return verdict.state


def give_up(
    document_id: int, lease: UUID, code: str, facts: Mapping[str, str | int], *, held: bool
) -> None:
    """Reject or hold a document that was not read."""
    state = DocumentState.HELD if held else DocumentState.REJECTED
    seen = Seen(code, facts=facts)
    with ledger():
        move(ours(document_id, lease), state, findings=[seen], primary=seen)


def requeue_interrupted(chunk: Chunk) -> None:
    """Its last worker died while these were being checked: they start afresh. Inside ledger()."""
    for document in chunk.documents.filter(state=DocumentState.VALIDATING).select_related("site"):
        move(document, DocumentState.RECEIVED)


def ours(document_id: int, lease: UUID) -> Document:
    """The document, locked, if the lease is still ours. Raises LeaseLost."""
    _refuse_unless_held(document_id, lease)
    return (
        Document.objects.select_for_update(of=("self",)).select_related("site").get(pk=document_id)
    )


def _refuse_unless_held(document_id: int, lease: UUID) -> None:
    """Lock the document's chunk. Raises LeaseLost.

    The chunk's row is locked first, so that nobody can give it away under our hands; everybody
    locks in this order: chunk, document, batch, the ledger.
    """
    if not Chunk.objects.lock_if_held(lease, documents=document_id):
        raise LeaseLost(f"document:{document_id} belongs to another worker now")


def _on_file(document: Document) -> Document | None:
    """The filed document with the same bytes: decision 12."""
    same = Document.objects.on_file().filter(site=document.site_id, sha256=document.sha256)
    if document.url:  # only an upload is matched under any doc_id
        same = same.filter(doc_id=document.doc_id)
    return same.exclude(pk=document.pk).first()


def _dedupe(document: Document, twin: Document) -> DocumentState:
    on_file = Seen("DUPLICATE_CONTENT", facts={"twin": twin.doc_id, "reference": str(twin.packet)})
    move(
        document,
        DocumentState.DEDUPED,
        findings=[on_file],
        primary=on_file,
        sha256=document.sha256,
        size=document.size,
        duplicate_of=twin,
    )
    return DocumentState.DEDUPED


def move(  # noqa: PLR0913 - what a move carries; callers name each
    document: Document,
    state: DocumentState,
    *,
    findings: Sequence[Seen] = (),
    primary: Seen | None = None,
    portal: Mapping[str, str | int] | None = None,
    by: By = BY_WORKER,
    event: str = "",
    **columns: Any,
) -> None:
    """Change the row and record the entry. The UPDATE is fenced by state and transition number.

    Inside ledger(). The machine's own moves are made by the functions above, behind their fence.
    """
    old = DocumentState(document.state)
    check_move(old, state)
    columns |= {"state": state, "transitions": document.transitions + 1}
    columns["code"] = primary.code if primary else ""
    columns["next_attempt_at"] = None
    if state.is_settled:
        columns["settled_at"] = timezone.now()
    moved = Document.objects.filter(
        pk=document.pk, state=old, transitions=document.transitions
    ).update(**columns)
    if moved != 1:
        raise LeaseLost(f"{document.subject} was moved by somebody else")
    for name, value in columns.items():
        setattr(document, name, value)
    _keep(document, findings, primary)
    enter(
        document,
        event or EVENTS[state],
        from_state=old,
        to_state=state,
        code=document.code,
        by=by,
        detail=_detail(findings, portal),
    )


def move_alike(documents: Sequence[Document], state: DocumentState, *, by: By) -> None:
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
        enter(
            document,
            EVENTS[state],
            from_state=old[document.pk],
            to_state=state,
            code="",
            by=by,
            detail=None,
        )


def _detail(
    findings: Sequence[Seen], portal: Mapping[str, str | int] | None
) -> dict[str, Any] | None:
    detail: dict[str, Any] = {"portal": dict(portal)} if portal else {}
    if findings:
        detail["findings"] = [
            {"code": seen.code, "page": seen.page, "facts": dict(seen.facts)} for seen in findings
        ]
    return detail or None


def _keep(document: Document, findings: Sequence[Seen], primary: Seen | None) -> None:
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


def enter(  # noqa: PLR0913 - what an entry says; callers name each
    document: Document,
    event: str,
    *,
    code: str,
    detail: Mapping[str, Any] | None,
    from_state: str = "",
    to_state: str = "",
    by: By = BY_WORKER,
) -> None:
    """Record an entry of the document, as its transition of the number that it has now."""
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
        rules=document.rules_version,
        schema_version=document.schema_version,
        detail=detail,
    )
