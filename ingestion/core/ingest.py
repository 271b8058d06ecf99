"""One document's way through the core: fetched, claimed, read, concluded. And many at a time.

Two groups of workers: fetchers wait for portals, settlers wait for the parser pool, so that slow
portals never keep the pool idle and a long scan never keeps a portal idle. Between them is a
bounded `handover`: when reading falls behind, fetching stops taking new items.

The expected errors are those of `errors`; everything else is caught in exactly one place
(`_guarded`), held as INTERNAL_ERROR and logged, and never blamed on the document.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from ingestion.core import retry
from ingestion.core.errors import IngestionError, LeaseLost, OurFault, TransientError
from ingestion.core.limits import Limits
from ingestion.core.parse_queue import Handover
from ingestion.core.portal_limits import Outcome, outcome_of
from ingestion.core.portal_queues import Lanes
from ingestion.core.ports import (
    Desk,
    Fetched,
    Portal,
    Reader,
    Unchanged,
    WorkItem,
)

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Again:
    item: WorkItem
    wait: float  # seconds


class Ingest:
    """Runs items from `lanes` to their end. Owns neither the portal, the desk nor the reader."""

    def __init__(
        self, lanes: Lanes[WorkItem], *, portal: Portal, desk: Desk, reader: Reader, limits: Limits
    ) -> None:
        self._lanes = lanes
        self._portal = portal
        self._desk = desk
        self._reader = reader
        self._limits = limits
        self._fetched = Handover(limits.settlers)

    async def run(self) -> None:
        """Returns when the lanes are closed and the last document is out of hand.

        Raises whatever a worker could not catch, as an ExceptionGroup, after the others stopped.
        """
        async with asyncio.TaskGroup() as group:
            group.create_task(self._lanes.pace(self._desk.postpone), name="pace")
            fetchers = [
                group.create_task(self._fetch_all(), name=f"fetcher-{number:02d}")
                for number in range(self._limits.fetchers)
            ]
            for number in range(self._limits.settlers):
                group.create_task(self._settle_all(), name=f"settler-{number:02d}")
            await asyncio.gather(*fetchers)
            self._fetched.end(takers=self._limits.settlers)

    async def feed(self, item: WorkItem) -> None:
        """Take an item up and put it into its lane; waits while the lane is full.

        The attempt is charged here and not after `take`: a slot is used on `take`, and nothing
        slow may stand between a slot and its request.
        """

        async def take_up(item: WorkItem) -> bool:
            if not await self._desk.take_up(item):
                return True
            await self._lanes.put(item.lane, item)
            return False

        await self._guarded(item, take_up)

    async def _fetch_all(self) -> None:
        while (item := await self._lanes.take()) is not None:
            await self._guarded(item, self._fetch)

    async def _settle_all(self) -> None:
        while (ready := await self._fetched.get()) is not None:
            item, fetched = ready

            async def settle(item: WorkItem, fetched: Fetched = fetched) -> bool:
                return await self._settle(item, fetched)

            await self._guarded(item, settle)

    async def _guarded(self, item: WorkItem, step: Callable[[WorkItem], Awaitable[bool]]) -> None:
        """Run one step. `step` answers whether the document is over."""
        try:
            over = await step(item)
        except LeaseLost:
            logger.warning("lease lost", extra={"document": item.document, "chunk": item.chunk})
            over = True
        except Exception:  # one bad document must not stop the others
            logger.exception("held %s, unexpected", item.name)
            over = await self._hold_unexpected(item)
        if over:
            await self._desk.over(item)

    async def _hold_unexpected(self, item: WorkItem) -> bool:
        try:
            await self._desk.give_up(item, "INTERNAL_ERROR", {}, held=True)
        except Exception:  # the database itself fails: the lease expires, another shift goes on
            logger.exception("could not even hold %s", item.name)
        return True

    async def _fetch(self, item: WorkItem) -> bool:
        """Ask the portal once. A transient answer puts the item back, or off to later."""
        again = None
        try:
            fetched = await self._portal.fetch(item)
            await self._lanes.tell(item.lane, Outcome.GIVEN)
            if isinstance(fetched, Unchanged):
                if not await self._desk.unchanged(item, fetched):
                    again = _Again(replace(item, filed=None), wait=0.0)
                return again is None
        except IngestionError as error:
            again = await self._failed(item, error)
            return again is None
        finally:
            # Either way the portal has answered, and its gate knows: the place in flight is free
            # before anything else is waited for.
            if again is None:
                self._lanes.done(item.lane)
            else:
                self._lanes.put_back(item.lane, again.item, again.wait)
        await self._fetched.put(item, replace(fetched, tries=item.tries + 1))
        return False

    async def _failed(self, item: WorkItem, error: IngestionError) -> "_Again | None":
        """Record a failed request. None: the document is out of hand, for now or for good."""
        outcome = outcome_of(error)
        standing = await self._lanes.tell(item.lane, outcome)
        if not isinstance(error, TransientError):
            await self._refuse(item, error)
            return None
        # Only a portal that gives others can condemn a document (decision 5).
        is_down = outcome is Outcome.FAILED and not standing.gives
        is_patient = error.is_the_portals or is_down
        item = self._tried(item, counts=not is_patient)
        counted = None if is_patient else item.counted_tries
        wait = retry.delay(error, item.tries, self._limits, counted=counted)
        if wait is None or time.monotonic() + wait > (item.deadline or 0.0):
            await self._give_up(item, error, is_portals=is_patient)
            return None
        later = wait > self._limits.reschedule_seconds
        facts = {"fault": type(error).__name__, **error.facts}
        await self._desk.fetch_failed(item, error.code, facts, wait=wait, later=later)
        logger.info("asking again for %s in %.1f s: %s", item.doc_id, wait, error)
        return None if later else _Again(item, wait)

    def _tried(self, item: WorkItem, *, counts: bool) -> WorkItem:
        """One more request was made for it. With the first that failed, its deadline is set."""
        deadline = item.deadline or time.monotonic() + self._limits.deadline_seconds
        counted = item.counted_tries + counts
        return replace(item, tries=item.tries + 1, counted_tries=counted, deadline=deadline)

    async def _refuse(self, item: WorkItem, error: IngestionError) -> None:
        facts = {"tries": item.tries + 1, **error.facts}
        await self._desk.give_up(item, error.code, facts, held=isinstance(error, OurFault))

    async def _give_up(self, item: WorkItem, error: TransientError, *, is_portals: bool) -> None:
        """Held when it is the portal's fault, rejected when it gives others and not this one."""
        code = "PORTAL_UNAVAILABLE" if is_portals else error.code
        await self._desk.give_up(item, code, {"tries": item.tries, **error.facts}, held=is_portals)

    async def _settle(self, item: WorkItem, fetched: Fetched) -> bool:
        """Claim, read, conclude."""
        try:
            if await self._desk.start_checking(item, fetched):
                checked = await self._reader.read(item, fetched)
                await self._desk.conclude(item, fetched, checked)
        except OurFault as error:
            await self._refuse(item, error)
        return True
