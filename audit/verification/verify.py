"""Verifies the ledger, and says how strong the result is.

Streams what it reads, in memory that does not grow with the trail.

Checked: each line against its hash, its number and its predecessor; each column against the line it
copies; each detail against its commitment; the times (`audit.verification.scan`); the tree over the
lines against every signed checkpoint, of the database and of write-once places
(`audit.verification.checkpoint_verification`); where the last check came to; the guards; and what
other rooms registered, such as whether the rows' states are those of their last entries. What each
mode reads: `audit.verification.start`. Nothing is written here: `audit.verification.runs` keeps
what was found.

Whoever may write to every file of the installation can edit an entry, renew every hash after it and
sign the result. Only an anchor that they cannot rewrite shows that. So the result is INTACT only if
every entry was read and an independent anchor vouches for them (`audit.verification.independence`).
A ledger in which nothing contradicts anything else is otherwise UNANCHORED: consistent, but only by
this installation's own word.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice

from django.db import connection

from audit.ledger import append_only
from audit.ledger.chain import ChainBreak
from audit.models import CheckRun, Entry
from audit.signing.signed_note import Verifier
from audit.verification import checkpoint_verification, independence
from audit.verification.checkpoint_verification import AnchoredNotes
from audit.verification.independence import AnchorJudgement
from audit.verification.scan import Progress, Scan
from audit.verification.start import (
    Mode,
    ScanPlan,
    last_checked_seq,
    plan_scans,
    read_notes_after,
)
from audit.verification.tlog_policy import Policy


class VerificationNotice(str):
    """A sentence of a check that is worth knowing, and about nothing wrong."""

    __slots__ = ()


# Sentences for problems with what was entered after an entry of this number; 0: with anything.
RegisteredCheck = Callable[[int], Iterable[str]]
MAX_PROBLEMS = 100  # named in a verdict; the rest is counted
NOT_READ_BACK = "The anchors were not read back in this check."
NOT_ASKED = AnchorJudgement(reasons=(NOT_READ_BACK,))

Result = CheckRun.Result
EXIT_CODES = {Result.INTACT: 0, Result.BROKEN: 1, Result.UNANCHORED: 3}
COULD_NOT_RUN = 2  # the exit code of a check that says nothing about the ledger

_checks: list[RegisteredCheck] = []


@dataclass(frozen=True, slots=True)
class LedgerVerdict:
    """What was found. Up to entry `entries` all holds that was read; `head` is its hash."""

    mode: Mode
    from_seq: int  # the first entry that was read; what is older held when it was checked last
    again: tuple[int, int] | None  # of what is older, the first and the last that was read again
    entries: int
    entries_read: int  # of them, in this check
    relied_on: str  # a sentence: on what this check relies for the others; "" if it read all
    head: str
    seconds: float
    first_bad: ChainBreak | None
    problems: tuple[str, ...]  # at most MAX_PROBLEMS, each a sentence
    notices: tuple[str, ...]  # worth knowing, and nothing wrong
    vouched_to: int | None  # entries that an independent anchor vouches for; None: none was asked
    vouched_by: tuple[str, ...]  # addresses of the anchors that do
    unanchored: tuple[str, ...]  # why nothing outside of this installation vouches for the ledger

    @property
    def intact(self) -> bool:
        """Whether nothing that was read contradicts anything else. `result` is the verdict."""
        return self.first_bad is None and not self.problems

    @property
    def result(self) -> CheckRun.Result:
        """The verdict, as commands, pages, metrics and reports have it."""
        if not self.intact:
            return Result.BROKEN
        return Result.UNANCHORED if self.own_word else Result.INTACT

    @property
    def own_word(self) -> tuple[str, ...]:
        """Why the ledger stands only by this installation's own word, in sentences."""
        return (*filter(None, [self.relied_on]), *self.unanchored)


def register_check(check: RegisteredCheck) -> RegisteredCheck:
    """Add a check that yields a sentence for each problem; usable as a decorator."""
    if check not in _checks:
        _checks.append(check)
    return check


