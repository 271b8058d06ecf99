"""Costs with a ledger of a given size: appending, searching and verifying.

`python -m bench.grown fill ENTRIES` fills the database that the environment names, and `python -m
bench.grown ask` prints one JSON object: microseconds by operation.
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
from bench import trail, writers

TIMES = 25  # repetitions of short operations
BATCH = 16  # entries in one transaction
PAGE = 100  # entries
_numbers = count()


def fill(size: int) -> None:
    from audit.signing.checkpoints import sign_all

    trail.grow(1)
    call_command("audit_keys", "create", stdout=StringIO())  # which signs checkpoints
    trail.grow(size - trail.length())
    sign_all()


def ask() -> dict[str, float]:
    """Return the microseconds of each operation."""
    from audit.ledger import queries
    from audit.signing.checkpoints import sign_all

    sign_all()  # signs what the last run appended
    size = trail.length()
    search = queries.EntrySearch(sites=[writers.EVENT["site"]], event="document.filed")
    found = {
        "one search": _middle(partial(queries.find_entries, search, limit=PAGE)),
        "a page from the middle": _middle(
            partial(queries.find_entries, before=size // 2, limit=PAGE)
        ),
        "full verification, an entry": trail.timed(partial(trail.verify, "full"), size),
        "an export, an entry": trail.timed(_export, size),
        f"an append of {BATCH}": _middle(_append),  # last, because it makes the ledger longer
    }
    return {what: 1e6 * seconds for what, seconds in found.items()}


def _append() -> None:
    from audit.ledger.log import ledger, record

    subject = f"grown:{os.getpid()}:{next(_numbers)}"
    with ledger():
        for n in range(BATCH):
            record("document.filed", subject=subject, n=n, by=writers.ACTOR, **writers.FACTS)


def _export() -> None:
    from audit.export.package import make_package
    from audit.export.selection import Selection

    with TemporaryDirectory() as folder:
        make_package(Path(folder) / "package", Selection(), by=Actor.software("bench"))


def _middle(work: Callable[[], Any]) -> float:
    taken = []
    for _ in range(TIMES):
        begun = time.monotonic()
        work()
        taken.append(time.monotonic() - begun)
    return median(taken)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    steps = parser.add_subparsers(dest="step", required=True)
    steps.add_parser("fill").add_argument("entries", type=int)
    steps.add_parser("ask")
    arguments = parser.parse_args()
    django.setup()
    if arguments.step == "fill":
        call_command("migrate", verbosity=0)
        fill(arguments.entries)
    else:
        sys.stdout.write(json.dumps(ask()))


if __name__ == "__main__":
    main()
