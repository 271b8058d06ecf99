"""What travels through the core, and the two ports at its edges."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any, Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class PortalTerms:
    """How a portal may be asked: what its Portal row says."""

    key: str
    portal: int = 0  # the row's key
    base_url: str
    rate_per_second: float
    burst: int
    max_in_flight: int
    timeout_seconds: float  # one request, in all
    allow_http: bool = False
    allow_private_hosts: bool = False
    allowed_hosts: tuple[str, ...] = ()  # name or name:port; besides the one of `base_url`
    secret_header: str = "Authorization"  # noqa: S105 - a name; the secret is never in the terms
    approved_origin: str = ""  # scheme, host and port that a second person approved


@dataclass(frozen=True, slots=True)
class Filed:
    """A version of a document that is on file, and the strong ETag that its portal gave with it."""

    etag: str
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkItem:
    """A descriptor, never bytes. `tries` counts the requests made for it so far."""

    document: int  # the row's key
    chunk: int
    batch: str = ""  # its reference, for the log
    site_id: str
    doc_id: str
    url: str  # "" for an upload, whose bytes are in the spool already
    terms: PortalTerms | None  # None for an upload
    spooled: str = ""
    expected_sha256: str = ""
    filename: str = ""
    declared_type: str = ""
    schema_version: str = ""
    site_name: str = ""
    protocol_number: str = ""
    protocol_version: str = ""
    activated_on: date | None = None  # the site
    overrides: Mapping[str, Any] = field(default_factory=dict)  # for the Reader: the study's terms
    size: int = 0  # bytes of an upload
    tries: int = 0
    counted_tries: int = 0  # of them, those that failed while its portal gave others
    is_suspect: bool = False  # it was in hand when a worker died
    # Local monotonic seconds: since its first failure it waits for its portal until then.
    deadline: float | None = None
    filed: Filed | None = None  # its portal is asked for anything but this

    @property
    def name(self) -> str:
        """In the log."""
        return f"{self.doc_id} of site {self.site_id} in batch {self.batch or 'unknown'}"

    @property
    def lane(self) -> str:
        """Documents of one portal queue behind one another and behind nobody else."""
        return self.terms.key if self.terms else f"upload of {self.site_id}"


@dataclass(frozen=True, slots=True)
class Fetched:
    """Bytes on the disk, hashed while they came in. `tries` is how often the portal was asked.

    `facts` are what is worth keeping about the answer: `certificate_sha256` of the portal, and
    `clock_skew_seconds` where its clock is more than a minute off.
    """

    path: Path
    sha256: str
    size: int
    tries: int = 1
    facts: Mapping[str, str | int] = field(default_factory=dict)
    etag: str = ""  # a strong one, of the address that was asked; or none


@dataclass(frozen=True, slots=True)
class Unchanged:
    """No bytes: the portal still has those that are on file. `facts` as above."""

    facts: Mapping[str, str | int]


class Portal(Protocol):
    """Where documents come from."""

    async def fetch(self, item: WorkItem) -> Fetched | Unchanged:
        """Unchanged only where `item.filed` is known.

        Raises TransientError, PermanentError or OurFault, never anything of its library.
        """
        ...


class Desk(Protocol):
    """Where moves are recorded. Every method raises LeaseLost when the chunk is not ours."""

    async def take_up(self, item: WorkItem) -> bool:
        """Charge an attempt, before anything can crash. False: held, its budget is spent."""
        ...

    async def start_checking(self, item: WorkItem, fetched: Fetched) -> bool:
        """False: the same bytes are on file already, and that is on record."""
        ...

    async def unchanged(self, item: WorkItem, answer: Unchanged) -> bool:
        """Record that it is on file already. False: it no longer is, and has to be fetched."""
        ...

    async def conclude(self, item: WorkItem, fetched: Fetched, checked: Any) -> None:
        """Archive the bytes, and record the decision that the reader came to."""
        ...

    async def fetch_failed(
        self, item: WorkItem, code: str, facts: Mapping[str, str | int], *, wait: float, later: bool
    ) -> None:
        """Record a failed request. `later`: the document leaves the shift for `wait` seconds."""
        ...

    def postpone(self, lane: str, items: Sequence[WorkItem]) -> None:
        """Their portal is not asked just now: they are not in flight, and leave the shift.

        So does what was not fed yet. Called in the event loop; must not block.
        """
        ...

    async def give_up(
        self, item: WorkItem, code: str, facts: Mapping[str, str | int], *, held: bool
    ) -> None:
        """Reject it, or hold it, without having read it."""
        ...

    async def over(self, item: WorkItem) -> None:
        """The document is out of the shift's hands. Removes what was spooled for it."""
        ...


class Reader(Protocol):
    """Bytes to a decision, in other processes."""

    async def read(self, item: WorkItem, fetched: Fetched) -> Any: ...
