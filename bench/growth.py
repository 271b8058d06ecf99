"""How cost grows with documents, sites, workers and the ledger: each case beside its smallest.

`python -m bench.growth [--quick]`; what it measures is in docs/benchmarks. On SQLite, as shipped.
"""

import argparse
import json
import os
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench import process
from bench.dispatch import Bench, Side
from bench.flow import environment
from bench.offer import Offer
from bench.report import Row, curve, program, tell

SITES = 10  # where the number of documents or of workers grows
SQLITE = Side("ORM-SQLite")
UNIT = "ms a document"


@dataclass(frozen=True, slots=True)
class Size:
    documents: Sequence[int]  # in all, each a case
    sites: Sequence[int]
    workers: Sequence[int]
    among: int  # documents in all, where sites or workers grow
    entries: Sequence[int]


QUICK = Size((500, 2_000), (1, 20, 100), (1, 2, 4), 500, (10_000, 100_000))
FULL = Size((500, 5_000, 50_000), (1, 20, 100, 500), (1, 2, 4), 5_000, (10_000, 100_000, 1_000_000))


def cost(bench: Bench, offer: Offer, **settings: str) -> float:
    """Milliseconds of a document's whole way: submitted, fetched, read, filed and on record."""
    rate: float = bench.layer(SQLITE, "throughput", offer, **settings)["rate"]
    return 1000 / rate


def documents(bench: Bench, size: Size) -> Iterator[Row]:
    found = {n: cost(bench, bench.offer(sites=SITES, documents=n)) for n in size.documents}
    yield from curve("documents: the whole way", UNIT, found)


def sites(bench: Bench, size: Size) -> Iterator[Row]:
    """The same number of documents."""
    found = {n: cost(bench, bench.offer(sites=n, documents=size.among)) for n in size.sites}
    yield from curve("sites: the whole way", UNIT, found)


def workers(bench: Bench, size: Size) -> Iterator[Row]:
    """Of one host, which share its cores."""
    offer = bench.offer(sites=SITES, documents=size.among)
    found = {n: cost(bench, offer, WORKERS=str(n)) for n in size.workers}
    yield from curve("workers: the whole way", UNIT, found, note=f"on {os.cpu_count()} cores")


def ledger(bench: Bench, size: Size) -> Iterator[Row]:
    """One ledger, that grows from case to case."""
    cases = map(str, size.entries)
    said = process.run("bench.grown", *cases, **environment(bench.new_folder()))
    for what, taken in json.loads(said).items():
        found = {int(entries): microseconds for entries, microseconds in taken.items()}
        yield from curve(f"entries: {what}", "us", found)


def rows(asked: argparse.Namespace) -> Iterator[Row]:
    size = QUICK if asked.quick else FULL
    with tempfile.TemporaryDirectory(prefix="siteledger-bench-") as folder:
        bench = Bench(Path(folder))
        for grow in (documents, sites, workers, ledger):
            yield from grow(bench, size)


if __name__ == "__main__":
    tell(rows, program(__doc__))
