"""A shift: one django-q2 task that works due chunks of many sites in one event loop.

It leases chunks while it has room, keeps leasing as room frees, and ends when nothing is due, when
its time is up, or when the host drains. Which chunk is next is decided as late as possible.
"""

import asyncio
import logging
import time
from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from uuid import UUID

from django.conf import settings
from django.db import DatabaseError, OperationalError

from ingestion.core.errors import LeaseLost, PortalUnreachable
from ingestion.core.ingest import Ingest
from ingestion.core.portal_queues import Lanes
from ingestion.core.ports import WorkItem
from ingestion.dispatch import leases
from ingestion.dispatch.clock import DatabaseClock
from ingestion.dispatch.database_thread import Door
from ingestion.dispatch.document_reader import CheckingReader
from ingestion.dispatch.leases import Lease
from ingestion.dispatch.processes import drain, worker_presence
from ingestion.dispatch.recorder import FilingDesk
from ingestion.dispatch.shared_portal_limits import SharedGate
from ingestion.sources.document_source import DocumentSource, LeaseFolders
from ingestion.sources.http.client import HttpPortals
from ingestion.storage import spool

logger = logging.getLogger(__name__)

FED_TOGETHER = 4  # documents of a chunk; if their worker dies, all of them are suspects
LOOK_SECONDS = 0.25  # between two looks for due chunks, and for the drain flag
URGENT_SECONDS = 0.1  # the same for urgent ones, while work goes on: somebody waits for them
NAMED = 5  # documents of a chunk, in the log
HEAR_SECONDS = 1.0  # between two looks for batches that somebody cancelled


def work_shift() -> None:
    """Work all that is due. The body of the django-q2 task; a plain function for tests."""
    asyncio.run(Shift.work())


@dataclass(slots=True)
class _InHand:
    """A chunk of this shift, and which of its documents are not over yet."""

    lease: Lease
    left: set[int]
    feeding: asyncio.Task[None] | None = None
    is_shut: bool = False  # its portal is down or its batch is cancelled: nothing more is fed
    is_cancelled: bool = False
    untouched: set[int] = field(default_factory=set)  # taken up, and sent away for that

    @property
    def name(self) -> str:
        """For the log."""
        items = [item.doc_id for item in self.lease.items if item.document in self.left]
        documents = ", ".join(items[:NAMED]) + (", ..." if len(items) > NAMED else "")
        return f"chunk {self.lease.chunk} of batch {self.lease.batch} ({documents or 'all done'})"

    @property
    def is_being_fed(self) -> bool:
        return self.feeding is None or not self.feeding.done()

    @property
    def lane(self) -> str:
        return self.lease.items[0].lane if self.lease.items else ""


