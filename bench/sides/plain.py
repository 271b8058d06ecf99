"""Implements the usual design for comparison: one asyncio file, a semaphore, a process pool.

It remembers the documents that it has seen in a set.

Written for the measurement after the design that the project started from, with its weaknesses, and
with its limits raised to ours. `tests/ingestion/test_source_defects.py` shows each weakness. Do not
use it for anything else.

`python -m bench.sides.plain OFFER RESULT` processes an offer and writes its outcome.
`--same-reading` reads as our software does, including marks and form values, so that only the flow
is compared. `--on-disk` makes filed documents and records durable before it continues, which the
design demands ("archive", "WORM") and its code leaves out. `--watched` reports what blocks the loop
for 50 ms.
"""

import argparse
import asyncio
import hashlib
import io
import json
import logging
import os
import random
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import httpx2 as httpx
import pypdfium2
import pytesseract
from pypdf import PdfReader

from bench.results.outcome import outcome, write
from bench.sides.blocked_loops import SlowCallbacks
from ingestion.reading import tasks
from ingestion.reading.limits import ReadingLimits
from ingestion.reading.results import Unreadable

logger = logging.getLogger(__name__)

RETRYABLE = (TimeoutError, ConnectionError)  # no error of httpx is a subclass of these
MIN_CHARACTERS = 32  # a document with less text counts as a scan
FINAL = {"ARCHIVED", "REJECTED", "DEDUPED"}


@dataclass(frozen=True, slots=True)
class Item:
    """Describes a document to download."""

    site: str
    doc_id: str
    url: str


@dataclass(frozen=True, slots=True)
class Record:
    """Describes the final record of a document. `at` is in monotonic seconds."""

    item: Item
    state: str
    sha256: str
    code: str
    at: float


class Chain:
    """A hash chain of records in memory, and in a file if one is given."""

    def __init__(self, path: Path | None = None) -> None:
        self.records: list[Record] = []
        self.head = "0" * 64
        self._path = path
        self._lock = asyncio.Lock()

    async def append(self, item: Item, state: str, *, sha256: str = "", code: str = "") -> None:
        """Add a record to the chain, and write it if the chain has a file."""
        body = json.dumps([item.site, item.doc_id, state, sha256, code])
        async with self._lock:
            self.head = hashlib.sha256((self.head + body).encode()).hexdigest()
            if self._path:
                line = f"{body}\t{self.head}\n".encode()
                await asyncio.to_thread(_write_durably, self._path, line)
            self.records.append(Record(item, state, sha256, code, time.monotonic()))

    @property
    def final(self) -> dict[Item, Record]:
        """Return the last record of each document that has one."""
        return {record.item: record for record in self.records if record.state in FINAL}


