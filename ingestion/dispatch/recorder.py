"""The core's Desk over the database: each move is a step, and goes through the one `door`."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from functools import partial
from typing import ParamSpec, TypeVar
from uuid import UUID

from django.db import OperationalError

from ingestion.core.errors import LeaseLost
from ingestion.core.limits import Limits
from ingestion.core.ports import Fetched, Unchanged, WorkItem
from ingestion.dispatch import fetch_failures, worker_steps
from ingestion.dispatch.clock import database_now
from ingestion.dispatch.database_thread import Door, Together
from ingestion.dispatch.worker_steps import (
    Conclude,
    GiveUp,
    StartChecking,
    TakeUp,
)
from ingestion.rules.checks.verdict import Checked
from ingestion.storage import spool
from ingestion.storage.archive import archive

P = ParamSpec("P")
R = TypeVar("R")


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
        step = worker_steps.Unchanged(
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
    fetch_failures.fetch_failed(
        item.document,
        lease,
        code,
        facts,
        tries=item.tries,
        counted_tries=item.counted_tries,
        now=database_now(),
        wait=wait,
        later=later,
    )
