"""Compares the ledger with the bare driver, the hash function and itself, in turns in one run.

`python -m bench.ledger [--quick] [--entries N]`; docs/benchmarks describes what it measures.
PostgreSQL is left out if it is not installed.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from statistics import median
from typing import Any

import rfc8785

from audit.ledger import chain
from bench.dispatch import POSTGRESQL
from bench.installation import disk
from bench.installation.environment import environment
from bench.results.report import Row, compare, not_measured, program, run_benchmark
from bench.sides.append import LOCK_THROUGH_COMMIT, OURS, OWN_WAIT, PLAIN_SIDE, RAW_SIDE

OBJECTS = 20_000  # of the profile, for both canonicalisers
NO_COMPILER = "there is no `cc`, which compiles the shim that slows the disk"
Results = Mapping[str, Sequence[Any]]  # by side or operation: one result for each round


@dataclass(frozen=True, slots=True)
class LedgerSize:
    """Describes the size of a run."""

    entries: int
    rounds: int
    seconds: float  # of one run of writers


QUICK = LedgerSize(entries=20_000, rounds=1, seconds=1.0)
FULL = LedgerSize(entries=1_000_000, rounds=3, seconds=2.0)


class LedgerBench:
    """Has a temporary folder with one folder for each run, which has its own database.

    `shim` delays the flushes of each run.
    """

    def __init__(self, folder: Path, size: LedgerSize, shim: Path | None = None) -> None:
        folder.chmod(0o711)  # the user of PostgreSQL has to read the shim in it
        self._folder = folder
        self._shim = shim
        self._numbers = count(1)
        self.size = size

    def slowed(self, milliseconds: int) -> "LedgerBench | None":
        """Measure the same on a simulated slower disk, if there is a compiler."""
        if not (shim := disk.slowed(self._folder, milliseconds)):
            return None
        (folder := self._folder / f"slow-{milliseconds}").mkdir()
        return LedgerBench(folder, self.size, shim)

    def on_sqlite(self, *command: str) -> Results:
        """Run a side on a new SQLite database, and return its results."""
        return self._run([], dict(self._environment()), command)

    def on_postgresql(self, *command: str) -> Results:
        """Run a side on a new PostgreSQL server that flushes commits, and return its results."""
        changes = dict(self._environment()) | {"POSTGRESQL_OPTIONS": "-c fsync=on"}
        del changes["DATABASE_URL"]  # the prefix sets that of its own server
        return self._run([POSTGRESQL], changes, command)

    def _environment(self) -> Mapping[str, str]:
        folder = self._folder / f"run-{next(self._numbers)}"
        folder.mkdir()
        return environment(folder)

    def _run(
        self, prefix: Sequence[str], changes: Mapping[str, str], command: Sequence[str]
    ) -> Results:
        arguments = [*prefix, sys.executable, "-m", *command, "--rounds", str(self.size.rounds)]
        environ = {**os.environ, **changes}
        if self._shim:
            environ["LD_PRELOAD"] = str(self._shim)
        process = subprocess.run(arguments, env=environ, check=True, stdout=subprocess.PIPE)
        results: Results = json.loads(process.stdout)
        return results

    def append(self, run: Callable[..., Results], scene: str) -> Results:
        """Run a scene of writers on one database, and return its results."""
        return run("bench.sides.append", scene, "--seconds", str(self.size.seconds))

    def trail(self, run: Callable[..., Results]) -> Results:
        """Measure a trail of the run's size on one database, and return the results."""
        return run("bench.sides.trail", "--entries", str(self.size.entries))


def rates(results: Results, side: str) -> list[float]:
    """Return the entries per second of each round."""
    return [each["rate"] for each in results[side]]


def per_entry(results: Results, name: str) -> list[float]:
    """Return the microseconds per entry of each round."""
    return [1e6 * each for each in results[name]]


def compare_with_driver(what: str, results: Results, minimum: float | None = None) -> Row:
    """Compare our rate with that of the driver, and state the share of Django."""
    ours, unchained = median(rates(results, OURS)), median(rates(results, PLAIN_SIDE))
    note = f"of Django without a chain {ours / unchained:.2f}"
    own, driver = rates(results, OURS), rates(results, RAW_SIDE)
    return compare(what, "entries/s", own, RAW_SIDE, driver, minimum=minimum, note=note)


def compare_with_held_lock(what: str, results: Results, minimum: float) -> Row:
    """Compare our rate with that of writers that hold the lock until the commit is durable."""
    own, held = rates(results, OURS), rates(results, LOCK_THROUGH_COMMIT)
    return compare(what, "entries/s", own, "a lock held through commit", held, minimum=minimum)


def writing_on_postgresql(bench: LedgerBench) -> Iterator[Row]:
    """Yield the rows about writing on PostgreSQL."""
    alone = "PostgreSQL, a writer, 16 entries{}"
    together = "PostgreSQL, 8 writers, 1 entry{}"
    yield compare_with_driver(alone.format(""), bench.append(bench.on_postgresql, "alone"), 0.7)
    fast = bench.append(bench.on_postgresql, "together")
    yield compare_with_driver(together.format(""), fast)
    yield compare_with_held_lock(together.format(""), fast, 1.0)
    if not (slow := bench.slowed(1)):
        yield not_measured(together.format(", 1 ms"), NO_COMPILER)
        return
    yield compare_with_driver(alone.format(", 1 ms"), slow.append(slow.on_postgresql, "alone"), 0.7)
    results = slow.append(slow.on_postgresql, "together")
    yield compare_with_driver(together.format(", 1 ms"), results, 0.5)
    yield compare_with_held_lock(together.format(", 1 ms"), results, 3.0)


