"""Appends to one table with several processes at the same time: ours, and the bare driver.

`python -m bench.sides.writers SIDE --batch ENTRIES --seconds SECONDS` starts when it receives a
line, on the database that the environment names, and prints its result as one JSON object.
"""

import argparse
import hashlib
import json
import os
import sqlite3
import sys
import time
from collections.abc import Callable, Sequence
from itertools import count, islice
from typing import Any

import django
import psycopg
from django.conf import settings
from django.db import connection, transaction

from audit.ledger.actors import Actor

RAW = "bench_raw"  # a table like that of the ledger, without triggers
COLUMNS = (
    "seq", "prev", "hash", "event_id", "recorded_at", "event", "subject", "site", "doc_id",
    "from_state", "to_state", "code", "correlation_id", "actor", "body",
)  # fmt: skip
EVENT: dict[str, Any] = {
    "site": "1001",
    "doc_id": "cv-0007",
    "sha256": "5e" * 32,
    "from_state": "VALIDATING",
    "to_state": "ARCHIVED",
    "correlation_id": "0b7a1c9e-3a55-4b0e-9c1d-5f6a2b8e4d10",
    "actor": "system:worker",
    "rules": "7",
}
ACTOR = Actor(EVENT["actor"])
FACTS = {name: value for name, value in EVENT.items() if name != "actor"}
Commit = Callable[[int], None]  # commits this many entries in one transaction


def ours() -> Commit:
    """Append through our own interface, with all costs of a worker."""
    from audit.ledger.log import ledger, record

    subject, numbers = f"bench:{os.getpid()}", count()

    def commit(batch: int) -> None:
        with ledger():
            for n in islice(numbers, batch):
                record("document.filed", subject=subject, n=n, by=ACTOR, **FACTS)

    return commit


def plain() -> Commit:
    """Do what `raw` does through Django. The difference to ours is the cost of the chain."""
    statement = _insertion("%s")

    def commit(batch: int) -> None:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.executemany(statement, next_rows(batch))

    return commit


def raw() -> Commit:
    """Insert prepared rows of the same length into a table with the same columns and indexes."""
    if settings.DATABASES["default"]["ENGINE"].endswith("postgresql"):
        return _raw_on_postgresql()
    return _raw_on_sqlite(settings.DATABASES["default"])


def _raw_on_postgresql() -> Commit:
    driver = psycopg.connect(os.environ["DATABASE_URL"])
    statement = _insertion("%s")

    def commit(batch: int) -> None:
        with driver.cursor() as cursor:
            cursor.executemany(statement, next_rows(batch))
        driver.commit()

    return commit


def _raw_on_sqlite(database: dict[str, Any]) -> Commit:
    driver = sqlite3.connect(database["NAME"], timeout=30, isolation_level=None)
    driver.executescript(database["OPTIONS"]["init_command"])
    statement = _insertion("?")

    def commit(batch: int) -> None:
        driver.execute("BEGIN IMMEDIATE")
        driver.executemany(statement, next_rows(batch))
        driver.execute("COMMIT")

    return commit


def _insertion(mark: str) -> str:
    marks = ", ".join([mark] * len(COLUMNS))
    return f"INSERT INTO {RAW} ({', '.join(COLUMNS)}) VALUES ({marks})"  # noqa: S608 - constants


_numbers = count(os.getpid() * 10**9)
_BODY = json.dumps(EVENT).ljust(620, "-")  # of the same length as ours


def next_rows(batch: int) -> Sequence[tuple[Any, ...]]:
    """Return so many rows like those of the ledger, with new numbers."""
    facts = [EVENT[name] for name in ("site", "doc_id", "from_state", "to_state")]
    after = ("", EVENT["correlation_id"], EVENT["actor"], _BODY)
    rows = []
    for number in islice(_numbers, batch):
        # Random like those of the ledger. Ascending keys would cost half, at the end of an index.
        unique = hashlib.sha256(b"%d" % number).hexdigest()
        before = (number, unique, unique, unique, "2026-11-22 06:00:00.000000+00:00")
        rows.append((*before, "document.filed", f"bench:{number}", *facts, *after))
    return rows


def work(commit: Commit, batch: int, seconds: float) -> dict[str, float]:
    """Commit batches for this many seconds."""
    commit(batch)  # opens the connection before the measurement
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.readline()
    entries, longest, used, begun = 0, 0.0, time.process_time(), time.monotonic()
    while (before := time.monotonic()) < begun + seconds:
        commit(batch)
        entries += batch
        longest = max(longest, time.monotonic() - before)
    wall, cpu = time.monotonic() - begun, time.process_time() - used
    return {"entries": entries, "seconds": wall, "longest": longest, "cpu": cpu}


SIDES = {"ours": ours, "plain": plain, "raw": raw}


def main() -> None:
    """Write as the side that the command line names, and print the result as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("side", choices=SIDES)
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=3.0)
    arguments = parser.parse_args()
    django.setup()
    commit = SIDES[arguments.side]()
    sys.stdout.write(json.dumps(work(commit, arguments.batch, arguments.seconds)))


if __name__ == "__main__":
    main()
