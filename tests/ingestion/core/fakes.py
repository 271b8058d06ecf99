"""Fakes of the ports: a portal, a recorder and a reader, all in memory."""

import asyncio
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from ingestion.core.breaker import BreakerSettings
from ingestion.core.errors import IngestionError
from ingestion.core.ingest import Ingest
from ingestion.core.limits import Limits
from ingestion.core.portal_limits import LocalPortalLimit
from ingestion.core.portal_queues import PortalQueues
from ingestion.core.ports import (
    EarlyDecision,
    Fetched,
    FetchFailure,
    NotModified,
    PortalTerms,
    WorkItem,
)
from ingestion.core.retry import RetryRules

RETRY = RetryRules(fetch_tries=3, backoff_base_seconds=0.001)
LIMITS = Limits(fetchers=4, settlers=2, queue_depth=2, retry=RETRY)


NEVER_OPENS = BreakerSettings(failures=1000)


def terms(site: str, *, rate: float = 1000, burst: int = 1000) -> PortalTerms:
    return PortalTerms(
        key=f"portal-{site}",
        base_url="https://portal.example/",
        rate_per_second=rate,
        burst=burst,
        max_in_flight=10,
        timeout_seconds=5,
    )


def make_item(number: int = 1, *, site: str = "1001", **changes) -> WorkItem:
    values = {
        "document": number,
        "chunk": 1,
        "site_id": site,
        "doc_id": f"doc-{number}",
        "url": f"https://portal.example/{number}.pdf",
        "terms": terms(site),
    }
    return WorkItem(**values | changes)


class FakePortal:
    """Serves every document, after the errors that a test queued for it."""

    def __init__(self) -> None:
        self.faults: defaultdict[int, list[Exception]] = defaultdict(list)
        self.asked: list[int] = []
        self.max_at_once = 0
        self.turns = 1  # of the event loop, that an answer takes
        self._now = 0

    async def fetch(self, item: WorkItem) -> Fetched | NotModified:
        self.asked.append(item.document)
        self._now += 1
        self.max_at_once = max(self.max_at_once, self._now)
        for _ in range(self.turns):
            await asyncio.sleep(0)
        self._now -= 1
        if self.faults[item.document]:
            raise self.faults[item.document].pop(0)
        if item.filed:
            return NotModified({})
        return Fetched(Path(f"/spool/{item.document}"), f"sha-of-{item.document}", 10)


class FakeRecorder:
    """Remembers every move. `on_file` holds the hashes that are archived already."""

    def __init__(self) -> None:
        self.moves: defaultdict[int, list[str]] = defaultdict(list)
        self.on_file: set[str] = set()
        self.ended: list[int] = []
        self.one_ended = asyncio.Event()
        self.poison: set[int] = set()

    async def start_attempt(self, item: WorkItem) -> bool:
        if item.document in self.poison:
            self.moves[item.document].append("HELD POISON")
        return item.document not in self.poison

    async def start_checking(self, item: WorkItem, fetched: Fetched) -> bool:
        is_new = fetched.sha256 not in self.on_file
        self.moves[item.document].append("VALIDATING" if is_new else "DEDUPED")
        return is_new

    async def record_unchanged(self, item: WorkItem, answer: NotModified) -> bool:
        is_filed = item.filed.sha256 in self.on_file
        self.moves[item.document].append("DEDUPED" if is_filed else "not on file")
        return is_filed

    async def conclude(self, item: WorkItem, fetched: Fetched, checked: object) -> None:
        self.moves[item.document].append("ARCHIVED")

    async def record_fetch_failure(self, item: WorkItem, failure: FetchFailure) -> None:
        when = "later" if failure.leaves_shift else "again"
        self.moves[item.document].append(f"{when} {failure.code}")

    def postpone(self, queue, items) -> None:
        for item in items:
            self.moves[item.document].append("postponed")
            self.ended.append(item.document)

    async def record_early_decision(self, item: WorkItem, decision: EarlyDecision) -> None:
        state = "HELD" if decision.is_held else "REJECTED"
        self.moves[item.document].append(f"{state} {decision.code}")

    def finish(self, item: WorkItem) -> None:
        self.ended.append(item.document)
        self.one_ended.set()

    async def has_ended(self, number: int) -> None:
        """Wait until so many documents are finished."""
        while len(self.ended) < number:
            self.one_ended.clear()
            await self.one_ended.wait()


class FakeReader:
    """Reads at once, or raises the error that a test set for the path."""

    def __init__(self) -> None:
        self.faults: dict[Path, Exception] = {}

    async def read(self, item: WorkItem, fetched: Fetched) -> str:
        if fetched.path in self.faults:
            raise self.faults[fetched.path]
        return "read"


class House:
    """The real core with fakes at its edges: `await House().ingest(items)`."""

    def __init__(self, limits: Limits = LIMITS, breaker: BreakerSettings = NEVER_OPENS) -> None:
        self.breaker = breaker
        self.portal_limits: dict[str, LocalPortalLimit] = {}
        self.portal, self.recorder, self.reader = FakePortal(), FakeRecorder(), FakeReader()
        self.queues: PortalQueues[WorkItem] = PortalQueues(limits.queue_depth)
        self.core = Ingest(
            self.queues,
            fetcher=self.portal,
            recorder=self.recorder,
            reader=self.reader,
            limits=limits,
        )

    async def ingest(self, items: Iterable[WorkItem]) -> None:
        async with asyncio.timeout(20), asyncio.TaskGroup() as group:
            working = group.create_task(self.core.run())
            for item in items:
                self.open(item)
                await self.core.feed(item)
            self.queues.close()
            await working

    def open(self, item: WorkItem) -> None:
        """Open the queue of the item, with one limit for each portal, as a shift does."""
        if item.terms and item.queue not in self.portal_limits:
            rate, burst = item.terms.rate_per_second, item.terms.burst
            self.portal_limits[item.queue] = LocalPortalLimit(rate, burst, self.breaker)
        in_flight = item.terms.max_in_flight if item.terms else 2
        self.queues.open(item.queue, self.portal_limits.get(item.queue), in_flight)

    def fail(self, document: int, *errors: IngestionError) -> None:
        self.portal.faults[document] += errors
