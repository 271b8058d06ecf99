"""The core's Desk over the database: every move through one door, one thread, one connection.

The async core never touches the ORM. All of a shift's database work runs in this one thread, whose
connection is opened with it and closed with it; django-q2 closes connections in its own thread
only, and one that the server dropped would stay broken for the life of the worker.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from types import TracebackType
from typing import ParamSpec, Self, TypeVar
from uuid import UUID

from django.db import InterfaceError, OperationalError, close_old_connections, connections
from django.utils import timezone

from ingestion import filing, retrying, spool
from ingestion.archive import archive
from ingestion.core.errors import LeaseLost
from ingestion.core.limits import Limits
from ingestion.core.work import Fetched, WorkItem
from ingestion.dispatch.leases import database_now
from ingestion.models import Document
from ingestion.reading.facts import Reading, Unreadable
from ingestion.rules.checks import SiteFacts, Verdict, check, judge

P = ParamSpec("P")
R = TypeVar("R")


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


class FilingDesk:
    """`leases` maps a chunk to the lease under which this shift holds it."""

    def __init__(
        self,
        door: Door,
        leases: Mapping[int, UUID],
        limits: Limits,
        over: Callable[[WorkItem], None],
        postponed: Callable[[str, Sequence[WorkItem]], None],
    ) -> None:
        self._door = door
        self._leases = leases
        self._limits = limits
        self._over = over
        self._postponed = postponed

    async def take_up(self, item: WorkItem) -> bool:
        budget = self._limits.document_attempts
        return await self._record(filing.take_up, item.document, self._lease(item), budget=budget)

    async def start_checking(self, item: WorkItem, fetched: Fetched) -> bool:
        return await self._record(_start_checking, item, self._lease(item), fetched)

    async def conclude(
        self, item: WorkItem, fetched: Fetched, reading: Reading | Unreadable
    ) -> None:
        await self._record(_conclude, item, self._lease(item), fetched, reading)

    async def give_up(
        self, item: WorkItem, code: str, facts: Mapping[str, str | int], *, held: bool
    ) -> None:
        await self._record(filing.give_up, item.document, self._lease(item), code, facts, held=held)

    async def fetch_failed(
        self, item: WorkItem, code: str, facts: Mapping[str, str | int], *, wait: float, later: bool
    ) -> None:
        await self._record(_fetch_failed, item, self._lease(item), code, facts, wait, later)

    def postpone(self, lane: str, items: Sequence[WorkItem]) -> None:
        self._postponed(lane, items)

    async def over(self, item: WorkItem) -> None:
        self._over(item)

    def _lease(self, item: WorkItem) -> UUID:
        return self._leases[item.chunk]

    async def _record(self, work: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """A database that fails is never the document's fault: another lease tells how far it is.

        Whether the move was written, only the row knows. So this is as good as a lost lease.
        """
        try:
            return await self._door(work, *args, **kwargs)
        except OperationalError as error:
            raise LeaseLost("the database failed") from error


def _start_checking(item: WorkItem, lease: UUID, fetched: Fetched) -> bool:
    is_new = filing.start_checking(
        item.document, lease, sha256=fetched.sha256, size=fetched.size, portal=fetched.facts
    )
    if item.spooled and not is_new:
        spool.drop(item.spooled)  # the same bytes are in the archive
    return is_new


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


def _conclude(item: WorkItem, lease: UUID, fetched: Fetched, reading: Reading | Unreadable) -> None:
    """Check, then the bytes into the archive, then state and entry: in this order."""
    document = Document.objects.select_related("site__study").get(pk=item.document)
    verdict = _verdict(document, reading)
    archive().put(fetched.path, fetched.sha256)
    pages = len(reading.pages) if isinstance(reading, Reading) else None
    filing.conclude(item.document, lease, verdict, pages=pages)
    if item.spooled:
        spool.drop(item.spooled)


def _verdict(document: Document, reading: Reading | Unreadable) -> Verdict:
    if isinstance(reading, Unreadable):
        return judge(reading)
    site = SiteFacts(
        site_id=document.site.site_id,
        name=document.site.name,
        protocol_number=document.site.study.protocol_number,
    )
    return check(
        reading,
        declared=document.document_type,
        site=site,
        today=timezone.now().date(),
        schema_version=document.schema_version,
    )