def verify_ledger(
    mode: Mode = Mode.FULL,
    *,
    with_anchors: bool = True,
    policy: Policy | None = None,
    progress: Progress = lambda _done, _total: None,
) -> LedgerVerdict:
    """Read what the mode asks for. Raises CannotCheck; database errors pass through.

    Without anchors nothing is fetched from afar: for the checks after every batch. A policy says
    which keys are believed, instead of those that this installation has published, and which places
    have to vouch for the ledger.
    """
    began = time.monotonic()
    upto = last_checked_seq()
    logs = policy.logs if policy else None
    after = read_notes_after(mode, upto)
    elsewhere = (
        checkpoint_verification.read_anchors(after, logs) if with_anchors else AnchoredNotes()
    )
    readings = _readings(plan_scans(mode, elsewhere, upto), elsewhere, logs, progress)
    tail = readings[-1]
    # Rows change without leaving an entry: only the checks after every batch pass old ones over.
    since = 0 if with_anchors or mode in {Mode.FULL, Mode.ROLLING} else tail.start.seq
    noticed: list[str] = []
    problems = tuple(_limited(_problems(elsewhere, readings, since, noticed)))
    broken = next((reading for reading in readings if reading.first_bad), tail)
    entries, head = broken.holds
    again = readings[0] if len(readings) > 1 else None
    judgement = independence.judge_anchors(elsewhere.read, policy) if with_anchors else NOT_ASKED
    if problems or broken.first_bad:
        judgement = replace(judgement, vouched_to=0, vouched_by=())
    return LedgerVerdict(
        mode=mode,
        from_seq=tail.start.seq + 1,
        again=(again.start.seq + 1, again.end or 0) if again else None,
        entries=entries,
        entries_read=sum(reading.holds[0] - reading.start.seq for reading in readings),
        relied_on=_relied_on(tail.start.seq, again, after),
        head=head,
        seconds=time.monotonic() - began,
        first_bad=broken.first_bad,
        problems=problems,
        notices=(
            *chain.from_iterable(reading.times.notices() for reading in readings),
            *judgement.notices,
            *_limited(iter(noticed)),
        ),
        vouched_to=judgement.vouched_to if with_anchors else None,
        vouched_by=judgement.vouched_by,
        unanchored=judgement.reasons,
    )


def _relied_on(upto: int, again: Scan | None, after: int) -> str:
    """A sentence on what stands for entries up to `upto` and notes up to `after` that are not read.

    Old notes may contradict what was rewritten together with all newer ones.
    """
    if not upto and not after:
        return ""
    if not upto:
        return (
            f"Of the anchors' notes only those of more than {after:,} entries were read back. For "
            "the others this check relies on earlier checks. Use --full to read all of them."
        )
    whole = CheckRun.objects.filter(from_seq=1).exclude(result=Result.BROKEN).first()
    last = (
        f"the last that read all entries was check {whole.pk} of "
        f"{whole.began_at:%Y-%m-%d %H:%M:%S} UTC, up to entry {whole.to_seq:,}"
        if whole
        else "none that is kept has read all entries"
    )
    but = f", except for {again.start.seq + 1:,} to {again.end or 0:,}" if again else ""
    return (
        f"Entries 1 to {upto:,} were not read{but}. For them this check relies on the checkpoint "
        f"of {upto:,} entries and on earlier checks, which this installation keeps itself: {last}. "
        "Use --full to read every entry."
    )


def _readings(
    planned: ScanPlan,
    elsewhere: AnchoredNotes,
    logs: Sequence[Verifier] | None,
    progress: Progress,
) -> list[Scan]:
    """What to read, in order; the last one to the end of the trail."""
    readings = []
    if (again := planned.again) is not None:
        upto = planned.again_to
        claims = checkpoint_verification.iter_claims(again.seq, upto, elsewhere.claims, logs)
        readings.append(Scan(again, claims, end=upto, progress=progress))
    claims = checkpoint_verification.iter_claims(planned.tail.seq, None, elsewhere.claims, logs)
    return [*readings, Scan(planned.tail, claims, progress=progress)]


def _problems(
    elsewhere: AnchoredNotes, readings: Iterable[Scan], since: int, noticed: list[str]
) -> Iterator[str]:
    yield from elsewhere.problems
    yield from _since_the_last_check()
    for reading in readings:
        yield from reading.problems()
    for name in append_only.missing_triggers(connection):
        yield f"The database does not guard the ledger: {name} is missing or changed."
    for check in _checks:
        for sentence in check(since):
            if isinstance(sentence, VerificationNotice):
                noticed.append(sentence)
            else:
                yield sentence


def _since_the_last_check() -> Iterator[str]:
    """What held then is there now. A check leaves number and hash of the last entry."""
    last = CheckRun.objects.exclude(result=Result.BROKEN).order_by("-pk").first()
    if last is None or not last.to_seq:
        return
    found = Entry.objects.filter(seq=last.to_seq).values_list("hash", flat=True).first()
    if found != last.head:
        yield (
            f"The trail is not the one that was checked on {last.began_at:%Y-%m-%d %H:%M:%S} UTC: "
            f"entry {last.to_seq:,} {'has another hash' if found else 'is gone'}."
        )


def _limited(problems: Iterator[str]) -> Iterator[str]:
    yield from islice(problems, MAX_PROBLEMS - 1)
    if more := sum(1 for _ in problems):
        yield f"And {more} more."
