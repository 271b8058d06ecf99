"""A portal's gate: who may ask it next, and when. The port, and the gate of a single process.

A gate hands out go-times ahead (several at once, each costs the shared one a statement) and is
told what became of the requests, which moves its breaker. All times are the local monotonic clock.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from typing import Protocol

from ingestion.core.breaker import Breaker, BreakerState, BreakerTerms
from ingestion.core.errors import (
    IngestionError,
    OurFault,
    PortalFailing,
    PortalThrottled,
    PortalUnreachable,
    TransientError,
)
from ingestion.core.limiter import Pace
from ingestion.core.reservations import (
    Grant,
    probe_slot,
    run_of,
    slots_of,
)

# For so long a connection that nobody uses is kept, unless the portal closes it. A gate whose slots
# leave no time to make one has to know: `dispatch.shared_gate`.
KEPT_SECONDS = 30.0


class Outcome(Enum):
    """What a request says about its portal."""

    GIVEN = auto()  #: the document came
    ANSWERED = auto()  #: a refusal: the portal is there
    FAILED = auto()  #: no connection, silence, or "I cannot serve"
    BROKEN_OFF = auto()  #: something came; or we failed ourselves


def outcome_of(error: IngestionError) -> Outcome:
    if isinstance(error, PortalUnreachable | PortalFailing):
        return Outcome.FAILED
    is_unclear = isinstance(error, TransientError) and not isinstance(error, PortalThrottled)
    return Outcome.BROKEN_OFF if is_unclear or isinstance(error, OurFault) else Outcome.ANSWERED


@dataclass(frozen=True, slots=True)
class Standing:
    """How a portal does."""

    gives: bool = True  # it may be asked, and gave a document lately


class Gate(Protocol):
    """Nothing but answers: a gate that cannot be reached says when to ask again."""

    async def reserve(self, wanted: int) -> Grant:
        """At most `wanted` slots, in the order of their go-times."""
        ...

    async def give_back(self, grant: Grant, unused: int) -> None:
        """The last `unused` slots of a grant. A no-op when somebody reserved after it."""
        ...

    async def tell(self, outcome: Outcome) -> Standing:
        """What became of a request."""
        ...


class LocalGate:
    """The gate of a portal that no other process asks: bucket and breaker in memory."""

    def __init__(
        self,
        rate: float,
        burst: int,
        breaker: BreakerTerms | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._pace = Pace.of(rate, burst)
        self._terms = breaker or BreakerTerms()
        self._clock = clock
        self._tat = 0.0
        self._given_at = -math.inf
        self._number = 0
        self.breaker = Breaker()

    async def reserve(self, wanted: int) -> Grant:
        now = self._clock()
        was_closed = self.breaker.state is BreakerState.CLOSED
        self.breaker, may_ask = self.breaker.ask(now, self._terms)
        if not may_ask:
            return Grant(is_shut=True)
        tokens = wanted if was_closed else 1
        self._tat = self._pace.spend(self._tat, now, tokens)
        self._number += 1
        if not was_closed:
            return Grant(slots=(probe_slot(now),), receipt=self._number, is_probe=True)
        return Grant(
            slots=slots_of(self._pace, self._pace.go_times(self._tat, now, tokens)),
            run=run_of(self._pace),
            receipt=self._number,
            is_plenty=self._pace.is_plenty(self._tat, now),
            keeps=self._pace.holds_many,
        )

    async def give_back(self, grant: Grant, unused: int) -> None:
        if grant.receipt == self._number:
            self._tat -= unused * self._pace.interval
            self._number += 1

    async def tell(self, outcome: Outcome) -> Standing:
        now = self._clock()
        self.breaker = moved(self.breaker, outcome, now, self._terms)
        if outcome is Outcome.GIVEN:
            self._given_at = now
        return standing(self.breaker, self._given_at, now, self._terms)


def moved(breaker: Breaker, outcome: Outcome, now: float, terms: BreakerTerms) -> Breaker:
    """The breaker after a request with this outcome."""
    if outcome is Outcome.FAILED:
        return breaker.failed(now, terms)
    if outcome is Outcome.BROKEN_OFF:
        return breaker.broke_off(now, terms)
    return breaker.answered()


def standing(breaker: Breaker, given_at: float, now: float, terms: BreakerTerms) -> Standing:
    """It gives documents when it is asked at all and gave one within the breaker's window."""
    is_closed = breaker.state is BreakerState.CLOSED
    return Standing(gives=is_closed and now - given_at < terms.window_seconds)
