"""Runs parser processes: child processes that read files, and whose death does no harm.

The pool is Pebble's, with the limits of `process_limits` in each process. A call ends with its
result, with ProcessKilled if its process died or had to be stopped, or with ReadingFault if the
reader itself failed. Only a call whose pool broke is repeated here, because that is not the fault
of its file.

Pebble's processes share one pipe and two locks on it. A process that is killed while it holds the
locks never releases them. The other processes then wait for a minute and exit, so that their calls
seem to have killed them. This module therefore checks whether the locks can still be acquired, and
whether calls are lost in another way (`pool_stalls`), and restarts the pool if so.
"""

import asyncio
import logging
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial
from multiprocessing import forkserver
from multiprocessing.context import ForkServerContext
from multiprocessing.synchronize import RLock
from pathlib import Path
from typing import Any, ParamSpec, Self, TypeVar

from pebble import ProcessExpired, ProcessPool
from structlog.contextvars import get_contextvars

from ingestion.core.errors import ReadingFault
from ingestion.reading import process_limits, tasks
from ingestion.reading.limits import ReadingLimits
from ingestion.reading.reading_stages import PageStage, take_work_note
from ingestion.reading.results import Unreadable

from .pool_stalls import StallDetector

logger = logging.getLogger(__name__)

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

# Modules that the forkserver imports once for all processes: Pebble's, and those that every
# document needs. qpdf, forms and OCR are imported by the processes that need them.
PRELOADED_MODULES = ["pebble", "ingestion.reading.tasks"]

CHECK_SECONDS = 1.0  # between two checks of the locks and the calls
# A process holds a lock for less than a millisecond, while it sends a result. On a busy machine it
# may wait for the processor meanwhile. Pebble's processes give up after a minute.
LOCK_TIMEOUT_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class ProcessKilled:
    """A parser process died or was stopped while it worked on a task."""

    reason: str
    exit_code: int  # if negative, the number of the signal that ended the process
    at: PageStage | None = None  # what it worked on, if that is known

    @property
    def is_page_timeout(self) -> bool:
        """Return whether a page exceeded its time (`process_limits.limit_page_time`)."""
        return self.exit_code == -signal.SIGPROF

    @property
    def slow_stage(self) -> PageStage | None:
        """Return the stage that exceeded its time, if that is known."""
        return self.at if self.is_page_timeout else None

    def as_unreadable(self) -> Unreadable:
        """Return the result for the document of the task."""
        facts: dict[str, str | int] = {"reason": self.reason, "exit_code": self.exit_code}
        return Unreadable("PARSER_FAILURE", facts)


