"""The way of a shift to the database: one door, one thread, one connection; and steps go together.

The async core never touches the ORM. All of a shift's database work runs in this one thread, whose
connection is opened with it and closed with it; django-q2 closes connections in its own thread
only, and one that the server dropped would stay broken for the life of the worker.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from types import TracebackType
from typing import Any, ParamSpec, Self, TypeVar

from django.db import InterfaceError, OperationalError, close_old_connections, connections

from ingestion.core.errors import LeaseLost
from ingestion.dispatch import worker_steps
from ingestion.dispatch.worker_steps import Step

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
        return worker_steps.take(group) if len(group) > 1 else [worker_steps.take_alone(group[0])]
    except (OperationalError, InterfaceError) as error:
        close_old_connections()
        logger.warning("steps of %d documents are given up: %s", len(group), error)
        return [LeaseLost("the database failed") for _ in group]
    except Exception as error:  # noqa: BLE001 - raised where the step is awaited
        if len(group) == 1:
            return [error]
        return [outcome for step in group for outcome in _outcomes([step])]
