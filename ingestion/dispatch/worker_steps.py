"""Defines the steps of a worker with a document, several in one transaction (docs/adr/0012).

Each step is fenced by the lease of the document's chunk: for a worker that lost the lease,
`apply_steps` raises LeaseLost and writes nothing. The steps change states through
`ingestion.documents.transitions`.
"""

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from typing import Any, NamedTuple, Self
from uuid import UUID

from django.db import IntegrityError, connection

from audit.ledger.log import ledger
from ingestion.core.errors import LeaseLost
from ingestion.core.ports import EarlyDecision, Fetched, FetchFailure, FiledVersion, NotModified
from ingestion.core.states import DocumentState
from ingestion.dispatch.clock import database_now
from ingestion.documents.transitions import move_document, record_entry
from ingestion.models import Document, Extraction, Packet
from ingestion.rules.checks.verdict import Checked
from ingestion.rules.findings import RuleFinding


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerStep(ABC):
    """One move of a document, by the worker that holds the lease of its chunk.

    This layer exists because several steps share one transaction, one lock and one search for
    duplicates: a step is data until `apply_steps` applies it. It carries what the core created
    whole.
    """

    document: int  # primary key
    lease: UUID

    @abstractmethod
    def apply(self, document: Document, on_file: "FiledDocuments") -> Any:
        """Move the document. Runs inside `ledger()`, with the row locked and the lease checked."""

    def sha256_to_find(self, document: Document) -> str:
        """Return the SHA-256 that `apply` looks up in `on_file`, or "" if it looks up none."""
        return ""

    def extraction(self, document: Document) -> Extraction | None:
        """Return what was read from the document, to be stored after the step."""
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class StartAttempt(WorkerStep):
    """Counts an attempt, before the document can make a worker crash.

    Returns False if the attempts were used up and the document is held as POISON.
    """

    max_attempts: int

    def apply(self, document: Document, on_file: "FiledDocuments") -> bool:
        if document.attempts < self.max_attempts:
            _change(document, {"attempts": document.attempts + 1})
            return True
        poison = RuleFinding("POISON", facts={"attempts": document.attempts})
        move_document(document, DocumentState.HELD, findings=[poison], primary=poison)
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class StartChecking(WorkerStep):
    """Moves to VALIDATING, or to DEDUPED and returns False if the same bytes are on file."""

    fetched: Fetched

    def apply(self, document: Document, on_file: "FiledDocuments") -> bool:
        document.sha256, document.size = self.fetched.sha256, self.fetched.size
        if twin := on_file.twin(document):
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
        return self.fetched.sha256


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordUnchanged(WorkerStep):
    """Moves to DEDUPED because the portal says that the version on file is current.

    Returns False, and moves nothing, if that version is no longer on file.
    """

    filed: FiledVersion
    answer: NotModified

    def apply(self, document: Document, on_file: "FiledDocuments") -> bool:
        document.sha256 = self.filed.sha256
        if twin := on_file.twin(document):
            document.size = twin.size
            _dedupe(document, twin, portal=self.answer.facts)
        return twin is not None

    def sha256_to_find(self, document: Document) -> str:
        return self.filed.sha256


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordFetchFailure(WorkerStep):
    """Records a failed request, and when it is repeated. The document stays RECEIVED.

    If the document leaves the shift in good order, its attempt is not counted.
    """

    failure: FetchFailure

    def apply(self, document: Document, on_file: "FiledDocuments") -> None:
        if document.state != DocumentState.RECEIVED:
            raise LeaseLost(f"{document.subject} was moved by another process")
        failure, now = self.failure, database_now()
        attempts = document.attempts
        _change(
            document,
            {
                "transitions": document.transitions + 1,
                "fetch_tries": failure.tries,
                "counted_tries": failure.counted_tries,
                "failing_since": document.failing_since or now,
                "next_attempt_at": now + timedelta(seconds=failure.wait_seconds),
                "attempts": max(0, attempts - 1) if failure.leaves_shift else attempts,
            },
        )
        wait_ms = round(failure.wait_seconds * 1000)
        detail = {**failure.facts, "tries": failure.tries, "wait_ms": wait_ms}
        record_entry(document, "document.fetch_failed", code=failure.code, detail=detail)


@dataclass(frozen=True, slots=True, kw_only=True)
class Conclude(WorkerStep):
    """Records the decision of the checks. The bytes must be in the archive already.

    The bytes are made durable first, then state and entry are written together. After a crash in
    between, the document is still VALIDATING, and the next lease finds its bytes stored and takes
    the same steps again.
    """

    checked: Checked

    def apply(self, document: Document, on_file: "FiledDocuments") -> DocumentState:
        verdict, read = self.checked.verdict, self.checked.read
        if verdict.state is DocumentState.ARCHIVED and (twin := on_file.twin(document)):
            return _dedupe(document, twin)
        other = on_file.under_another_name(document)
        move_document(
            document,
            verdict.state,
            findings=[*verdict.findings, *_duplicate_findings(other)],
            primary=verdict.primary,
            pages=len(read.pages) if read else None,
            document_type=document.document_type or verdict.document_type,
            rules_version=verdict.rules_version,
            duplicate_of_id=other.pk if other else None,
        )
        if verdict.state is DocumentState.ARCHIVED:
            on_file.add(document)
        return verdict.state

    def sha256_to_find(self, document: Document) -> str:
        """Return the SHA-256 again: the same bytes may have been filed since checking started."""
        return document.sha256

    def extraction(self, document: Document) -> Extraction | None:
        if self.checked.read is None:
            return None
        return Extraction.of(document, self.checked.verdict, self.checked.read)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordEarlyDecision(WorkerStep):
    """Rejects or holds a document that was not read."""

    decision: EarlyDecision

    def apply(self, document: Document, on_file: "FiledDocuments") -> None:
        seen = RuleFinding(self.decision.code, facts=self.decision.facts)
        state = DocumentState.HELD if self.decision.is_held else DocumentState.REJECTED
        move_document(document, state, findings=[seen], primary=seen)


