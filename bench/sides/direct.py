"""Calls the core directly: the same queues, downloader, pool and archive, without rows or ledger.

`python -m bench.sides.direct OFFER RESULT` processes an offer and writes its outcome. The
difference to this is the cost of the job layer (bench/dispatch.py).
"""

import argparse
import asyncio
import json
import os
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import django
from django.conf import settings

from bench.results.outcome import outcome, write
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
from ingestion.sources.http.client import HttpPortals
from ingestion.storage.archive import get_archive
from sites.portal_origin import parse_origin


class MemoryRecorder:
    """A `Recorder` that stores the bytes, and keeps the decisions in memory."""

    def __init__(self, files: Executor) -> None:
        self.records: dict[int, tuple[str, str, float]] = {}
        self._files = files

    async def start_attempt(self, item: WorkItem) -> bool:
        """Return True, because attempts are not counted."""
        return True

    async def start_checking(self, item: WorkItem, fetched: Fetched) -> bool:
        """Return True, because no document is on file."""
        return True

    async def record_unchanged(self, item: WorkItem, answer: NotModified) -> bool:
        """Return False, because no document is on file."""
        return False  # no document is on file

    async def conclude(self, item: WorkItem, fetched: Fetched, checked: Any) -> None:
        """Archive the bytes, and keep the state of the verdict."""
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(self._files, get_archive().put, fetched.path, fetched.sha256)
        self._remember(item, checked.verdict.state)

    async def record_fetch_failure(self, item: WorkItem, failure: FetchFailure) -> None:
        """Keep the document as held, if it leaves the shift."""
        if failure.leaves_shift:
            self._remember(item, "HELD")

    def postpone(self, queue: str, items: Sequence[WorkItem]) -> None:
        """Keep the documents as held."""
        for item in items:
            self._remember(item, "HELD")

    async def record_early_decision(self, item: WorkItem, decision: EarlyDecision) -> None:
        """Keep the document as held or rejected."""
        self._remember(item, "HELD" if decision.is_held else "REJECTED")

    def finish(self, item: WorkItem) -> None:
        """Do nothing, because nothing counts the unfinished documents."""

    def _remember(self, item: WorkItem, state: str) -> None:
        self.records[item.document] = (item.site_id, str(state), time.monotonic())


def items_of(offer: Path) -> list[WorkItem]:
    """Return the work items as leases create them, site after site."""
    sites = {row["site_id"]: row for row in json.loads((offer / "sites.json").read_text())}
    terms = {}
    for site_id, row in sites.items():
        portal = {
            name: value
            for name, value in row["portal"].items()
            if name in PortalTerms.__dataclass_fields__ and name != "key"
        }
        origin = parse_origin(row["portal"]["base_url"])
        terms[site_id] = PortalTerms(key=site_id, **{**portal, "approved_origin": origin})
    lines = map(json.loads, (offer / "manifest.ndjson").read_text().splitlines())
    return [
        WorkItem(
            document=number,
            chunk=0,
            site_id=line["site_id"],
            doc_id=line["doc_id"],
            url=line["url"],
            terms=terms[line["site_id"]],
            declared_type=line.get("document_type", ""),
            schema_version=line["schema_version"],
            site_name=sites[line["site_id"]]["name"],
            protocol_number=sites[line["site_id"]]["study"],
        )
        for number, line in enumerate(lines, start=1)
    ]


async def run(items: Sequence[WorkItem], folder: Path, limits: Limits) -> MemoryRecorder:
    """Process the items by the core, and return their outcomes."""
    from ingestion.dispatch.document_reader import PooledDocumentReader

    queues: PortalQueues[WorkItem] = PortalQueues(limits.queue_depth)
    with ThreadPoolExecutor(2, thread_name_prefix="files") as files:
        recorder = MemoryRecorder(files)
        async with (
            HttpPortals(lambda _: folder, limits, files) as portals,
            PooledDocumentReader.pool() as pool,
            asyncio.TaskGroup() as group,
        ):
            reader = PooledDocumentReader(pool, lambda _item, _stage: None)
            core = Ingest(queues, fetcher=portals, recorder=recorder, reader=reader, limits=limits)
            group.create_task(core.run())
            await _feed(items, core, queues)
            queues.close()
    return recorder


async def _feed(items: Sequence[WorkItem], core: Ingest, queues: PortalQueues[WorkItem]) -> None:
    """Feed each portal's documents in its own task, as a shift does for each chunk."""
    by_queue: dict[str, list[WorkItem]] = {}
    for item in items:
        by_queue.setdefault(item.queue, []).append(item)

    async def feed(own: Sequence[WorkItem]) -> None:
        for item in own:
            await core.feed(item)

    async with asyncio.TaskGroup() as group:
        for queue, own in by_queue.items():
            terms = own[0].terms
            if terms is not None:
                queues.open(
                    queue, LocalPortalLimit(terms.rate_per_second, terms.burst), terms.max_in_flight
                )
            group.create_task(feed(own))


def main() -> None:
    """Process the offer that the command line names, and write its outcome."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("offer", type=Path)
    parser.add_argument("result", type=Path)
    arguments = parser.parse_args()
    django.setup()
    items = items_of(arguments.offer)
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(dir=os.environ.get("DATA_DIR")) as folder:
        recorder = asyncio.run(run(items, Path(folder), settings.INGEST_LIMITS))
    seconds = time.monotonic() - begun
    records = [(site, state, at - begun) for site, state, at in recorder.records.values()]
    write(arguments.result, outcome(seconds, len(items), records))


if __name__ == "__main__":
    main()
