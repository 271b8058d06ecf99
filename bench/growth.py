"""Measures how costs grow with sites, workers, ledger entries and documents.

Each cost is relative to the smallest case.

`python -m bench.growth [--quick] [--only PART ...]`; docs/benchmarks describes what it measures. It
uses SQLite with default settings.
"""

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.dispatch import DispatchBench, DispatchSide
from bench.documents.served import ServedDocuments
from bench.installation import process
from bench.installation.environment import environment
from bench.results.report import Row, program, run_benchmark
from bench.results.turns import Costs, compare_with_smallest

SITES = 10  # while the number of documents or workers grows
SQLITE = DispatchSide("ORM-SQLite")
UNIT = "ms a document"


@dataclass(frozen=True, slots=True)
class GrowthSize:
    """The sizes of the cases. The first of each sequence is the baseline of the others."""

    documents: Sequence[int]  # in all, each a case
    sites: Sequence[int]
    workers: Sequence[int]
    fixed_documents: int  # documents in all, while sites or workers grow
    entries: Sequence[int]


QUICK = GrowthSize((200, 1_000), (1, 20), (1, 2), 200, (10_000, 50_000))
FULL = GrowthSize(
    (500, 5_000, 50_000), (1, 100, 500), (1, 2, 4), 1_000, (10_000, 100_000, 1_000_000)
)


def cost(
    bench: DispatchBench, offer: ServedDocuments, more: Mapping[str, str] | None = None
) -> Costs:
    """Return the milliseconds for the whole processing of a document, from submission to filing.

    `more` are further settings.
    """
    result = bench.layer(SQLITE, "throughput", offer, more=more)
    cpu = 1000 * result["cpu"] / offer.documents
    return {"end to end": 1000 / result["rate"], "processor": cpu}


def documents(bench: DispatchBench, size: GrowthSize) -> Iterator[Row]:
    """Yield the cost of a document by the number of waiting documents."""
    offers = {n: bench.offer(sites=SITES, documents=n) for n in size.documents}
    growth = compare_with_smallest(size.documents, lambda n: cost(bench, offers[n]))
    yield from growth.rows("documents", UNIT)


def sites(bench: DispatchBench, size: GrowthSize) -> Iterator[Row]:
    """Vary the number of sites, with the same number of documents."""
    offers = {n: bench.offer(sites=n, documents=size.fixed_documents) for n in size.sites}
    growth = compare_with_smallest(size.sites, lambda n: cost(bench, offers[n]))
    yield from growth.rows("sites", UNIT)


def workers(bench: DispatchBench, size: GrowthSize) -> Iterator[Row]:
    """Vary the number of workers of one host, which share its cores."""
    offer = bench.offer(sites=SITES, documents=size.fixed_documents)
    growth = compare_with_smallest(size.workers, lambda n: cost(bench, offer, {"WORKERS": str(n)}))
    yield from growth.rows("workers", UNIT, note=f"on {os.cpu_count()} cores")


def entries(bench: DispatchBench, size: GrowthSize) -> Iterator[Row]:
    """Vary the size of the ledger, each with its own database."""
    ledgers = {n: environment(bench.new_folder()) for n in size.entries}
    for n, ledger in ledgers.items():
        process.run("bench.sides.grown", "fill", str(n), **ledger)

    def measure(n: int) -> Costs:
        costs: Costs = json.loads(process.run("bench.sides.grown", "measure", **ledgers[n]))
        sys.stderr.write(f"{n:,} entries: {json.dumps(costs)}\n")
        return costs

    yield from compare_with_smallest(size.entries, measure).rows("entries", "us")


PARTS = {each.__name__: each for each in (sites, workers, entries, documents)}


def rows(options: argparse.Namespace) -> Iterator[Row]:
    """Yield the rows of the selected parts."""
    size = QUICK if options.quick else FULL
    with tempfile.TemporaryDirectory(prefix="siteledger-bench-") as folder:
        bench = DispatchBench(Path(folder))
        for part in options.only:
            yield from PARTS[part](bench, size)


if __name__ == "__main__":
    parser = program(__doc__)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=[*PARTS], metavar="PART")
    run_benchmark(rows, parser)
