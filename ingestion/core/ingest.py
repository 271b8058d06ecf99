"""Takes documents through the core: fetch, check, parse, conclude; and many of them at a time.

There are two groups of workers. Fetchers wait for portals, settlers wait for the parser processes,
so slow portals never leave the parsers idle and a long scan never leaves a portal idle. Between
them is a bounded `ParseQueue`: when parsing falls behind, fetching takes no new items.

The expected errors are those of `core.errors`. All others are caught in one place, `_run_step`: the
document is held as INTERNAL_ERROR, the error is logged, and the document is not blamed.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace

from structlog.contextvars import bind_contextvars, bound_contextvars

from ingestion.core import retry
from ingestion.core.document_stages import DocumentStage, DocumentStageName, StageObserver
from ingestion.core.errors import IngestionError, LeaseLost, OurFault
from ingestion.core.limits import Limits
from ingestion.core.parse_queue import ParseQueue
from ingestion.core.portal_limits import RequestOutcome, request_outcome_of
from ingestion.core.portal_queues import PortalQueues
from ingestion.core.ports import (
    DocumentFetcher,
    DocumentReader,
    EarlyDecision,
    Fetched,
    FetchFailure,
    NotModified,
    Recorder,
    WorkItem,
)

logger = logging.getLogger(__name__)


class Ingest:
    """Works on the items of `queues` until the last one is finished.

    This layer exists because the decisions about documents need no database and no network, so they
    can be tested without them.
    """

    def __init__(
        self,
        queues: PortalQueues[WorkItem],
        *,
        fetcher: DocumentFetcher,
        recorder: Recorder,
        reader: DocumentReader,
        limits: Limits,
        observe: StageObserver = lambda _item, _stage: None,
    ) -> None:
        self._queues = queues
        self._fetcher = fetcher
        self._recorder = recorder
        self._reader = reader
        self._limits = limits
        self._observe = observe
        self._fetched = ParseQueue(limits.settlers)

    async def run(self) -> None:
        """Return when the queues are closed and the last document is finished.

        Raises an ExceptionGroup of what a worker could not catch, after the others have stopped.
        """
        async with asyncio.TaskGroup() as group:
            group.create_task(
                self._queues.reserve_slots(self._recorder.postpone), name="slot reservations"
            )
            fetchers = [
                group.create_task(self._run_fetcher(), name=f"fetcher-{number:02d}")
                for number in range(self._limits.fetchers)
            ]
            for number in range(self._limits.settlers):
                group.create_task(self._run_settler(), name=f"settler-{number:02d}")
            await asyncio.gather(*fetchers)
            self._fetched.end(consumers=self._limits.settlers)

    async def feed(self, item: WorkItem) -> None:
        """Count an attempt, and put the item into its queue. Waits while the queue is full.

        The attempt is counted here and not after `take`: `take` uses a slot, and the request has to
        follow at once.
        """

        async def start(item: WorkItem) -> bool:
            if not await self._recorder.start_attempt(item):
                return True
            await self._queues.put(item.queue, replace(item, queued_ns=time.time_ns()))
            return False

        await self._run_step(item, start)

    async def _run_fetcher(self) -> None:
        while (item := await self._queues.take()) is not None:
            await self._run_step(item, self._fetch)

    async def _run_settler(self) -> None:
        while (ready := await self._fetched.get()) is not None:
            item, fetched = ready

            async def settle(item: WorkItem, fetched: Fetched = fetched) -> bool:
                return await self._settle(item, fetched)

            await self._run_step(item, settle)

    async def _run_step(self, item: WorkItem, step: Callable[[WorkItem], Awaitable[bool]]) -> None:
        """Run one step, which returns whether the shift is finished with the document."""
        with bound_contextvars(**item.log_facts, ms=None):
            try:
                is_finished = await step(item)
            except LeaseLost:
                logger.warning("document.lease_lost")
                is_finished = True
            except Exception:  # One document must not stop the others.
                logger.exception("held %s after an unexpected error", item.name)
                await self._hold_after_unexpected_error(item)
                is_finished = True
        if is_finished:
            self._recorder.finish(item)

    async def _hold_after_unexpected_error(self, item: WorkItem) -> None:
        decision = EarlyDecision(code="INTERNAL_ERROR", facts={}, is_held=True)
        try:
            await self._recorder.record_early_decision(item, decision)
        except Exception:  # The database fails too. The lease expires, and another shift continues.
            logger.exception("%s could not be held", item.name)

    async def _fetch(self, item: WorkItem) -> bool:
        """Ask the portal once. After a transient error, the item returns to its queue."""
        fetched: Fetched | NotModified | None = None
        repeat, wait = None, 0.0
        try:
            fetched = await self._request(item)
            await self._queues.report_outcome(item.queue, RequestOutcome.DELIVERED)
            is_current = isinstance(fetched, NotModified) and (
                await self._recorder.record_unchanged(item, fetched)
            )
            if isinstance(fetched, NotModified) and not is_current:
                repeat = replace(item, filed=None)
        except IngestionError as error:
            failure = await self._record_failure(item, error)
            if failure and not failure.leaves_shift:
                wait = failure.wait_seconds
                repeat = replace(
                    item,
                    tries=failure.tries,
                    counted_tries=failure.counted_tries,
                    deadline=failure.deadline,
                )
        finally:
            # The portal has answered and its limit knows the outcome. The place in flight is
            # released before anything else is waited for.
            if repeat is None:
                self._queues.finish_request(item.queue)
            else:
                repeat = replace(repeat, queued_ns=time.time_ns())
                self._queues.put_back(item.queue, repeat, wait)
        if isinstance(fetched, Fetched):
            await self._fetched.put(item, replace(fetched, tries=item.tries + 1))
            return False
        return repeat is None

    async def _request(self, item: WorkItem) -> Fetched | NotModified:
        """Fetch the document, and report how long it waited and how long the request took."""
        started_ns, code = time.time_ns(), ""
        self._observe(item, DocumentStage(DocumentStageName.WAIT, item.queued_ns, started_ns))
        try:
            fetched = await self._fetcher.fetch(item)
        except IngestionError as error:
            code = type(error).__name__
            raise
        finally:
            stage = DocumentStage.ending_now(DocumentStageName.FETCH, started_ns, code)
            self._observe(item, stage)
            bind_contextvars(ms=stage.ms)
        return replace(fetched, fetch_ms=stage.ms) if isinstance(fetched, Fetched) else fetched

    async def _record_failure(self, item: WorkItem, error: IngestionError) -> FetchFailure | None:
        """Record a failed request. Returns None if the document was rejected or held."""
        outcome = request_outcome_of(error)
        health = await self._queues.report_outcome(item.queue, outcome)
        is_portal_down = outcome is RequestOutcome.FAILED and not health.is_healthy
        decision = retry.decide_after_failure(
            error,
            item,
            self._limits.retry,
            is_portal_down=is_portal_down,
            now=time.monotonic(),
        )
        if isinstance(decision, EarlyDecision):
            _log_unnamed_fault(item, error)
            await self._recorder.record_early_decision(item, decision)
            return None
        await self._recorder.record_fetch_failure(item, decision)
        wait_ms = round(decision.wait_seconds * 1000)
        logger.info(
            "document.retry_scheduled",
            extra={"code": decision.code, "attempt": decision.tries, "ms": wait_ms},
        )
        return decision

    async def _settle(self, item: WorkItem, fetched: Fetched) -> bool:
        """Record that checking starts, read the document, and record the decision."""
        try:
            bind_contextvars(ms=fetched.fetch_ms)
            if await self._recorder.start_checking(item, fetched):
                started_ns = time.time_ns()
                checked = await self._reader.read(item, fetched)
                read_ns = time.time_ns()
                bind_contextvars(ms=(read_ns - started_ns) // 1_000_000)
                await self._recorder.conclude(item, fetched, checked)
                self._observe(item, DocumentStage.ending_now(DocumentStageName.FILE, read_ns))
        except OurFault as error:
            _log_unnamed_fault(item, error)
            await self._recorder.record_early_decision(item, retry.decide_early(error, item))
        return True


def _log_unnamed_fault(item: WorkItem, error: IngestionError) -> None:
    """Log the class and the place of a fault whose code and facts do not name its cause."""
    if isinstance(error, OurFault) and error.code == OurFault.code:
        logger.warning("held %s after a fault of SiteLedger", item.name, exc_info=error)
