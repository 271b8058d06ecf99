"""Measures a long trail: created once, then verified, signed and exported in several rounds.

`python -m bench.sides.trail --entries N [--rounds N]` uses the database that the environment names,
and prints one JSON object: seconds per entry by operation.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from functools import cache
from io import StringIO
from itertools import pairwise
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import IO, Any, cast

import django
import psycopg
from django.core.management import call_command
from django.db import connection

from audit.ledger.actors import Actor
from bench.installation.process import run_counted
from bench.sides import writers

TRANSACTION_ENTRIES = 5_000  # entries in one transaction when the trail is created
COPIED = 256  # entries in one transaction when our append is compared with COPY
COPIES = 40  # such transactions in a round
SAMPLE = 100_000  # lines that are only hashed, which is the lower limit of a verification
VERIFIER = Path(__file__).parents[2] / "audit/export/verify_trail.py"
EMPTY = "import time; time.sleep(0.5)"  # an idle interpreter
Figures = dict[str, list[float]]  # by operation: one figure for each round


def timed(work: Callable[[], Any], entries: int, *, cpu: bool = False) -> float:
    """Return the seconds per entry, of the clock or of this process's processor time."""
    clock = time.process_time if cpu else time.monotonic
    begun = clock()
    work()
    return (clock() - begun) / entries


def length() -> int:
    """Return the number of entries in the ledger."""
    from audit.models import Entry

    return Entry.objects.count()


def time_hashing() -> float:
    """Return the seconds per entry for hashing alone."""
    from audit.ledger import chain

    lines = _sample()
    return timed(lambda: [chain.compute_digest(line) for line in lines], len(lines))


def time_tree() -> float:
    """Return the processor time per entry that a checkpoint adds after verification."""
    from audit.ledger.merkle_tree import Frontier, hash_leaf
    from audit.signing.checkpoints import ENTRIES_PER_STEP

    lines, tree = _sample(), Frontier()

    def grow() -> None:
        for at in range(0, len(lines), ENTRIES_PER_STEP):
            tree.extend(map(hash_leaf, lines[at : at + ENTRIES_PER_STEP]))

    return timed(grow, len(lines), cpu=True)


def time_scan_without_tree() -> float:
    """Return the seconds per entry for what the figure of the design covers.

    That is the verification of rows, links, columns, details and times, without the tree.
    """
    from audit.verification.scan import Scan, ScanStart, _chunks

    scan, last = Scan(ScanStart(), (), progress=lambda *_: None), min(length(), SAMPLE)

    def follow() -> None:
        for rows in _chunks(0, last):
            scan._check_rows(rows)  # noqa: SLF001 - the pass without its tree
            scan._walk.advance(rows[-1][0], rows[-1][2])  # noqa: SLF001

    return timed(follow, last)


def _sample() -> list[str]:
    from audit.models import Entry

    return list(Entry.objects.order_by("seq").values_list("body", flat=True)[:SAMPLE])


def verify(mode: str) -> None:
    """Verify as `verify_audit` does, and keep the result."""
    from audit.verification import runs
    from audit.verification.start import Mode

    verdict, _ = runs.run_check(Mode(mode), asked_by="system:bench")
    if not verdict.intact:
        raise SystemExit(f"the trail does not hold: {runs.list_findings(verdict)}")


