"""One queue per portal, drained by one group of workers: fair, bounded, and at each portal's pace.

A worker is given an item only when that item may go at once: the portal's gate gave a slot whose
time has come, its in-flight cap has room, and the item's own waiting time is over. So no worker
ever waits for one portal while another could be served, and a retry that waits holds nothing.

Slots are reserved ahead by `pace`, beside the workers: a gate may be a database away, and nothing
slow may stand between a slot and its request. A slot that was not used in time is thrown away.

Lanes without a gate hold what people sent, a few documents each. While there are any, every other
turn is theirs: somebody waits for them, and in the round of many portals they would wait long.

Not here: what is done with an item, and what an error means (`ingest`).
"""

import asyncio
import heapq
import math
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from typing import Generic, TypeVar

from ingestion.core.portal_limits import Gate, Outcome, Standing
from ingestion.core.reservations import Grant, Slots

Item = TypeVar("Item")
Shut = Callable[[str, list[Item]], None]  # is given a lane's items

MOST_SLOTS = 8  # reserved at once for one lane


@dataclass(slots=True)
class _Lane(Generic[Item]):
    gate: Gate | None
    max_in_flight: int
    waiting: deque[Item] = field(default_factory=deque)
    later: list[tuple[float, int, Item]] = field(default_factory=list)  # a heap of retries
    in_flight: int = 0
    slots: Slots = field(default_factory=lambda: Slots(Grant()))
    ask_at: float = 0.0  # the gate could not be reached: not asked before
    is_probing: bool = False  # a probe is in hand: the gate has nothing else to give
    room: asyncio.Event = field(default_factory=asyncio.Event)  # for its feeds

    def ready_at(self, now: float) -> float | None:
        """When its next item may go; None when it has none, no room, or no slot yet."""
        if self.in_flight >= self.max_in_flight or not (self.waiting or self.later):
            return None
        item_at = now if self.waiting else self.later[0][0]
        if self.gate is None or item_at > now:
            return item_at
        slot_at = self.slots.next_at(now)
        return self.ask_at if slot_at is None and self.ask_at > now else slot_at

    def wants(self, now: float) -> int:
        """How many slots to reserve: none that would wait for room and spoil, if they are scarce.

        Never while some are left, so that what is left is always the end of one grant.
        """
        if self.gate is None or self.slots or self.is_probing or self.ask_at > now:
            return 0
        room = self.max_in_flight - self.in_flight
        if room <= 0:
            return 0
        due = len(self.waiting) + sum(1 for at, _, _ in self.later if at <= now)
        if due and self.slots.grant.keeps:
            return MOST_SLOTS
        return min(due, MOST_SLOTS if self.slots.grant.is_plenty else min(room, MOST_SLOTS))

    def pop(self, now: float) -> Item:
        # A retry that is due goes first: it has waited longest.
        if self.later and self.later[0][0] <= now:
            item = heapq.heappop(self.later)[2]
        else:
            item = self.waiting.popleft()
            self.room.set()
        if self.gate:
            self.slots.use(now)
            self.is_probing = self.slots.grant.is_probe
        self.in_flight += 1
        return item

    def take_over(self, grant: Grant, now: float) -> None:
        self.slots = Slots(grant)
        self.ask_at = now + grant.again_seconds

    def free(self) -> None:
        self.in_flight -= 1
        self.is_probing = False

    def withdraw(self, unwanted: Callable[[Item], bool]) -> list[Item]:
        waiting = [item for item in self.waiting if unwanted(item)]
        later = [item for _, _, item in self.later if unwanted(item)]
        self.waiting = deque(item for item in self.waiting if not unwanted(item))
        self.later = [entry for entry in self.later if not unwanted(entry[2])]
        heapq.heapify(self.later)
        self.room.set()
        return waiting + later

    def empty(self) -> list[Item]:
        items = [*self.waiting, *(item for _, _, item in self.later)]
        self.waiting.clear()
        self.later.clear()
        self.room.set()
        return items


