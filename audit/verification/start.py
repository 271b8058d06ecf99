"""Where a check begins: after the largest signed checkpoint that an earlier check came to.

What lies between two checkpoints is proved by their signatures, wherever a pass begins: its tree
begins as the one that was signed and has to arrive at the other. So a part can be read at a time.
"""

from dataclasses import dataclass, field

from audit.ledger.chain import digest
from audit.models import Checkpoint, CheckRun, Entry
from audit.verification import checkpoint_verification
from audit.verification.checkpoint_verification import AnchoredNotes
from audit.verification.scan import ScanStart

ROLLING_CHECK_NIGHTS = 7  # in which rolling checks come round

Mode = CheckRun.Mode


@dataclass(frozen=True, slots=True)
class ScanPlan:
    """`tail` is read to the last entry; `again` to `again_to`, if at all."""

    tail: ScanStart = field(default_factory=ScanStart)
    again: ScanStart | None = None
    again_to: int = 0


def last_checked_seq() -> int:
    """Up to this entry the last check found that all held."""
    last = CheckRun.objects.order_by("-pk").first()
    return last.to_seq if last else 0


def read_notes_after(mode: Mode, upto: int) -> int:
    """Anchored notes of more entries than this are read back.

    All of them in a full check. Else from the last one that was compared before, when entries up
    to `upto` were checked: whoever rewrites what is older changes its root.
    """
    if mode is Mode.FULL:
        return 0
    return max(
        0, checkpoint_verification.largest_receipt(None if mode is Mode.SINCE_ANCHOR else upto) - 1
    )


def plan_scans(mode: Mode, elsewhere: AnchoredNotes, upto: int) -> ScanPlan:
    """Up to `upto` all was checked before, and is read from there if no place says otherwise.

    Without checkpoints, or when what an earlier check came to is in doubt: all of it.
    """
    if mode is Mode.FULL:
        return ScanPlan()
    agreed = upto if elsewhere.agreed is None else min(upto, elsewhere.agreed)
    tail = _start(elsewhere.newest if mode is Mode.SINCE_ANCHOR else agreed)
    if mode is not Mode.ROLLING or tail.seq == 0:
        return ScanPlan(tail)
    again = _start(_position())
    return ScanPlan(tail, again, _end(again.seq, tail.seq))


def _position() -> int:
    """To where the last rolling check has read again; 0 when it has come round."""
    last = CheckRun.objects.filter(mode=Mode.ROLLING).order_by("-pk").first()
    if last is None or last.again_to is None or last.again_to >= last.from_seq - 1:
        return 0
    return int(last.again_to)


def _end(after: int, upto: int) -> int:
    """A night's part, and on to the next checkpoint, whose signature proves it."""
    enough = after + -(-upto // ROLLING_CHECK_NIGHTS)
    later = Checkpoint.objects.filter(size__gte=enough, size__lt=upto).order_by("size").first()
    return later.size if later else upto


def _start(upto: int) -> ScanStart:
    """After the largest checkpoint of at most so many entries, if entry and checkpoint agree."""
    if (found := checkpoint_verification.trusted_start(upto)) is None:
        return ScanStart()
    size, head, tree = found
    line = Entry.objects.filter(seq=size, hash=head).values_list("body", flat=True).first()
    return ScanStart(size, head, tree) if line is not None and digest(line) == head else ScanStart()
