"""What `audit.signing.anchors` asks of a place that keeps checkpoints out of our reach."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol


class AnchorError(Exception):
    """The place did not take a checkpoint, or could not be read. The message is for people."""


@dataclass(frozen=True, slots=True)
class AnchorProof:
    """Where it is now, and what proves it."""

    place: str
    proof: str = ""


class AnchoredNote(NamedTuple):
    """A note that was found in a place. Its signatures are not verified yet."""

    place: str
    note: str
    flaw: str = ""  # why it could be replaced where it is, as a sentence; "" if it could not be


class Anchor(Protocol):
    """Each method takes ANCHOR_TIMEOUT_SECONDS and a little at most, and raises NotTaken."""

    name: str
    #: Whether `read_back` yields what was put. A time stamp authority keeps no notes.
    keeps_notes: bool
    #: A newer checkpoint says all that an older one does. Where keeping costs nothing, all are
    #: kept; elsewhere what waited in an outage is answered for by the newest.
    wants_all: bool

    @property
    def address(self) -> str:
        """Where it is, as a policy names it: a path, s3://BUCKET/PREFIX or a URL."""
        ...

    def put(self, origin: str, size: int, note: str) -> AnchorProof:
        """Durable when this returns. Putting the same again changes nothing."""
        ...

    def read_back(self, after: int) -> Iterator[AnchoredNote]:
        """What it holds of checkpoints of more than `after` entries, in no order."""
        ...

    def weakness(self) -> str:
        """Return a sentence saying why this place does not count as independent, or "".

        A place is independent if the administrators of this installation can neither change nor
        remove what it holds. Reads files and resolves host names at most; never raises.
        """
        ...
