"""Child processes that read, and may die without harm.

Pebble's pool with our walls around each child (`guards`). A call ends in its answer, in Killed
when the child that ran it died or had to be stopped, or in ReadingFault when it is we who failed.
Nothing is tried twice here but a call whose pool broke under it: that is nobody's fault.

Pebble's children share one pipe and two locks on it. A child that is killed in the instant in which
it holds them takes them along: the others wait for a minute, then die of it, and their calls seem
to have killed them. So we look whether the locks can still be had, and whether calls are lost in
another way (`stalls`), and start the pool again if so.
"""

import asyncio
import logging
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import partial
from multiprocessing import forkserver
from multiprocessing.context import ForkServerContext
from multiprocessing.synchronize import RLock
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from pebble import ProcessExpired, ProcessPool

from ingestion.core.errors import OurFault
from ingestion.reading import process_limits, tasks
from ingestion.reading.limits import ReadingLimits
from ingestion.reading.results import Unreadable

from .pool_stalls import StallDetector

logger = logging.getLogger(__name__)

Arguments = ParamSpec("Arguments")
Answer = TypeVar("Answer")

# What every child needs, imported once for all of them: pebble, of which a child is made, and what
# every document passes through. Qpdf, forms and OCR are imported by the children that need them.
PRELOADED_MODULES = ["pebble", "ingestion.reading.tasks"]

LOOK_SECONDS = 1.0  # between two looks at the locks and the calls
LOCK_SECONDS = 5.0  # nobody holds one for longer: sending an answer takes less than a millisecond


class ReadingFault(OurFault):
    """The reader itself failed; the file is not to blame."""


@dataclass(frozen=True, slots=True)
class ProcessKilled:
    """A child died, or was stopped, over its task."""

    reason: str
    exit_code: int  # negative: the signal that ended it

    @property
    def is_page_timeout(self) -> bool:
        """A page took more than its time (`guards.page_alarm`)."""
        return self.exit_code == -signal.SIGPROF

    def as_unreadable(self) -> Unreadable:
        facts: dict[str, str | int] = {"reason": self.reason, "exit_code": self.exit_code}
        return Unreadable("PARSER_FAILURE", facts)


