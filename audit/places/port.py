"""What `audit.anchors` asks of a place that keeps checkpoints out of our reach."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol


class NotTaken(Exception):
    """The place did not take a checkpoint, or could not be read. The message is for people."""


@dataclass(frozen=True, slots=True)
class Taken:
    """Where it is now, and what proves it."""

    place: str
    proof: str = ""


class Held(NamedTuple):
    """A note that was found in a place. Not verified: whoever reads it looks at its signatures."""

    place: str
    note: str


class Place(Protocol):
    """Each method takes ANCHOR_TIMEOUT_SECONDS and a little at most, and raises NotTaken."""

    name: str
    #: A newer checkpoint says all that an older one does. Where keeping costs nothing, all are
    #: kept; elsewhere what waited in an outage is answered for by the newest.
    wants_all: bool

    def put(self, origin: str, size: int, note: str) -> Taken:
        """Durable when this returns. Putting the same again changes nothing."""
        ...

    def read_back(self, after: int) -> Iterator[Held]:
        """What it holds of checkpoints of more than `after` entries, in no order."""
        ...
