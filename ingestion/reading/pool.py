"""Reading documents in child processes that may die without harm.

A document is one first look, then tasks of one to four scanned pages, so that a long scan uses
every core and leaves room between its tasks for others. A child that dies or is stopped is charged
to the document it was reading, and to nobody else: its task is tried once more, page by page where
it had several; what kills again is not read. A fault of ours is raised as ReadingFault, never
blamed on the file.
"""

import asyncio
import logging
import math
import multiprocessing
import shutil
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Any, ParamSpec, Self, TypeVar

from pebble import ProcessExpired, ProcessPool

from ingestion.core.errors import OurFault

from . import guards, tasks
from .facts import Reading, Unreadable
from .limits import ReadingLimits
from .merge import FirstLook, ReadPages, merge

__all__ = ["Reader", "ReadingFault", "ReadingLimits"]

logger = logging.getLogger(__name__)

Arguments = ParamSpec("Arguments")
Answer = TypeVar("Answer")

LONGEST_TASK = 4  # pages
LANES = 2  # tasks in flight per document and child: enough to keep children busy, and no queue
HEAVY = ["cv2", "numpy", "pikepdf", "pypdf", "pypdfium2", "pytesseract", "ingestion.reading.tasks"]


class ReadingFault(OurFault):
    """The reader itself failed; the file is not to blame."""


@dataclass(frozen=True, slots=True)
class Killed:
    """A child died, or was stopped, over its task."""

    reason: str
    exit_code: int  # negative: the signal that ended it

    def as_unreadable(self) -> Unreadable:
        facts: dict[str, str | int] = {"reason": self.reason, "exit_code": self.exit_code}
        return Unreadable("PARSER_FAILURE", facts)


