"""Implements the core's `PortalLimit` and `PlaceClaims` with rows that all workers share.

It converts times of the database's clock to local ones, and turns a failure of the database into a
waiting time. The rows themselves are read and written in `dispatch.portal_limit_rows`.
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
    get_sequential_rate,
    make_probe_slot,
    make_slots,
)
from ingestion.dispatch import portal_limit_rows, portal_place_rows
from ingestion.dispatch.clock import DatabaseClock
from ingestion.dispatch.database_thread import DatabaseThread
from ingestion.dispatch.portal_limit_rows import RecordedOutcome, ReservedTokens

logger = logging.getLogger(__name__)

DATABASE_RETRY_SECONDS = 1.0  # until a database that failed is asked again
MAX_RESERVED_AHEAD_SECONDS = 2.0  # of slots, so that other workers receive slots too
MAX_LEAD_SECONDS = 1.0  # of the first slot of a reservation, from the time it was reserved

# The time that it takes to open a connection. A request that opens one reaches the portal late, and
# would arrive too close to the next request if the portal tolerates only a shorter delay. So this
# time stays free behind it, which is a part of an interval at slow portals. The request may also
# start late by MAX_WAKEUP_DELAY_SECONDS: otherwise a worker that misses the slot would spend this
# time again each time.
CONNECT_SECONDS = 0.05
# After such a pause, a connection counts as closed: the slot is in the future, and the connection
# that is kept open may expire before.
IDLE_CONNECTION_SECONDS = KEEP_ALIVE_SECONDS - 5.0


class SharedPortalLimit:
    """Holds the limits of one portal for one shift.

    It writes only what other workers have to know. Attributes that repeat the row are used to skip
    writes, and to tell the health of the portal if nothing is written.
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
        self._breaker_settings = breaker
        # Seconds that a reservation takes. A slot that is due sooner would be over before it can be
        # used.
        self._lead = 0.0
        # Monotonic seconds of the last answer, or of the request with free time behind it.
        self._connected_at = -math.inf
        self._has_free_time = False  # behind the next request, which opens a connection
        self._delivered_at = -math.inf  # monotonic seconds of the last document, from the row
        self._has_failures = True  # since the last answer, from the row; True until it is read

    async def reserve(self, wanted: int) -> SlotReservation:
        """Reserve at most `wanted` slots.

        The reservation has no slots if the portal is down, or if the database failed, with the
        seconds until the next try.
        """
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
        """Return the last `unused` slots of a reservation."""
        if self._has_free_time:
            self._connected_at = -math.inf  # The next request will open the connection.
        with suppress(DatabaseError):  # Then the slots stay unused, which does no harm.
            await self._database(
                portal_limit_rows.return_tokens,
                self._portal,
                reservation.receipt,
                self._rate,
                unused,
            )

    async def report_outcome(self, outcome: RequestOutcome) -> PortalHealth:
        """Record the outcome of a request, and return the health of the portal.

        Skips the write if the portal was already marked healthy.
        """
        self._connected_at, self._has_free_time = time.monotonic(), False
        age = self._connected_at - self._delivered_at
        is_delivery_old = age > self._breaker_settings.window_seconds / 4
        needs_delivery = outcome is RequestOutcome.DELIVERED and is_delivery_old
        if outcome is not RequestOutcome.FAILED and not self._has_failures and not needs_delivery:
            return PortalHealth(age < self._breaker_settings.window_seconds)
        try:
            return await self._database(self._report_outcome, outcome)
        except DatabaseError:
            logger.exception("portal %s: the outcome of a request is not recorded", self._portal)
            return PortalHealth(age < self._breaker_settings.window_seconds)

    def _reserve(self, tokens: int) -> tuple[SlotReservation, float]:
        """Return the reservation, and when its tokens were spent. Runs in the database thread."""
        free, delay = self._get_free_seconds(), 0.0
        if free:
            tokens, delay = 1, MAX_WAKEUP_DELAY_SECONDS
        reserved = portal_limit_rows.reserve_tokens(
            self._portal, self._rate, tokens, lead=self._lead, free_seconds=free
        )
        if reserved is None:
            return self._reserve_probe()
        self._remember(reserved)
        at = reserved.now + self._lead
        start_times = self._rate.start_times(reserved.tat - free, at, tokens)
        slots = make_slots(self._rate, [self._clock.local(moment) for moment in start_times])
        reservation = SlotReservation(
            slots=tuple(Slot(slot.earliest_at, slot.latest_at + delay) for slot in slots),
            sequential_rate=get_sequential_rate(self._rate),
            receipt=reserved.receipt,
            has_ample_tokens=self._rate.has_ample_tokens(reserved.tat, at),
            is_delay_tolerant=self._rate.is_delay_tolerant,
        )
        return reservation, self._clock.local(reserved.now)

    def _get_free_seconds(self) -> float:
        """Return the time to leave free behind the next request if it opens a connection."""
        now = time.monotonic()
        is_connected = now - self._connected_at < IDLE_CONNECTION_SECONDS
        if self._rate.slack >= CONNECT_SECONDS or is_connected:
            return 0.0
        self._connected_at, self._has_free_time = now, True
        return CONNECT_SECONDS + MAX_WAKEUP_DELAY_SECONDS

    def _reserve_probe(self) -> tuple[SlotReservation, float]:
        """Return a slot for a probe if the breaker permits one, and when its token was spent."""
        breaker, reserved = portal_limit_rows.start_probe(
            self._portal, self._rate, self._breaker_settings
        )
        now = time.monotonic()
        if reserved:
            self._remember(reserved)
            slots = (make_probe_slot(now),)
            return SlotReservation(slots=slots, receipt=reserved.receipt, is_probe=True), now
        # The breaker may have been closed meanwhile; then the next reservation succeeds.
        is_down = breaker.state is not BreakerState.CLOSED
        return SlotReservation(is_portal_down=is_down), now

    def _remember(self, reserved: ReservedTokens | RecordedOutcome) -> None:
        """Keep what the row says about answers. Runs in the database thread, as the clock does."""
        self._has_failures = reserved.has_failures
        self._delivered_at = self._clock.local(reserved.delivered_at)

    def _report_outcome(self, outcome: RequestOutcome) -> PortalHealth:
        """Record the outcome of a request in the row. Runs in the database thread."""
        recorded = portal_limit_rows.record_outcome(self._portal, outcome, self._breaker_settings)
        self._remember(recorded)
        return recorded.health


class SharedPlaceClaims:
    """Claims places of one portal for one shift, beside the other shifts of all hosts."""

    def __init__(self, database: DatabaseThread, terms: PortalTerms, holder: str) -> None:
        self._database = database
        self._portal, self._maximum = terms.portal, terms.max_in_flight
        self._holder = holder

    async def claim(self, held: int, wanted: int) -> int:
        """Return how many places the shift should use: those it holds if the database failed."""
        try:
            return await self._database(
                portal_place_rows.claim_places,
                self._portal,
                self._holder,
                held,
                wanted,
                self._maximum,
            )
        except DatabaseError:
            logger.exception("no place at portal %s: the database failed", self._portal)
            return held
