"""Compares every page with a database as after ten years to the same page with a small one.

`python -m bench.page_times [--quick]`; `bench.sides.pages` fills the database, which is
SQLite, and requests the pages.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from bench.installation import process
from bench.installation.environment import environment
from bench.results.report import Row, compare, program, run_benchmark

SMALL = (4, 144)  # sites, and documents in all
EXPECTED = 300.0  # ms, 95th percentile of the slowest page
SLOWEST = 5  # named pages


@dataclass(frozen=True, slots=True)
class PageTimesSize:
    """Describes the size of a run."""

    sites: int
    documents: int
    rounds: int
    requests: int  # requests of each page in a round


QUICK = PageTimesSize(sites=60, documents=2_000, rounds=1, requests=5)
FULL = PageTimesSize(sites=500, documents=100_000, rounds=2, requests=8)


class FilledInstallation:
    """An installation that is filled when it is created."""

    def __init__(self, folder: Path, sites: int, documents: int) -> None:
        folder.mkdir()
        self._result = folder / "pages.json"
        # The host name that Django's test client uses.
        self._environment = {**environment(folder), "ALLOWED_HOSTS": "testserver"}
        command = [sys.executable, "manage.py", "collectstatic", "--no-input", "--verbosity", "0"]
        subprocess.run(command, env={**os.environ, **self._environment}, check=True)
        size = ["--sites", str(sites), "--documents", str(documents)]
        process.run("bench.sides.pages", "--fill", *size, **self._environment)

    def measure_pages(self, requests: int) -> Mapping[str, float]:
        """Return the 95th percentile of each page in milliseconds, of this many requests."""
        options = ["--rounds", str(requests), "--json", str(self._result)]
        sys.stderr.write(process.run("bench.sides.pages", *options, **self._environment))
        percentiles: Mapping[str, float] = json.loads(self._result.read_text())
        return percentiles


def rows(options: argparse.Namespace) -> Iterator[Row]:
    """Yield the rows of the benchmark."""
    size = QUICK if options.quick else FULL
    with tempfile.TemporaryDirectory(prefix="siteledger-bench-") as name:
        few = FilledInstallation(Path(name) / "few", *SMALL)
        many = FilledInstallation(Path(name) / "many", size.sites, size.documents)
        rounds = [
            (many.measure_pages(size.requests), few.measure_pages(size.requests))
            for _ in range(size.rounds)
        ]
    ours, theirs = zip(*rounds, strict=True)
    against, beyond = f"with {SMALL[1]} documents", f"with {size.documents:,} documents"
    middle = ([median(round_.values()) for round_ in side] for side in (ours, theirs))
    what = f"the middle of {len(ours[0])} pages {beyond}"
    note = "95th percentile of each"
    yield compare(what, "ms", next(middle), against, next(middle), note=note)
    slowest = sorted(ours[0], key=lambda page: median(each[page] for each in ours))
    for page in reversed(slowest[-SLOWEST:]):
        own, small = ([each[page] for each in side] for side in (ours, theirs))
        yield compare(f"`{page}`", "ms", own, against, small, maximum=EXPECTED, of_ours=True)


if __name__ == "__main__":
    run_benchmark(rows, program(__doc__))
