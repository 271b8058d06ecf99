"""The ledger beside the bare driver, the hash function and itself, in turn and in one run.

`python -m bench.ledger [--quick] [--entries N] [--output FILE]` prints Markdown: what it measures
and what it found is in docs/benchmarks.md. PostgreSQL is left out where it is not installed.
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

from audit import chain
from bench import disk
from bench.append import LATE, OURS, OWN_WAIT, PLAIN_SIDE, RAW_SIDE
from bench.dispatch import POSTGRESQL
from bench.figures import HEAD, Row, at_least, at_most, not_measured
from bench.flow import environment
from bench.report import machine

OBJECTS = 20_000  # of the profile, that are written by both canonicalisers
NO_COMPILER = "there is no `cc`, and what slows the disk is compiled"
Found = Mapping[str, Sequence[Any]]


@dataclass(frozen=True, slots=True)
class Size:
    entries: int
    rounds: int
    seconds: float  # of one run of writers


QUICK = Size(entries=50_000, rounds=1, seconds=2.0)
FULL = Size(entries=1_000_000, rounds=3, seconds=5.0)


class Bench:
    """Owns a temporary folder, and in it one for each run; each has a database of its own.

    `shim`: what each run's flushes are slowed by.
    """

    def __init__(self, folder: Path, size: Size, shim: Path | None = None) -> None:
        folder.chmod(0o711)  # PostgreSQL's own user looks for the shim in it
        self._folder = folder
        self._shim = shim
        self._numbers = count(1)
        self.size = size

    def slowed(self, milliseconds: int) -> "Bench | None":
        """The same on a disk that takes so long for a flush, where there is a compiler for it."""
        if not (shim := disk.slowed(self._folder, milliseconds)):
            return None
        (folder := self._folder / f"slow-{milliseconds}").mkdir()
        return Bench(folder, self.size, shim)

    def on_sqlite(self, *command: str) -> Found:
        return self._run([], dict(self._environment()), command)

    def on_postgresql(self, *command: str) -> Found:
        changes = dict(self._environment()) | {"POSTGRESQL_OPTIONS": "-c fsync=on"}
        del changes["DATABASE_URL"]  # its own server's
        return self._run([POSTGRESQL], changes, command)

    def _environment(self) -> Mapping[str, str]:
        folder = self._folder / f"run-{next(self._numbers)}"
        folder.mkdir()
        return environment(folder)

    def _run(
        self, before: Sequence[str], changes: Mapping[str, str], command: Sequence[str]
    ) -> Found:
        arguments = [*before, sys.executable, "-m", *command, "--rounds", str(self.size.rounds)]
        environ = {**os.environ, **changes}
        if self._shim:
            environ["LD_PRELOAD"] = str(self._shim)
        done = subprocess.run(arguments, env=environ, check=True, stdout=subprocess.PIPE)
        found: Found = json.loads(done.stdout)
        return found

    def append(self, run: Callable[..., Found], scene: str) -> Found:
        return run("bench.append", scene, "--seconds", str(self.size.seconds))

    def trail(self, run: Callable[..., Found]) -> Found:
        return run("bench.trail", "--entries", str(self.size.entries))


def rates(found: Found, side: str, other: str) -> list[float]:
    """Entries a second, of another side's, in each round."""
    pairs = zip(found[side], found[other], strict=True)
    return [one["rate"] / two["rate"] for one, two in pairs]


def ratios(found: Found, name: str, other: str) -> list[float]:
    return [one / two for one, two in zip(found[name], found[other], strict=True)]


def unexpected(row: Row) -> Row:
    """Measured for comparison."""
    return replace(row, expected="", met=None)


def shares(what: str, bound: float, found: Found) -> Row:
    """Ours beside the driver, and aside what of it is Django's."""
    beside = f"; of Django without a chain {median(rates(found, OURS, PLAIN_SIDE)):.2f}"
    speed = {side: median(each["rate"] for each in found[side]) for side in (OURS, RAW_SIDE)}
    aside = f"{beside} ({speed[OURS]:.0f} entries/s of {speed[RAW_SIDE]:.0f})"
    return at_least(what, bound, rates(found, OURS, RAW_SIDE), aside)


def writing_on_postgresql(bench: Bench) -> Iterator[Row]:
    alone = "PostgreSQL, a writer, 16 entries{}: of the bare driver"
    together = "PostgreSQL, 8 writers, 1 entry{}: of the bare driver"
    late = "the same, of a lock held through commit"
    yield shares(alone.format(""), 0.7, bench.append(bench.on_postgresql, "alone"))
    fast = bench.append(bench.on_postgresql, "together")
    yield unexpected(shares(together.format(""), 0.0, fast))
    yield at_least(late, 1.0, rates(fast, OURS, LATE))
    if not (slow := bench.slowed(1)):
        yield not_measured(together.format(", 1 ms"), NO_COMPILER)
        return
    yield unexpected(shares(alone.format(", 1 ms"), 0.0, slow.append(slow.on_postgresql, "alone")))
    found = slow.append(slow.on_postgresql, "together")
    yield shares(together.format(", 1 ms"), 0.5, found)
    yield at_least(late, 3.0, rates(found, OURS, LATE))


