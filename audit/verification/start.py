"""Decides where a check begins: after the largest signed checkpoint that an earlier check reached.

The signatures of two checkpoints prove the entries between them: a scan begins with the tree that
was signed first and has to arrive at the other. Parts of the trail can therefore be read alone.
"""

from dataclasses import dataclass, field

from audit.ledger.chain import compute_digest
from audit.models import Checkpoint, CheckRun, Entry
from audit.verification import checkpoint_verification
from audit.verification.checkpoint_verification import AnchoredNotes
from audit.verification.scan import ScanStart

ROLLING_CHECK_NIGHTS = 7  # in which rolling checks read every entry

Mode = CheckRun.Mode


@dataclass(frozen=True, slots=True)
class ScanPlan:
    """The scans of a check: `tail` to the last entry, and `reread`, if any, to `reread_to`."""

    tail: ScanStart = field(default_factory=ScanStart)
    reread: ScanStart | None = None
    reread_to: int = 0


def get_last_checked_seq() -> int:
    """Return the number of the entry up to which the last check found all entries valid."""
    last = CheckRun.objects.order_by("-pk").first()
    return last.to_seq if last else 0


def read_notes_after(mode: Mode, last_seq: int) -> int:
    """Return the size above which anchored notes are read back; 0 for all, in a full check.

    Other checks begin with the last note that was compared when entries up to `last_seq` were
    checked: a rewrite of older entries changes its root.
    """
    if mode is Mode.FULL:
        return 0
    return max(
        0,
        checkpoint_verification.find_largest_receipt(
            None if mode is Mode.SINCE_ANCHOR else last_seq
        )
        - 1,
    )


def plan_scans(mode: Mode, anchored: AnchoredNotes, last_seq: int) -> ScanPlan:
    """Return the scans of a check.

    Entries up to `last_seq` were checked before, and are skipped if no anchor contradicts them.
    Without checkpoints, or if the end of the last check is in doubt, all entries are read.
    """
    if mode is Mode.FULL:
        return ScanPlan()
    checked_to = (
        last_seq if anchored.consistent_to is None else min(last_seq, anchored.consistent_to)
    )
    tail = _start(anchored.newest if mode is Mode.SINCE_ANCHOR else checked_to)
    if mode is not Mode.ROLLING or tail.seq == 0:
        return ScanPlan(tail)
    reread = _start(_rolling_position())
    # One night's part ends at a checkpoint, whose signature proves it.
    min_size = reread.seq + -(-tail.seq // ROLLING_CHECK_NIGHTS)
    later = Checkpoint.objects.filter(size__gte=min_size, size__lt=tail.seq)
    end = later.order_by("size").first()
    return ScanPlan(tail, reread, end.size if end else tail.seq)


def _rolling_position() -> int:
    """Return the entry up to which the last rolling check read; 0 after a complete cycle."""
    last = CheckRun.objects.filter(mode=Mode.ROLLING).order_by("-pk").first()
    if last is None or last.reread_to is None or last.reread_to >= last.from_seq - 1:
        return 0
    return int(last.reread_to)


def _start(last_seq: int) -> ScanStart:
    """Return a start after the largest checkpoint of at most `last_seq` entries, if it matches."""
    if (found := checkpoint_verification.find_trusted_start(last_seq)) is None:
        return ScanStart()
    size, head, tree = found
    line = Entry.objects.filter(seq=size, hash=head).values_list("body", flat=True).first()
    return (
        ScanStart(size, head, tree)
        if line is not None and compute_digest(line) == head
        else ScanStart()
    )
