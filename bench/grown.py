"""One ledger that grows: what it costs to write to it, to look into it and to verify it.

`python -m bench.grown SIZE ...` works on the database that the environment names, and prints one
JSON object: by what was done, and by the number of entries, microseconds.
"""

import json
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

from bench import trail, writers

TIMES = 50  # that what takes milliseconds is done
BATCH = 16  # entries in one transaction
PAGE = 100  # entries
_numbers = count()


def measure(size: int) -> dict[str, float]:
    """Of a trail of `size` entries: in microseconds."""
    from audit import history
    from audit.checkpoints import sign

    trail.grow(size - trail.length())
    sign()
    search = history.Search(sites=[writers.EVENT["site"]], event="document.filed")
    found = {
        f"an append of {BATCH}": _middle(_append),
        "one search": _middle(partial(history.find, search, limit=PAGE)),
        "a page from the middle": _middle(partial(history.latest, before=size // 2, limit=PAGE)),
        "full verification, an entry": trail.timed(partial(trail.verify, "full"), size),
        "an export, an entry": trail.timed(_export, size),
    }
    return {what: 1e6 * seconds for what, seconds in found.items()}


def _append() -> None:
    from audit.log import ledger, record

    subject = f"grown:{next(_numbers)}"
    with ledger():
        for n in range(BATCH):
            record("document.filed", subject=subject, n=n, **writers.EVENT)


def _export() -> None:
    from audit.export.package import export
    from audit.export.selection import Selection

    with TemporaryDirectory() as folder:
        export(Path(folder) / "package", Selection(), actor="system:bench")


def _middle(work: Callable[[], Any]) -> float:
    taken = []
    for _ in range(TIMES):
        begun = time.monotonic()
        work()
        taken.append(time.monotonic() - begun)
    return median(taken)


def main() -> None:
    django.setup()
    call_command("migrate", verbosity=0)
    trail.grow(1)
    call_command("audit_keys", "create", stdout=StringIO())  # which signs
    found: dict[str, dict[int, float]] = {}
    for size in map(int, sys.argv[1:]):
        for what, taken in measure(size).items():
            found.setdefault(what, {})[size] = taken
        sys.stderr.write(f"a ledger of {size:,} entries is measured\n")
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main()
