"""Reports the status of the ledger: its last entry, last checkpoint and verdict. Only reads."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone
from django.utils.text import capfirst
from django.utils.translation import gettext as _

from audit.ledger import queries
from audit.models import Checkpoint, CheckRun, Entry
from audit.signing import (
    anchors,
    checkpoints,
    clock,
    keys,
)
from audit.signing.keys import KeyProblem
from audit.signing.signed_note import SIGNED_BY
from audit.verification.independence import NO_INDEPENDENT_ANCHOR
from audit.verification.verify import COULD_NOT_RUN, EXIT_CODES, Result

# Hosts read anchors back each night, and every entry at least once a week
# (`audit.verification.runs.run_nightly_check`).
MAX_READ_BACK_AGE = timedelta(days=2)
MAX_FULL_CHECK_AGE = timedelta(days=8)


@dataclass(frozen=True, slots=True)
class AnchorStatus:
    """A receipt which states that an anchor holds the checkpoint."""

    anchor: str
    place: str
    at: datetime


@dataclass(frozen=True, slots=True)
class CheckpointStatus:
    """The last checkpoint."""

    size: int  # entries that it covers
    head: str
    root: str
    at: datetime
    keys: Sequence[str]  # names of the keys that signed; two at a key rotation
    held: Sequence[AnchorStatus]


@dataclass(frozen=True, slots=True)
class CurrentVerdict:
    """The current verdict, from all stored checks. Pages, metrics and reports use it."""

    result: CheckRun.Result | None  # None: it was never checked
    reasons: Sequence[str]  # sentences: what is wrong, or why nothing outside vouches for it
    entries: int = 0  # that held in the newest check
    vouched_to: int = 0  # entries that an independent anchor vouches for
    checked_at: datetime | None = None  # when the newest check began
    read_back_at: datetime | None = None  # when the anchors were read back last

    @property
    def exit_code(self) -> int:
        """Return the exit code of `verify_audit` for this verdict; 2 if nothing was checked."""
        return COULD_NOT_RUN if self.result is None else EXIT_CODES[self.result]


@dataclass(frozen=True, slots=True)
class LedgerStatus:
    """The size and head of the ledger, and its last checkpoint."""

    entries: int
    head: str  # the hash of the last entry; "" before the first
    signed: CheckpointStatus | None

    @property
    def unsigned(self) -> int:
        """Return the number of entries that no checkpoint covers yet."""
        return self.entries - (self.signed.size if self.signed else 0)


def get_ledger_status() -> LedgerStatus:
    """Return the status of the ledger, with three queries for any length of the trail."""
    entries, head = queries.get_last_entry() or (0, "")
    row = Checkpoint.objects.first()
    if row is None:
        return LedgerStatus(entries, head, None)
    held = [AnchorStatus(each.anchor, each.place, each.anchored_at) for each in row.receipts.all()]
    # The names of the keys on the signature lines, which are not verified.
    names = [
        line.removeprefix(SIGNED_BY).partition(" ")[0]
        for line in row.note.splitlines()
        if line.startswith(SIGNED_BY)
    ]
    signed = CheckpointStatus(row.size, row.head, row.root, row.created_at, names, held)
    return LedgerStatus(entries, head, signed)


def get_current_verdict(now: datetime | None = None) -> CurrentVerdict:
    """Return the verdict on the ledger as of now, from stored checks. Five queries.

    INTACT requires a recent check that read every entry, and a recent check that read the anchors
    back. A check after a batch reads only new entries and no anchor, and does not change that.
    """
    now = now or timezone.now()
    newest = CheckRun.objects.first()
    at = newest.began_at if newest else None
    if fault := checkpoints.find_fault():
        return CurrentVerdict(Result.BROKEN, (capfirst(fault),), checked_at=at)
    if newest is None:
        return CurrentVerdict(None, (_("The ledger has not been verified yet."),))
    if newest.result == Result.BROKEN:
        return CurrentVerdict(Result.BROKEN, newest.findings, newest.to_seq, checked_at=at)
    read_back = CheckRun.objects.filter(vouched_to__isnull=False).first()
    whole = CheckRun.objects.filter(result=Result.INTACT, vouched_to__gt=0).first()
    reasons = _reservations(read_back, whole, now)
    return CurrentVerdict(
        Result.UNANCHORED if reasons else Result.INTACT,
        reasons,
        newest.to_seq,
        0 if reasons or not read_back else read_back.vouched_to or 0,
        at,
        read_back.began_at if read_back else None,
    )


def _reservations(
    read_back: CheckRun | None, whole: CheckRun | None, now: datetime
) -> Sequence[str]:
    """Return sentences which state why no anchor vouches for the ledger; none if one does.

    Stored checks are rows that an attacker can forge. Without an independent anchor, none of them
    is trusted.
    """
    weaknesses = [place.weakness() for place in anchors.list_configured_anchors()]
    if all(weaknesses):
        return (_(NO_INDEPENDENT_ANCHOR), *weaknesses)
    if read_back is None:
        return (_("The anchors have not been read back yet. Run `manage.py verify_audit --full`."),)
    if not whole or not whole.vouched_to or (read_back.vouched_to or 0) < whole.vouched_to:
        return read_back.findings or (_("No independent anchor vouches for the ledger."),)
    if now - read_back.began_at > MAX_READ_BACK_AGE:
        sentence = _("The anchors were last read back at {time} UTC, which is too long ago.")
        return (sentence.format(time=f"{read_back.began_at:%Y-%m-%d %H:%M:%S}"),)
    if now - whole.began_at > MAX_FULL_CHECK_AGE:
        sentence = _("All entries were last read at {time} UTC, which is too long ago.")
        return (sentence.format(time=f"{whole.began_at:%Y-%m-%d %H:%M:%S}"),)
    return ()


def get_unsigned_since() -> datetime | None:
    """Return the time of the oldest entry without a checkpoint, None if all are covered."""
    last = Checkpoint.objects.first()
    later = Entry.objects.filter(seq__gt=last.size if last else 0).order_by("seq")
    return later.values_list("recorded_at", flat=True).first()


def get_status_figures() -> dict[str, Any]:
    """Return the figures of `manage.py status`: counts, and lists of sentences about problems."""
    problems = []
    try:
        if not keys.read_published_keys():
            problems.append("there is no key: nothing is signed")
    except KeyProblem as error:
        problems.append(str(error))
    if fault := checkpoints.find_fault():
        problems.append(f"broken at {fault}")
    last = checkpoints.get_latest_checkpoint()
    return {
        "ledger_signed": last.size if last else 0,
        "ledger_unsigned": checkpoints.count_unsigned(),
        "ledger_problems": problems,
        "unanchored": [str(waiting) for waiting in anchors.list_unanchored()],
        "clocks_apart": [str(skew) for skew in clock.list_excessive_skews()],
    }
