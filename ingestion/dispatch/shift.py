"""Defines a shift: one django-q2 task that works on leased chunks of many sites in one event loop.

A worker runs one shift at a time. The shift claims leases of due chunks, feeds their documents to
`core.ingest`, renews its leases with each heartbeat, and returns each chunk when its documents are
finished. It claims a chunk only when it has room for it, so the choice of the next chunk is made as
late as possible. It ends when no chunk is due, when SHIFT_SECONDS have passed and its chunks are
finished, or when the host drains.

What happens to one document is decided in `core.ingest`. How leases are claimed and returned is
written in `dispatch.leases`.
"""

import asyncio
import logging
import time
from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field, replace
from operator import attrgetter
from pathlib import Path
from uuid import UUID

from django.conf import settings
from django.db import DatabaseError, OperationalError
from structlog.contextvars import bind_contextvars, bound_contextvars

from ingestion.core.capacity import compute_room
from ingestion.core.document_stages import DocumentStage, DocumentStageName
from ingestion.core.errors import LeaseLost, PortalUnreachable
from ingestion.core.ingest import Ingest
from ingestion.core.portal_queues import PortalQueues
from ingestion.core.ports import WorkItem
from ingestion.core.states import DocumentState
from ingestion.dispatch import demand, leases, portal_place_rows
from ingestion.dispatch.clock import DatabaseClock
from ingestion.dispatch.database_thread import DatabaseThread
from ingestion.dispatch.document_reader import PooledDocumentReader
from ingestion.dispatch.leases import Lease
from ingestion.dispatch.processes import drain, worker_presence
from ingestion.dispatch.recorder import DatabaseRecorder
from ingestion.dispatch.shared_portal_limits import SharedPlaceClaims, SharedPortalLimit
from ingestion.dispatch.shift_report import ShiftReport
from ingestion.dispatch.step_batcher import StepBatcher
from ingestion.dispatch.traces import open_traces
from ingestion.sources.document_source import DocumentSource, LeaseFolders
from ingestion.storage import archive, finished_stages, spool

logger = logging.getLogger(__name__)

# The attempts of so many documents are counted at once. If the worker dies, all of them are
# suspects.
DOCUMENTS_FED_TOGETHER = 4
CLAIM_INTERVAL_SECONDS = 0.25  # between two searches for due chunks
URGENT_CLAIM_INTERVAL_SECONDS = 0.1  # the same for urgent chunks, for which a person waits
CANCELLATION_POLL_SECONDS = 1.0  # between two searches for cancelled batches
MAX_DOCUMENTS_IN_LOG = 5  # of one chunk


def work_shift() -> ShiftReport:
    """Run one shift in an event loop of its own. It is the body of the django-q2 task."""
    with bound_contextvars(worker=worker_presence.get_current_owner()):
        return asyncio.run(Shift.work())


@dataclass(slots=True)
class _HeldChunk:
    """Holds a leased chunk, and which of its documents the shift has not finished."""

    lease: Lease
    unfinished: set[int]  # primary keys of documents, as in the next set
    untouched: set[int] = field(default_factory=set)  # attempts that were counted but not begun
    feeder: asyncio.Task[None] | None = None  # the task that runs `Shift._feed`
    is_stopped: bool = False  # no more documents are fed: portal is down or batch is cancelled
    is_cancelled: bool = False
    waited_ms: int = 0  # of its documents together, for slots of the portal

    @property
    def description(self) -> str:
        """Return the chunk, its batch and some unfinished documents, for the log."""
        items = [item.doc_id for item in self.lease.items if item.document in self.unfinished]
        documents = ", ".join(items[:MAX_DOCUMENTS_IN_LOG])
        documents += ", ..." if len(items) > MAX_DOCUMENTS_IN_LOG else ""
        return f"chunk {self.lease.chunk} of batch {self.lease.batch} ({documents or 'all done'})"

    @property
    def is_being_fed(self) -> bool:
        return self.feeder is None or not self.feeder.done()

    @property
    def queues(self) -> set[str]:
        """Return the keys of the queues of its documents: of its portal, of uploads, or both."""
        return {item.queue for item in self.lease.items}

    def contains(self, item: WorkItem) -> bool:
        return item.chunk == self.lease.chunk


