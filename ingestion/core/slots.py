"""Go-times that were reserved ahead, and how they are used: each at its time or thrown away.

Requests that go late bunch with those of others that go in time. How late one may be is the pace's
`slack`: half of it is ours, until an item is handed out; the other half is the wire's.

Where a portal holds several (burst > 1), each slot has its own slack. Where it holds one, the slots
of one grant are a run: ours from the first go-time to the last, and inside of it a late request
only moves the next one. That matters because there the slack is a few milliseconds.
"""

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from ingestion.core.limiter import Pace


@dataclass(frozen=True, slots=True)
class Slot:
    """One request may go at `go_at`, and not after `spoils_at`."""

    go_at: float
    spoils_at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """What a gate answers: slots, or that it is shut, or neither: ask again then."""

    slots: tuple[Slot, ...] = ()
    spacing: float = 0.0  # seconds between two of them, however late they are
    receipt: int = 0  # names the reservation when the rest of it is given back
    is_plenty: bool = False  # slots that spoil unused would be missed by nobody
    is_probe: bool = False  # the one slot is a probe: until it is over there is no other
    is_shut: bool = False
    again_seconds: float = 0.0


def slots_of(pace: Pace, go_times: Sequence[float]) -> tuple[Slot, ...]:
    """Of one reservation, in order."""
    if pace.holds_one:
        return tuple(Slot(go_at, go_times[-1] + pace.slack / 2) for go_at in go_times)
    return tuple(Slot(go_at, go_at + pace.slack / 2) for go_at in go_times)


def spacing_of(pace: Pace) -> float:
    """Of a run: an interval but for the wire's half, which the requests may catch up by."""
    return pace.interval - pace.slack / 2 if pace.holds_one else 0.0


def probe_slot(go_at: float) -> Slot:
    """It keeps: it is the only request, to a portal that was not asked for a while."""
    return Slot(go_at, math.inf)


class Slots:
    """What is left of one grant."""

    def __init__(self, grant: Grant) -> None:
        self.grant = grant
        self._left = deque(grant.slots)
        self._spoilt = 0  # since the last one that was used
        self._not_before = -math.inf

    def __len__(self) -> int:
        return len(self._left)

    @property
    def unused(self) -> int:
        """How many at the end of the grant nobody used: these can be given back."""
        return len(self._left) + self._spoilt

    def next_at(self, now: float) -> float | None:
        """When the next one may be used; None when none is left. Throws away what is too late."""
        while self._left:
            go_at = max(self._left[0].go_at, self._not_before)
            if max(go_at, now) <= self._left[0].spoils_at:
                return go_at
            self._left.popleft()
            self._spoilt += 1
        return None

    def use(self, now: float) -> None:
        """Its time has come: `next_at` said so."""
        self._left.popleft()
        self._spoilt = 0
        self._not_before = now + self.grant.spacing