class Shift:
    """Holds the leases. The lanes, the door and the core are lent to it by `work`."""

    def __init__(self, door: Door, lanes: Lanes[WorkItem], folders: LeaseFolders) -> None:
        self._door = door
        self._lanes = lanes
        self._folders = folders
        self._clock = DatabaseClock()
        self._owner = worker_presence.owner()
        self._in_hand: dict[int, _InHand] = {}
        self._lease_ids: dict[int, UUID] = {}
        self._changed = asyncio.Event()
        self._one_suspect, self._suspect_is_over = asyncio.Lock(), asyncio.Event()
        self._ends_at = time.monotonic() + settings.SHIFT_SECONDS
        self._looks_at = {True: 0.0, False: 0.0}  # by urgency
        self._hears_at = 0.0
        self._has_new_room = True
        self._beaten_at = time.monotonic()  # no lease of ours is older

    @classmethod
    async def work(cls) -> None:
        """Everything that is opened here is closed here, on every way out."""
        limits, folders = settings.INGEST_LIMITS, LeaseFolders()
        lanes: Lanes[WorkItem] = Lanes(limits.lane_depth)
        task = asyncio.current_task()
        async with AsyncExitStack() as stack:
            if task is not None:
                stack.enter_context(drain.on_sigterm(asyncio.get_running_loop(), task.cancel))
            door = await stack.enter_async_context(Door())
            shift = cls(door, lanes, folders)
            first = await shift._due()
            if not first:
                return
            stack.push_async_callback(shift._give_back)
            files = stack.enter_context(ThreadPoolExecutor(2, thread_name_prefix="files"))
            portals = await stack.enter_async_context(
                HttpPortals(folders, limits, files, another_token=shift._another_slot)
            )
            reader = await stack.enter_async_context(CheckingReader.pool())
            desk = FilingDesk(door, files, shift._lease_ids, limits, shift._over, shift._postponed)
            sources = DocumentSource(portals, folders, files, spool.local)
            checker = CheckingReader(reader)
            ingest = Ingest(lanes, portal=sources, desk=desk, reader=checker, limits=limits)
            try:
                await shift._run(ingest, first)
            except Exception as error:
                error.add_note(shift._in_words())  # for the log, and the page of failed tasks
                raise

    async def _run(self, ingest: Ingest, first: list[Lease]) -> None:
        async with asyncio.TaskGroup() as group:
            working = group.create_task(ingest.run(), name="ingest")
            beating = group.create_task(self._beat(), name="heartbeat")
            new = first
            while new or self._in_hand:
                for lease in new:
                    await self._begin(lease, ingest, group)
                await self._change()
                await self._hear_of_cancelling()
                await self._close_finished()
                if drain.is_draining():
                    await self._drain(working)
                    break
                new = await self._due()
            self._lanes.close()
            await working
            beating.cancel()

    async def _due(self) -> list[Lease]:
        """New leases, while there is room and time."""
        now, has_new_room = time.monotonic(), self._has_new_room
        if now > self._ends_at or drain.is_draining():
            return []
        self._has_new_room, queues = False, []
        for urgent, seconds in ((True, URGENT_SECONDS), (False, LOOK_SECONDS)):
            if has_new_room or now >= self._looks_at[urgent]:
                self._looks_at[urgent] = now + seconds
                queues.append(urgent)
        queues = [urgent for urgent in queues if self._room(urgent) > 0]
        return await self._take(queues) if queues else []

    def _room(self, urgent: bool) -> int:
        """Urgent chunks have room of their own: a small packet never waits for a large batch."""
        most: int = settings.SHIFT_MAX_CHUNKS
        return most - len(self._own(urgent))

    def _own(self, urgent: bool) -> list[_InHand]:
        return [chunk for chunk in self._in_hand.values() if chunk.lease.urgent == urgent]

    async def _take(self, queues: Collection[bool]) -> list[Lease]:
        """A site's next chunk is taken when its last one is fed.

        So its portal is kept busy while the end of that one is still being read.
        """
        new: list[Lease] = []
        try:
            for urgent in await self._door(leases.queues_due, queues):
                busy = [chunk.lease.site for chunk in self._own(urgent) if chunk.is_being_fed]
                room, asked_at = self._room(urgent), time.monotonic()
                new += await self._door(
                    leases.take, room, by=self._owner, busy_sites=busy, urgent=urgent
                )
                if new:  # they count from then, also when a heartbeat was written meanwhile
                    self._beaten_at = min(self._beaten_at, asked_at)
        except OperationalError as error:
            logger.warning("nothing more is leased, for the database fails: %s", error)
        return new

    async def _begin(self, lease: Lease, ingest: Ingest, group: asyncio.TaskGroup) -> None:
        self._lease_ids[lease.chunk] = lease.lease_id
        in_hand = _InHand(lease, {item.document for item in lease.items})
        self._in_hand[lease.chunk] = in_hand
        folder = await self._door(spool.attempt_folder, lease.lease_id)
        self._folders.set(lease.chunk, folder)
        for item in lease.items:
            self._open_lane(item)
        name = f"feed chunk {lease.chunk} of {lease.batch}"
        in_hand.feeding = group.create_task(self._feed(in_hand, ingest), name=name)
        self._changed.set()

    async def _feed(self, in_hand: _InHand, ingest: Ingest) -> None:
        for group in _in_groups(in_hand.lease.items):
            if in_hand.is_shut:
                in_hand.left -= {item.document for item in group}
            elif group[0].is_suspect:
                await self._feed_alone(group[0], ingest)
            else:
                await asyncio.gather(*map(ingest.feed, group))
        self._has_new_room = True
        self._changed.set()

    async def _feed_alone(self, item: WorkItem, ingest: Ingest) -> None:
        """One suspect at a time: what kills again is charged to it and to no other suspect."""
        async with self._one_suspect:
            self._suspect_is_over.clear()
            await ingest.feed(item)
            await self._suspect_is_over.wait()

    def _open_lane(self, item: WorkItem) -> None:
        if terms := item.terms:
            gate = SharedGate(self._door, self._clock, terms, settings.BREAKER)
            self._lanes.open(item.lane, gate, terms.max_in_flight)
        else:
            self._lanes.open(item.lane, None, settings.INGEST_LIMITS.settlers)

    async def _another_slot(self, lane: str) -> None:
        """A redirect is one more request: it waits for its slot as every other does."""
        if not await self._lanes.another_slot(lane):
            raise PortalUnreachable("the portal fell silent: it is not asked any more just now")

    def _postponed(self, lane: str, items: Sequence[WorkItem]) -> None:
        """A portal is down: its chunks go back as soon as what is begun is over."""
        for in_hand in self._in_hand.values():
            in_hand.is_shut |= in_hand.lane == lane
        for item in items:
            self._in_hand[item.chunk].untouched.add(item.document)
            self._over(item)

    def _over(self, item: WorkItem) -> None:
        self._in_hand[item.chunk].left.discard(item.document)
        if item.is_suspect:
            self._suspect_is_over.set()
        self._changed.set()

    async def _change(self) -> None:
        """Until a document is over, or it is time to look around."""
        try:
            async with asyncio.timeout(URGENT_SECONDS):
                await self._changed.wait()
        except TimeoutError:
            pass
        self._changed.clear()

    async def _hear_of_cancelling(self) -> None:
        """Start nothing more of a batch that was cancelled; what is in flight ends as it does."""
        if time.monotonic() >= self._hears_at:
            self._hears_at = time.monotonic() + HEAR_SECONDS
            held = [in_hand.lease.lease_id for in_hand in self._in_hand.values()]
            with suppress(OperationalError):  # then it hears of it a second later
                for chunk in await self._door(leases.being_cancelled, held):
                    in_hand = self._in_hand[chunk]
                    in_hand.is_cancelled = in_hand.is_shut = True
        for chunk, in_hand in self._in_hand.items():
            if in_hand.is_cancelled:
                self._withdraw(chunk, in_hand)

    def _withdraw(self, chunk: int, in_hand: _InHand) -> None:
        """Every time again: what was fed meanwhile, or is to be tried again, waits there too."""
        if not in_hand.lane:
            return
        for item in self._lanes.withdraw(in_hand.lane, lambda item: item.chunk == chunk):
            in_hand.untouched.add(item.document)
            self._over(item)

    async def _close_finished(self) -> None:
        for chunk, in_hand in list(self._in_hand.items()):
            is_over = not in_hand.left and not in_hand.is_being_fed
            if is_over and await self._close(in_hand.lease, in_hand.untouched):
                del self._in_hand[chunk]
                self._has_new_room = True

    async def _close(self, lease: Lease, untouched: Collection[int]) -> bool:
        """False: the database failed. The next look tries again, or the lease expires."""
        try:
            await self._door(leases.close, lease.chunk, lease.lease_id, untouched=untouched)
        except OperationalError as error:
            logger.warning("chunk %d is not closed, for the database fails: %s", lease.chunk, error)
            return False
        self._folders.forget(lease.chunk)
        return True

    async def _drain(self, working: "asyncio.Task[None]") -> None:
        """Start nothing; what is in hand may finish within `drain_seconds`."""
        for in_hand in self._in_hand.values():
            if in_hand.feeding:
                in_hand.feeding.cancel()
        self._lanes.abandon()
        done, _ = await asyncio.wait({working}, timeout=settings.INGEST_LIMITS.drain_seconds)
        if not done:
            logger.warning("drained late: what was in hand will be done again")
            working.cancel()

    async def _give_back(self) -> None:
        """Whatever is still in hand when the shift ends goes back to the queue."""
        waiting = {item.document for item in self._lanes.left}
        for chunk, in_hand in self._in_hand.items():
            try:
                await self._close(in_hand.lease, in_hand.untouched | (in_hand.left & waiting))
            except Exception:  # what ended the shift is the error to be told
                logger.exception("chunk %d could not be given back; its lease will expire", chunk)

    def _in_words(self) -> str:
        """For whoever reads why a shift failed."""
        chunks = "; ".join(in_hand.name for in_hand in self._in_hand.values())
        return f"It had in hand: {chunks or 'nothing'}."

    async def _beat(self) -> None:
        """Keep the leases. A worker that cannot stops before they can be given away.

        It counts from before the last heartbeat that was written, for the database counts from
        then or later; and it stops a whole heartbeat before that, to be out of the way in time.
        """
        while True:
            stop_at = self._beaten_at + settings.LEASE_SECONDS - settings.HEARTBEAT_SECONDS
            await asyncio.sleep(min(settings.HEARTBEAT_SECONDS, stop_at - time.monotonic()))
            worker_presence.sign()
            asked_at = time.monotonic()
            if asked_at >= stop_at:
                raise LeaseLost("the database did not take our heartbeat in time")
            try:
                held = [in_hand.lease.lease_id for in_hand in self._in_hand.values()]
                async with asyncio.timeout(min(settings.HEARTBEAT_SECONDS, stop_at - asked_at)):
                    await self._door(leases.beat, held)
                self._beaten_at = asked_at
            except (TimeoutError, DatabaseError) as error:
                logger.warning("no heartbeat: %s", error)


def _in_groups(items: Sequence[WorkItem]) -> list[Sequence[WorkItem]]:
    """A few at a time, to be taken up in one transaction; then the suspects, one by one."""
    fresh = [item for item in items if not item.is_suspect]
    groups = [fresh[at : at + FED_TOGETHER] for at in range(0, len(fresh), FED_TOGETHER)]
    return [*groups, *([item] for item in items if item.is_suspect)]
