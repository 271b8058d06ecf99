"""Fakes that behave: a portal, a desk, a reader and a clock, all in memory."""

import asyncio
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from ingestion.core.breaker import BreakerTerms
from ingestion.core.errors import IngestionError
from ingestion.core.ingest import Ingest
from ingestion.core.limits import Limits
from ingestion.core.portal_limits import LocalGate
from ingestion.core.portal_queues import Lanes
from ingestion.core.ports import (
    Fetched,
    PortalTerms,
    Unchanged,
    WorkItem,
)

LIMITS = Limits(fetchers=4, settlers=2, fetch_tries=3, backoff_base_seconds=0.001, lane_depth=2)


WELL = BreakerTerms(failures=1000)  # for tests that are not about it


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
    """Gives every document, after the errors that were put in front of it."""

    def __init__(self) -> None:
        self.faults: defaultdict[int, list[Exception]] = defaultdict(list)
        self.asked: list[int] = []
        self.most_at_once = 0
        self.turns = 1  # of the event loop, that an answer takes
        self._now = 0

    async def fetch(self, item: WorkItem) -> Fetched | Unchanged:
        self.asked.append(item.document)
        self._now += 1
        self.most_at_once = max(self.most_at_once, self._now)
        for _ in range(self.turns):
            await asyncio.sleep(0)
        self._now -= 1
        if self.faults[item.document]:
            raise self.faults[item.document].pop(0)
        if item.filed:
            return Unchanged({})
        return Fetched(Path(f"/spool/{item.document}"), f"sha-of-{item.document}", 10)


class FakeDesk:
    """Remembers every move; `on_file` holds fingerprints that are archived already."""

    def __init__(self) -> None:
        self.moves: defaultdict[int, list[str]] = defaultdict(list)
        self.on_file: set[str] = set()
        self.ended: list[int] = []
        self.one_ended = asyncio.Event()
        self.poison: set[int] = set()

    async def take_up(self, item: WorkItem) -> bool:
        if item.document in self.poison:
            self.moves[item.document].append("HELD POISON")
        return item.document not in self.poison

    async def start_checking(self, item: WorkItem, fetched: Fetched) -> bool:
        is_new = fetched.sha256 not in self.on_file
        self.moves[item.document].append("VALIDATING" if is_new else "DEDUPED")
        return is_new

    async def unchanged(self, item: WorkItem, answer: Unchanged) -> bool:
        is_filed = item.filed.sha256 in self.on_file
        self.moves[item.document].append("DEDUPED" if is_filed else "not on file")
        return is_filed

    async def conclude(self, item: WorkItem, fetched: Fetched, reading: object) -> None:
        self.moves[item.document].append("ARCHIVED")

    async def fetch_failed(self, item, code, facts, *, wait, later) -> None:
        self.moves[item.document].append(f"{'later' if later else 'again'} {code}")

    def postpone(self, lane, items) -> None:
        for item in items:
            self.moves[item.document].append("postponed")
            self.ended.append(item.document)

    async def give_up(self, item, code, facts, *, held) -> None:
        self.moves[item.document].append(f"{'HELD' if held else 'REJECTED'} {code}")

    async def over(self, item: WorkItem) -> None:
        self.ended.append(item.document)
        self.one_ended.set()

    async def has_ended(self, number: int) -> None:
        """Until so many documents are out of hand."""
        while len(self.ended) < number:
            self.one_ended.clear()
            await self.one_ended.wait()


class FakeReader:
    """Reads at once, or raises what it was told to for a document's path."""

    def __init__(self) -> None:
        self.faults: dict[Path, Exception] = {}

    async def read(self, item: WorkItem, fetched: Fetched) -> str:
        if fetched.path in self.faults:
            raise self.faults[fetched.path]
        return "read"


class House:
    """The real core with fakes at its edges: `await House().ingest(items)`."""

    def __init__(self, limits: Limits = LIMITS, breaker: BreakerTerms = WELL) -> None:
        self.breaker = breaker
        self.gates: dict[str, LocalGate] = {}
        self.portal, self.desk, self.reader = FakePortal(), FakeDesk(), FakeReader()
        self.lanes: Lanes[WorkItem] = Lanes(limits.lane_depth)
        self.core = Ingest(
            self.lanes, portal=self.portal, desk=self.desk, reader=self.reader, limits=limits
        )

    async def ingest(self, items: Iterable[WorkItem]) -> None:
        async with asyncio.timeout(20), asyncio.TaskGroup() as group:
            working = group.create_task(self.core.run())
            for item in items:
                self.open(item)
                await self.core.feed(item)
            self.lanes.close()
            await working

    def open(self, item: WorkItem) -> None:
        """As a shift does: one gate for each portal."""
        if item.terms and item.lane not in self.gates:
            rate, burst = item.terms.rate_per_second, item.terms.burst
            self.gates[item.lane] = LocalGate(rate, burst, self.breaker)
        in_flight = item.terms.max_in_flight if item.terms else 2
        self.lanes.open(item.lane, self.gates.get(item.lane), in_flight)

    def fail(self, document: int, *errors: IngestionError) -> None:
        self.portal.faults[document] += errors
