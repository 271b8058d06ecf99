"""Defines one queue per portal; one group of workers serves all of them, at each portal's rate.

A worker receives an item only when that item may go at once: a reserved slot is due, the portal's
limit of requests in flight leaves a place, and the item's own waiting time is over. So no worker
waits for one portal while another could be served, and an item that waits for its retry occupies no
worker.

`reserve_slots` reserves slots in advance, beside the workers: the limit may be a database away, and
a request has to follow its slot at once. A slot that is not used in time is dropped.

Queues without a limit hold uploads, a few documents each. While there are any, every second turn is
theirs: a person waits for them, and a round over many portals would take long.

What is done with an item, and what an error means, is decided in `core.ingest`.
"""

import asyncio
import heapq
import math
import random
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Generic, TypeVar

from structlog.contextvars import bound_contextvars

from ingestion.core.portal_limits import PortalHealth, PortalLimit, RequestOutcome
from ingestion.core.portal_places import PlaceClaims
from ingestion.core.reservations import ReservedSlots, SlotReservation

Item = TypeVar("Item")
OnPortalDown = Callable[[str, list[Item]], None]  # receives the key of a queue, and its items

MAX_SLOTS_PER_RESERVATION = 8
CLAIM_RETRY_SECONDS = 0.25  # until a place is claimed that was not free; at least half of it
REFRESH_SHARE_SECONDS = 3.0  # between two claims of a queue whose places are all used


@dataclass(slots=True)
class _PortalQueue(Generic[Item]):
    limit: PortalLimit | None
    max_in_flight: int
    claims: PlaceClaims | None = None  # None: the places are not shared with other processes
    places: int = 0  # requests that may be in flight now
    share: int = 0  # of the places; more of them are given back when their requests end
    claimed: int = 0  # places that other processes take for used
    claim_at: float = 0.0  # no place was free, and none is claimed before
    refresh_at: float = 0.0  # the share may have changed then
    waiting: deque[Item] = field(default_factory=deque)
    retries: list[tuple[float, int, Item]] = field(default_factory=list)  # a heap, by due time
    in_flight: int = 0
    slots: ReservedSlots = field(default_factory=lambda: ReservedSlots(SlotReservation()))
    reserve_at: float = 0.0  # the limit could not be reached and is not asked before
    is_probing: bool = False  # a probe is in flight, and the limit has no other slot
    has_space: asyncio.Event = field(default_factory=asyncio.Event)  # set for tasks that feed

    def __post_init__(self) -> None:
        if self.claims is None:
            self.places = self.share = self.max_in_flight

    def ready_at(self, now: float) -> float | None:
        """Return when the next item may go; None without an item, a place in flight or a slot."""
        if self.in_flight >= self.max_in_flight or not (self.waiting or self.retries):
            return None
        item_at = now if self.waiting else self.retries[0][0]
        if item_at > now:
            return item_at
        if self.in_flight >= self.places:
            return self.claim_at if self.claim_at > now else None
        if self.limit is None:
            return item_at
        slot_at = self.slots.next_at(now)
        return self.reserve_at if slot_at is None and self.reserve_at > now else slot_at

    def count_wanted_slots(self, now: float) -> int:
        """Return how many slots to reserve. If tokens are scarce, no slot may expire unused.

        Returns 0 while slots are left, so that these are always the end of one reservation.
        """
        if self.limit is None or self.slots or self.is_probing or self.reserve_at > now:
            return 0
        places = self.places - self.in_flight
        if places <= 0:
            return 0
        due = self.count_due(now)
        if due and self.slots.reservation.is_delay_tolerant:
            return MAX_SLOTS_PER_RESERVATION
        has_ample_tokens = self.slots.reservation.has_ample_tokens
        return min(due, MAX_SLOTS_PER_RESERVATION, due if has_ample_tokens else places)

    def count_due(self, now: float) -> int:
        return len(self.waiting) + sum(1 for at, _, _ in self.retries if at <= now)

    def count_wanted_places(self, now: float) -> int | None:
        """Return for how many places to claim, with those in use; None: nothing has to change."""
        if self.claims is None:
            return None
        wanted = min(self.max_in_flight, self.in_flight + self.count_due(now))
        if self.places < self.claimed or (self.claimed and not wanted):
            return wanted  # places are given back
        is_short = wanted > self.places and now >= self.claim_at
        return wanted if is_short or (self.claimed and now >= self.refresh_at) else None

    def accept_share(self, share: int, *, held: int, wanted: int, now: float) -> None:
        self.claimed = max(held, share)
        self.share, self.places = share, max(share, self.in_flight)
        delay = random.uniform(0.5, 1.0) * CLAIM_RETRY_SECONDS
        self.claim_at = now + delay if share < wanted else 0.0
        self.refresh_at = now + REFRESH_SHARE_SECONDS

    def is_retry_next(self, now: float) -> bool:
        # A retry that is due goes first: it has waited longest.
        return bool(self.retries) and self.retries[0][0] <= now

    def peek(self, now: float) -> Item | None:
        if self.is_retry_next(now):
            return self.retries[0][2]
        return self.waiting[0] if self.waiting else None

    def pop(self, now: float) -> Item:
        if self.is_retry_next(now):
            item = heapq.heappop(self.retries)[2]
        else:
            item = self.waiting.popleft()
            self.has_space.set()
        if self.limit:
            self.slots.use(now)
            self.is_probing = self.slots.reservation.is_probe
        self.in_flight += 1
        return item

    def replace_slots(self, reservation: SlotReservation, now: float) -> None:
        self.slots = ReservedSlots(reservation)
        self.reserve_at = now + reservation.retry_after_seconds

    def release_place(self) -> None:
        self.in_flight -= 1
        self.places = max(self.share, min(self.places, self.in_flight))
        self.is_probing = False

    @property
    def items(self) -> list[Item]:
        return [*self.waiting, *(item for _, _, item in self.retries)]

    def remove(self, is_unwanted: Callable[[Item], bool]) -> list[Item]:
        removed = [item for item in self.items if is_unwanted(item)]
        self.waiting = deque(item for item in self.waiting if not is_unwanted(item))
        self.retries = [entry for entry in self.retries if not is_unwanted(entry[2])]
        heapq.heapify(self.retries)
        self.has_space.set()
        return removed


