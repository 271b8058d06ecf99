"""The core's Desk over the database: every move through one door, one thread, one connection.

The async core never touches the ORM. All of a shift's database work runs in this one thread, whose
connection is opened with it and closed with it; django-q2 closes connections in its own thread
only, and one that the server dropped would stay broken for the life of the worker.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from types import TracebackType
from typing import Any, ParamSpec, Self, TypeVar
from uuid import UUID

from django.db import InterfaceError, OperationalError, close_old_connections, connections

from ingestion import retrying, spool, steps
from ingestion.archive import archive
from ingestion.core.errors import LeaseLost
from ingestion.core.limits import Limits
from ingestion.core.work import Fetched, Unchanged, WorkItem
from ingestion.dispatch.leases import database_now
from ingestion.rules.checks import Checked
from ingestion.steps import Conclude, GiveUp, StartChecking, Step, TakeUp

logger = logging.getLogger(__name__)

P = ParamSpec("P")
R = TypeVar("R")

MOST_TOGETHER = 64  # steps in one transaction
APART_SECONDS = 0.1  # from one transaction's begin to the next one's, unless
ENOUGH = 8  # steps are ready, of the sixteen documents or so that a shift has in hand


class Door:
    """The one thread in which a shift talks to the database. An async context manager."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="database")

    async def __aenter__(self) -> Self:
        await self(close_old_connections)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self(connections.close_all)
        self._thread.shutdown()

    async def __call__(self, work: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, _healing, partial(work, *args, **kwargs))


def _healing(work: Callable[[], R]) -> R:
    """A connection that broke is not used again: the next call opens another."""
    try:
        return work()
    except (OperationalError, InterfaceError) as error:
        close_old_connections()
        raise OperationalError(*error.args) from error


class Together:
    """Takes all steps that are ready at about the same moment in one transaction.

    A step that comes alone is taken at once. Right after others it waits a moment for company: a
    transaction costs as much as several steps, and under load it is the parsers that lack that.
    """

    def __init__(self, door: Door) -> None:
        self._door = door
        self._ready: list[tuple[Step, asyncio.Future[Any]]] = []
        self._working: asyncio.Task[None] | None = None
        self._next_at = 0.0
        self._enough = asyncio.Event()

    async def __call__(self, step: Step) -> Any:
        """What the step answers; raises what it raises, whatever becomes of the others.

        LeaseLost when the database failed.
        """
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._ready.append((step, answer))
        if len(self._ready) >= ENOUGH:
            self._enough.set()
        if self._working is None or self._working.done():
            self._working = asyncio.create_task(self._work_off(), name="steps")
        return await answer

    async def _work_off(self) -> None:
        while self._ready:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._next_at - time.monotonic()):
                    await self._enough.wait()
            self._next_at = time.monotonic() + APART_SECONDS
            group, self._ready = self._ready[:MOST_TOGETHER], self._ready[MOST_TOGETHER:]
            if len(self._ready) < ENOUGH:
                self._enough.clear()
            outcomes = await self._door(_outcomes, [step for step, _ in group])
            for (_, answer), outcome in zip(group, outcomes, strict=True):
                if answer.cancelled():
                    continue
                if isinstance(outcome, Exception):
                    answer.set_exception(outcome)
                else:
                    answer.set_result(outcome)


def _outcomes(group: Sequence[Step]) -> list[Any]:
    """Answers, or what was raised. When they fail together, each is taken by itself.

    A database that fails is never a document's fault. Whether the steps were written, only the rows
    know: it is as good as a lost lease, and another lease finds how far they are.
    """
    try:
        return steps.take(group) if len(group) > 1 else [steps.take_alone(group[0])]
    except (OperationalError, InterfaceError) as error:
        close_old_connections()
        logger.warning("steps of %d documents are given up: %s", len(group), error)
        return [LeaseLost("the database failed") for _ in group]
    except Exception as error:  # noqa: BLE001 - raised where the step is awaited
        if len(group) == 1:
            return [error]
        return [outcome for step in group for outcome in _outcomes([step])]


class FilingDesk:
    """`leases` maps a chunk to the lease under which this shift holds it."""

    def __init__(
        self,
        door: Door,
        files: Executor,
        leases: Mapping[int, UUID],
        limits: Limits,
        over: Callable[[WorkItem], None],
        postponed: Callable[[str, Sequence[WorkItem]], None],
    ) -> None:
        self._door = door
        self._take = Together(door)
        self._files = files
        self._leases = leases
        self._limits = limits
        self._over = over
        self._postponed = postponed

    async def take_up(self, item: WorkItem) -> bool:
        budget = self._limits.document_attempts
        step = TakeUp(document=item.document, lease=self._lease(item), budget=budget)
        return bool(await self._take(step))

    async def start_checking(self, item: WorkItem, fetched: Fetched) -> bool:
        step = StartChecking(
            document=item.document,
            lease=self._lease(item),
            sha256=fetched.sha256,
            size=fetched.size,
            portal=fetched.facts,
            etag=fetched.etag,
        )
        is_new = bool(await self._take(step))
        if not is_new:
            await self._drop(item)  # the same bytes are in the archive
        return is_new

    async def unchanged(self, item: WorkItem, answer: Unchanged) -> bool:
        if item.filed is None:
            return False
        step = steps.Unchanged(
            document=item.document,
            lease=self._lease(item),
            sha256=item.filed.sha256,
            portal=answer.facts,
        )
        return bool(await self._take(step))

    async def conclude(self, item: WorkItem, fetched: Fetched, checked: Checked) -> None:
        """The bytes into the archive, then state and entry: in this order."""
        await self._in_files(archive().put, fetched.path, fetched.sha256)
        step = Conclude(
            document=item.document,
            lease=self._lease(item),
            verdict=checked.verdict,
            read=checked.read,
        )
        await self._take(step)
        await self._drop(item)

    async def give_up(
        self, item: WorkItem, code: str, facts: Mapping[str, str | int], *, held: bool
    ) -> None:
        lease = self._lease(item)
        await self._take(
            GiveUp(document=item.document, lease=lease, code=code, facts=facts, held=held)
        )

    async def fetch_failed(
        self, item: WorkItem, code: str, facts: Mapping[str, str | int], *, wait: float, later: bool
    ) -> None:
        try:
            await self._door(_fetch_failed, item, self._lease(item), code, facts, wait, later)
        except OperationalError as error:
            raise LeaseLost("the database failed") from error

    def postpone(self, lane: str, items: Sequence[WorkItem]) -> None:
        self._postponed(lane, items)

    async def over(self, item: WorkItem) -> None:
        self._over(item)

    async def _drop(self, item: WorkItem) -> None:
        """What was uploaded is in the archive now."""
        if item.spooled:
            await self._in_files(spool.drop, item.spooled)

    async def _in_files(self, work: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._files, partial(work, *args, **kwargs))

    def _lease(self, item: WorkItem) -> UUID:
        return self._leases[item.chunk]


def _fetch_failed(
    item: WorkItem,
    lease: UUID,
    code: str,
    facts: Mapping[str, str | int],
    wait: float,
    later: bool,
) -> None:
    retrying.fetch_failed(
        item.document,
        lease,
        code,
        facts,
        tries=item.tries,
        now=database_now(),
        wait=wait,
        later=later,
    )