def in_parts(*sizes: int) -> float:
    """Return the seconds in which several processes read the trail, each from one size to the next.

    All sizes but the first and the last are those of checkpoints.
    """
    command = [sys.executable, "-m", "bench.sides.part"]
    spans = pairwise(sizes)
    readers = [
        subprocess.Popen(
            [*command, str(after), str(upto)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        for after, upto in spans
    ]
    for reader in readers:
        cast(IO[bytes], reader.stdout).readline()  # wait until it is ready
    begun = time.monotonic()
    for reader in readers:
        cast(IO[bytes], reader.stdin).close()
    for reader in readers:
        cast(IO[bytes], reader.stdout).readline()  # wait until it has read
    seconds = time.monotonic() - begun
    ends = [reader.wait() for reader in readers]
    if any(ends):
        raise SystemExit("a part of the trail does not hold")
    return seconds


def compare_with_copy(figures: Figures) -> None:
    """Compare our append of recorded entries with the driver's COPY of prepared lines.

    Both write into the table with triggers, and include their commit (PostgreSQL).
    """
    ours, cpu, raw, raw_cpu = [], [], [], []
    with psycopg.connect(os.environ["DATABASE_URL"]) as driver:
        for _ in range(COPIES):
            wall, used = time_append()
            ours.append(wall)
            cpu.append(used)
            wall, used = time_copy(driver, make_linked_rows())
            raw.append(wall)
            raw_cpu.append(used)
    sides = {"append": ours, "append, CPU": cpu, "COPY": raw, "COPY, CPU": raw_cpu}
    for name, seconds in sides.items():
        figures.setdefault(name, []).append(median(seconds) / COPIED)


def time_append() -> tuple[float, float]:
    """Return the seconds after the last record() until the commit: clock and processor time."""
    from audit.ledger.log import ledger, record

    with ledger():
        for n in range(COPIED):
            subject = f"append:{os.getpid()}:{time.time_ns()}"
            record("document.filed", subject=subject, n=n, by=writers.ACTOR, **writers.FACTS)
        begun, used = time.monotonic(), time.process_time()
    return time.monotonic() - begun, time.process_time() - used


def make_linked_rows() -> list[tuple[Any, ...]]:
    """Return rows that extend the current chain."""
    from audit.ledger import chain
    from audit.ledger.tables import COLUMNS
    from audit.models import Entry

    last = Entry.objects.order_by("-seq")[0]
    fields, prev, rows = json.loads(last.body), last.hash, []
    for seq in range(last.seq + 1, last.seq + 1 + COPIED):
        fields |= {"seq": seq, "prev": prev, "event_id": chain.compute_digest(f"copy:{seq}")}
        body = chain.format_line(fields)
        prev = chain.compute_digest(body)
        rows.append((*(fields[name] for name in COLUMNS.values()), prev, body))
    return rows


def time_copy(driver: psycopg.Connection[Any], rows: list[tuple[Any, ...]]) -> tuple[float, float]:
    """Return the seconds: clock and processor time."""
    from audit.ledger.tables import COLUMNS

    begun, used = time.monotonic(), time.process_time()
    names = ", ".join([*COLUMNS, "hash", "body"])
    with driver.cursor() as cursor, cursor.copy(f"COPY audit_entry ({names}) FROM STDIN") as copy:
        for row in rows:
            copy.write_row(row)
    driver.commit()
    return time.monotonic() - begun, time.process_time() - used


def measure_checkpoint(figures: Figures) -> None:
    """Measure a trail that grew by a hundredth: signed, then verified from the last checkpoint."""
    from audit.signing.checkpoints import sign_all

    sign_all()
    verify("full")
    before = length()
    grow(before // 100)
    whole = length()
    cpu = timed(sign_all, whole - before, cpu=True)
    figures.setdefault("sign, CPU", []).append(cpu)
    figures.setdefault("tree, CPU", []).append(time_tree())
    rest = timed(lambda: verify("incremental"), whole)
    figures.setdefault("verify the rest", []).append(rest)


def measure_export(figures: Figures) -> None:
    """Export the whole trail, and verify it with the inspector's file."""
    from audit.export.package import make_package
    from audit.export.selection import Selection
    from audit.signing import keys

    with TemporaryDirectory() as folder:
        package = make_package(Path(folder) / "package", Selection(), by=Actor.software("bench"))
        command = [sys.executable, str(VERIFIER), str(package.target)]
        known = ["--vkey", str(keys.get_public_file()), "--known", package.manifest_sha256]
        used = run_counted([*command, *known], weighed=True)
    empty = run_counted([sys.executable, "-c", EMPTY], weighed=True)
    entries = package.entries
    for name, value in (
        ("export, wall", used.wall / entries),
        ("export, CPU", used.cpu / entries),
        ("export, MB", used.peak / 1e6),
        ("empty, MB", empty.peak / 1e6),
    ):
        figures.setdefault(name, []).append(value)


def grow(entries: int) -> None:
    """Append entries through our own interface."""
    commit = _commit()
    while entries > 0:
        commit(min(entries, TRANSACTION_ENTRIES))
        entries -= TRANSACTION_ENTRIES


@cache
def _commit() -> writers.Commit:
    return writers.ours()  # it numbers its events from 0 in each process


def measure(entries: int, rounds: int) -> Figures:
    """Create a trail of so many entries, and return the seconds per entry by operation."""
    from audit.signing.checkpoints import sign_all

    grow(entries // 2)
    call_command("audit_keys", "create", stdout=StringIO())  # to sign checkpoints
    half = length()
    grow(entries - half)
    sign_all()
    figures: Figures = {"hash": [], "verify": [], "followed": [], "one": [], "two": []}
    for _ in range(rounds):
        if connection.vendor == "postgresql":
            compare_with_copy(figures)
        figures["hash"].append(time_hashing())
        figures["verify"].append(timed(lambda: verify("full"), length()))
        figures["followed"].append(time_scan_without_tree())
        figures["one"].append(in_parts(0, length()))
        figures["two"].append(in_parts(0, half, length()))
        measure_checkpoint(figures)
        measure_export(figures)
    return figures


def main() -> None:
    """Measure the trail that the command line describes, and print the results as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--entries", type=int, required=True)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    django.setup()
    call_command("migrate", verbosity=0)
    sys.stdout.write(json.dumps(measure(arguments.entries, arguments.rounds)))


if __name__ == "__main__":
    main()