class Lanes(Generic[Item]):
    """`depth` items wait in each lane at most; `put` blocks beyond it.

    Owned by one event loop. There is no await between looking and taking, hence no lock for that.
    Of the workers that wait, the first one looks; the others wait for its place and cost nothing.
    """

    def __init__(self, depth: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._depth = depth
        self._clock = clock
        self._lanes: dict[str, _Lane[Item]] = {}
        self._portals: deque[str] = deque()  # whose turn it is: round robin
        self._sent: deque[str] = deque()  # the same, of lanes without a gate
        self._was_sent = False  # the last one was of these
        self._front = asyncio.Lock()  # held by the worker that looks
        self._changed = asyncio.Event()  # it has to look again
        self._hungry = asyncio.Event()  # some lane could go on with a slot
        self._numbers = count()
        self._takers = 0
        self._closed = self._abandoned = self._over = False

    def __len__(self) -> int:
        """Items that wait, retries included."""
        return sum(len(lane.waiting) + len(lane.later) for lane in self._lanes.values())

    def open(self, key: str, gate: Gate | None, max_in_flight: int) -> None:
        """Idempotent: a portal keeps its gate for as long as the lanes live. None: no limit."""
        if key not in self._lanes:
            self._lanes[key] = _Lane(gate, max_in_flight)
            (self._portals if gate else self._sent).append(key)

    async def put(self, key: str, item: Item) -> None:
        """Queue the item, then wait while the lane is over its depth: this is the backpressure.

        Queued first, so that an item is never lost with a cancelled `put`.
        """
        lane = self._lanes[key]
        lane.waiting.append(item)
        self._wake()
        while len(lane.waiting) > self._depth and not self._closed:
            lane.room.clear()
            await lane.room.wait()

    def put_back(self, key: str, item: Item, delay: float) -> None:
        """Give a taken item back, to go again after `delay` seconds. Frees its place in flight."""
        lane = self._lanes[key]
        lane.free()
        heapq.heappush(lane.later, (self._clock() + delay, next(self._numbers), item))
        self._wake()

    def done(self, key: str) -> None:
        """The request for a taken item is over: its place in flight is free."""
        self._lanes[key].free()
        self._wake()

    async def another_slot(self, key: str) -> bool:
        """Wait for a slot beside the lane's own: a redirect is one more request. False: shut."""
        gate = self._lanes[key].gate
        while gate is not None:
            grant = await gate.reserve(1)
            if grant.is_shut:
                return False
            for slot in grant.slots:
                await asyncio.sleep(max(0.0, slot.go_at - self._clock()))
                if self._clock() <= slot.spoils_at:
                    return True
            await asyncio.sleep(grant.again_seconds)
        return True

    async def tell(self, key: str, outcome: Outcome) -> Standing:
        """Tell the portal's gate what became of a request, before its place is freed."""
        lane = self._lanes[key]
        if outcome is Outcome.FAILED and lane.slots.grant.keeps:
            lane.slots = Slots(Grant())  # its breaker is looked at before the next one goes
        return await lane.gate.tell(outcome) if lane.gate else Standing()

    async def take(self) -> Item | None:
        """The next item that may go at once. None: nothing will come any more, leave."""
        self._takers += 1
        try:
            async with self._front:
                return await self._take()
        finally:
            self._takers -= 1

    async def _take(self) -> Item | None:
        while not self._abandoned:
            now = self._clock()
            lane, soonest = self._first_ready(now)
            if lane:
                return lane.pop(now)
            if self._closed and not len(self) and not self._in_flight():
                break
            await self._change(None if soonest is None else soonest - now)
        self._over = True
        self._hungry.set()
        return None

    def _first_ready(self, now: float) -> tuple[_Lane[Item] | None, float | None]:
        """The lane whose turn it is; or None, and when the first one will be ready."""
        soonest = math.inf
        for is_sent in (not self._was_sent, self._was_sent):
            turn = self._sent if is_sent else self._portals
            for _ in range(len(turn)):
                lane = self._lanes[turn[0]]
                turn.rotate(-1)
                ready_at = lane.ready_at(now)
                if ready_at is not None and ready_at <= now:
                    self._was_sent = is_sent
                    return lane, None
                if ready_at is not None:
                    soonest = min(soonest, ready_at)
                elif lane.wants(now):
                    self._hungry.set()
        return None, None if soonest == math.inf else soonest

    async def pace(self, shut: Shut[Item]) -> None:
        """Reserve slots for the lanes that could use them, until the workers leave.

        `shut` is given what waits in a lane whose gate is shut. Unused slots are given back.
        """
        while not self._over:
            await self._hungry.wait()
            self._hungry.clear()
            for key, lane in list(self._lanes.items()):
                # Without a worker that could use it, a slot would only spoil.
                if lane.gate and self._takers and (wanted := lane.wants(self._clock())):
                    await self._give_back(lane)
                    grant = await lane.gate.reserve(wanted)
                    lane.take_over(grant, self._clock())
                    if grant.is_shut:
                        shut(key, lane.empty())
                    self._wake()
        for lane in self._lanes.values():
            await self._give_back(lane)

    async def _give_back(self, lane: _Lane[Item]) -> None:
        if lane.gate and lane.slots.unused and not lane.slots.grant.keeps:
            await lane.gate.give_back(lane.slots.grant, lane.slots.unused)

    def withdraw(self, key: str, unwanted: Callable[[Item], bool]) -> list[Item]:
        """Take out what waits and is not wanted any more, retries included. In flight stays."""
        withdrawn = self._lanes[key].withdraw(unwanted)
        if withdrawn:
            self._wake()
        return withdrawn

    def close(self) -> None:
        """No more will be put. Workers leave when the last item is over."""
        self._closed = True
        for lane in self._lanes.values():
            lane.room.set()
        self._wake()

    def abandon(self) -> None:
        """Close at once: workers get nothing more, and what waits is `left`."""
        self._abandoned = True
        self.close()

    @property
    def left(self) -> list[Item]:
        """What waits, retries included."""
        waiting = [item for lane in self._lanes.values() for item in lane.waiting]
        return waiting + [item for lane in self._lanes.values() for _, _, item in lane.later]

    def _in_flight(self) -> int:
        return sum(lane.in_flight for lane in self._lanes.values())

    def _wake(self) -> None:
        self._changed.set()

    async def _change(self, seconds: float | None) -> None:
        """Until something changed, or the time is up."""
        self._changed.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._changed.wait()