class Reader:
    """A pool of children, started with the first document. Belongs to one event loop."""

    def __init__(self, limits: ReadingLimits) -> None:
        self._limits = limits
        self._pool: ProcessPool | None = None
        self._starting = asyncio.Lock()
        self._in_flight: set[Future[Any]] = set()
        self._numbers = count(1)
        self._closed = False
        self.scratch = Path(tempfile.mkdtemp(prefix="siteledger-reading-"))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def read(self, path: Path, sha256: str) -> Reading | Unreadable:
        """What is in the file. Raises ReadingFault when it is we who cannot tell."""
        rewritten = self.scratch / f"{sha256[:16]}-{next(self._numbers)}.pdf"
        try:
            look = await self._look(path, rewritten)
            if isinstance(look, Unreadable):
                return look
            return merge(look, await self._read_scans(look))
        finally:
            await asyncio.to_thread(rewritten.unlink, missing_ok=True)

    async def close(self) -> None:
        """Stop every child, also in the middle of its work. Whoever waits gets ReadingFault."""
        self._closed = True
        for future in tuple(self._in_flight):
            future.cancel()
        async with self._starting:
            await asyncio.to_thread(self._stop)
        await asyncio.to_thread(shutil.rmtree, self.scratch, ignore_errors=True)

    async def _look(self, path: Path, rewritten: Path) -> FirstLook | Unreadable:
        look = await self._run(tasks.look, path, rewritten, self._limits)
        if isinstance(look, Killed):
            look = await self._run(tasks.look, path, rewritten, self._limits)
        if isinstance(look, Killed):
            return look.as_unreadable()
        return look

    async def _read_scans(self, look: FirstLook) -> list[ReadPages]:
        parts = iter(list(_parts(look, self._limits.processes)))
        read: list[ReadPages] = []

        async def lane() -> None:
            for part in parts:
                read.extend(await self._read_part(part))

        lanes = min(LANES * self._limits.processes, len(look.scans))
        await _all(lane for _ in range(lanes))
        return read

    async def _read_part(self, part: FirstLook) -> list[ReadPages]:
        outcome = await self._run(tasks.read_scans, part, self._limits)
        if not isinstance(outcome, Killed):
            return [outcome]
        return [await self._read_alone(part.part([page.number])) for page in part.pages]

    async def _read_alone(self, part: FirstLook) -> ReadPages:
        outcome = await self._run(tasks.read_scans, part, self._limits)
        if not isinstance(outcome, Killed):
            return outcome
        error = f"{outcome.reason} (exit code {outcome.exit_code})"
        return ReadPages(tuple(replace(page, error=error) for page in part.pages))

    async def _run(
        self,
        task: Callable[Arguments, Answer],
        /,
        *args: Arguments.args,
        **kwargs: Arguments.kwargs,
    ) -> Answer | Killed:
        call = partial(task, *args, **kwargs)
        try:
            return await self._attempt(call)
        except BrokenProcessPool:
            # Pebble gives up when a child dies between two tasks: nobody's fault.
            logger.warning("the reading pool broke and is started again")
        try:
            return await self._attempt(call)
        except BrokenProcessPool:
            raise ReadingFault("the reading pool breaks as soon as it is started") from None

    async def _attempt(self, call: Callable[[], Answer]) -> Answer | Killed:
        future = await self._schedule(call)
        try:
            answer = await asyncio.wrap_future(future)
        except ProcessExpired as error:
            guards.kill_orphans(error.pid)
            return Killed("the process that read it died", error.exitcode)
        except TimeoutError:
            return Killed(f"it took more than {self._limits.task_seconds:.0f} seconds", -9)
        except asyncio.CancelledError:
            if self._closed and not _is_cancelled():
                raise ReadingFault("the reader was closed") from None
            raise
        finally:
            self._in_flight.discard(future)
        if isinstance(answer, tasks.Fault):
            logger.error("reading failed in a child:\n%s", answer.traceback)
            raise ReadingFault(answer.traceback.strip().splitlines()[-1])
        return answer

    async def _schedule(self, call: Callable[[], Answer]) -> Future[Answer | tasks.Fault]:
        async with self._starting:
            if self._closed:
                raise ReadingFault("the reader is closed")
            pool = await self._running()
            future: Future[Answer | tasks.Fault] = pool.schedule(
                tasks.guarded, args=(call,), timeout=self._limits.task_seconds
            )
            self._in_flight.add(future)
            return future

    async def _running(self) -> ProcessPool:
        if self._pool is not None and self._pool.active:
            return self._pool
        pool = await asyncio.to_thread(self._start)
        self._pool = pool
        return pool

    def _start(self) -> ProcessPool:
        self._stop()
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(HEAVY)
        pool = ProcessPool(
            max_workers=self._limits.processes,
            max_tasks=self._limits.tasks_per_process,
            initializer=guards.enter,
            initargs=(guards.Owner.this_process(), self._limits.memory_bytes, self.scratch),
            context=context,
        )
        if not pool.active:  # asking is what starts it
            raise ReadingFault("the reading pool did not start")
        return pool

    def _stop(self) -> None:
        """Children get SIGTERM, which their watch answers by killing their whole group."""
        if self._pool is not None:
            self._pool.stop()
            self._pool.join()
            self._pool = None


def _parts(look: FirstLook, processes: int) -> Iterator[FirstLook]:
    """Few pages at a time, so that all children have some; more of a long document."""
    size = min(LONGEST_TASK, math.ceil(len(look.scans) / (LANES * processes)) or 1)
    for start in range(0, len(look.scans), size):
        yield look.part(look.scans[start : start + size])


async def _all(lanes: Iterator[Callable[[], Any]]) -> None:
    """Run them all; the first fault stops the others and is raised as itself."""
    try:
        async with asyncio.TaskGroup() as group:
            for number, lane in enumerate(lanes):
                group.create_task(lane(), name=f"reading-lane-{number:02d}")
    except* ReadingFault as faults:
        fault = faults.exceptions[0]
    else:
        return
    raise fault


def _is_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
