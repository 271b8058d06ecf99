"""One queue per portal, drained by one group of workers: fair, bounded, and at each portal's pace.

A worker is given an item only when that item may go at once: the portal's bucket has a token, its
in-flight cap has room, and the item's own waiting time is over. So no worker ever waits for one
portal while another could be served, and a retry that waits holds nothing.

Not here: what is done with an item, and what an error means (`ingest`).
"""

import asyncio
import heapq
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from typing import Generic, TypeVar

from ingestion.core.limiter import TokenBucket

Item = TypeVar("Item")


@dataclass(slots=True)
class _Lane(Generic[Item]):
    bucket: TokenBucket | None
    max_in_flight: int
    waiting: deque[Item] = field(default_factory=deque)
    later: list[tuple[float, int, Item]] = field(default_factory=list)  # a heap of retries
    in_flight: int = 0

    def ready_at(self) -> float | None:
        """When its next item may go; None when it has none, or no room for one."""
        if self.in_flight >= self.max_in_flight or not (self.waiting or self.later):
            return None
        token = self.bucket.ready_at() if self.bucket else 0.0
        return token if self.waiting else max(token, self.later[0][0])

    def pop(self, now: float) -> Item:
        # A retry that is due goes first: it has waited longest.
        if self.later and self.later[0][0] <= now:
            item = heapq.heappop(self.later)[2]
        else:
            item = self.waiting.popleft()
        if self.bucket:
            self.bucket.spend(now)
        self.in_flight += 1
        return item


class Lanes(Generic[Item]):
    """`depth` items wait in each lane at most; `put` blocks beyond it.

    Owned by one event loop. There is no await between looking and taking, hence no lock.
    """

    def __init__(self, depth: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._depth = depth
        self._clock = clock
        self._lanes: dict[str, _Lane[Item]] = {}
        self._turn: deque[str] = deque()  # whose turn it is: round robin over the portals
        self._changed = asyncio.Event()
        self._numbers = count()
        self._closed = self._abandoned = False

    def __len__(self) -> int:
        """Items that wait, retries included."""
        return sum(len(lane.waiting) + len(lane.later) for lane in self._lanes.values())

    def open(self, key: str, bucket: TokenBucket | None, max_in_flight: int) -> None:
        """Idempotent: a portal keeps its bucket for as long as the lanes live."""
        if key not in self._lanes:
            self._lanes[key] = _Lane(bucket, max_in_flight)
            self._turn.append(key)

    async def put(self, key: str, item: Item) -> None:
        """Queue the item, then wait while the lane is over its depth: this is the backpressure.

        Queued first, so that an item is never lost with a cancelled `put`.
        """
        lane = self._lanes[key]
        lane.waiting.append(item)
        self._wake()
        while len(lane.waiting) > self._depth and not self._closed:
            await self._change()

    def put_back(self, key: str, item: Item, delay: float) -> None:
        """Give a taken item back, to go again after `delay` seconds. Frees its place in flight."""
        lane = self._lanes[key]
        lane.in_flight -= 1
        heapq.heappush(lane.later, (self._clock() + delay, next(self._numbers), item))
        self._wake()

    def done(self, key: str) -> None:
        """The request for a taken item is over: its place in flight is free."""
        self._lanes[key].in_flight -= 1
        self._wake()

    async def take(self) -> Item | None:
        """The next item that may go at once. None: nothing will come any more, leave."""
        while not self._abandoned:
            now = self._clock()
            soonest = None
            for _ in range(len(self._turn)):
                key = self._turn[0]
                self._turn.rotate(-1)
                ready_at = self._lanes[key].ready_at()
                if ready_at is not None and ready_at <= now:
                    self._wake()
                    return self._lanes[key].pop(now)
                if ready_at is not None:
                    soonest = ready_at if soonest is None else min(soonest, ready_at)
            if self._closed and not len(self) and not self._in_flight():
                break
            await self._change(None if soonest is None else soonest - now)
        return None

    def close(self) -> None:
        """No more will be put. Workers leave when the last item is over."""
        self._closed = True
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
        # Everybody who waits looks again: a set event that is replaced at once is a broadcast.
        self._changed.set()
        self._changed = asyncio.Event()

    async def _change(self, seconds: float | None = None) -> None:
        """Until something changed, or the time is up."""
        try:
            async with asyncio.timeout(seconds):
                await self._changed.wait()
        except TimeoutError:
            return
