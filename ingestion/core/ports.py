"""Defines what travels through the core, and the three ports at its edges.

The core imports no Django, so the ports are protocols: `ingestion.sources` implements
`DocumentFetcher`, `ingestion.dispatch` implements `Recorder` and `DocumentReader`.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any, Protocol

from ingestion.core.file_parts import FilePart


@dataclass(frozen=True, slots=True, kw_only=True)
class PortalTerms:
    """Holds how a portal may be asked, as its row says."""

    key: str
    portal: int = 0  # primary key of the row
    base_url: str
    rate_per_second: float
    burst: int
    max_in_flight: int
    timeout_seconds: float  # one request, in all
    allow_http: bool = False
    allow_private_hosts: bool = False
    allowed_hosts: tuple[str, ...] = ()  # name or name:port, besides the host of `base_url`
    secret_header: str = "Authorization"  # noqa: S105 - a name; the secret is never in the terms
    approved_origin: str = ""  # scheme, host and port that a second person approved
    is_mirror: bool = False  # of the portal of the site, which does not respond


@dataclass(frozen=True, slots=True)
class FiledVersion:
    """Holds a version on file, and the strong ETag with which its portal served it."""

    etag: str
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkItem:
    """Describes a document that a shift works on, without its bytes."""

    document: int  # primary key of the row
    chunk: int  # primary key
    batch: str = ""  # reference, for the log, as the next three
    packet: str = ""
    correlation_id: str = ""
    attempt: int = 1
    received_ns: int = 0  # nanoseconds since 1970, as the next one
    queued_ns: int = 0  # when it was put into its queue, for the duration of its wait
    site_id: str
    doc_id: str
    url: str  # "" for an upload, whose bytes are in the spool already
    terms: PortalTerms | None  # None for an upload
    spooled: str = ""
    # SHA-256 of the rendition from which the file was read before; "": it has not been rendered.
    rendition: str = ""
    is_doubtful: bool = False  # an entry of a container that may be no document
    part: FilePart | None = None  # the pages of the file; None: the whole file
    expected_sha256: str = ""
    filename: str = ""
    declared_type: str = ""
    person: str = ""  # the person whose document it is, as declared
    schema_version: str = ""
    language: str = ""  # as declared
    version: str = ""  # of the document, as declared
    site_name: str = ""
    site_country: str = ""
    protocol_number: str = ""
    protocol_version: str = ""
    activated_on: date | None = None  # the site
    investigator: str = ""  # of the site, as the register names the person
    investigator_licence: str = ""
    overrides: Mapping[str, Any] = field(default_factory=dict)  # validity terms of the study
    size: int = 0  # bytes of an upload
    tries: int = 0  # requests made so far
    counted_tries: int = 0  # of them, those that failed while the portal served other documents
    is_suspect: bool = False  # a worker died while it worked on this document
    # Local monotonic seconds until which the document waits for its portal. None: nothing failed.
    deadline: float | None = None
    filed: FiledVersion | None = None  # the portal is asked for any other version
    kept: "Fetched | None" = None  # the bytes that a worker fetched before it died

    @property
    def name(self) -> str:
        """Return how the log names the document. Its doc_id may contain a person's name."""
        return f"document:{self.document}"

    @property
    def log_facts(self) -> Mapping[str, str | int]:
        """Return what each line of the log says while the document is in hand."""
        return {
            "correlation_id": self.correlation_id,
            "study": self.protocol_number,
            "site": self.site_id,
            "packet": self.packet,
            "batch": self.batch,
            "document": self.name,
            "attempt": max(self.attempt, self.tries + 1),
        }

    @property
    def queue(self) -> str:
        """Return the key of the portal queue in which the document waits."""
        return self.terms.key if self.asks_portal and self.terms else f"upload of {self.site_id}"

    @property
    def asks_portal(self) -> bool:
        """Return whether the document is fetched from its portal. Otherwise its bytes are here."""
        return self.terms is not None and self.kept is None