class Bucket:
    """A token bucket. A request for more tokens than its size waits for ever."""

    def __init__(
        self,
        rate: float,
        capacity: float,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._rate, self._capacity, self._tokens = rate, capacity, capacity
        self._refilled_at = time.monotonic()
        self._sleep = sleep

    async def acquire(self, tokens: float = 1.0) -> None:
        """Wait until the bucket has so many tokens, and take them."""
        while True:
            now = time.monotonic()
            gained = (now - self._refilled_at) * self._rate
            self._tokens, self._refilled_at = min(self._capacity, self._tokens + gained), now
            if (missing := tokens - self._tokens) <= 0:
                break
            await self._sleep(missing / self._rate)
        self._tokens -= tokens


def pause(attempt: int) -> float:
    """Return the seconds before the next attempt, nearly the same for all that failed together."""
    return min(2.0**attempt, 30.0) + random.uniform(0.0, 1.0)


def read(payload: bytes) -> int:
    """Return the number of characters in the document. Runs in the pool."""
    characters = _count_extracted(payload)
    if characters >= MIN_CHARACTERS:
        return characters
    with pypdfium2.PdfDocument(payload) as opened:
        pictures = [page.render(scale=300 / 72).to_pil() for page in opened]
    return sum(len(pytesseract.image_to_string(picture)) for picture in pictures)


def has_text(payload: bytes) -> bool:
    """Return whether the document is read without OCR."""
    return _count_extracted(payload) >= MIN_CHARACTERS


def _count_extracted(payload: bytes) -> int:
    pages = [page.extract_text() for page in PdfReader(io.BytesIO(payload)).pages]
    return len("\n".join(pages).strip())


def read_as_ours(payload: bytes) -> int:
    """Read a document with a text layer as `ingestion.reading` does."""
    with tempfile.NamedTemporaryFile(suffix=".pdf") as file:
        file.write(payload)
        file.flush()
        path = Path(file.name)
        probe = tasks.probe_document(path, path.with_suffix(".rewritten"), ReadingLimits())
    return 0 if isinstance(probe, Unreadable) else sum(len(page.text) for page in probe.pages)


def _write_durably(path: Path, content: bytes) -> None:
    with path.open("ab") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


class Plain:
    """One semaphore covers all processing of a document, including waits."""

    def __init__(  # noqa: PLR0913 - one for each limit of the design
        self,
        client: httpx.AsyncClient,
        pool: Executor,
        buckets: Mapping[str, Bucket],
        *,
        chain: Chain | None = None,
        at_once: int = 16,
        tries: int = 4,
        seconds: float = 60.0,
        read: Callable[[bytes], int] = read,
        archive: Path | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.chain = chain or Chain()
        self._client, self._pool, self._buckets = client, pool, buckets
        self._tries, self._seconds, self._sleep = tries, seconds, sleep
        self._read, self._archive = read, archive
        self._slots = asyncio.Semaphore(at_once)
        self._seen: set[tuple[str, str, str]] = set()

    async def work(self, item: Item) -> None:
        """Process one document, from its download to its record."""
        async with self._slots:
            payload = await self._fetch(item)
            if payload is None:
                return
            in_thread = asyncio.get_running_loop().run_in_executor
            sha256 = await in_thread(None, lambda: hashlib.sha256(payload).hexdigest())
            key = (item.site, item.doc_id, sha256)
            if key in self._seen:
                await self.chain.append(item, "DEDUPED", sha256=sha256)
                return
            self._seen.add(key)
            await self.chain.append(item, "VALIDATING", sha256=sha256)
            try:
                await in_thread(self._pool, self._read, payload)
            except Exception:  # noqa: BLE001 - each error rejects the document
                await self.chain.append(item, "REJECTED", sha256=sha256, code="PARSER_FAILURE")
                return
            if self._archive:
                await in_thread(None, _write_durably, self._archive / sha256, payload)
            await self.chain.append(item, "ARCHIVED", sha256=sha256)

    async def _fetch(self, item: Item) -> bytes | None:
        for attempt in range(self._tries):
            await self._buckets[item.site].acquire()
            try:
                async with asyncio.timeout(self._seconds):
                    response = await self._client.get(item.url)
            except RETRYABLE:
                await self._sleep(pause(attempt))
            else:
                response.raise_for_status()
                return response.content
        await self.chain.append(item, "REJECTED", code="DOWNLOAD_FAILED")
        return None


async def run(
    items: Sequence[Item], plain: Plain, *, workers: int = 16, stop: asyncio.Event | None = None
) -> None:
    """Run a producer, a bounded queue, and workers until each has received its end marker."""
    queue: asyncio.Queue[Item | None] = asyncio.Queue(maxsize=2 * workers)
    async with asyncio.TaskGroup() as group:
        group.create_task(_produce(items, queue, workers, stop or asyncio.Event()))
        for _ in range(workers):
            group.create_task(_consume(queue, plain))


async def _produce(
    items: Sequence[Item], queue: asyncio.Queue[Item | None], workers: int, stop: asyncio.Event
) -> None:
    for item in items:
        if stop.is_set():
            break
        await queue.put(item)
    for _ in range(workers):
        await queue.put(None)


async def _consume(queue: asyncio.Queue[Item | None], plain: Plain) -> None:
    while (item := await queue.get()) is not None:
        try:
            await plain.work(item)
        except Exception:  # one bad document must not end the worker
            logger.exception("not caught: %s", item)


async def _measure(
    offer: Path, result: Path, *, same_reading: bool, on_disk: bool, watched: bool
) -> None:
    rows = json.loads((offer / "sites.json").read_text())
    lines = map(json.loads, (offer / "manifest.ndjson").read_text().splitlines())
    items = [Item(line["site_id"], line["doc_id"], line["url"]) for line in lines]
    terms = {row["site_id"]: row["portal"] for row in rows}
    slow, begun = SlowCallbacks(), time.monotonic()
    buckets = {key: Bucket(row["rate_per_second"], row["burst"]) for key, row in terms.items()}
    with ProcessPoolExecutor(2) as pool:
        async with httpx.AsyncClient(timeout=None) as client:
            plain = Plain(
                client,
                pool,
                buckets,
                chain=Chain(result.parent / "chain" if on_disk else None),
                read=read_as_ours if same_reading else read,
                archive=result.parent if on_disk else None,
            )
            working = run(items, plain)
            await (slow.watch(working) if watched else working)
    seconds = time.monotonic() - begun
    records = [(r.item.site, r.state, r.at - begun) for r in plain.chain.final.values()]
    write(result, outcome(seconds, len(items), records, slow.longest))


def main() -> None:
    """Process the offer that the command line names, and write its outcome."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("offer", type=Path)
    parser.add_argument("result", type=Path)
    parser.add_argument("--same-reading", action="store_true")
    parser.add_argument("--on-disk", action="store_true")
    parser.add_argument("--watched", action="store_true")
    arguments = parser.parse_args()
    logging.getLogger().setLevel(logging.CRITICAL)  # thousands of tracebacks would slow it down
    options = {
        "same_reading": arguments.same_reading,
        "on_disk": arguments.on_disk,
        "watched": arguments.watched,
    }
    asyncio.run(_measure(arguments.offer, arguments.result, **options))


if __name__ == "__main__":
    main()
