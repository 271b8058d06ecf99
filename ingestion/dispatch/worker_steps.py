"""What a worker does with the documents in its hands, several in one transaction (docs/adr/0012).

Each step is fenced by the lease of the document's chunk: a worker that lost it gets LeaseLost and
has written nothing. The moves themselves are made by `filing`.
"""

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple, Self
from uuid import UUID

from django.db import IntegrityError, connection

from audit.ledger.log import ledger
from ingestion.core.errors import LeaseLost
from ingestion.core.states import DocumentState
from ingestion.documents.transitions import move
from ingestion.models import Document, Extraction, Packet
from ingestion.reading.provenance import Provenance
from ingestion.rules.checks.verdict import Verdict
from ingestion.rules.findings import Finding as Seen


@dataclass(frozen=True, slots=True, kw_only=True)
class Step(ABC):
    """One move that a worker makes with a document in its hands: a row's key, its chunk's lease."""

    document: int
    lease: UUID

    @abstractmethod
    def take(self, document: Document, on_file: "OnFile") -> Any:
        """Inside ledger(), the row being locked and the lease known to be ours."""

    def repeats(self, document: Document) -> str:
        """The fingerprint of which `take` has to know whether it is on file; "" if of none."""
        return ""

    def extraction(self, document: Document) -> Extraction | None:
        """What was read from the document, to be kept once the step is taken."""
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class TakeUp(Step):
    """Charge one attempt, before anything can crash. False: it was held as POISON."""

    budget: int

    def take(self, document: Document, on_file: "OnFile") -> bool:
        if document.attempts < self.budget:
            if not document.change({"attempts": document.attempts + 1}):
                raise LeaseLost(f"{document.subject} was moved by somebody else")
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

    def repeats(self, document: Document) -> str:
        return self.sha256


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

    def repeats(self, document: Document) -> str:
        return self.sha256


@dataclass(frozen=True, slots=True, kw_only=True)
class Conclude(Step):
    """Record the decision. The bytes must be in the archive already: that is the commit order.

    Bytes durable, then state and entry together. If we die in between, the document is still
    VALIDATING, and the next lease finds its bytes stored and goes the same way again.
    """

    verdict: Verdict
    read: Provenance | None  # None for what could not be read

    def take(self, document: Document, on_file: "OnFile") -> DocumentState:
        verdict = self.verdict
        if verdict.state is DocumentState.ARCHIVED and (twin := on_file.twin(document)):
            return _dedupe(document, twin)
        elsewhere = on_file.under_another_name(document)
        move(
            document,
            verdict.state,
            findings=[*verdict.findings, *_noted(elsewhere)],
            primary=verdict.primary,
            pages=len(self.read.pages) if self.read else None,
            document_type=document.document_type or verdict.document_type,
            rules_version=verdict.rules_version,
            duplicate_of_id=elsewhere.pk if elsewhere else None,
        )
        if verdict.state is DocumentState.ARCHIVED:
            on_file.add(document)
        return verdict.state

    def repeats(self, document: Document) -> str:
        """Look once more: the same bytes may have been filed since its checking started."""
        return document.sha256

    def extraction(self, document: Document) -> Extraction | None:
        return Extraction.of(document, self.verdict, self.read) if self.read else None


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
        taken = [(step, documents[step.document]) for step in steps]
        shas = {step.repeats(document) for step, document in taken} - {""}
        on_file = OnFile.of(documents.values(), shas)
        answers = [step.take(document, on_file) for step, document in taken]
        read = (step.extraction(document) for step, document in taken)
        Extraction.objects.bulk_create(filter(None, read))
        return answers


def take_alone(step: Step) -> Any:
    """Take one step."""
    try:
        return take([step])[0]
    except IntegrityError:
        # Somebody filed the same bytes since we looked, and a constraint refused us.
        return take([step])[0]


def ours(document_id: int, lease: UUID) -> Document:
    """The document, locked, if the lease is still ours. Raises LeaseLost."""
    return _ours({document_id: lease})[document_id]


def _ours(leases: Mapping[int, UUID]) -> dict[int, Document]:
    """The documents, locked, each under the lease of its chunk. Raises LeaseLost.

    The chunks' rows are locked first, so that nobody can give them away under our hands; everybody
    locks in this order: chunk, document, batch, the ledger.
    """
    documents = Document.objects.lock_held(leases)
    for document in leases:
        if document not in documents:
            raise LeaseLost(f"document:{document} belongs to another worker now")
    return documents


class Filed(NamedTuple):
    """What there is to know of a filed document: a row of its own would cost four times as much."""

    pk: int
    site: int
    sha256: str
    doc_id: str
    size: int | None
    packet: str  # its reference; "" for one that was filed in this very transaction


_FILED = ("pk", "site", "sha256", "doc_id", "size", "packet__reference")


@cache
def _same_on_file(sites: int, shas: int) -> tuple[str, tuple[str, ...]]:
    """A query, written once, and its first parameters; then come so many sites and fingerprints."""
    of_sites = Document.objects.on_file().order_by().filter(site__in=range(sites))
    same = of_sites.filter(sha256__in=map(str, range(shas)))
    query, parameters = same.values_list(*_FILED).query.sql_with_params()
    return query, parameters[: -(sites + shas)]


class OnFile:
    """The filed documents whose bytes some others may repeat."""

    def __init__(self, filed: Iterable[Filed]) -> None:
        self._filed: defaultdict[tuple[int, str], list[Filed]] = defaultdict(list)
        for each in filed:
            self._filed[each.site, each.sha256].append(each)

    @classmethod
    def of(cls, documents: Iterable[Document], shas: Collection[str]) -> Self:
        """What may be the twin of these documents, by these fingerprints."""
        if not shas:
            return cls(())
        sites = {document.site_id for document in documents}
        query, states = _same_on_file(len(sites), len(shas))
        with connection.cursor() as cursor:
            cursor.execute(query, (*states, *sites, *shas))
            return cls(Filed(*row) for row in cursor.fetchall())

    def twin(self, document: Document) -> Filed | None:
        """The filed document with the same bytes: decision 12."""
        for filed in self._filed[document.site_id, document.sha256]:
            # Only an upload is matched under any doc_id.
            is_same = not document.url or filed.doc_id == document.doc_id
            if is_same and filed.pk != document.pk:
                return filed
        return None

    def under_another_name(self, document: Document) -> Filed | None:
        """The filed document with the same bytes under another doc_id, where this one may be filed.

        Decision 12: a portal's document is filed under each of its names, and told of the other.
        """
        same = self._filed[document.site_id, document.sha256]
        return next((filed for filed in same if filed.doc_id != document.doc_id), None)

    def add(self, document: Document) -> None:
        """It was filed: the next step of this transaction may repeat it."""
        key, sha256 = document.site_id, document.sha256
        filed = Filed(document.pk, key, sha256, document.doc_id, document.size, "")
        self._filed[key, sha256].append(filed)


def _noted(elsewhere: Filed | None) -> Iterator[Seen]:
    """The information that the same bytes are on file under another doc_id."""
    if elsewhere:
        reference = elsewhere.packet or Packet.objects.get(documents=elsewhere.pk).reference
        yield Seen("DUPLICATE_CONTENT", facts={"also": elsewhere.doc_id, "reference": reference})


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
