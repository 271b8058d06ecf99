"""Defines the interface of an anchor: a place outside of this installation with checkpoints."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from django.core.checks import CheckMessage
from django.utils.functional import Promise


class AnchorError(Exception):
    """An anchor did not accept a checkpoint or could not be read. The message is a sentence."""


@dataclass(frozen=True, slots=True)
class AnchorProof:
    """The place of a checkpoint in an anchor, and a proof of it."""

    place: str
    proof: str = ""


class AnchoredNote(NamedTuple):
    """A note that was read from an anchor. Its signatures are not verified yet."""

    place: str
    note: str
    flaw: str = ""  # a sentence saying why it could be replaced in its place; "": it could not


class Anchor(Protocol):
    """A place that keeps checkpoints.

    Each method takes little more than ANCHOR_TIMEOUT_SECONDS, and raises AnchorError.
    """

    name: str
    #: Whether `read_back` yields the notes that were put. A time stamp authority keeps none.
    keeps_notes: bool
    #: Whether all waiting checkpoints are put. Otherwise only the newest is put after an outage,
    #: because it implies all older ones, and each object or time stamp has a cost.
    wants_all: bool

    @property
    def address(self) -> str:
        """Return the address, as a witness policy has it: a path, s3://BUCKET/PREFIX or a URL."""
        ...

    def put(self, origin: str, size: int, note: str) -> AnchorProof:
        """Store a note durably. Putting the same note again changes nothing."""
        ...

    def read_back(self, after: int) -> Iterator[AnchoredNote]:
        """Yield the stored notes of checkpoints of more than `after` entries, in any order."""
        ...

    def weakness(self) -> str:
        """Return a sentence saying why this place does not count as independent, or "".

        A place is independent if the administrators of this installation can neither change nor
        remove what it holds. Reads files and resolves host names at most; never raises.
        """
        ...


class AnchorKind(Protocol):
    """A kind of anchor, which its settings describe."""

    name: str

    @property
    def label(self) -> Promise:
        """Return its name on pages."""
        ...

    def from_settings(self) -> Anchor | None:
        """Return the anchor that the settings name, or None if they name none of this kind."""
        ...

    def check_settings(self) -> Iterator[CheckMessage]:
        """Yield a message for each of its settings that is wrong."""
        ...


def is_http_address(text: str) -> bool:
    """Return whether the text begins like an HTTP or HTTPS address."""
    return text.startswith(("http://", "https://"))