def writing_on_sqlite(bench: Bench) -> Iterator[Row]:
    alone = "SQLite, a writer, 16 entries{}: of the bare driver"
    yield unexpected(shares(alone.format(""), 0.0, bench.append(bench.on_sqlite, "alone")))
    if slow := bench.slowed(4):
        found = slow.append(slow.on_sqlite, "alone")
        yield shares(alone.format(", 4 ms"), 0.9, found)
    else:
        yield not_measured(alone.format(", 4 ms"), NO_COMPILER)
    found = bench.append(bench.on_sqlite, "together on SQLite")
    for side in (OURS, OWN_WAIT):
        wait = [each["longest"] for each in found[side]]
        fair = [each["fairness"] for each in found[side]]
        waits = at_most(f"SQLite, 8 writers, {side}: longest wait, s", 0.2, wait)
        shared = at_least("the same, slowest of fastest", 0.6, fair)
        yield from (waits, shared) if side == OURS else map(unexpected, (waits, shared))


def canonical(bench: Bench) -> Iterator[Row]:
    """All write the same lines."""
    lines = [_line(random.Random(number)) for number in range(OBJECTS)]
    again, checked = list[float](), list[float]()
    for _ in range(bench.size.rounds):
        theirs = _seconds(lines, rfc8785.dumps)
        again.append(theirs / _seconds(lines, chain.rewritten))
        checked.append(theirs / _seconds(lines, chain.canonical))
    same = sum(
        chain.rewritten(line) == chain.canonical(line) == rfc8785.dumps(line).decode()
        for line in lines
    )
    what = "lines that are byte for byte rfc8785's"
    yield Row(what, f"all {OBJECTS}", str(same), same == OBJECTS)
    yield at_least("canonical lines, checked before: speed, of rfc8785", 40.0, again)
    yield unexpected(at_least("the same, refusing what lies outside the profile", 0.0, checked))


def _line(rng: random.Random) -> dict[str, str | int]:
    """In the order in which `record()` has its fields."""
    fields: dict[str, str | int] = {name: rng.randbytes(12).hex() for name in sorted(chain.FIELDS)}
    return fields | {"v": 1, "seq": rng.randrange(2**53)}


def _seconds(lines: Sequence[dict[str, str | int]], write: Callable[[Any], Any]) -> float:
    """Of the processor, for all of them. Not kept: to find memory for them takes as long again."""
    begun = time.process_time()
    for line in lines:
        write(line)
    return time.process_time() - begun


def reading(bench: Bench, run: Callable[..., Found], name: str, bound: float) -> Iterator[Row]:
    """A long trail, once it is there."""
    found = bench.trail(run)
    if "append" in found:
        yield at_least("append of 256: speed, of COPY", 0.8, ratios(found, "COPY", "append"))
        cpu = [1e6 * each for each in found["append, CPU"]]
        yield at_most("append of 256: CPU us an entry", 15.0, cpu)
    limit = ratios(found, "verify", "hash")
    aside = f" ({1 / median(found['verify']):.0f} entries/s)"
    yield at_most(f"{name}: full verification, of hashing alone", bound, limit, aside)
    without = ratios(found, "followed", "hash")
    yield at_most("the same without the tree, as the design measured", bound, without)
    yield at_least(f"{name}: two processes, of one", 1.3, ratios(found, "one", "two"))
    yield from _exported(found, name)
    yield from _grown(found, name)


def _exported(found: Found, name: str) -> Iterator[Row]:
    of_limit, cpu = ratios(found, "export, wall", "hash"), found["export, CPU"]
    yield at_most(f"{name}: the export's own verifier, of hashing alone", 12.0, of_limit)
    yield at_most("the same, CPU us an entry", 7.0, [1e6 * each for each in cpu])
    yield at_most("the same, memory, MB", 40.0, found["export, MB"])


def _grown(found: Found, name: str) -> Iterator[Row]:
    rest = ratios(found, "verify the rest", "verify")
    yield at_most(f"{name}: a hundredth more is verified, of all", 0.03, rest)
    tree = [1e6 * each for each in found["tree, CPU"]]
    yield at_most(f"{name}: a checkpoint's tree, CPU us a new entry", 2.0, tree)
    cpu = [1e6 * each for each in found["sign, CPU"]]
    yield unexpected(at_most("the same, read, followed and signed", 0.0, cpu))


def rows(bench: Bench) -> Iterator[Row]:
    yield from canonical(bench)
    yield from writing_on_sqlite(bench)
    yield from reading(bench, bench.on_sqlite, "SQLite", 9.0)
    if subprocess.run([POSTGRESQL, "true"], check=False).returncode:
        yield not_measured("PostgreSQL", "it is not installed")
        return
    yield from writing_on_postgresql(bench)
    yield from reading(bench, bench.on_postgresql, "PostgreSQL", 13.0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small, one round: four minutes")
    parser.add_argument("--entries", type=int, help="of the long trail; a million by default")
    parser.add_argument("--output", type=Path, help="write the Markdown to this file as well")
    asked = parser.parse_args()
    size = QUICK if asked.quick else FULL
    if asked.entries:
        size = replace(size, entries=asked.entries)
    with tempfile.TemporaryDirectory(prefix="siteledger-bench-") as folder:
        found = "".join(map(str, rows(Bench(Path(folder), size))))
    load = os.getloadavg()[1]
    text = f"{machine()}; {size.entries:,} entries; load {load:.1f}.\n\n{HEAD}{found}"
    sys.stdout.write(text)
    if asked.output:
        asked.output.write_text(text)


if __name__ == "__main__":
    main()
