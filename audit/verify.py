"""Does the ledger hold? Streams what it reads, in memory that does not grow with the trail.

Checked: each line against its hash, its number and its predecessor; each column against the line
it copies; each detail against its commitment; the times (`audit.reading`); the tree over the lines
against every signed checkpoint, of the database and of write-once places (`audit.heads`); where the
last check came to; the guards; and what other rooms registered, such as whether the rows' states
are those of their last entries. What each mode reads: `audit.starts`. Nothing is written here:
`audit.runs` keeps what was found.

Not caught here: whoever may write to the tables, renews every hash after an edit and leaves no
checkpoint. Only a checkpoint that is held elsewhere shows that.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice

from django.db import connection

from audit import anchors, guards, heads
from audit.chain import Break
from audit.heads import Elsewhere
from audit.models import CheckRun, Entry
from audit.reading import Progress, Reading
from audit.starts import Mode, Plan, checked, notes_after, plan

# Sentences for problems with what was entered after an entry of this number; 0: with anything.
Check = Callable[[int], Iterable[str]]
MAX_PROBLEMS = 100  # named in a verdict; the rest is counted

_checks: list[Check] = []


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was found. Up to entry `entries` all holds that was read; `head` is its hash."""

    mode: Mode
    from_seq: int  # the first entry that was read; what is older held when it was checked last
    again: tuple[int, int] | None  # of what is older, the first and the last that was read again
    entries: int
    head: str
    seconds: float
    first_bad: Break | None
    problems: tuple[str, ...]  # at most MAX_PROBLEMS, each a sentence
    notices: tuple[str, ...]  # worth knowing, and nothing wrong
    unanchored: tuple[str, ...]  # why what holds is not proved by what is held elsewhere

    @property
    def intact(self) -> bool:
        return self.first_bad is None and not self.problems


def register(check: Check) -> Check:
    """Add a check that yields a sentence for each problem; usable as a decorator."""
    if check not in _checks:
        _checks.append(check)
    return check


def verify(
    mode: Mode = Mode.FULL,
    *,
    with_anchors: bool = True,
    progress: Progress = lambda _done, _total: None,
) -> Verdict:
    """Read what the mode asks for. Raises CannotCheck; database errors pass through.

    Without anchors nothing is fetched from afar: for the checks after every batch.
    """
    began = time.monotonic()
    upto = checked()
    elsewhere = heads.elsewhere(notes_after(mode, upto)) if with_anchors else Elsewhere()
    readings = _readings(plan(mode, elsewhere, upto), elsewhere, progress)
    tail = readings[-1]
    since = tail.start.seq if mode in {Mode.INCREMENTAL, Mode.SINCE_ANCHOR} else 0
    problems = tuple(_limited(_problems(elsewhere, readings, since)))
    broken = next((reading for reading in readings if reading.first_bad), tail)
    entries, head = broken.holds
    again = readings[0] if len(readings) > 1 else None
    return Verdict(
        mode=mode,
        from_seq=tail.start.seq + 1,
        again=(again.start.seq + 1, again.end or 0) if again else None,
        entries=entries,
        head=head,
        seconds=time.monotonic() - began,
        first_bad=broken.first_bad,
        problems=problems,
        notices=tuple(chain.from_iterable(reading.times.notices() for reading in readings)),
        unanchored=tuple(filter(None, [elsewhere.unreachable, anchors.held_nowhere_else()])),
    )


def _readings(planned: Plan, elsewhere: Elsewhere, progress: Progress) -> list[Reading]:
    """What to read, in order; the last one to the end of the trail."""
    readings = []
    if (again := planned.again) is not None:
        upto = planned.again_to
        claims = heads.claims(again.seq, upto, elsewhere.claims)
        readings.append(Reading(again, claims, end=upto, progress=progress))
    claims = heads.claims(planned.tail.seq, None, elsewhere.claims)
    return [*readings, Reading(planned.tail, claims, progress=progress)]


def _problems(elsewhere: Elsewhere, readings: Iterable[Reading], since: int) -> Iterator[str]:
    yield from elsewhere.problems
    yield from _since_the_last_check()
    for reading in readings:
        yield from reading.problems()
    for name in guards.missing(connection):
        yield f"The database does not guard the ledger: {name} is missing or changed."
    for check in _checks:
        yield from check(since)


def _since_the_last_check() -> Iterator[str]:
    """What held then is there now. A check leaves number and hash of the last entry."""
    last = CheckRun.objects.exclude(result=CheckRun.Result.BROKEN).order_by("-pk").first()
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
