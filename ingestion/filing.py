"""The moves of a document: its state and its ledger entry, in one transaction.

The only place that changes a document's state. What the machine does is fenced by the lease of the
document's chunk: a worker that lost it gets LeaseLost and has written nothing.
"""

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Step(ABC):
    """One move that a worker makes with a document in its hands: a row's key, its chunk's lease."""

    document: int
    lease: UUID

    @abstractmethod
    def take(self, document: Document, on_file: "OnFile") -> Any:
        """Inside ledger(), the row being locked and the lease known to be ours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TakeUp(Step):
    """Charge one attempt, before anything can crash. False: it was held as POISON."""

    budget: int

    def take(self, document: Document, on_file: "OnFile") -> bool:
        if document.attempts < self.budget:
            Document.objects.filter(pk=document.pk).update(attempts=document.attempts + 1)
            return True
        poison = Seen("POISON", facts={"attempts": document.attempts})
        move(document, DocumentState.HELD, findings=[poison], primary=poison)
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class StartChecking(Step):
    """VALIDATING, or DEDUPED when the same bytes are on file. False: DEDUPED.

    `portal` is what its portal showed of itself, for the record: `core.work.Fetched.facts`.
    """

    sha256: str
    size: int
    portal: Mapping[str, str | int] | None = None
    etag: str = ""

    def take(self, document: Document, on_file: "OnFile") -> bool:
        document.sha256, document.size = self.sha256, self.size
        if twin := on_file.twin(document):
            _dedupe(document, twin)
            return False
        move(
            document,
            DocumentState.VALIDATING,
            portal=self.portal,
            sha256=self.sha256,
            size=self.size,
            etag=self.etag,
        )
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Unchanged(Step):
    """DEDUPED: its portal says that it still has the bytes on file. False: they no longer are."""

    sha256: str
    portal: Mapping[str, str | int]

    def take(self, document: Document, on_file: "OnFile") -> bool:
        document.sha256 = self.sha256
        if twin := on_file.twin(document):
            document.size = twin.size
            _dedupe(document, twin, portal=self.portal)
        return twin is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Conclude(Step):
    """Record the decision. The bytes must be in the archive already: that is the commit order.

    Bytes durable, then state and entry together. If we die in between, the document is still
    VALIDATING, and the next lease finds its bytes stored and goes the same way again.
    """

    verdict: Verdict
    pages: int | None

    def take(self, document: Document, on_file: "OnFile") -> DocumentState:
        verdict = self.verdict
        if verdict.state is DocumentState.ARCHIVED and (twin := on_file.twin(document)):
            return _dedupe(document, twin)
        move(
            document,
            verdict.state,
            findings=verdict.findings,
            primary=verdict.primary,
            pages=self.pages,
            document_type=document.document_type or verdict.document_type,
            rules_version=verdict.rules_version,
        )
        return verdict.state


@dataclass(frozen=True, slots=True, kw_only=True)
class GiveUp(Step):
    """Reject or hold a document that was not read."""

    code: str
    facts: Mapping[str, str | int]
    held: bool

    def take(self, document: Document, on_file: "OnFile") -> None:
        seen = Seen(self.code, facts=self.facts)
        state = DocumentState.HELD if self.held else DocumentState.REJECTED
        move(document, state, findings=[seen], primary=seen)


def take(steps: Sequence[Step]) -> list[Any]:
    """Take steps of different documents in one transaction: all of them or, raising, none.

    Raises LeaseLost, and IntegrityError when two of them file the same bytes.
    """
    with ledger():
        documents = _ours({step.document: step.lease for step in steps})
        shas = {step.sha256 for step in steps if isinstance(step, StartChecking | Unchanged)}
        on_file = OnFile.of(documents.values(), shas)
        return [step.take(documents[step.document], on_file) for step in steps]


def take_alone(step: Step) -> Any:
    """Take one step."""
    try:
        return take([step])[0]
    except IntegrityError:
        # PostgreSQL: another worker filed the same bytes between our look and our write, and
        # `document_is_filed_once` refused us. Now the look sees it.
        return take([step])[0]


def requeue_interrupted(chunk: Chunk) -> None:
    """Its last worker died while these were being checked: they start afresh. Inside ledger()."""
    for document in chunk.documents.filter(state=DocumentState.VALIDATING).select_related("site"):
        move(document, DocumentState.RECEIVED)


def ours(document_id: int, lease: UUID) -> Document:
    """The document, locked, if the lease is still ours. Raises LeaseLost."""
    return _ours({document_id: lease})[document_id]


def _ours(leases: Mapping[int, UUID]) -> dict[int, Document]:
    """The documents, locked, each under the lease of its chunk. Raises LeaseLost.

    The chunks' rows are locked first, so that nobody can give them away under our hands; everybody
    locks in this order: chunk, document, batch, the ledger.
    """
    held = Chunk.objects.lock_held(leases.values())
    rows = Document.objects.select_for_update(of=("self",)).select_related("site")
    documents = {row.pk: row for row in rows.filter(pk__in=leases, chunk__in=held).order_by("pk")}
    for document, lease in leases.items():
        found = documents.get(document)
        if found is None or held[found.chunk_id or 0] != lease:
            raise LeaseLost(f"document:{document} belongs to another worker now")
    return documents


class Filed(NamedTuple):
    """What there is to know of a filed document: a row of its own would cost four times as much."""

    pk: int
    site: int
    sha256: str
    doc_id: str
    size: int | None
    packet: str  # its reference


_FILED = ("pk", "site", "sha256", "doc_id", "size", "packet__reference")


class OnFile:
    """The filed documents whose bytes some others may repeat."""

    def __init__(self, filed: Iterable[Filed]) -> None:
        self._filed: defaultdict[tuple[int, str], list[Filed]] = defaultdict(list)
        for each in filed:
            self._filed[each.site, each.sha256].append(each)

    @classmethod
    def of(cls, documents: Collection[Document], arriving: Iterable[str]) -> Self:
        """What may be the twin of these documents, of which some arrive with new fingerprints."""
        shas = {document.sha256 for document in documents if document.sha256} | set(arriving)
        if not shas:
            return cls(())
        sites = {document.site_id for document in documents}
        same = Document.objects.on_file().filter(site__in=sites, sha256__in=shas)
        return cls(Filed(*row) for row in same.values_list(*_FILED))

    def twin(self, document: Document) -> Filed | None:
        """The filed document with the same bytes: decision 12."""
        for filed in self._filed[document.site_id, document.sha256]:
            # Only an upload is matched under any doc_id.
            is_same = not document.url or filed.doc_id == document.doc_id
            if is_same and filed.pk != document.pk:
                return filed
        return None


def _dedupe(
    document: Document, twin: Filed, *, portal: Mapping[str, str | int] | None = None
) -> DocumentState:
    on_file = Seen("DUPLICATE_CONTENT", facts={"twin": twin.doc_id, "reference": twin.packet})
    move(
        document,
        DocumentState.DEDUPED,
        findings=[on_file],
        primary=on_file,
        portal=portal,
        sha256=document.sha256,
        size=document.size,
        duplicate_of_id=twin.pk,
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