class ParserProcesses:
    """Started with the first call. Belongs to one event loop; `scratch` is theirs to write to."""

    def __init__(self, limits: ReadingLimits, preload: Sequence[str] = ()) -> None:
        self._limits = limits
        self._preload = preload
        self._pool: ProcessPool | None = None
        self._watch: asyncio.Task[None] | None = None
        self._starting = asyncio.Lock()
        self._in_flight: dict[Future[Any], None] = {}  # in the order in which they were scheduled
        self._closed = False
        self.scratch = Path(tempfile.mkdtemp(prefix="siteledger-reading-"))

    async def run(
        self,
        task: Callable[Arguments, Answer],
        /,
        *args: Arguments.args,
        **kwargs: Arguments.kwargs,
    ) -> Answer | ProcessKilled:
        """Raises ReadingFault. Cancelling it kills the child that is at it."""
        call = partial(task, *args, **kwargs)
        try:
            return await self._attempt(call)
        except BrokenProcessPool:
            # A child died between two tasks, which Pebble gives up at, or with the locks or a task.
            logger.warning("the reading pool broke and is started again")
        try:
            return await self._attempt(call)
        except BrokenProcessPool:
            raise ReadingFault("the reading pool breaks as soon as it is started") from None

    async def close(self) -> None:
        """Stop every child, also in the middle of its work. Whoever waits gets ReadingFault."""
        self._closed = True
        for future in tuple(self._in_flight):
            future.cancel()
        async with self._starting:  # not while the watch stops the pool itself
            if self._watch is not None:
                self._watch.cancel()
            await asyncio.to_thread(self._stop)
        await asyncio.to_thread(shutil.rmtree, self.scratch, ignore_errors=True)

    async def _attempt(self, call: Callable[[], Answer]) -> Answer | ProcessKilled:
        future = await self._schedule(call)
        try:
            answer = await asyncio.wrap_future(future)
        except ProcessExpired as error:
            process_limits.kill_orphans(error.pid)
            return ProcessKilled("the process that read it died", error.exitcode)
        except TimeoutError:
            return ProcessKilled(f"it took more than {self._limits.task_seconds:.0f} seconds", -9)
        except asyncio.CancelledError:
            if self._closed and not _is_cancelled():
                raise ReadingFault("the reader was closed") from None
            raise
        finally:
            self._in_flight.pop(future, None)
        if isinstance(answer, tasks.TaskFault):
            logger.error("reading failed in a child:\n%s", answer.traceback)
            raise ReadingFault(answer.traceback.strip().splitlines()[-1])
        return answer

    async def _schedule(self, call: Callable[[], Answer]) -> Future[Answer | tasks.TaskFault]:
        async with self._starting:
            if self._closed:
                raise ReadingFault("the reader is closed")
            pool = await self._running()
            future: Future[Answer | tasks.TaskFault] = pool.schedule(
                tasks.run_guarded, args=(call,), timeout=self._limits.task_seconds
            )
            self._in_flight[future] = None
            return future

    async def _running(self) -> ProcessPool:
        if self._pool is not None and self._pool.active:
            return self._pool
        context = _Context(self._preload)
        pool = await asyncio.to_thread(self._start, context)
        self._pool = pool
        self._watch = asyncio.create_task(self._keep(pool, context.locks), name="pool-watch")
        return pool

    async def _keep(self, pool: ProcessPool, locks: Sequence[RLock]) -> None:
        stalls = StallDetector()
        while self._pool == pool:
            await asyncio.sleep(LOOK_SECONDS)
            if not pool.active:  # where one of its threads died, nobody is told, and nothing ends
                await self._give_up(pool, "the pool died")
            elif stalls.has_stalled(tuple(self._in_flight), time.monotonic()):
                await self._give_up(pool, "the pool lost a call")
            elif bool(self._in_flight) and await asyncio.to_thread(_is_any_lost, locks):
                await self._give_up(pool, "a child was killed while it held the pool's locks")

    async def _give_up(self, pool: ProcessPool, why: str) -> None:
        logger.warning(why)
        async with self._starting:
            if self._pool is pool:
                await asyncio.to_thread(self._stop)
                for future in self._in_flight:  # none of a later pool: that waits for us
                    if not future.done():
                        future.set_exception(BrokenProcessPool(why))

    def _start(self, context: ForkServerContext) -> ProcessPool:
        self._stop()
        pool = ProcessPool(
            max_workers=self._limits.processes,
            max_tasks=self._limits.tasks_per_process,
            initializer=process_limits.initialise_child,
            initargs=(
                process_limits.OwnerProcess.this_process(),
                self._limits.memory_bytes,
                self.scratch,
            ),
            context=context,
        )
        if not pool.active:  # asking is what starts it
            pool.join()
            raise ReadingFault("the reading pool did not start")
        return pool

    def _stop(self) -> None:
        """Children get SIGTERM, which their watch answers by killing their whole group."""
        if self._pool is not None:
            self._pool.stop()
            self._pool.join()
            self._pool = None


class _Context(ForkServerContext):
    """How children are started. It remembers the locks that it made for them."""

    def __init__(self, preload: Sequence[str]) -> None:
        self.locks: list[RLock] = []
        self.set_forkserver_preload([*PRELOADED_MODULES, *preload])

    def RLock(self) -> RLock:  # noqa: N802 - multiprocessing's name
        lock = super().RLock()
        self.locks.append(lock)
        return lock


def warm_up(preload: Sequence[str] = ()) -> None:
    """Start what children are forked from: else this process's first document waits for imports."""
    _Context(preload)
    forkserver.ensure_running()


def _is_any_lost(locks: Sequence[RLock]) -> bool:
    for lock in locks:
        if not lock.acquire(timeout=LOCK_SECONDS):
            return True
        lock.release()
    return False


def _is_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
