"""Defines the port to the limits of a portal, and the limits of a portal that one process asks.

A `PortalLimit` reserves start times in advance, several at once, because each reservation of the
shared limit costs a statement. It is told the outcome of each request, which moves its circuit
breaker. All times are local monotonic seconds.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from typing import Protocol

from ingestion.core.breaker import Breaker, BreakerSettings, BreakerState
from ingestion.core.errors import (
    IngestionError,
    OurFault,
    PortalFailing,
    PortalThrottled,
    PortalUnreachable,
    TransientError,
)
from ingestion.core.limiter import RequestRate
from ingestion.core.reservations import (
    SlotReservation,
    get_sequential_rate,
    make_probe_slot,
    make_slots,
)

# Seconds for which an unused connection is kept, unless the portal closes it. A limit whose slots
# leave no time to connect has to know this: `dispatch.shared_portal_limits`.
KEEP_ALIVE_SECONDS = 30.0


class RequestOutcome(Enum):
    """Says what a request shows about its portal."""

    DELIVERED = auto()  #: The portal served the document.
    ANSWERED = auto()  #: The portal refused, so it works.
    FAILED = auto()  #: No connection, no answer, or a status that says it cannot serve.
    INTERRUPTED = auto()  #: The answer was incomplete, or the cause is in SiteLedger.


def request_outcome_of(error: IngestionError) -> RequestOutcome:
    """Return what an error shows about the portal."""
    if isinstance(error, PortalUnreachable | PortalFailing):
        return RequestOutcome.FAILED
    is_unclear = isinstance(error, TransientError) and not isinstance(error, PortalThrottled)
    if is_unclear or isinstance(error, OurFault):
        return RequestOutcome.INTERRUPTED
    return RequestOutcome.ANSWERED


@dataclass(frozen=True, slots=True)
class PortalHealth:
    """Says whether a portal may be asked and served a document within the breaker's window."""

    is_healthy: bool = True


class PortalLimit(Protocol):
    """The port to the limits of one portal. No method raises.

    If the shared limits cannot be reached, the reservation says when to ask again.
    """

    async def reserve(self, wanted: int) -> SlotReservation:
        """Reserve at most `wanted` slots, in the order of their start times."""
        ...

    async def give_back(self, reservation: SlotReservation, unused: int) -> None:
        """Give the last `unused` slots back, unless there is a later reservation."""
        ...

    async def report_outcome(self, outcome: RequestOutcome) -> PortalHealth:
        """Record the outcome of a request. Returns the health of the portal after it."""
        ...


class LocalPortalLimit:
    """Keeps the limits of a portal that no other process asks, in memory."""

    def __init__(
        self,
        rate: float,
        burst: int,
        breaker: BreakerSettings | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._rate = RequestRate.of(rate, burst)
        self._settings = breaker or BreakerSettings()
        self._clock = clock
        self._tat = 0.0
        self._delivered_at = -math.inf
        self._number = 0
        self.breaker = Breaker()

    async def reserve(self, wanted: int) -> SlotReservation:
        """Reserve slots: at most `wanted`, one while the breaker probes, none while it is open."""
        now = self._clock()
        was_closed = self.breaker.state is BreakerState.CLOSED
        self.breaker, is_permitted = self.breaker.request_permission(now, self._settings)
        if not is_permitted:
            return SlotReservation(is_portal_down=True)
        tokens = wanted if was_closed else 1
        self._tat = self._rate.spend(self._tat, now, tokens)
        self._number += 1
        if not was_closed:
            slots = (make_probe_slot(now),)
            return SlotReservation(slots=slots, receipt=self._number, is_probe=True)
        return SlotReservation(
            slots=make_slots(self._rate, self._rate.start_times(self._tat, now, tokens)),
            sequential_rate=get_sequential_rate(self._rate),
            receipt=self._number,
            has_ample_tokens=self._rate.has_ample_tokens(self._tat, now),
            is_delay_tolerant=self._rate.is_delay_tolerant,
        )

    async def give_back(self, reservation: SlotReservation, unused: int) -> None:
        """Give the last `unused` slots back, unless there is a later reservation."""
        if reservation.receipt == self._number:
            self._tat -= unused * self._rate.interval
            self._number += 1

    async def report_outcome(self, outcome: RequestOutcome) -> PortalHealth:
        """Record the outcome of a request, and return the health of the portal after it."""
        now = self._clock()
        self.breaker = compute_next_breaker(self.breaker, outcome, now, self._settings)
        if outcome is RequestOutcome.DELIVERED:
            self._delivered_at = now
        return get_portal_health(self.breaker, self._delivered_at, now, self._settings)


def compute_next_breaker(
    breaker: Breaker, outcome: RequestOutcome, now: float, settings: BreakerSettings
) -> Breaker:
    """Return the breaker after a request with this outcome."""
    if outcome is RequestOutcome.FAILED:
        return breaker.after_failure(now, settings)
    if outcome is RequestOutcome.INTERRUPTED:
        return breaker.after_interruption(now, settings)
    return breaker.after_answer()


def get_portal_health(
    breaker: Breaker, delivered_at: float, now: float, settings: BreakerSettings
) -> PortalHealth:
    """Return the health of a portal whose last document came at `delivered_at`."""
    is_closed = breaker.state is BreakerState.CLOSED
    return PortalHealth(is_closed and now - delivered_at < settings.window_seconds)
