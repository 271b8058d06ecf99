"""Defines the steps of a worker with one document, and applies several in one transaction.

A step is a move of a document, such as a failed request or the decision of the checks. Each step is
fenced by the lease of the document's chunk: for a worker that lost the lease, `apply_steps` raises
LeaseLost and writes nothing. The steps change states through `ingestion.documents.transitions`. Why
several steps share a transaction is explained in docs/adr/0012, and the layers in docs/adr/0034.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextvars import copy_context
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction
from structlog.contextvars import bound_contextvars

from audit.ledger.log import ledger
from ingestion.core.container_entries import OpenedContainer
from ingestion.core.errors import LeaseLost
from ingestion.core.file_parts import Division
from ingestion.core.ports import EarlyDecision, Fetched, FetchFailure, FiledVersion, NotModified
from ingestion.core.states import DocumentState
from ingestion.dispatch import wakeup
from ingestion.dispatch.clock import read_database_time
from ingestion.dispatch.filed_documents import FiledDocument, FiledDocuments
from ingestion.documents import (
    division,
    expansion,
    inert_renditions,
    renditions,
    search_index,
)
from ingestion.documents.transitions import WORKER_ACTOR, move_document
from ingestion.models import Document, Extraction, Packet
from ingestion.rules.checks.verdict import CheckedDocument
from ingestion.rules.codes import CODES
from ingestion.rules.findings import RuleFinding
from ingestion.search import writing
from ingestion.search.writing import ReadPage


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerStep(ABC):
    """Describes one move of a document by the worker that holds the lease of its chunk.

    This layer exists because several steps share one transaction, one lock and one search for
    duplicates, so a step is data until `apply_steps` applies it. Its fields hold the values of the
    core unchanged.
    """

    document: int  # primary key
    lease: UUID  # the fencing token
    # structlog's context of the step
    logged: Mapping[str, Any] = field(default_factory=dict)

    def apply_logged(self, document: Document, on_file: FiledDocuments) -> Any:
        """Apply the step, so that its lines of the log have the context of the document."""
        with bound_contextvars(**self.logged):
            return self.apply(document, on_file)

    @abstractmethod
    def apply(self, document: Document, on_file: FiledDocuments) -> Any:
        """Move the document. Call it inside `ledger()`, with the row locked and the lease checked.

        `on_file` holds the filed documents with the hash that `sha256_to_find` returned.
        """

    def sha256_to_find(self, document: Document) -> str:
        """Return the SHA-256 that `apply` looks up in `on_file`, or "" if it looks up none."""
        return ""

    def extraction(self, document: Document) -> Extraction | None:
        """Return what was read from the document, to be stored after `apply`."""
        return None

    def searchable_pages(self, document: Document) -> list[ReadPage] | None:
        """Return the pages to index after `apply`, or None if what is indexed stays as it is."""
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class StartAttempt(WorkerStep):
    """Counts an attempt, before the document can make a worker crash.

    The result is False if the attempts were used up and the document is held as POISON.
    """

    max_attempts: int

    def apply(self, document: Document, on_file: FiledDocuments) -> bool:
        """Count the attempt, or hold the document. Raises LeaseLost if it was moved meanwhile."""
        if document.attempts < self.max_attempts:
            if not document.change({"attempts": document.attempts + 1}):
                raise LeaseLost(f"{document.subject} was moved by another process")
            return True
        poison = RuleFinding("POISON", facts={"attempts": document.attempts})
        with bound_contextvars(attempt=document.attempts):  # No further one has begun.
            move_document(document, DocumentState.HELD, findings=[poison], primary=poison)
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class StartChecking(WorkerStep):
    """Moves a fetched document to VALIDATING.

    The result is False if the same bytes are on file and the document moved to DEDUPED instead.
    """

    fetched: Fetched

    def apply(self, document: Document, on_file: FiledDocuments) -> bool:
        """Move the document to VALIDATING, or to DEDUPED if its bytes are on file."""
        document.sha256, document.size = self.fetched.sha256, self.fetched.size
        if twin := on_file.find_twin(document):
            _dedupe(document, twin)
            return False
        move_document(
            document,
            DocumentState.VALIDATING,
            portal=self.fetched.facts,
            sha256=self.fetched.sha256,
            size=self.fetched.size,
            etag=self.fetched.etag,
        )
        return True

    def sha256_to_find(self, document: Document) -> str:
        """Return the SHA-256 of the fetched bytes, which may be on file."""
        return self.fetched.sha256


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordUnchanged(WorkerStep):
    """Moves to DEDUPED because the portal says that the version on file is current.

    The result is False, and nothing is moved, if that version is no longer on file.
    """

    filed: FiledVersion
    answer: NotModified

    def apply(self, document: Document, on_file: FiledDocuments) -> bool:
        """Move the document to DEDUPED. Returns False if the version is no longer on file."""
        document.sha256 = self.filed.sha256
        if twin := on_file.find_twin(document):
            document.size = twin.size
            _dedupe(document, twin, portal=self.answer.facts)
        return twin is not None

    def sha256_to_find(self, document: Document) -> str:
        """Return the SHA-256 of the version that the portal calls current."""
        return self.filed.sha256


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordFetchFailure(WorkerStep):
    """Records a failed request, and when it is repeated. The document stays RECEIVED.

    If the wait is long, the document leaves the shift and its attempt is taken back.
    """

    failure: FetchFailure

    def apply(self, document: Document, on_file: FiledDocuments) -> None:
        """Store the tries and the time of the next one.

        Raises LeaseLost if it was moved meanwhile.
        """
        if document.state != DocumentState.RECEIVED:
            raise LeaseLost(f"{document.subject} was moved by another process")
        failure, now = self.failure, read_database_time()
        attempts = document.attempts
        is_current = document.change_if_current(
            {
                "fetch_tries": failure.tries,
                "counted_tries": failure.counted_tries,
                "failing_since": document.failing_since or now,
                "next_attempt_at": now + timedelta(seconds=failure.wait_seconds),
                "attempts": max(0, attempts - 1) if failure.leaves_shift else attempts,
            }
        )
        if not is_current:
            raise LeaseLost(f"{document.subject} was moved by another process")
        wait_ms = round(failure.wait_seconds * 1000)
        detail = {**failure.facts, "tries": failure.tries, "wait_ms": wait_ms}
        document.record_at_revision(
            "document.fetch_failed", by=WORKER_ACTOR, code=failure.code, detail=detail
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Conclude(WorkerStep):
    """Records the decision of the checks. The bytes must be in the archive already.

    The bytes are made durable first, then state and entry are written together. After a crash in
    between, the document is still VALIDATING: the next lease takes the same steps again, and finds
    the bytes stored. The result is the new state.
    """

    checked: CheckedDocument

    def apply(self, document: Document, on_file: FiledDocuments) -> DocumentState:
        """Move the document to the state of its verdict, or divide it. Returns the new state.

        A document whose bytes were filed meanwhile moves to DEDUPED.
        """
        verdict, read = self.checked.verdict, self.checked.read
        if opened := self.checked.container:
            return self._expand(document, opened)
        if self.checked.rendition:
            renditions.record_rendition(document, self.checked.rendition)
        if divided := self._choose_division(document):
            division.divide(
                document,
                divided,
                page_count=len(read.pages) if read else 0,
                rules_version=verdict.rules_version,
            )
            _wake_worker_on_commit(document.batch.reference)
            return DocumentState.DIVIDED
        if verdict.state is DocumentState.ARCHIVED and (twin := on_file.find_twin(document)):
            return _dedupe(document, twin)
        findings, other = list(verdict.findings), on_file.find_other_name(document)
        if other:
            reference = other.packet or Packet.objects.get(documents=other.pk).reference
            facts = {"also": other.doc_id, "reference": reference}
            findings.append(RuleFinding("DUPLICATE_CONTENT", facts=facts))
        move_document(
            document,
            verdict.state,
            findings=findings,
            primary=verdict.primary,
            pages=len(read.pages) if read else None,
            document_type=document.document_type or verdict.document_type,
            rules_version=verdict.rules_version,
            duplicate_of_id=other.pk if other else None,
        )
        if any(CODES[finding.code].locks_original for finding in findings):
            inert_renditions.request_rendition(document)
        if verdict.state is DocumentState.ARCHIVED:
            on_file.add(document)
        return verdict.state

    def sha256_to_find(self, document: Document) -> str:
        """Return the SHA-256 again: the same bytes may have been filed since checking started."""
        return document.sha256

    def extraction(self, document: Document) -> Extraction | None:
        """Return the row with what was read, or None if the file could not be read."""
        if self.checked.read is None or self.checked.container:
            return None
        cut = self.checked.cut
        is_file = not document.has_pages_of_a_file
        described = division.describe_cut(cut) if cut and is_file else None
        rendition = renditions.find_read_rendition(document) if self.checked.is_rendition else None
        return Extraction.of(
            document, self.checked.verdict, self.checked.read, described, rendition
        )

    def _expand(self, document: Document, opened: OpenedContainer) -> DocumentState:
        """Expand a container whose entries are archived, or reject it if they are too many."""
        rules_version = self.checked.verdict.rules_version
        if refusal := expansion.find_refusal(document, opened):
            move_document(
                document,
                DocumentState.REJECTED,
                findings=[refusal],
                primary=refusal,
                rules_version=rules_version,
            )
            return DocumentState.REJECTED
        expansion.expand(document, opened, rules_version=rules_version)
        _wake_worker_on_commit(document.batch.reference)
        return DocumentState.DIVIDED

    def searchable_pages(self, document: Document) -> list[ReadPage] | None:
        """Return the pages that can be searched; none of a document in quarantine."""
        if self.checked.read is None:
            return None
        pages = search_index.list_read_pages(self.checked.read)
        return search_index.select_searchable(document, pages)

    def _choose_division(self, document: Document) -> Division | None:
        """Return the division of a file that needs no person to confirm it, or None.

        If there is any doubt, the file stays whole, and its findings send it to QA. Only separator
        sheets are without doubt: a first measurement of the evidence of pages alone divided 5 of
        100 scanned binders in a wrong way.
        """
        cut, read = self.checked.cut, self.checked.read
        if cut is None or read is None or not division.is_enabled():
            return None
        if document.has_pages_of_a_file or document.is_doubtful:
            return None
        is_safe = (
            cut.needs_no_confirmation
            and division.SIGNED_FLAG not in read.flags
            and not any(page.get("error") for page in read.pages)
            and not self.checked.verdict.is_quarantined
            and self.checked.verdict.state is not DocumentState.HELD
        )
        return division.propose_division(cut) if is_safe else None


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordEarlyDecision(WorkerStep):
    """Rejects or holds a document that was not read. The result is the new state."""

    decision: EarlyDecision

    def apply(self, document: Document, on_file: FiledDocuments) -> DocumentState:
        """Move the document to HELD or REJECTED, with the finding of the decision."""
        finding = RuleFinding(self.decision.code, facts=self.decision.facts)
        state = DocumentState.HELD if self.decision.is_held else DocumentState.REJECTED
        move_document(document, state, findings=[finding], primary=finding)
        return state


def apply_steps(steps: Sequence[WorkerStep]) -> list[Any]:
    """Apply steps of different documents in one transaction, and return their results.

    Either all steps are applied or none. Raises LeaseLost if a worker does not hold the lease of
    its step, and IntegrityError if two of the steps file the same bytes.

    The rows of the chunks are locked first, so that no other process can end a lease meanwhile. The
    order of locks is chunk, document, batch, ledger, as everywhere.
    """
    with ledger():
        documents = Document.objects.lock_leased({step.document: step.lease for step in steps})
        for step in steps:
            if step.document not in documents:
                raise LeaseLost(f"document:{step.document} belongs to another worker now")
            if DocumentState(documents[step.document].state).is_settled:
                # Its site uploaded the file instead, while the worker asked the portal.
                raise LeaseLost(f"document:{step.document} was settled by another process")
        pairs = [(step, documents[step.document]) for step in steps]
        hashes = {step.sha256_to_find(document) for step, document in pairs} - {""}
        on_file = FiledDocuments.find(documents.values(), hashes)
        results = [step.apply_logged(document, on_file) for step, document in pairs]
        extractions = (step.extraction(document) for step, document in pairs)
        Extraction.objects.bulk_create(filter(None, extractions))
        found = ((document, step.searchable_pages(document)) for step, document in pairs)
        writing.replace_pages([(row, pages) for row, pages in found if pages is not None])
        return results


def apply_step(step: WorkerStep) -> Any:
    """Apply one step in a transaction of its own, and return its result. Raises LeaseLost."""
    try:
        return apply_steps([step])[0]
    except IntegrityError:
        # Another transaction filed the same bytes after this one had searched for them, and a
        # constraint refused the second row. The repeated search finds the first one.
        return apply_steps([step])[0]


def _wake_worker_on_commit(batch: str) -> None:
    """Wake a worker for a batch after the commit, with the correlation ID of its document."""
    transaction.on_commit(partial(copy_context().run, wakeup.wake_worker, batch))


def _dedupe(
    document: Document, twin: FiledDocument, *, portal: Mapping[str, str | int] | None = None
) -> DocumentState:
    """Move a document that repeats a filed one to DEDUPED.

    `portal` holds facts about the answer of the portal, for the ledger.
    """
    on_file = RuleFinding(
        "DUPLICATE_CONTENT", facts={"twin": twin.doc_id, "reference": twin.packet}
    )
    move_document(
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
