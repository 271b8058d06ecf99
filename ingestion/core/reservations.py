"""Go-times that were reserved ahead, and how they are used: each at its time or thrown away.

Requests that go late bunch with those of others that go in time. How late one may be is the pace's
`slack`: half of it is ours, until an item is handed out; the other half is the wire's.

Where a portal holds several (burst > 1), each slot has its own slack. Where it holds one, the slots
of one grant are a run: ours from the first go-time to the last. Inside of it a late request only
moves the next one. That matters because there the slack is a few milliseconds.
"""

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from ingestion.core.limiter import Pace

KEEP_SECONDS = 10.0  # where lateness does not matter; a breaker that opened is noticed by then


@dataclass(frozen=True, slots=True)
class Slot:
    """One request may go at `go_at`, and not after `spoils_at`."""

    go_at: float
    spoils_at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """What a gate answers: slots, or that it is shut, or neither: ask again then."""

    slots: tuple[Slot, ...] = ()
    run: Pace | None = None  # its slots are a run at this pace
    receipt: int = 0  # names the reservation when the rest of it is given back
    is_plenty: bool = False  # slots that spoil unused would be missed by nobody
    keeps: bool = False  # its slots are not worth giving back, nor asking for one by one
    is_probe: bool = False  # the one slot is a probe: until it is over there is no other
    is_shut: bool = False
    again_seconds: float = 0.0


def slots_of(pace: Pace, go_times: Sequence[float]) -> tuple[Slot, ...]:
    """Of one reservation, in order."""
    if pace.holds_one:
        ends_at = go_times[-1] + pace.slack / 2
        return tuple(Slot(go_at, ends_at) for go_at in go_times)
    late = KEEP_SECONDS if pace.holds_many else pace.slack / 2
    return tuple(Slot(go_at, go_at + late) for go_at in go_times)


def run_of(pace: Pace) -> Pace | None:
    return pace if pace.holds_one else None


def probe_slot(go_at: float) -> Slot:
    """It keeps: it is the only request, to a portal that was not asked for a while."""
    return Slot(go_at, math.inf)


class Slots:
    """What is left of one grant."""

    def __init__(self, grant: Grant) -> None:
        self.grant = grant
        self._left = deque(grant.slots)
        self._spoilt = 0  # since the last one that was used
        self._ends_at = grant.slots[-1].spoils_at if grant.slots else 0.0
        self._used_at = -math.inf

    def __len__(self) -> int:
        return len(self._left)

    @property
    def unused(self) -> int:
        """How many at the end of the grant nobody used: these can be given back.

        Of a run, only what its last request left: a late one went in the time of those behind it.
        """
        unused = len(self._left) + self._spoilt
        if run := self.grant.run:
            left = (self._ends_at - self._used_at) / run.interval
            return unused if left >= unused else int(left)
        return unused

    def next_at(self, now: float) -> float | None:
        """When the next one may be used; None when none is left. Throws away what is too late."""
        while self._left:
            go_at = max(self._left[0].go_at, self._used_at + self._spacing)
            if max(go_at, now) <= self._left[0].spoils_at:
                return go_at
            self._left.popleft()
            self._spoilt += 1
        return None

    def use(self, now: float) -> None:
        """Its time has come: `next_at` said so."""
        self._left.popleft()
        self._spoilt = 0
        self._used_at = now

    @property
    def _spacing(self) -> float:
        """In a run, an interval but for the wire's half, which late requests may catch up by."""
        run = self.grant.run
        return run.interval - run.slack / 2 if run else 0.0