class Shift:
    """Holds the leases of one shift. Call `Shift.work()`, which creates everything it needs.

    This layer exists because the core works on documents and knows no leases: the shift turns
    leased chunks into work items and keeps the leases alive while the core works.
    """

    def __init__(
        self,
        database: DatabaseThread,
        portal_queues: PortalQueues[WorkItem],
        folders: LeaseFolders,
    ) -> None:
        self._database = database
        self._portal_queues = portal_queues
        self._folders = folders
        self._reader: PooledDocumentReader | None = None  # until `work` has created it
        self._clock = DatabaseClock()
        self._owner = worker_presence.get_current_owner()
        self._chunks: dict[int, _HeldChunk] = {}  # by primary key, as the next dictionary
        self._lease_ids: dict[int, UUID] = {}
        self._report = ShiftReport()
        self._traces = open_traces()
        self._changed = asyncio.Event()  # a chunk was begun or fed, or a document is finished
        self._suspect_lock, self._suspect_is_finished = asyncio.Lock(), asyncio.Event()
        # The following times are monotonic seconds.
        self._ends_at = time.monotonic() + settings.SHIFT_SECONDS
        self._next_claim_at = {True: 0.0, False: 0.0}  # by urgency
        self._next_cancellation_poll_at = 0.0
        self._renewed_at = time.monotonic()  # no lease of this shift was renewed before
        self._has_new_room = True  # since the last search for due chunks

    @classmethod
    async def work(cls) -> ShiftReport:
        """Run a shift, and return what it did.

        Everything that it opens is closed when it ends, even with an error, and the
        chunks that are left are returned. Raises an ExceptionGroup if a part of the shift failed,
        with LeaseLost in it if the leases could not be renewed.
        """
        limits, folders = settings.INGEST_LIMITS, LeaseFolders()
        portal_queues: PortalQueues[WorkItem] = PortalQueues(
            limits.queue_depth, get_log_facts=attrgetter("log_facts")
        )
        task = asyncio.current_task()
        async with AsyncExitStack() as stack:
            if task is not None:
                stack.enter_context(drain.drain_on_sigterm(asyncio.get_running_loop(), task.cancel))
            database = await stack.enter_async_context(DatabaseThread())
            shift = cls(database, portal_queues, folders)
            first = await shift._claim_due_chunks()
            if not first:
                return shift._report
            stack.push_async_callback(shift._return_remaining_chunks)
            files = stack.enter_context(ThreadPoolExecutor(2, thread_name_prefix="files"))
            source = await stack.enter_async_context(
                DocumentSource(
                    folders,
                    limits,
                    files,
                    open_upload=spool.open_local,
                    open_archived=archive.open_local,
                    keep=finished_stages.keep_fetched,
                    wait_for_slot=shift._wait_for_extra_slot,
                )
            )
            pool = await stack.enter_async_context(PooledDocumentReader.pool())
            shift._reader = PooledDocumentReader(pool, shift._observe_stage)
            recorder = DatabaseRecorder(
                StepBatcher(database),
                files,
                shift._lease_ids,
                shift._settle,
                max_attempts=limits.document_attempts,
                finish=shift._finish,
                postpone=shift._postpone,
            )
            ingest = Ingest(
                portal_queues,
                fetcher=source,
                recorder=recorder,
                reader=shift._reader,
                limits=limits,
                observe=shift._observe_stage,
            )
            try:
                await shift._run(ingest, source, first)
            except Exception as error:
                # The log and the page of failed tasks show the note.
                chunks = "; ".join(chunk.description for chunk in shift._chunks.values())
                error.add_note(f"It had in hand: {chunks or 'nothing'}.")
                raise
        return shift._report

    async def _run(self, ingest: Ingest, source: DocumentSource, first: list[Lease]) -> None:
        """Work on the first chunks, and claim more of them, until none is left."""
        async with asyncio.TaskGroup() as group:
            working = group.create_task(ingest.run(), name="ingest")
            renewing = group.create_task(self._renew_leases(), name="heartbeat")
            new = first
            while new or self._chunks:
                for lease in new:
                    await self._begin_chunk(lease, ingest, source, group)
                with suppress(TimeoutError):
                    async with asyncio.timeout(URGENT_CLAIM_INTERVAL_SECONDS):
                        await self._changed.wait()
                self._changed.clear()
                await self._stop_cancelled_batches()
                for key, chunk in list(self._chunks.items()):
                    is_finished = not chunk.unfinished and not chunk.is_being_fed
                    if is_finished and await self._return_chunk(chunk, chunk.untouched):
                        del self._chunks[key]
                        self._has_new_room = True
                if drain.is_draining():
                    await self._drain(working)
                    break
                new = await self._claim_due_chunks()
            self._portal_queues.close()
            await working
            renewing.cancel()

    async def _claim_due_chunks(self) -> list[Lease]:
        """Claim chunks while there is room and time. Returns the new leases.

        Urgent chunks and others are two queues with separate room. Each is searched when its
        interval has passed, and at once after room has become free.
        """
        now, has_new_room = time.monotonic(), self._has_new_room
        if now > self._ends_at or drain.is_draining():
            return []
        self._has_new_room, queues = False, []
        intervals = ((True, URGENT_CLAIM_INTERVAL_SECONDS), (False, CLAIM_INTERVAL_SECONDS))
        for urgent, seconds in intervals:
            if has_new_room or now >= self._next_claim_at[urgent]:
                self._next_claim_at[urgent] = now + seconds
                queues += [urgent] if self._room(urgent) else []
        new: list[Lease] = []
        try:
            for urgent in await self._database(demand.find_due_queues, queues) if queues else ():
                # The next chunk of a site is claimed when its last one is fed, so that its portal
                # stays busy while the end of that chunk is still being parsed.
                held = self._chunks_of(urgent)
                busy = [chunk.lease.site for chunk in held if chunk.is_being_fed]
                room, asked_at = self._room(urgent), time.monotonic()
                new += await self._database(
                    leases.claim_due_chunks, room, by=self._owner, busy_sites=busy, urgent=urgent
                )
                if new:  # They expire counting from here, even if others were renewed meanwhile.
                    self._renewed_at = min(self._renewed_at, asked_at)
        except OperationalError as error:
            logger.warning("no more chunks are leased, because the database failed: %s", error)
        return new

    def _room(self, urgent: bool) -> int:
        return compute_room(len(self._chunks_of(urgent)), settings.SHIFT_MAX_CHUNKS)

    def _chunks_of(self, urgent: bool) -> list[_HeldChunk]:
        return [chunk for chunk in self._chunks.values() if chunk.lease.urgent == urgent]

    async def _begin_chunk(
        self, lease: Lease, ingest: Ingest, source: DocumentSource, group: asyncio.TaskGroup
    ) -> None:
        """Open the queues that the chunk needs, and start to feed its documents."""
        if self._reader is not None:
            await self._reader.refresh_model(self._database)
        self._lease_ids[lease.chunk] = lease.lease_id
        self._report.add_documents(lease.items)
        folder = await self._database(spool.get_attempt_folder, lease.lease_id)
        self._folders.set(lease.chunk, folder)
        lease = replace(lease, items=await asyncio.to_thread(_add_kept_bytes, lease.items, folder))
        chunk = _HeldChunk(lease, {item.document for item in lease.items})
        self._chunks[lease.chunk] = chunk
        for item in lease.items:
            if (terms := item.terms) and item.asks_portal:
                limit = SharedPortalLimit(self._database, self._clock, terms, settings.BREAKER)
                claims = SharedPlaceClaims(self._database, terms, self._owner)
                self._portal_queues.open(item.queue, limit, terms.max_in_flight, claims)
            else:
                self._portal_queues.open(item.queue, None, settings.INGEST_LIMITS.settlers)
        name = f"feed chunk {lease.chunk} of {lease.batch}"
        chunk.feeder = group.create_task(self._feed(chunk, ingest, source), name=name)
        self._changed.set()

    async def _feed(self, chunk: _HeldChunk, ingest: Ingest, source: DocumentSource) -> None:
        """Put the documents of a chunk into their queues, and wait while these are full.

        Suspects follow last, one at a time: if one kills the worker again, no other suspect is
        charged with an attempt.
        """
        bind_contextvars(**chunk.lease.log_facts)  # in this task
        if chunk.lease.items:  # All documents of a chunk belong to one site, and to its portal.
            await source.prepare(chunk.lease.items[0].terms)
        fresh = [item for item in chunk.lease.items if not item.is_suspect]
        size = DOCUMENTS_FED_TOGETHER
        groups = [fresh[start : start + size] for start in range(0, len(fresh), size)]
        groups += [[item] for item in chunk.lease.items if item.is_suspect]
        for group in groups:
            if chunk.is_stopped:
                chunk.unfinished -= {item.document for item in group}
            elif group[0].is_suspect:
                async with self._suspect_lock:
                    self._suspect_is_finished.clear()
                    await ingest.feed(group[0])
                    await self._suspect_is_finished.wait()
            else:
                await asyncio.gather(*map(ingest.feed, group))
        self._has_new_room = True
        self._changed.set()

    async def _wait_for_extra_slot(self, queue: str) -> None:
        """Wait until a redirect may be followed: it is one more request to the portal.

        Raises PortalUnreachable if the portal is down.
        """
        if not await self._portal_queues.wait_for_extra_slot(queue):
            raise PortalUnreachable("the portal is down and is not asked at the moment")

    def _postpone(self, queue: str, items: Sequence[WorkItem]) -> None:
        """Stop feeding the chunks of a portal that is down.

        `items` were waiting in its queue. Each chunk is returned when its documents in progress are
        finished.
        """
        for chunk in self._chunks.values():
            if queue in chunk.queues and not chunk.is_stopped:
                chunk.is_stopped = True
                logger.warning("portal.postponed", extra=chunk.lease.log_facts)
        for item in items:
            self._chunks[item.chunk].untouched.add(item.document)
            self._finish(item)

    def _settle(self, item: WorkItem, state: DocumentState) -> None:
        """Note the state in which the shift settled a document."""
        self._report.settle(item, state)
        self._traces.end_document(item, state)

    def _observe_stage(self, item: WorkItem, stage: DocumentStage) -> None:
        """Note how long a stage of a document took, as `StageObserver` says."""
        self._traces.add_stage(item, stage)
        chunk = self._chunks.get(item.chunk)
        if chunk and stage.name is DocumentStageName.WAIT and item.terms:
            chunk.waited_ms += stage.ms

    def _finish(self, item: WorkItem) -> None:
        """Note that the shift has nothing more to do with the document."""
        self._chunks[item.chunk].unfinished.discard(item.document)
        if item.is_suspect:
            self._suspect_is_finished.set()
        self._changed.set()

    async def _stop_cancelled_batches(self) -> None:
        """Begin no more documents of cancelled batches. Requests in flight end as usual."""
        if time.monotonic() >= self._next_cancellation_poll_at:
            self._next_cancellation_poll_at = time.monotonic() + CANCELLATION_POLL_SECONDS
            held = [chunk.lease.lease_id for chunk in self._chunks.values()]
            with suppress(OperationalError):  # The next poll finds them.
                for key in await self._database(leases.find_chunks_being_cancelled, held):
                    self._chunks[key].is_cancelled = self._chunks[key].is_stopped = True
        # This is repeated in each turn, because documents were fed or put back since the last one.
        for chunk in self._chunks.values():
            for queue in chunk.queues if chunk.is_cancelled else ():
                for item in self._portal_queues.withdraw(queue, chunk.contains):
                    chunk.untouched.add(item.document)
                    self._finish(item)

    async def _return_chunk(self, chunk: _HeldChunk, untouched: Collection[int]) -> bool:
        """Return a chunk to the queue, or end it if all its documents are settled.

        Returns False if the database failed. Then it is tried again, or the lease expires.
        """
        lease = chunk.lease
        # What the end of a batch causes, such as a verification, has the ID of the batch.
        with bound_contextvars(correlation_id=lease.log_facts["correlation_id"]):
            try:
                await self._database(
                    leases.return_chunk, lease.chunk, lease.lease_id, untouched=untouched
                )
            except OperationalError as error:
                logger.warning(
                    "chunk %d is not returned, because the database failed: %s",
                    lease.chunk,
                    error,
                    extra=lease.log_facts,
                )
                return False
        self._folders.forget(lease.chunk)
        if chunk.waited_ms:
            logger.info("portal.waited", extra={**lease.log_facts, "ms": chunk.waited_ms})
        return True

    async def _drain(self, working: "asyncio.Task[None]") -> None:
        """Begin no more documents. Those that were begun may finish within `drain_seconds`."""
        for chunk in self._chunks.values():
            if chunk.feeder:
                chunk.feeder.cancel()
        self._portal_queues.abandon()
        done, _ = await asyncio.wait({working}, timeout=settings.INGEST_LIMITS.drain_seconds)
        if not done:
            logger.warning("the drain took too long: documents in hand will be done again")
            working.cancel()

    async def _return_remaining_chunks(self) -> None:
        """Return all chunks that are left when the shift ends.

        The attempts of documents that still wait in a queue are not charged.
        """
        waiting = {item.document for item in self._portal_queues.waiting_items}
        for key, chunk in self._chunks.items():
            try:
                untouched = chunk.untouched | (chunk.unfinished & waiting)
                await self._return_chunk(chunk, untouched)
            except Exception:  # The error that ended the shift is the one to be raised.
                logger.exception(
                    "chunk %d could not be returned; its lease will expire",
                    key,
                    extra=chunk.lease.log_facts,
                )
        with suppress(DatabaseError):  # Then the claims expire.
            await self._database(portal_place_rows.drop_claims, self._owner)

    async def _renew_leases(self) -> None:
        """Renew the leases with each heartbeat.

        Raises LeaseLost before other workers can claim the chunks. The time counts from before the
        last successful renewal, because the database counts from then or later. The shift stops one
        heartbeat earlier than the leases expire, so that it has ended by then.
        """
        while True:
            stop_at = self._renewed_at + settings.LEASE_SECONDS - settings.HEARTBEAT_SECONDS
            await asyncio.sleep(min(settings.HEARTBEAT_SECONDS, stop_at - time.monotonic()))
            worker_presence.record_heartbeat()
            asked_at = time.monotonic()
            if asked_at >= stop_at:
                raise LeaseLost("the database did not take our heartbeat in time")
            try:
                held = [chunk.lease.lease_id for chunk in self._chunks.values()]
                async with asyncio.timeout(min(settings.HEARTBEAT_SECONDS, stop_at - asked_at)):
                    await self._database(leases.renew, held)
                    await self._database(portal_place_rows.renew_claims, self._owner)
                self._renewed_at = asked_at
            except (TimeoutError, DatabaseError) as error:
                logger.warning("the leases were not renewed: %s", error)


def _add_kept_bytes(items: Sequence[WorkItem], folder: Path) -> tuple[WorkItem, ...]:
    """Return the items, with the bytes that a worker had fetched for them before it died."""
    return tuple(
        replace(item, kept=finished_stages.open_fetched(item.document, folder))
        if item.is_suspect and item.terms
        else item
        for item in items
    )
