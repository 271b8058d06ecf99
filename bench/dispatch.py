"""The job layer beside the core called directly, on every database and broker there is here.

`python -m bench.dispatch [--quick] [--output FILE]` prints Markdown: what it measures and what it
found is in docs/benchmarks.md. PostgreSQL and Redis are left out where they are not installed.
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
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from statistics import median
from typing import Any

from bench import outcome, process
from bench.flow import environment
from bench.offer import UNLIMITED, Offer, write_mix, write_offer
from bench.report import machine

ONE_PAGE, MIXED, LARGE = "one-page, born digital", "the sample mix, with scans", "a large batch"
POSTGRESQL = "scripts/with-postgresql"


@dataclass(frozen=True, slots=True)
class Size:
    one_page: int  # documents in all
    mixes: int  # how often the sample mix is repeated in one run: its start and end count less
    rounds: int
    mixed_rounds: int
    large: int  # documents of the batch that an upload comes into


QUICK = Size(one_page=200, mixes=1, rounds=1, mixed_rounds=1, large=1000)
FULL = Size(one_page=1000, mixes=5, rounds=3, mixed_rounds=2, large=10_000)


@dataclass(frozen=True, slots=True)
class Side:
    """Where rows and rings are."""

    name: str
    prefix: Sequence[str] = ()
    redis: bool = False


def sides() -> list[Side]:
    found = [Side("ORM-SQLite")]
    if subprocess.run([POSTGRESQL, "true"], check=False).returncode == 0:
        found.append(Side("ORM-PostgreSQL", (POSTGRESQL,)))
    if shutil.which("redis-server"):
        found.append(Side("Redis, rows in SQLite", redis=True))
    return found


class Bench:
    """Owns a temporary folder, and a port that all offers name."""

    def __init__(self, folder: Path, size: Size) -> None:
        self._folder = folder
        self._numbers = count(1)
        self._port = process.free_port()
        url = f"http://127.0.0.1:{self._port}"
        free = [UNLIMITED] * 10
        self._offers = {
            ONE_PAGE: write_offer(
                folder / "one-page", url, limits=free, documents=size.one_page // 10
            ),
            MIXED: write_mix(folder / "mixed", url, times=size.mixes),
            LARGE: write_offer(folder / "large", url, limits=free, documents=size.large // 10),
        }

    def direct(self, documents: str) -> float:
        """Documents a second of the core alone."""
        offer, folder = self._offers[documents], self._new_folder()
        result = folder / "outcome.json"
        with process.portal(offer.directory, self._port, 0.0):
            process.run("bench.direct", str(offer.directory), str(result), **environment(folder))
        seen = outcome.read(result)
        return (offer.documents - seen.lost) / seen.seconds

    def layer(self, side: Side, scene: str, documents: str) -> Mapping[str, Any]:
        offer, folder = self._offers[documents], self._new_folder()
        changes = dict(environment(folder))
        if side.prefix:
            del changes["DATABASE_URL"]  # its own server's
        if scene == "latency":  # it serves the documents itself, to see when they are asked for
            return self._run(side, scene, offer, changes, folder)
        with process.portal(offer.directory, self._port, 0.0):
            return self._run(side, scene, offer, changes, folder)

    def _run(
        self, side: Side, scene: str, offer: Offer, changes: Mapping[str, str], folder: Path
    ) -> Mapping[str, Any]:
        command = [*side.prefix, sys.executable, "-m", "bench.layer", scene, str(offer.directory)]
        with _redis(folder) if side.redis else _nothing() as more:
            environ = {**os.environ, **changes, **more}
            done = subprocess.run(command, env=environ, check=True, stdout=subprocess.PIPE)
        answer: Mapping[str, Any] = json.loads(done.stdout)
        sys.stderr.write(f"{side.name}: {scene}: {documents_of(answer)}\n")
        return answer

    def _new_folder(self) -> Path:
        folder = self._folder / f"run-{next(self._numbers)}"
        folder.mkdir()
        return folder


def documents_of(answer: Mapping[str, Any]) -> str:
    return json.dumps(answer)[:150]


@contextmanager
def _nothing() -> Iterator[Mapping[str, str]]:
    yield {}


@contextmanager
def _redis(folder: Path) -> Iterator[Mapping[str, str]]:
    """A server of our own, that keeps nothing."""
    port = process.free_port()
    command = ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", ""]
    with subprocess.Popen([*command, "--dir", str(folder)], stdout=subprocess.DEVNULL) as server:
        time.sleep(1.0)
        try:
            yield {"REDIS_URL": f"redis://127.0.0.1:{port}/0"}
        finally:
            server.terminate()


def throughput(bench: Bench, size: Size, found: Sequence[Side]) -> Iterator[str]:
    """The core runs again right before each side: what the machine can do changes in minutes."""
    yield "| documents, documents/s |"
    yield "".join(f" core | {side.name} | of the core |" for side in found)
    yield f"\n|---|{'---|---|---|' * len(found)}\n"
    for documents, rounds in ((ONE_PAGE, size.rounds), (MIXED, size.mixed_rounds)):
        pairs: dict[str, list[tuple[float, float]]] = {side.name: [] for side in found}
        for _ in range(rounds):
            for side in found:
                alone = bench.direct(documents)
                layer = bench.layer(side, "throughput", documents)["rate"]
                pairs[side.name].append((alone, layer))
        yield f"| {documents} |"
        for side in found:
            core, layers = zip(*pairs[side.name], strict=True)
            ratio = median(layer / alone for alone, layer in pairs[side.name])
            yield f" {median(core):.1f} | {median(layers):.1f} | {ratio:.2f} |"
        yield "\n"


def waiting(bench: Bench, found: Sequence[Side]) -> Iterator[str]:
    yield "\n| | submission to first fetch, idle: median, 95th percentile | after a kill, next "
    yield "document after | four-document upload alone | in a large batch | ratio |\n"
    yield "|---|---|---|---|---|---|\n"
    for side in found:
        waits = bench.layer(side, "latency", ONE_PAGE)["waits"]
        recovered = bench.layer(side, "recovery", ONE_PAGE)["seconds"]
        fair = bench.layer(side, "fairness", LARGE)
        alone, beside = median(fair["alone"]), median(fair["beside"])
        p95 = waits[int(len(waits) * 0.95)]
        yield f"| {side.name} | {median(waits):.2f} s, {p95:.2f} s | {recovered:.1f} s | "
        yield f"{alone:.2f} s | {beside:.2f} s | {beside / alone:.1f} |\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small, one round")
    parser.add_argument("--output", type=Path, help="write the Markdown to this file as well")
    asked = parser.parse_args()
    size, found = QUICK if asked.quick else FULL, sides()
    with tempfile.TemporaryDirectory(prefix="siteledger-bench-") as folder:
        bench = Bench(Path(folder), size)
        text = f"Measured on {machine()}.\n\n"
        text += "".join(throughput(bench, size, found)) + "".join(waiting(bench, found))
    sys.stdout.write(text)
    if asked.output:
        asked.output.write_text(text)


if __name__ == "__main__":
    main()
