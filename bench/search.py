"""Measures the full-text search, beside a plain scan of the texts.

`python -m bench.search [--quick]`; docs/benchmarks describes what it measures. `bench.sides.search`
fills a temporary database of PostgreSQL and of SQLite, and searches it.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from bench.installation.environment import environment
from bench.results.report import Row, not_measured, program, run_benchmark

ROOT = Path(__file__).parents[1]
EXPECTED = 300.0  # ms, 95th percentile
NOT_INSTALLED = 77  # exit code of scripts/with-postgresql
Times = Mapping[str, Mapping[str, Sequence[Sequence[float]]]]


@dataclass(frozen=True, slots=True)
class SearchSize:
    """Describes the size of a run. Every document has ten pages."""

    documents: int
    sqlite_documents: int
    queries: int  # of each kind, for each person


QUICK = SearchSize(documents=1_000, sqlite_documents=1_000, queries=20)
FULL = SearchSize(documents=100_000, sqlite_documents=5_000, queries=40)


def measure(folder: Path, documents: int, queries: int, *, on_postgresql: bool) -> Times | None:
    """Return the times of a run, or None if PostgreSQL is not installed."""
    folder.mkdir()
    own = {**os.environ, **environment(folder)}
    side = [sys.executable, "-m", "bench.sides.search", str(documents), str(queries)]
    command = side
    if on_postgresql:
        migrate = f"{sys.executable} manage.py migrate --verbosity 0 --skip-checks"
        command = ["scripts/with-postgresql", "sh", "-c", f"{migrate} && exec {' '.join(side)}"]
        own["POSTGRESQL_OPTIONS"] = "-c fsync=off -c shared_buffers=1GB -c max_wal_size=8GB"
    done = subprocess.run(
        command, cwd=ROOT, env=own, check=False, stdout=subprocess.PIPE, text=True
    )
    if done.returncode == NOT_INSTALLED:
        return None
    done.check_returncode()
    times: Times = json.loads(done.stdout)
    return times


def percentile(times: Sequence[float]) -> float:
    """Return the 95th percentile."""
    ordered = sorted(times)
    return ordered[min(len(ordered) - 1, int(0.95 * len(ordered)))]


def report(times: Times, where: str) -> Iterator[Row]:
    """Yield the 95th percentile of all queries of each person, and that of each kind."""
    for person in ("coordinator", "QA"):
        kinds = {what: each for what, each in times.items() if what.startswith(f"{person}: ")}
        ours = [time for each in kinds.values() for time in each["ours"]]
        scans = [time for each in kinds.values() for time in each["scan"]]
        yield _compare(f"{where}, {person}: all kinds", ours, scans, maximum=EXPECTED)
        for what, each in kinds.items():
            yield _compare(f"{where}, {what}", each["ours"], each["scan"])


def _compare(
    what: str, ours: Sequence[Sequence[float]], scans: Sequence[Sequence[float]], **more: Any
) -> Row:
    clock, processor = ([each[at] for each in ours] for at in (0, 1))
    figure, baseline = percentile(clock), percentile([each[0] for each in scans])
    note = (
        f"median {median(clock):.0f} ms; of the processor {percentile(processor):.0f} ms, "
        f"scan {percentile([each[1] for each in scans]):.0f}; {len(ours)} queries"
    )
    return Row(
        what=what,
        unit="ms",
        ours=figure,
        against="scan",
        baseline=baseline,
        ratios=[figure / baseline],
        of_ours=True,
        note=note,
        **more,
    )


def rows(options: argparse.Namespace) -> Iterator[Row]:
    """Yield the rows of the benchmark."""
    size = QUICK if options.quick else FULL
    documents = options.documents or size.documents
    with tempfile.TemporaryDirectory(prefix="siteledger-bench-") as name:
        for database, number in (
            ("PostgreSQL", documents),
            ("SQLite", min(documents, size.sqlite_documents)),
        ):
            where = f"{database}, {number * 10:,} pages"
            is_postgresql = database == "PostgreSQL"
            folder = Path(name) / database
            times = measure(folder, number, size.queries, on_postgresql=is_postgresql)
            if times is None:
                yield not_measured(where, "PostgreSQL is not installed")
            else:
                yield from report(times, where)


if __name__ == "__main__":
    parser = program(__doc__)
    parser.add_argument("--documents", type=int, help="another number, of ten pages each")
    run_benchmark(rows, parser)