class ParserProcesses:
    """A pool of parser processes, which starts with the first call and belongs to one event loop.

    `scratch` is a folder in which the processes may write. It is removed when the pool is closed.
    Close the pool or use it as a context manager.
    """

    def __init__(
        self,
        limits: ReadingLimits,
        preload: Sequence[str] = (),
        log_config: Mapping[str, Any] | None = None,
    ) -> None:
        self._limits = limits
        self._preload = preload
        self._log_config = log_config
        self._pool: ProcessPool | None = None
        self._monitor: asyncio.Task[None] | None = None
        self._pool_lock = asyncio.Lock()  # held while the pool is started or stopped
        self._in_flight: dict[Future[Any], None] = {}  # in the order in which they were scheduled
        self._closed = False
        # The monitor watches over all documents, and must not log in the name of the first one.
        self._context = copy_context()
        self.scratch = Path(tempfile.mkdtemp(prefix="siteledger-reading-"))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.close()

    async def run(
        self,
        task: Callable[Arguments, Result],
        /,
        *args: Arguments.args,
        **kwargs: Arguments.kwargs,
    ) -> Result | ProcessKilled:
        """Run a task in a parser process and return its result.

        Cancelling the call kills the process that runs the task. Raises ReadingFault.
        """
        call = partial(task, *args, **kwargs)
        try:
            return await self._attempt(call)
        except BrokenProcessPool:
            # A process died between two tasks, after which Pebble gives up, or it died with the
            # locks or with a task.
            logger.warning("the reading pool broke and is started again")
        try:
            return await self._attempt(call)
        except BrokenProcessPool:
            raise ReadingFault("the reading pool breaks as soon as it is started") from None

    async def close(self) -> None:
        """Stop every process, even during a task. Calls in progress raise ReadingFault."""
        self._closed = True
        for future in tuple(self._in_flight):
            future.cancel()
        async with self._pool_lock:  # not while the monitor stops the pool itself
            if self._monitor is not None:
                self._monitor.cancel()
            await asyncio.to_thread(self._stop)
        await asyncio.to_thread(shutil.rmtree, self.scratch, ignore_errors=True)

    async def _attempt(self, call: Callable[[], Result]) -> Result | ProcessKilled:
        future = await self._schedule(call)
        try:
            result = await asyncio.wrap_future(future)
        except ProcessExpired as error:
            process_limits.kill_orphans(error.pid)
            at = await asyncio.to_thread(take_work_note, self.scratch, error.pid)
            return ProcessKilled("the process that read it died", error.exitcode, at)
        except TimeoutError:
            return ProcessKilled(
                f"it took more than {self._limits.longest_task_seconds:.0f} seconds", -9
            )
        except asyncio.CancelledError:
            task = asyncio.current_task()
            is_cancelled = task is not None and task.cancelling() > 0
            if self._closed and not is_cancelled:
                raise ReadingFault("the reader was closed") from None
            raise
        finally:
            self._in_flight.pop(future, None)
        if isinstance(result, tasks.TaskFault):
            raise ReadingFault(result.traceback.strip().splitlines()[-1])
        return result

    async def _schedule(self, call: Callable[[], Result]) -> Future[Result | tasks.TaskFault]:
        async with self._pool_lock:
            if self._closed:
                raise ReadingFault("the reader is closed")
            if self._pool is None or not self._pool.active:
                context = _RecordingContext(self._preload)
                pool = await asyncio.to_thread(self._start, context)
                self._pool = pool
                self._monitor = asyncio.create_task(
                    self._monitor_pool(pool, context.locks),
                    name="pool-monitor",
                    context=self._context,
                )
            future: Future[Result | tasks.TaskFault] = self._pool.schedule(
                tasks.run_guarded,
                args=(call, get_contextvars()),
                timeout=self._limits.longest_task_seconds,
            )
            self._in_flight[future] = None
            return future

    async def _monitor_pool(self, pool: ProcessPool, locks: Sequence[RLock]) -> None:
        """Break the pool if its calls cannot end."""
        stalls = StallDetector()
        while self._pool == pool:
            await asyncio.sleep(CHECK_SECONDS)
            if not pool.active:  # after one of its threads died, no call ends and no error is seen
                await self._break_pool(pool, "the pool died")
            elif stalls.has_stalled(tuple(self._in_flight), time.monotonic()):
                await self._break_pool(pool, "the pool lost a call")
            elif bool(self._in_flight) and await asyncio.to_thread(_is_any_lock_lost, locks):
                await self._break_pool(pool, "a child was killed while it held the pool's locks")

    async def _break_pool(self, pool: ProcessPool, reason: str) -> None:
        """Stop the pool. Its calls raise BrokenProcessPool and are then repeated."""
        logger.warning(reason)
        async with self._pool_lock:
            if self._pool is pool:
                await asyncio.to_thread(self._stop)
                # None of these belongs to a later pool, which needs the lock to start.
                for future in self._in_flight:
                    if not future.done():
                        future.set_exception(BrokenProcessPool(reason))

    def _start(self, context: ForkServerContext) -> ProcessPool:
        self._stop()
        owner = process_limits.OwnerProcess.this_process()
        pool = ProcessPool(
            max_workers=self._limits.processes,
            max_tasks=self._limits.tasks_per_process,
            initializer=process_limits.initialise_child,
            initargs=(owner, self._limits.memory_bytes, self.scratch, self._log_config),
            context=context,
        )
        if not pool.active:  # reading this property starts the pool
            pool.join()
            raise ReadingFault("the reading pool did not start")
        return pool

    def _stop(self) -> None:
        """Stop the pool. Its processes get SIGTERM, upon which each kills its process group."""
        if self._pool is not None:
            self._pool.stop()
            self._pool.join()
            self._pool = None


class _RecordingContext(ForkServerContext):
    """A forkserver context that keeps the locks that it creates for the pool's processes."""

    def __init__(self, preload: Sequence[str]) -> None:
        self.locks: list[RLock] = []
        self.set_forkserver_preload([*PRELOADED_MODULES, *preload])

    def RLock(self) -> RLock:  # noqa: N802 - multiprocessing's name
        lock = super().RLock()
        self.locks.append(lock)
        return lock


def warm_up(preload: Sequence[str] = ()) -> None:
    """Start the forkserver, so that the first document does not wait for its imports."""
    _RecordingContext(preload)
    forkserver.ensure_running()


def _is_any_lock_lost(locks: Sequence[RLock]) -> bool:
    for lock in locks:
        if not lock.acquire(timeout=LOCK_TIMEOUT_SECONDS):
            return True
        lock.release()
    return False