def apply_steps(steps: Sequence[WorkerStep]) -> list[Any]:
    """Apply steps of different documents in one transaction, and return their results.

    Applies all of them or, if it raises, none. Raises LeaseLost, and IntegrityError if two of the
    steps file the same bytes.

    The chunks' rows are locked first, so that no other process can take a lease away meanwhile.
    Every process locks in this order: chunk, document, batch, ledger.
    """
    with ledger():
        documents = Document.objects.lock_leased({step.document: step.lease for step in steps})
        for step in steps:
            if step.document not in documents:
                raise LeaseLost(f"document:{step.document} belongs to another worker now")
        pairs = [(step, documents[step.document]) for step in steps]
        shas = {step.sha256_to_find(document) for step, document in pairs} - {""}
        on_file = FiledDocuments.of(documents.values(), shas)
        results = [step.apply(document, on_file) for step, document in pairs]
        extractions = (step.extraction(document) for step, document in pairs)
        Extraction.objects.bulk_create(filter(None, extractions))
        return results


def apply_step(step: WorkerStep) -> Any:
    """Apply one step, and return its result."""
    try:
        return apply_steps([step])[0]
    except IntegrityError:
        # Another transaction filed the same bytes after this one had looked, and a constraint
        # refused the second row. Now the first one is found.
        return apply_steps([step])[0]


class FiledDocument(NamedTuple):
    """Holds what a duplicate needs to know. An instance of the model would cost four times more."""

    pk: int
    site: int
    sha256: str
    doc_id: str
    size: int | None
    packet: str  # reference; "" for a document that was filed in this transaction


_FILED_COLUMNS = ("pk", "site", "sha256", "doc_id", "size", "packet__reference")


@cache
def _duplicates_query(sites: int, shas: int) -> tuple[str, tuple[str, ...]]:
    """Return a query for so many sites and hashes, and the parameters that precede these."""
    of_sites = Document.objects.on_file().order_by().filter(site__in=range(sites))
    same = of_sites.filter(sha256__in=map(str, range(shas)))
    query, parameters = same.values_list(*_FILED_COLUMNS).query.sql_with_params()
    return query, parameters[: -(sites + shas)]


class FiledDocuments:
    """Holds the filed documents whose bytes other documents may repeat."""

    def __init__(self, filed: Iterable[FiledDocument]) -> None:
        self._filed: defaultdict[tuple[int, str], list[FiledDocument]] = defaultdict(list)
        for each in filed:
            self._filed[each.site, each.sha256].append(each)

    @classmethod
    def of(cls, documents: Iterable[Document], shas: Collection[str]) -> Self:
        """Return the filed documents of the same sites that have one of the hashes."""
        if not shas:
            return cls(())
        sites = {document.site_id for document in documents}
        query, states = _duplicates_query(len(sites), len(shas))
        with connection.cursor() as cursor:
            cursor.execute(query, (*states, *sites, *shas))
            return cls(FiledDocument(*row) for row in cursor.fetchall())

    def twin(self, document: Document) -> FiledDocument | None:
        """Return the filed document that this one repeats (decision 12).

        A portal's document repeats only one with the same doc_id, an upload one with any doc_id.
        """
        for filed in self._filed[document.site_id, document.sha256]:
            is_same = not document.url or filed.doc_id == document.doc_id
            if is_same and filed.pk != document.pk:
                return filed
        return None

    def under_another_name(self, document: Document) -> FiledDocument | None:
        """Return a filed document with the same bytes and another doc_id.

        Decision 12: a portal's document is filed under each of its names, with a finding that names
        the other one.
        """
        same = self._filed[document.site_id, document.sha256]
        return next((filed for filed in same if filed.doc_id != document.doc_id), None)

    def add(self, document: Document) -> None:
        """Add a document that was filed: the next step of this transaction may repeat it."""
        key, sha256 = document.site_id, document.sha256
        filed = FiledDocument(document.pk, key, sha256, document.doc_id, document.size, "")
        self._filed[key, sha256].append(filed)


def _change(document: Document, columns: Mapping[str, Any]) -> None:
    if not document.change(columns):
        raise LeaseLost(f"{document.subject} was moved by another process")


def _duplicate_findings(other: FiledDocument | None) -> Iterator[RuleFinding]:
    """Yield the information that the same bytes are on file under another doc_id."""
    if other:
        reference = other.packet or Packet.objects.get(documents=other.pk).reference
        yield RuleFinding("DUPLICATE_CONTENT", facts={"also": other.doc_id, "reference": reference})


def _dedupe(
    document: Document, twin: FiledDocument, *, portal: Mapping[str, str | int] | None = None
) -> DocumentState:
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
