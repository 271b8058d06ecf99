"""Collects the steps of several documents, and applies them in one transaction (docs/adr/0012)."""

import asyncio
import logging
import time
from collections.abc import Sequence
from contextlib import suppress
from contextvars import copy_context
from typing import Any

from django.db import InterfaceError, OperationalError, close_old_connections

from ingestion.core.errors import LeaseLost
from ingestion.dispatch.database_thread import DatabaseThread
from ingestion.dispatch.worker_steps import WorkerStep, apply_step, apply_steps

logger = logging.getLogger(__name__)

MAX_STEPS_PER_TRANSACTION = 64
BATCHING_SECONDS = 0.1  # from the start of one transaction to the start of the next
# If so many steps are ready, the next transaction starts at once. A shift works on about 16
# documents at a time.
FULL_GROUP_STEPS = 8


class StepBatcher:
    """Collects steps that are ready at about the same time, and applies them together.

    A single step is applied at once. A step that follows another one within BATCHING_SECONDS waits
    for more steps: one transaction costs as much as several steps, and under load the parsers need
    that time. This layer exists because it halves the processor time that the steps of a document
    cost (docs/adr/0012).
    """

    def __init__(self, database: DatabaseThread) -> None:
        self._database = database
        self._ready: list[tuple[WorkerStep, asyncio.Future[Any]]] = []
        self._worker: asyncio.Task[None] | None = None
        self._next_at = 0.0  # monotonic seconds; the next transaction starts then
        self._has_full_group = asyncio.Event()
        # Each step brings the context of its document. The task that applies groups of steps must
        # not have that of the document whose step it applied first.
        self._context = copy_context()

    async def __call__(self, step: WorkerStep) -> Any:
        """Apply a step, and return its result. Raises what the step raises.

        A failure of another step has no influence. Raises LeaseLost if the database failed: only
        the rows know whether the step was written, and another lease continues from them, so that
        no document is blamed for the database.
        """
        result: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._ready.append((step, result))
        if len(self._ready) >= FULL_GROUP_STEPS:
            self._has_full_group.set()
        if self._worker is None or self._worker.done():
            self._worker = asyncio.create_task(
                self._apply_ready_steps(), name="steps", context=self._context
            )
        return await result

    async def _apply_ready_steps(self) -> None:
        """Apply groups of steps until no step is ready. It runs in one task at a time."""
        while self._ready:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._next_at - time.monotonic()):
                    await self._has_full_group.wait()
            self._next_at = time.monotonic() + BATCHING_SECONDS
            group = self._ready[:MAX_STEPS_PER_TRANSACTION]
            self._ready = self._ready[MAX_STEPS_PER_TRANSACTION:]
            if len(self._ready) < FULL_GROUP_STEPS:
                self._has_full_group.clear()
            outcomes = await self._database(apply_group, [step for step, _ in group])
            for (_, result), outcome in zip(group, outcomes, strict=True):
                if result.cancelled():
                    continue
                if isinstance(outcome, Exception):
                    result.set_exception(outcome)
                else:
                    result.set_result(outcome)


def apply_group(group: Sequence[WorkerStep]) -> list[Any]:
    """Apply steps. Returns for each its result, or the exception that it raised.

    If the common transaction fails, each step is applied in its own transaction, so that a failure
    affects one document only. It runs in the thread of the database.
    """
    try:
        return apply_steps(group) if len(group) > 1 else [apply_step(group[0])]
    except (OperationalError, InterfaceError) as error:
        close_old_connections()
        logger.warning("steps of %d documents are given up: %s", len(group), error)
        return [LeaseLost("the database failed") for _ in group]
    except Exception as error:  # noqa: BLE001 - it is raised where the step is awaited
        if len(group) == 1:
            return [error]
        return [outcome for step in group for outcome in apply_group([step])]
