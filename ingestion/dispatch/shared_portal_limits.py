"""The core's Gate over the shared row: the database's times become local ones, errors waits."""

import logging
import math
import time
from contextlib import suppress

from django.db import DatabaseError

from ingestion.core.breaker import BreakerState, BreakerTerms
from ingestion.core.limiter import LATE_SECONDS, Pace
from ingestion.core.portal_limits import KEPT_SECONDS, Outcome, Standing
from ingestion.core.ports import PortalTerms
from ingestion.core.reservations import (
    Grant,
    Slot,
    probe_slot,
    run_of,
    slots_of,
)
from ingestion.dispatch import portal_limit_rows
from ingestion.dispatch.clock import DatabaseClock
from ingestion.dispatch.database_thread import Door
from ingestion.dispatch.portal_limit_rows import Reserved

logger = logging.getLogger(__name__)

AGAIN_SECONDS = 1.0  # after which a database that could not be reached is asked again
AHEAD_SECONDS = 2.0  # nothing is reserved further ahead: others want their turn, too
LONGEST_LEAD = 1.0  # seconds

# A slack shorter than this is used up by the making of one connection. The first request to such a
# portal after a pause gets as much room behind it, or the next one would catch up with it. There it
# may be late as well: a worker whose first request is thrown away pays for the room each time.
COLD_SECONDS = 0.05
PAUSE_SECONDS = KEPT_SECONDS - 5.0  # slots lie ahead: until then the kept connection may be gone


class SharedGate:
    """One for each portal and shift. Writes only what others have to know.

    What it remembers of the row is a hint that saves writes; the row decides.
    """

    def __init__(
        self, door: Door, clock: DatabaseClock, terms: PortalTerms, breaker: BreakerTerms
    ) -> None:
        self._door = door
        self._clock = clock
        self._portal = terms.portal
        self._pace = Pace.of(terms.rate_per_second, terms.burst)
        self._breaker = breaker
        self._lead = 0.0  # seconds that an answer takes to get here: sooner it is of no use
        self._warm_at = -math.inf  # monotonic, as the next: the last answer, or room for one
        self._has_room_behind = False  # the request that goes next
        self._given_at = -math.inf
        self._is_troubled = True  # until the row says otherwise

    async def reserve(self, wanted: int) -> Grant:
        """As `core.gate.Gate` says."""
        tokens = max(1, min(wanted, int(AHEAD_SECONDS / self._pace.interval)))
        try:
            grant, spent_at = await self._door(self._reserve, tokens)
        except DatabaseError:
            logger.exception("no slot for portal %s: the database failed", self._portal)
            return Grant(again_seconds=AGAIN_SECONDS)
        took = time.monotonic() - spent_at
        self._lead = min(LONGEST_LEAD, max(took * 1.25, self._lead * 0.9))
        return grant

    async def give_back(self, grant: Grant, unused: int) -> None:
        """As `core.gate.Gate` says."""
        if self._has_room_behind:
            self._warm_at = -math.inf  # it was given back, too
        with suppress(DatabaseError):  # then they are lost to the portal, which does no harm
            await self._door(
                portal_limit_rows.give_back, self._portal, grant.receipt, self._pace, unused
            )

    async def tell(self, outcome: Outcome) -> Standing:
        """As `core.gate.Gate` says. A portal that gives and gave is no news."""
        self._warm_at, self._has_room_behind = time.monotonic(), False
        age = self._warm_at - self._given_at
        is_news = outcome is Outcome.GIVEN and age > self._breaker.window_seconds / 4
        if outcome is not Outcome.FAILED and not self._is_troubled and not is_news:
            return Standing(gives=age < self._breaker.window_seconds)
        try:
            return await self._door(self._tell, outcome)
        except DatabaseError:
            logger.exception("portal %s: its breaker was not told", self._portal)
            return Standing(gives=age < self._breaker.window_seconds)

    def _reserve(self, tokens: int) -> tuple[Grant, float]:
        """The grant, and when its tokens were spent. In the Door's thread, as what follows."""
        room = self._room()
        tokens, late = (1, LATE_SECONDS) if room else (tokens, 0.0)
        reserved = portal_limit_rows.reserve(
            self._portal, self._pace, tokens + room, lead=self._lead
        )
        if reserved is None:
            return self._probe()
        self._note(reserved)
        at = reserved.now + self._lead
        go_times = self._pace.go_times(reserved.tat, at, tokens + room)[:tokens]
        slots = slots_of(self._pace, [self._clock.local(moment) for moment in go_times])
        grant = Grant(
            slots=tuple(Slot(slot.go_at, slot.spoils_at + late) for slot in slots),
            run=run_of(self._pace),
            receipt=reserved.receipt,
            is_plenty=self._pace.is_plenty(reserved.tat, at),
            keeps=self._pace.holds_many,
        )
        return grant, self._clock.local(reserved.now)

    def _room(self) -> int:
        """Tokens to leave behind the next request, since its connection is new."""
        now = time.monotonic()
        if self._pace.slack >= COLD_SECONDS or now - self._warm_at < PAUSE_SECONDS:
            return 0
        self._warm_at, self._has_room_behind = now, True
        return math.ceil((COLD_SECONDS + LATE_SECONDS) / self._pace.interval)

    def _probe(self) -> tuple[Grant, float]:
        breaker, reserved = portal_limit_rows.probe(self._portal, self._pace, self._breaker)
        now = time.monotonic()
        if reserved:
            self._note(reserved)
            return Grant(slots=(probe_slot(now),), receipt=reserved.receipt, is_probe=True), now
        if breaker.state is BreakerState.CLOSED:
            return Grant(), now  # it was closed in this moment
        return Grant(is_shut=True), now

    def _note(self, reserved: Reserved) -> None:
        self._is_troubled = reserved.is_troubled
        self._given_at = self._clock.local(reserved.given_at)

    def _tell(self, outcome: Outcome) -> Standing:
        told = portal_limit_rows.tell(self._portal, outcome, self._breaker)
        self._is_troubled = told.is_troubled
        self._given_at = self._clock.local(told.given_at)
        return told.standing
