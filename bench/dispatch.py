"""Compares the job layer with the core called directly, on each database and broker.

`python -m bench.dispatch [--quick]`; docs/benchmarks describes what it measures. PostgreSQL and
Redis are left out if they are not installed.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from bench.documents.served import UNLIMITED, ServedDocuments, write_mix, write_offer
from bench.installation import process
from bench.installation.environment import environment
from bench.results import outcome
from bench.results.report import Row, compare, program, run_benchmark

POSTGRESQL = "scripts/with-postgresql"


@dataclass(frozen=True, slots=True)
class DispatchSize:
    """Describes the size of a run."""

    one_page: int  # documents in all
    mixes: int  # repetitions of the sample mix in one run, so that its start and end matter less
    rounds: int
    mixed_rounds: int
    large: int  # documents of the batch during which an upload is sent


QUICK = DispatchSize(one_page=200, mixes=1, rounds=1, mixed_rounds=1, large=2_000)
FULL = DispatchSize(one_page=500, mixes=1, rounds=3, mixed_rounds=3, large=10_000)


@dataclass(frozen=True, slots=True)
class DispatchSide:
    """Names where rows and wakeups are stored."""

    name: str
    prefix: Sequence[str] = ()
    redis: bool = False


def available_sides() -> list[DispatchSide]:
    """Return SQLite, and PostgreSQL and Redis if they are installed."""
    sides = [DispatchSide("ORM-SQLite")]
    if subprocess.run([POSTGRESQL, "true"], check=False).returncode == 0:
        sides.append(DispatchSide("ORM-PostgreSQL", (POSTGRESQL,)))
    if shutil.which("redis-server"):
        sides.append(DispatchSide("Redis, rows in SQLite", redis=True))
    return sides


class DispatchBench:
    """Has a temporary folder, and a port that all offers name."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._numbers = count(1)
        self._port = process.free_port()
        self.url = f"http://127.0.0.1:{self._port}"

    def offer(self, *, sites: int, documents: int) -> ServedDocuments:
        """Write one-page documents from portals without limits. `documents` is the total number."""
        limits = [UNLIMITED] * sites
        return write_offer(self.new_folder(), self.url, limits=limits, documents=documents // sites)

    def direct(self, offer: ServedDocuments) -> float:
        """Return the documents per second of the core alone."""
        folder = self.new_folder()
        result = folder / "outcome.json"
        with process.portal(offer.directory, self._port, 0.0):
            process.run(
                "bench.sides.direct", str(offer.directory), str(result), **environment(folder)
            )
        run = outcome.read(result)
        return (offer.documents - run.lost) / run.seconds

    def layer(
        self,
        side: DispatchSide,
        scene: str,
        offer: ServedDocuments,
        *,
        rounds: int = 1,
        more: Mapping[str, str] | None = None,
    ) -> Mapping[str, Any]:
        """Return the result of a scene of `bench.sides.layer`. `more` are settings."""
        folder = self.new_folder()
        changes = {**environment(folder), **(more or {})}
        if side.prefix:
            del changes["DATABASE_URL"]  # the prefix sets that of its own server
        if scene == "latency":  # it serves the documents itself, to record the times of requests
            return self._run(side, changes, scene, offer, rounds)
        with process.portal(offer.directory, self._port, 0.0):
            return self._run(side, changes, scene, offer, rounds)

    def _run(
        self,
        side: DispatchSide,
        changes: Mapping[str, str],
        scene: str,
        offer: ServedDocuments,
        rounds: int,
    ) -> Mapping[str, Any]:
        command = [*side.prefix, sys.executable, "-m", "bench.sides.layer"]
        command += [scene, str(offer.directory), "--rounds", str(rounds)]
        broker: AbstractContextManager[dict[str, str]] = nullcontext({})
        if side.redis:
            broker = run_redis(Path(changes["DATA_DIR"]))
        with broker as more:
            environ = {**os.environ, **changes, **more}
            process = subprocess.run(command, env=environ, check=True, stdout=subprocess.PIPE)
        result: Mapping[str, Any] = json.loads(process.stdout)
        sys.stderr.write(f"{side.name}: {scene}: {json.dumps(result)[:150]}\n")
        return result

    def new_folder(self) -> Path:
        """Make a folder for one run, and return its path."""
        folder = self._folder / f"run-{next(self._numbers)}"
        folder.mkdir()
        return folder


@contextmanager
def run_redis(folder: Path) -> Iterator[dict[str, str]]:
    """Run a Redis server without persistence, and yield the settings that use it."""
    port = process.free_port()
    command = ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", ""]
    with subprocess.Popen([*command, "--dir", str(folder)], stdout=subprocess.DEVNULL) as server:
        time.sleep(1.0)
        try:
            yield {"REDIS_URL": f"redis://127.0.0.1:{port}/0"}
        finally:
            server.terminate()


def throughput(
    bench: DispatchBench, size: DispatchSize, sides: Sequence[DispatchSide]
) -> Iterator[Row]:
    """Compare throughput. The core runs again before each side, because the machine's speed varies.

    Redis is left out: it carries only wakeups, of which a batch needs few. Its benefit is a shorter
    wait.
    """
    sides = [side for side in sides if not side.redis]
    one_page = bench.offer(sites=10, documents=size.one_page)
    mixed = write_mix(bench.new_folder(), bench.url, times=size.mixes)
    for documents, offer, rounds, minimum in (
        ("one-page, born digital", one_page, size.rounds, 0.6),
        ("the sample mix, with scans", mixed, size.mixed_rounds, 0.95),
    ):
        rates: dict[str, list[tuple[float, float]]] = {side.name: [] for side in sides}
        for _ in range(rounds):
            for side in sides:
                alone = bench.direct(offer)
                rates[side.name].append((bench.layer(side, "throughput", offer)["rate"], alone))
        for name, pairs in rates.items():
            ours, core = zip(*pairs, strict=True)
            what = f"{documents}: {name}"
            yield compare(what, "documents/s", ours, "the core alone", core, minimum=minimum)


def waiting(bench: DispatchBench, size: DispatchSize, side: DispatchSide) -> Iterator[Row]:
    """Measure how long people, portals and the work of a killed worker wait."""
    one_page = bench.offer(sites=10, documents=size.one_page)
    idle = bench.layer(side, "latency", one_page, rounds=size.rounds)
    waits, bare = (_medians(idle[name], size.rounds) for name in ("waits", "bare"))
    what = f"{side.name}: from submission to the first fetch, idle"
    task = "a bare task of django-q2"
    yield compare(what, "s", waits, task, bare)
    slowest, slowest_bare = ([quantiles(idle[name], n=20)[-1]] for name in ("waits", "bare"))
    what = f"{what}: 95th percentile"
    yield compare(what, "s", slowest, task, slowest_bare, maximum=1, of_ours=True)
    if side.redis:
        return
    yield from _begin(bench, one_page, size, side, idle["begun"])
    large = bench.offer(sites=10, documents=size.large)
    recovery = bench.layer(side, "recovery", large, rounds=size.rounds)
    what = f"{side.name}: from a killed worker to the next document"
    new_host = "a new host, to its first document"
    yield compare(what, "s", recovery["killed"], new_host, recovery["started"])
    fairness = bench.layer(side, "fairness", large, rounds=size.rounds)
    what = f"{side.name}: an upload of four in a batch of {size.large:,}"
    during, alone = (_medians(fairness[name], size.rounds) for name in ("beside", "alone"))
    yield compare(what, "s", during, "alone", alone, maximum=3)


def _begin(
    bench: DispatchBench,
    offer: ServedDocuments,
    size: DispatchSize,
    side: DispatchSide,
    notified: Sequence[float],
) -> Iterator[Row]:
    """Compare how soon one document is begun with workers that are not notified and only poll."""
    polling = {"WAKEUP_NOTIFICATIONS": "False"}
    polled = bench.layer(side, "latency", offer, rounds=size.rounds, more=polling)["begun"]
    what = f"{side.name}: from the confirmed submission of one document to its lease, idle"
    ours, theirs = (_medians(figures, size.rounds) for figures in (notified, polled))
    yield compare(what, "s", ours, "workers that only poll", theirs, maximum=0.05, of_ours=True)


def _medians(figures: Sequence[float], rounds: int) -> list[float]:
    """Return the median of each round."""
    each = len(figures) // rounds
    return [median(figures[at : at + each]) for at in range(0, rounds * each, each)]


def rows(options: argparse.Namespace) -> Iterator[Row]:
    """Yield the rows of the benchmark."""
    size, sides = QUICK if options.quick else FULL, available_sides()
    with tempfile.TemporaryDirectory(prefix="siteledger-bench-") as folder:
        bench = DispatchBench(Path(folder))
        yield from throughput(bench, size, sides)
        for side in sides:
            yield from waiting(bench, size, side)


if __name__ == "__main__":
    run_benchmark(rows, program(__doc__))
