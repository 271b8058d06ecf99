"""Where the ledger stands: its end, what is signed of it, what is held elsewhere. Reads only."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from audit import anchors, checkpoints, clock, history, keys
from audit.keys import KeyProblem
from audit.models import Checkpoint, Entry
from audit.notes import SIGNED_BY


@dataclass(frozen=True, slots=True)
class Held:
    """That a place outside holds the checkpoint."""

    anchor: str
    place: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Signed:
    """The last checkpoint."""

    size: int  # entries under the signature
    head: str
    root: str
    at: datetime
    keys: Sequence[str]  # names of those that signed; two when keys change
    held: Sequence[Held]


@dataclass(frozen=True, slots=True)
class Standing:
    entries: int
    head: str  # the hash of the last entry; "" before the first
    signed: Signed | None

    @property
    def unsigned(self) -> int:
        """Entries that no checkpoint covers yet."""
        return self.entries - (self.signed.size if self.signed else 0)


def standing() -> Standing:
    """Three queries, however long the trail."""
    entries, head = history.head() or (0, "")
    return Standing(entries, head, _last_signed())


def unsigned_since() -> datetime | None:
    """When the oldest entry was recorded that no checkpoint covers; None: all are covered."""
    last = Checkpoint.objects.first()
    later = Entry.objects.filter(seq__gt=last.size if last else 0).order_by("seq")
    return later.values_list("recorded_at", flat=True).first()


def _last_signed() -> Signed | None:
    row = Checkpoint.objects.first()
    if row is None:
        return None
    held = [Held(each.anchor, each.place, each.anchored_at) for each in row.receipts.all()]
    return Signed(row.size, row.head, row.root, row.created_at, _keys(row.note), held)


def _keys(note: str) -> list[str]:
    """The names on a note's signature lines. Nothing is verified here."""
    lines = [line for line in note.splitlines() if line.startswith(SIGNED_BY)]
    return [line.removeprefix(SIGNED_BY).partition(" ")[0] for line in lines]


def figures() -> dict[str, Any]:
    """For `status`: numbers, and lists of sentences that are empty when all is well."""
    last = checkpoints.latest()
    return {
        "ledger_signed": last.size if last else 0,
        "ledger_unsigned": checkpoints.unsigned(),
        "ledger_problems": _problems(),
        "unanchored": [str(waiting) for waiting in anchors.unanchored()],
        "clocks_apart": [str(skew) for skew in clock.apart()],
    }


def _problems() -> list[str]:
    found = []
    try:
        if not keys.known():
            found.append("there is no key: nothing is signed")
    except KeyProblem as error:
        found.append(str(error))
    if fault := checkpoints.fault():
        found.append(f"broken at {fault}")
    return found