@dataclass(frozen=True, slots=True)
class Fetched:
    """Holds where the bytes of a document are, and what was learned while they came in.

    `facts` describe the answer for the ledger: `certificate_sha256` of the portal, and
    `clock_skew_seconds` if its clock differs by more than a minute.
    """

    path: Path
    sha256: str
    size: int
    tries: int = 1  # requests made for the document
    fetch_ms: int = 0  # duration of the last request
    facts: Mapping[str, str | int] = field(default_factory=dict)
    etag: str = ""  # a strong ETag of the address that was asked, or ""


@dataclass(frozen=True, slots=True)
class NotModified:
    """Says that the portal still has the version on file. `facts` are those of `Fetched`."""

    facts: Mapping[str, str | int]


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchFailure:
    """Describes a failed request that will be repeated.

    `core.retry` creates it, and it is passed on unchanged until it is written to the row.
    """

    code: str  # a finding code
    facts: Mapping[str, str | int]  # about the failure, for the ledger
    tries: int  # requests made for the document, this one included
    counted_tries: int  # of them, those that count against the document
    deadline: float  # local monotonic seconds; afterwards the document is held
    wait_seconds: float  # until the next request
    leaves_shift: bool  # the wait is long: the document goes back to its chunk


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlyDecision:
    """Rejects or holds a document that was not read.

    `core.retry` creates it, and it is passed on unchanged until it is written to the row.
    """

    code: str  # a finding code
    facts: Mapping[str, str | int]  # they fill the placeholders of the finding's sentences
    is_held: bool  # the document is held: SiteLedger or the portal is to blame


#: Waits for a slot of the portal with this key, within its rate limit.
WaitForSlot = Callable[[str], Awaitable[None]]


class DocumentFetcher(Protocol):
    """The port to where documents come from."""

    async def fetch(self, item: WorkItem) -> Fetched | NotModified:
        """Return the document, or NotModified, which is possible only if `item.filed` is known.

        Raises TransientError, PermanentError or OurFault, and no error of an HTTP library.
        """
        ...


class Recorder(Protocol):
    """The port to the rows and the ledger.

    Every coroutine raises LeaseLost if the chunk of the document belongs to another worker.
    """

    async def start_attempt(self, item: WorkItem) -> bool:
        """Count an attempt, before the document can make a worker crash.

        Returns False if the attempts were used up and the document is held.
        """
        ...

    async def start_checking(self, item: WorkItem, fetched: Fetched) -> bool:
        """Record that the bytes are here. Returns False if the same bytes are on file already."""
        ...

    async def record_unchanged(self, item: WorkItem, answer: NotModified) -> bool:
        """Record that the version on file is current.

        Returns False if that version is no longer on file, so the document has to be fetched.
        """
        ...

    async def conclude(self, item: WorkItem, fetched: Fetched, checked: Any) -> None:
        """Archive the bytes, then record the decision of the reader."""
        ...

    async def record_fetch_failure(self, item: WorkItem, failure: FetchFailure) -> None:
        """Record a failed request, and when it is repeated."""
        ...

    async def record_early_decision(self, item: WorkItem, decision: EarlyDecision) -> None:
        """Reject or hold a document that was not read."""
        ...

    def postpone(self, queue: str, items: Sequence[WorkItem]) -> None:
        """Take the items, and all that would follow in their queue, out of the shift.

        Their portal is down. Called in the event loop, so it must not block.
        """
        ...

    def finish(self, item: WorkItem) -> None:
        """Note that the shift has nothing more to do with the document. Must not block."""
        ...


class DocumentReader(Protocol):
    """The port to the parser processes, which turn bytes into a decision."""

    async def read(self, item: WorkItem, fetched: Fetched) -> Any:
        """Return the decision about the fetched bytes, which `Recorder.conclude` receives."""
        ...
