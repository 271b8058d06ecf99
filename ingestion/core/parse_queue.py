"""Between fetching and reading: what portals gave queues up, what people sent goes to the front.

When reading falls behind, portals' documents wait here and their fetchers with them, which is the
backpressure. What people sent is in the spool already and comes a few at a time (each other turn of
the lanes at most), so it may pass them: nobody waits long for it, and somebody waits for that.
"""

import asyncio
from itertools import count

from ingestion.core.ports import Fetched, WorkItem

Ready = tuple[WorkItem, Fetched]

_SENT, _GIVEN, _END = range(3)  # the order in which they are handed over


class Handover:
    """`room` documents of portals wait in it at most. Owned by one event loop."""

    def __init__(self, room: int) -> None:
        self._room = asyncio.Semaphore(room)
        self._waiting: asyncio.PriorityQueue[tuple[int, int, Ready | None]]
        self._waiting = asyncio.PriorityQueue()
        self._numbers = count()

    async def put(self, item: WorkItem, fetched: Fetched) -> None:
        """Waits while there is no room for what a portal gave."""
        if item.terms:
            await self._room.acquire()
        rank = _GIVEN if item.terms else _SENT
        self._waiting.put_nowait((rank, next(self._numbers), (item, fetched)))

    async def get(self) -> Ready | None:
        """What comes next; None when nothing will."""
        rank, _, ready = await self._waiting.get()
        if rank == _GIVEN:
            self._room.release()
        return ready

    def end(self, takers: int) -> None:
        """Nothing more is put: behind what is left, a poison pill for each that takes."""
        for _ in range(takers):
            self._waiting.put_nowait((_END, next(self._numbers), None))