class PortalQueues(Generic[Item]):
    """Holds at most `depth` waiting items in each queue; `put` blocks beyond that.

    One event loop owns it. Between looking for an item and taking it there is no await, so no lock
    is needed for that. Of the waiting workers, the first one looks for items, and the others wait
    for a lock, which costs nothing.

    `get_log_facts` returns what lines of the log and ledger entries about an item say. They are
    bound while slots are reserved for the item that goes next.
    """

    def __init__(
        self,
        depth: int,
        *,
        clock: Callable[[], float] = time.monotonic,
        get_log_facts: Callable[[Item], Mapping[str, Any]] = lambda _item: {},
    ) -> None:
        self._depth = depth
        self._clock = clock
        self._get_log_facts = get_log_facts
        self._queues: dict[str, _PortalQueue[Item]] = {}
        self._portal_turns: deque[str] = deque()  # keys of queues with a limit: round robin
        self._upload_turns: deque[str] = deque()  # keys of queues without a limit
        self._was_upload = False  # the last item came from a queue without a limit
        self._first_worker = asyncio.Lock()  # held by the worker that looks for items
        self._changed = asyncio.Event()  # that worker has to look again
        self._slots_wanted = asyncio.Event()  # some queue could go on with a slot
        self._numbers = count()
        self._waiting_workers = 0
        self._is_closed = self._is_abandoned = self._is_finished = False

    def __len__(self) -> int:
        """Return the number of waiting items, retries included."""
        return sum(len(queue.waiting) + len(queue.retries) for queue in self._queues.values())

    def open(
        self,
        key: str,
        limit: PortalLimit | None,
        max_in_flight: int,
        claims: PlaceClaims | None = None,
    ) -> None:
        """Create the queue of a portal, or of uploads if `limit` is None.

        With `claims`, the portal's places are shared with other processes, and `max_in_flight` is
        the number of all of them. Does nothing if the queue exists: it keeps its limit.
        """
        if key not in self._queues:
            self._queues[key] = _PortalQueue(limit, max_in_flight, claims)
            (self._portal_turns if limit else self._upload_turns).append(key)

    async def put(self, key: str, item: Item) -> None:
        """Add the item, then wait while the queue is over its depth, which is the backpressure.

        The item is added first, so a cancelled `put` does not lose it.
        """
        queue = self._queues[key]
        queue.waiting.append(item)
        self._changed.set()
        while len(queue.waiting) > self._depth and not self._is_closed:
            queue.has_space.clear()
            await queue.has_space.wait()

    def put_back(self, key: str, item: Item, delay: float) -> None:
        """Return a taken item, to go again after `delay` seconds. Releases its place in flight."""
        queue = self._queues[key]
        queue.release_place()
        heapq.heappush(queue.retries, (self._clock() + delay, next(self._numbers), item))
        self._changed.set()

    def finish_request(self, key: str) -> None:
        """Release the place in flight of a taken item."""
        self._queues[key].release_place()
        self._changed.set()

    async def wait_for_extra_slot(self, key: str) -> bool:
        """Wait for a slot beside those of the queue, because a redirect is one more request.

        Returns False if the portal is down.
        """
        limit = self._queues[key].limit
        while limit is not None:
            reservation = await limit.reserve(1)
            if reservation.is_portal_down:
                return False
            for slot in reservation.slots:
                await asyncio.sleep(max(0.0, slot.earliest_at - self._clock()))
                if self._clock() <= slot.latest_at:
                    return True
            await asyncio.sleep(reservation.retry_after_seconds)
        return True

    async def report_outcome(self, key: str, outcome: RequestOutcome) -> PortalHealth:
        """Tell the portal's limit the outcome of a request, before its place is released."""
        queue = self._queues[key]
        if outcome is RequestOutcome.FAILED and queue.slots.reservation.is_delay_tolerant:
            # The state of the breaker is read before the next request goes.
            queue.slots = ReservedSlots(SlotReservation())
        return await queue.limit.report_outcome(outcome) if queue.limit else PortalHealth()

    async def take(self) -> Item | None:
        """Wait for the next item that may go at once. None means that no item will follow."""
        self._waiting_workers += 1
        try:
            async with self._first_worker:
                while not self._is_abandoned:
                    now = self._clock()
                    queue, soonest = self._find_ready(now)
                    if queue:
                        return queue.pop(now)
                    is_in_flight = any(queue.in_flight for queue in self._queues.values())
                    if self._is_closed and not len(self) and not is_in_flight:
                        break
                    self._changed.clear()
                    with suppress(TimeoutError):
                        async with asyncio.timeout(None if soonest is None else soonest - now):
                            await self._changed.wait()
                self._is_finished = True
                self._slots_wanted.set()
                return None
        finally:
            self._waiting_workers -= 1

    def _find_ready(self, now: float) -> tuple[_PortalQueue[Item] | None, float | None]:
        """Return the queue whose turn it is; or None, and when the first one will be ready."""
        soonest = math.inf
        for is_upload in (not self._was_upload, self._was_upload):
            turns = self._upload_turns if is_upload else self._portal_turns
            for _ in range(len(turns)):
                queue = self._queues[turns[0]]
                turns.rotate(-1)
                ready_at = queue.ready_at(now)
                if ready_at is not None and ready_at <= now:
                    self._was_upload = is_upload
                    return queue, None
                if ready_at is not None:
                    soonest = min(soonest, ready_at)
                elif queue.count_wanted_slots(now):
                    self._slots_wanted.set()
                if queue.count_wanted_places(now) is not None:
                    self._slots_wanted.set()
        return None, None if soonest == math.inf else soonest

    async def reserve_slots(self, on_portal_down: OnPortalDown[Item]) -> None:
        """Reserve slots and claim places for the queues that could use them, until workers leave.

        `on_portal_down` receives what waits in a queue whose portal is down. Slots and places that
        are left in the end are given back.
        """
        while not self._is_finished:
            await self._slots_wanted.wait()
            self._slots_wanted.clear()
            for key, queue in list(self._queues.items()):
                with bound_contextvars(**self._describe_next(queue)):
                    reservation = await self._reserve(queue)
                if reservation and reservation.is_portal_down:
                    on_portal_down(key, queue.remove(lambda _item: True))
        for queue in self._queues.values():
            await self._give_back_slots(queue)
            if queue.claims and queue.claimed:
                await queue.claims.claim(queue.in_flight, queue.in_flight)

    def _describe_next(self, queue: _PortalQueue[Item]) -> Mapping[str, Any]:
        """Return what the log says about the item that goes next, if there is one."""
        item = queue.peek(self._clock())
        return {} if item is None else self._get_log_facts(item)

    async def _reserve(self, queue: _PortalQueue[Item]) -> SlotReservation | None:
        """Claim places, and reserve slots if the queue could use them. Returns the reservation."""
        await self._claim_places(queue)
        # Without a worker that could use it, a slot would only expire.
        wanted = queue.count_wanted_slots(self._clock())
        if not (queue.limit and self._waiting_workers and wanted):
            return None
        await self._give_back_slots(queue)
        reservation = await queue.limit.reserve(wanted)
        queue.replace_slots(reservation, self._clock())
        self._changed.set()
        return reservation

    async def _claim_places(self, queue: _PortalQueue[Item]) -> None:
        """Claim places of the portal, or give back those that are not used."""
        wanted = queue.count_wanted_places(self._clock())
        if queue.claims is None or wanted is None:
            return
        if not wanted:
            queue.places = 0  # nothing is in flight, and nothing may start meanwhile
        held = queue.places
        share = await queue.claims.claim(held, wanted)
        queue.accept_share(share, held=held, wanted=wanted, now=self._clock())
        self._changed.set()

    async def _give_back_slots(self, queue: _PortalQueue[Item]) -> None:
        reservation = queue.slots.reservation
        if queue.limit and queue.slots.unused and not reservation.is_delay_tolerant:
            await queue.limit.give_back(reservation, queue.slots.unused)

    def withdraw(self, key: str, is_unwanted: Callable[[Item], bool]) -> list[Item]:
        """Remove and return waiting items, retries included. Items in flight stay."""
        withdrawn = self._queues[key].remove(is_unwanted)
        if withdrawn:
            self._changed.set()
        return withdrawn

    def close(self) -> None:
        """Accept no more items. Workers leave when the last item is finished."""
        self._is_closed = True
        for queue in self._queues.values():
            queue.has_space.set()
        self._changed.set()

    def abandon(self) -> None:
        """Close at once: workers receive no more items, and `waiting_items` holds the rest."""
        self._is_abandoned = True
        self.close()

    @property
    def waiting_items(self) -> list[Item]:
        """Return all items that wait: first those that never went, then the retries."""
        waiting = [item for queue in self._queues.values() for item in queue.waiting]
        return waiting + [item for queue in self._queues.values() for _, _, item in queue.retries]