def writing_on_sqlite(bench: LedgerBench) -> Iterator[Row]:
    """Yield the rows about writing on SQLite."""
    alone = "SQLite, a writer, 16 entries{}"
    yield compare_with_driver(alone.format(""), bench.append(bench.on_sqlite, "alone"), 0.9)
    if slow := bench.slowed(4):
        yield compare_with_driver(alone.format(", 4 ms"), slow.append(slow.on_sqlite, "alone"), 0.9)
    else:
        yield not_measured(alone.format(", 4 ms"), NO_COMPILER)
    results = bench.append(bench.on_sqlite, "together on SQLite")
    for what, name, unit, bound in (
        ("SQLite, 8 writers: longest wait", "longest", "s", {"maximum": 0.2}),
        ("SQLite, 8 writers: slowest writer, of the fastest", "fairness", "", {"minimum": 0.6}),
    ):
        ours, theirs = ([each[name] for each in results[side]] for side in (OURS, OWN_WAIT))
        yield compare(what, unit, ours, "SQLite's own wait", theirs, of_ours=True, **bound)


def canonical(bench: LedgerBench) -> Iterator[Row]:
    """Compare canonicalisers that write the same lines."""
    names = sorted(chain.FIELDS)
    lines: list[dict[str, str | int]] = []
    for number in range(OBJECTS):
        rng = random.Random(number)
        fields = {name: rng.randbytes(12).hex() for name in names}
        lines.append({**fields, "v": 1, "seq": rng.randrange(2**53)})
    theirs, written, validated = list[float](), list[float](), list[float]()
    for _ in range(bench.size.rounds):
        theirs.append(OBJECTS / _seconds(lines, rfc8785.dumps))
        written.append(OBJECTS / _seconds(lines, chain.write_canonical))
        validated.append(OBJECTS / _seconds(lines, chain.format_canonical))
    same = sum(
        chain.write_canonical(line) == chain.format_canonical(line) == rfc8785.dumps(line).decode()
        for line in lines
    )
    of_all: dict[str, Any] = {"against": "rfc8785", "baseline": OBJECTS, "minimum": OBJECTS}
    yield Row(what="lines that are byte for byte the same", ours=same, **of_all)
    what = "canonical lines, already validated"
    yield compare(what, "lines/s", written, "rfc8785", theirs, minimum=40)
    what = "the same, with validation"
    yield compare(what, "lines/s", validated, "rfc8785", theirs, minimum=40)


def _seconds(lines: Sequence[dict[str, str | int]], write: Callable[[Any], Any]) -> float:
    """Return the processor seconds for all lines. The lines are not kept in memory."""
    begun = time.process_time()
    for line in lines:
        write(line)
    return time.process_time() - begun


def reading(
    bench: LedgerBench, run: Callable[..., Results], name: str, maximum: float
) -> Iterator[Row]:
    """Measure reading a long trail after it was created."""
    results = bench.trail(run)
    if "append" in results:
        ours, copied = ([1 / each for each in results[side]] for side in ("append", "COPY"))
        yield compare("append of 256", "entries/s", ours, "COPY", copied, minimum=0.8)
        ours, copied = (per_entry(results, f"{side}, CPU") for side in ("append", "COPY"))
        what = "the same, processor"
        yield compare(what, "us an entry", ours, "COPY", copied, maximum=15, of_ours=True)
    hashing = ("hashing alone", per_entry(results, "hash"))
    for what, side, bound in (
        (f"{name}: full verification", "verify", maximum),
        (f"{name}: the same without the tree, as in the design", "followed", maximum),
        (f"{name}: the export's own verifier", "export, wall", 12.0),
    ):
        yield compare(what, "us an entry", per_entry(results, side), *hashing, maximum=bound)
    for what, side, expected in (
        (f"{name}: the export's own verifier, processor", "export, CPU", 7.0),
        (f"{name}: a checkpoint's tree, processor", "tree, CPU", 2.0),
        (f"{name}: a checkpoint read, verified and signed, processor", "sign, CPU", 2.0),
    ):
        ours = per_entry(results, side)
        yield compare(what, "us an entry", ours, *hashing, maximum=expected, of_ours=True)
    what, empty = f"{name}: the export's own verifier, memory", results["empty, MB"]
    used = results["export, MB"]
    yield compare(what, "MB", used, "an idle interpreter", empty, maximum=40, of_ours=True)
    one, two = ([1 / each for each in results[readers]] for readers in ("one", "two"))
    yield compare(f"{name}: two processes verify", "passes/s", two, "one", one, minimum=1.3)
    rest, whole = per_entry(results, "verify the rest"), per_entry(results, "verify")
    what = f"{name}: 1 % more entries are verified"
    yield compare(what, "us an entry", rest, "all", whole, maximum=0.03)


def measure(bench: LedgerBench) -> Iterator[Row]:
    """Yield all rows, without those of PostgreSQL if it is not installed."""
    yield from canonical(bench)
    yield from writing_on_sqlite(bench)
    yield from reading(bench, bench.on_sqlite, "SQLite", 9.0)
    if subprocess.run([POSTGRESQL, "true"], check=False).returncode:
        yield not_measured("PostgreSQL", "it is not installed")
        return
    yield from writing_on_postgresql(bench)
    yield from reading(bench, bench.on_postgresql, "PostgreSQL", 13.0)


def rows(options: argparse.Namespace) -> Iterator[Row]:
    """Yield the rows of the benchmark."""
    size = QUICK if options.quick else FULL
    if options.entries:
        size = replace(size, entries=options.entries)
    with tempfile.TemporaryDirectory(prefix="siteledger-bench-") as folder:
        yield from measure(LedgerBench(Path(folder), size))


if __name__ == "__main__":
    parser = program(__doc__)
    parser.add_argument("--entries", type=int, help="of the long trail")
    run_benchmark(rows, parser)
