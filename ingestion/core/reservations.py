"""Defines slots that were reserved in advance, and how they are used in time or dropped.

A request that starts late comes close to requests of others that start in time. The `slack` of the
rate says how late it may be: one half is for SiteLedger, until an item is taken, and the other half
is for the network.

If a portal allows a burst (> 1), each slot has its own slack. Otherwise the slots of one
reservation are sequential: they belong to SiteLedger from the first start time to the last, and a
late request only moves the next one. This matters because the slack is only a few milliseconds
there.
"""

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from ingestion.core.limiter import RequestRate

# How late a slot may be used if the rate tolerates any delay. By then, an open breaker is noticed.
SLOT_LIFETIME_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Slot:
    """Allows one request that starts neither before `earliest_at` nor after `latest_at`."""

    earliest_at: float
    latest_at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotReservation:
    """Holds the answer of a portal limit: slots, or a portal that is down, or a waiting time."""

    slots: tuple[Slot, ...] = ()
    sequential_rate: RequestRate | None = None  # the slots are sequential, at this rate
    receipt: int = 0  # identifies the reservation when slots are given back
    has_ample_tokens: bool = False  # slots that expire unused do not reduce the throughput
    is_delay_tolerant: bool = False  # slots are reserved many at a time, and not given back
    is_probe: bool = False  # the only slot is a probe of the breaker
    is_portal_down: bool = False  # the breaker is open
    retry_after_seconds: float = 0.0


def make_slots(rate: RequestRate, start_times: Sequence[float]) -> tuple[Slot, ...]:
    """Return the slots of one reservation, in order."""
    if rate.has_single_token:
        ends_at = start_times[-1] + rate.slack / 2
        return tuple(Slot(at, ends_at) for at in start_times)
    delay = SLOT_LIFETIME_SECONDS if rate.is_delay_tolerant else rate.slack / 2
    return tuple(Slot(at, at + delay) for at in start_times)


def get_sequential_rate(rate: RequestRate) -> RequestRate | None:
    """Return the rate if its slots are sequential, else None."""
    return rate if rate.has_single_token else None


def make_probe_slot(at: float) -> Slot:
    """Return a slot that does not expire: the probe is the only request to its portal."""
    return Slot(at, math.inf)


class ReservedSlots:
    """Holds what is left of one reservation."""

    def __init__(self, reservation: SlotReservation) -> None:
        self.reservation = reservation
        self._left = deque(reservation.slots)
        self._expired = 0  # since the last slot that was used
        self._ends_at = reservation.slots[-1].latest_at if reservation.slots else 0.0
        self._used_at = -math.inf

    def __len__(self) -> int:
        return len(self._left)

    @property
    def unused(self) -> int:
        """Return how many slots at the end of the reservation can be given back.

        Of sequential slots, it is only what the last request left: a late request took time from
        the slots behind it.
        """
        unused = len(self._left) + self._expired
        if rate := self.reservation.sequential_rate:
            left = (self._ends_at - self._used_at) / rate.interval
            return unused if left >= unused else int(left)
        return unused

    def next_at(self, now: float) -> float | None:
        """Return when the next slot may be used, or None. Drops slots that have expired."""
        rate = self.reservation.sequential_rate
        # Between sequential slots lies an interval, less the network's half of the slack, by which
        # late requests may catch up.
        spacing = rate.interval - rate.slack / 2 if rate else 0.0
        while self._left:
            at = max(self._left[0].earliest_at, self._used_at + spacing)
            if max(at, now) <= self._left[0].latest_at:
                return at
            self._left.popleft()
            self._expired += 1
        return None

    def use(self, now: float) -> None:
        """Use the next slot. `next_at` must have said that its time has come."""
        self._left.popleft()
        self._expired = 0
        self._used_at = now
