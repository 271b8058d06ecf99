"""Measure appending to the ledger on one database: writers take turns in several rounds.

`python -m bench.sides.append SCENE [--rounds N] [--seconds SECONDS]` uses the database that the
environment names, creates its tables, and prints one JSON object: the results of each round by
side.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import IO, cast

import django
from django.core.management import call_command
from django.db import connection

from bench.sides.writers import RAW

WriterResult = dict[str, float]  # by measure: rate, longest, fairness, cpu


@dataclass(frozen=True, slots=True)
class AppendSide:
    """Describes the writers of one side."""

    writer: str  # a function of bench.sides.writers
    writers: int = 1
    batch: int = 1
    environment: Mapping[str, str] = field(default_factory=dict)


RAW_SIDE, PLAIN_SIDE, OURS = "the bare driver", "Django, no chain", "ours"
LOCK_THROUGH_COMMIT, OWN_WAIT = "ours, lock through commit", "ours, SQLite's own wait"
SCENES: Mapping[str, Mapping[str, AppendSide]] = {
    "alone": {
        RAW_SIDE: AppendSide("raw", batch=16),
        PLAIN_SIDE: AppendSide("plain", batch=16),
        OURS: AppendSide("ours", batch=16),
    },
    "together": {
        RAW_SIDE: AppendSide("raw", writers=8),
        PLAIN_SIDE: AppendSide("plain", writers=8),
        OURS: AppendSide("ours", writers=8),
        LOCK_THROUGH_COMMIT: AppendSide(
            "ours", writers=8, environment={"AUDIT_EARLY_RELEASE": "False"}
        ),
    },
    "together on SQLite": {
        OURS: AppendSide("ours", writers=8),
        OWN_WAIT: AppendSide(
            "ours", writers=8, environment={"DJANGO_SETTINGS_MODULE": "bench.installation.own_wait"}
        ),
    },
}


def prepare() -> None:
    """Create our tables, and a copy of the table of entries without triggers."""
    call_command("migrate", verbosity=0)
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute(f"CREATE TABLE {RAW} (LIKE audit_entry INCLUDING INDEXES)")
            return
        cursor.execute(
            "SELECT sql FROM sqlite_master WHERE tbl_name = 'audit_entry' AND sql <> ''"
            " AND type <> 'trigger' ORDER BY type DESC"
        )
        for (statement,) in cursor.fetchall():
            copy = statement.replace("audit_entry", RAW)
            cursor.execute(copy.replace('INDEX "', 'INDEX "raw_'))


def run(side: AppendSide, seconds: float) -> WriterResult:
    """Run all writers of a side at the same time.

    Return their entries per second together, the longest wait in seconds, the rate of the slowest
    writer divided by that of the fastest, and the processor seconds per entry.
    """
    command = [sys.executable, "-m", "bench.sides.writers", side.writer]
    command += ["--batch", str(side.batch), "--seconds", str(seconds)]
    environment = {**os.environ, **side.environment}
    writers = [
        subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(side.writers)
    ]
    for writer in writers:
        cast(IO[str], writer.stdout).readline()  # wait until it is ready
    for writer in writers:
        cast(IO[str], writer.stdin).write("go\n")
        cast(IO[str], writer.stdin).flush()
    results = [json.loads(writer.communicate()[0]) for writer in writers]
    rates = [each["entries"] / each["seconds"] for each in results]
    return {
        "rate": sum(rates),
        "longest": max(each["longest"] for each in results),
        "fairness": min(rates) / max(rates),
        "cpu": sum(each["cpu"] for each in results) / sum(each["entries"] for each in results),
    }


def main() -> None:
    """Run the scene that the command line names, and print its results as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scene", choices=SCENES)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=3.0)
    arguments = parser.parse_args()
    django.setup()
    prepare()
    results: dict[str, list[WriterResult]] = {side: [] for side in SCENES[arguments.scene]}
    for _ in range(arguments.rounds):
        for name, side in SCENES[arguments.scene].items():
            results[name].append(run(side, arguments.seconds))
            sys.stderr.write(f"{arguments.scene}: {name}: {json.dumps(results[name][-1])}\n")
    sys.stdout.write(json.dumps(results))


if __name__ == "__main__":
    main()
