"""Defines the queue between fetching and parsing, in which uploads overtake portal documents.

When parsing falls behind, documents of portals wait here together with their fetchers, which is the
backpressure. Uploads are in the spool already and come a few at a time, because at most every
second turn of the portal queues is theirs. They may overtake: a person waits for the result, and
the documents of portals lose little time.
"""

import asyncio
from itertools import count

from ingestion.core.ports import Fetched, WorkItem

FetchedItem = tuple[WorkItem, Fetched]

_UPLOAD, _FROM_PORTAL, _END = range(3)  # the order in which `get` returns them


class ParseQueue:
    """Holds at most `max_fetched` documents of portals. One event loop owns it."""

    def __init__(self, max_fetched: int) -> None:
        self._places = asyncio.Semaphore(max_fetched)
        self._waiting: asyncio.PriorityQueue[tuple[int, int, FetchedItem | None]]
        self._waiting = asyncio.PriorityQueue()
        self._numbers = count()

    async def put(self, item: WorkItem, fetched: Fetched) -> None:
        """Add a document. Waits while there is no place for a document of a portal."""
        if item.terms:
            await self._places.acquire()
        rank = _FROM_PORTAL if item.terms else _UPLOAD
        self._waiting.put_nowait((rank, next(self._numbers), (item, fetched)))

    async def get(self) -> FetchedItem | None:
        """Return the next document, or None after `end` when no document is left."""
        rank, _, fetched_item = await self._waiting.get()
        if rank == _FROM_PORTAL:
            self._places.release()
        return fetched_item

    def end(self, consumers: int) -> None:
        """Let each of `consumers` tasks that call `get` receive None after the last document."""
        for _ in range(consumers):
            self._waiting.put_nowait((_END, next(self._numbers), None))
