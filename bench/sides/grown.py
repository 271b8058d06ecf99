"""Measures costs with a ledger of a given size: appending, searching and verifying.

`python -m bench.sides.grown fill ENTRIES` fills the database that the environment names, and
`python -m bench.sides.grown measure` prints one JSON object: microseconds by operation.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Callable
from functools import partial
from io import StringIO
from itertools import count
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import django
from django.core.management import call_command

from audit.ledger.actors import Actor
from bench.sides import trail, writers

REPETITIONS = 25  # of short operations
BATCH = 16  # entries in one transaction
PAGE = 100  # entries


def fill(size: int) -> None:
    """Append `size` entries, create a signing key, and sign checkpoints."""
    from audit.signing.checkpoints import sign_all

    trail.grow(1)
    call_command("audit_keys", "create", stdout=StringIO())  # to sign checkpoints
    trail.grow(size - trail.length())
    sign_all()


def measure() -> dict[str, float]:
    """Return the microseconds of each operation."""
    from audit.export.package import make_package
    from audit.export.selection import Selection
    from audit.ledger import queries
    from audit.ledger.log import ledger, record
    from audit.signing.checkpoints import sign_all

    sign_all()  # signs what the last run appended
    size = trail.length()
    search = queries.EntrySearch(sites=[writers.EVENT["site"]], event="document.filed")
    numbers = count()

    def export() -> None:
        with TemporaryDirectory() as folder:
            make_package(Path(folder) / "package", Selection(), by=Actor.software("bench"))

    def append() -> None:
        subject = f"grown:{os.getpid()}:{next(numbers)}"
        with ledger():
            for n in range(BATCH):
                record("document.filed", subject=subject, n=n, by=writers.ACTOR, **writers.FACTS)

    seconds = {
        "one search": _median_seconds(partial(queries.find_entries, search, limit=PAGE)),
        "a page from the middle": _median_seconds(
            partial(queries.find_entries, before=size // 2, limit=PAGE)
        ),
        "full verification, an entry": trail.timed(partial(trail.verify, "full"), size),
        "an export, an entry": trail.timed(export, size),
        # The append is last, because it makes the ledger longer.
        f"an append of {BATCH}": _median_seconds(append),
    }
    return {operation: 1e6 * each for operation, each in seconds.items()}


def _median_seconds(operation: Callable[[], Any]) -> float:
    durations = []
    for _ in range(REPETITIONS):
        begun = time.monotonic()
        operation()
        durations.append(time.monotonic() - begun)
    return median(durations)


def main() -> None:
    """Run the step that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    steps = parser.add_subparsers(dest="step", required=True)
    steps.add_parser("fill").add_argument("entries", type=int)
    steps.add_parser("measure")
    arguments = parser.parse_args()
    django.setup()
    if arguments.step == "fill":
        call_command("migrate", verbosity=0)
        fill(arguments.entries)
    else:
        sys.stdout.write(json.dumps(measure()))


if __name__ == "__main__":
    main()
