"""Implements the core's `PortalLimit` with the row that all workers share.

Times of the database's clock become local ones, and a database failure becomes a waiting time.
"""

import logging
import math
import time
from contextlib import suppress

from django.db import DatabaseError

from ingestion.core.breaker import BreakerSettings, BreakerState
from ingestion.core.limiter import MAX_WAKEUP_DELAY_SECONDS, RequestRate
from ingestion.core.portal_limits import KEEP_ALIVE_SECONDS, PortalHealth, RequestOutcome
from ingestion.core.ports import PortalTerms
from ingestion.core.reservations import (
    Slot,
    SlotReservation,
    make_probe_slot,
    make_slots,
    sequential_rate_of,
)
from ingestion.dispatch import portal_limit_rows
from ingestion.dispatch.clock import DatabaseClock
from ingestion.dispatch.database_thread import DatabaseThread
from ingestion.dispatch.portal_limit_rows import ReservedTokens

logger = logging.getLogger(__name__)

DATABASE_RETRY_SECONDS = 1.0  # until a database that failed is asked again
MAX_RESERVED_AHEAD_SECONDS = 2.0  # so that other workers receive slots too
MAX_LEAD_SECONDS = 1.0

# Opening a connection takes so long. At a portal with a shorter slack, the first request after a
# pause would be overtaken by the next one, so as much time is left free behind it. The request may
# start late by the same time: otherwise a worker that misses the slot would pay for it each time.
CONNECT_SECONDS = 0.05
# After so long a pause, a connection counts as closed. Slots lie ahead, and until their time comes
# the kept connection may expire.
IDLE_CONNECTION_SECONDS = KEEP_ALIVE_SECONDS - 5.0


class SharedPortalLimit:
    """Holds the limits of one portal for one shift.

    It writes only what other workers have to know. What it remembers of the row saves writes and
    decides nothing.
    """

    def __init__(
        self,
        database: DatabaseThread,
        clock: DatabaseClock,
        terms: PortalTerms,
        breaker: BreakerSettings,
    ) -> None:
        self._database = database
        self._clock = clock
        self._portal = terms.portal
        self._rate = RequestRate.of(terms.rate_per_second, terms.burst)
        self._breaker = breaker
        self._lead = 0.0  # seconds that a reservation takes: slots that are due sooner are useless
        # Monotonic seconds of the last answer, or of the request for which time was left free.
        self._connected_at = -math.inf
        self._leaves_time_free = False  # behind the next request
        self._delivered_at = -math.inf
        self._has_failures = True  # until the row says otherwise

    async def reserve(self, wanted: int) -> SlotReservation:
        tokens = max(1, min(wanted, int(MAX_RESERVED_AHEAD_SECONDS / self._rate.interval)))
        try:
            reservation, spent_at = await self._database(self._reserve, tokens)
        except DatabaseError:
            logger.exception("no slot for portal %s: the database failed", self._portal)
            return SlotReservation(retry_after_seconds=DATABASE_RETRY_SECONDS)
        took = time.monotonic() - spent_at
        self._lead = min(MAX_LEAD_SECONDS, max(took * 1.25, self._lead * 0.9))
        return reservation

    async def give_back(self, reservation: SlotReservation, unused: int) -> None:
        if self._leaves_time_free:
            self._connected_at = -math.inf  # that time is given back too
        with suppress(DatabaseError):  # The slots are not used then, which does no harm.
            await self._database(
                portal_limit_rows.return_tokens,
                self._portal,
                reservation.receipt,
                self._rate,
                unused,
            )

    async def report_outcome(self, outcome: RequestOutcome) -> PortalHealth:
        """Record the outcome. Skips the write if the portal was already marked healthy."""
        self._connected_at, self._leaves_time_free = time.monotonic(), False
        age = self._connected_at - self._delivered_at
        is_delivery_old = age > self._breaker.window_seconds / 4
        needs_delivery = outcome is RequestOutcome.DELIVERED and is_delivery_old
        if outcome is not RequestOutcome.FAILED and not self._has_failures and not needs_delivery:
            return PortalHealth(age < self._breaker.window_seconds)
        try:
            return await self._database(self._report_outcome, outcome)
        except DatabaseError:
            logger.exception("portal %s: the outcome of a request is not recorded", self._portal)
            return PortalHealth(age < self._breaker.window_seconds)

    def _reserve(self, tokens: int) -> tuple[SlotReservation, float]:
        """Return the reservation, and when its tokens were spent. Runs in the database thread."""
        free = self._count_tokens_left_free()
        if free:
            tokens, delay = 1, MAX_WAKEUP_DELAY_SECONDS
        else:
            delay = 0.0
        reserved = portal_limit_rows.reserve_tokens(
            self._portal, self._rate, tokens + free, lead=self._lead
        )
        if reserved is None:
            return self._reserve_probe()
        self._remember(reserved)
        at = reserved.now + self._lead
        start_times = self._rate.start_times(reserved.tat, at, tokens + free)[:tokens]
        slots = make_slots(self._rate, [self._clock.local(moment) for moment in start_times])
        reservation = SlotReservation(
            slots=tuple(Slot(slot.earliest_at, slot.latest_at + delay) for slot in slots),
            sequential_rate=sequential_rate_of(self._rate),
            receipt=reserved.receipt,
            has_ample_tokens=self._rate.has_ample_tokens(reserved.tat, at),
            is_delay_tolerant=self._rate.is_delay_tolerant,
        )
        return reservation, self._clock.local(reserved.now)

    def _count_tokens_left_free(self) -> int:
        """Return the tokens to leave free behind the next request if it opens a connection."""
        now = time.monotonic()
        is_connected = now - self._connected_at < IDLE_CONNECTION_SECONDS
        if self._rate.slack >= CONNECT_SECONDS or is_connected:
            return 0
        self._connected_at, self._leaves_time_free = now, True
        return math.ceil((CONNECT_SECONDS + MAX_WAKEUP_DELAY_SECONDS) / self._rate.interval)

    def _reserve_probe(self) -> tuple[SlotReservation, float]:
        breaker, reserved = portal_limit_rows.start_probe(self._portal, self._rate, self._breaker)
        now = time.monotonic()
        if reserved:
            self._remember(reserved)
            slots = (make_probe_slot(now),)
            return SlotReservation(slots=slots, receipt=reserved.receipt, is_probe=True), now
        # The breaker may have been closed meanwhile; then the next reservation succeeds.
        is_down = breaker.state is not BreakerState.CLOSED
        return SlotReservation(is_portal_down=is_down), now

    def _remember(self, reserved: ReservedTokens) -> None:
        self._has_failures = reserved.has_failures
        self._delivered_at = self._clock.local(reserved.delivered_at)

    def _report_outcome(self, outcome: RequestOutcome) -> PortalHealth:
        recorded = portal_limit_rows.record_outcome(self._portal, outcome, self._breaker)
        self._has_failures = recorded.has_failures
        self._delivered_at = self._clock.local(recorded.delivered_at)
        return recorded.health
