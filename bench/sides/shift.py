"""Runs our side of the measurement: the real shift on the database of the settings.

`python -m bench.sides.shift register OFFER` registers the documents of the folder OFFER
and prints how many seconds that took.
`python -m bench.sides.shift work RESULT` processes it as a worker does, in its own process.
`--watched` uses asyncio's debug mode, which reports what blocks the event loop for 50 ms.
"""

import argparse
import asyncio
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import django
from django.core.management import call_command

from audit.ledger.actors import OPERATIONS, Actor
from bench.results.outcome import outcome, write
from bench.sides.blocked_loops import SlowCallbacks

TIMEOUT_SECONDS = 1800.0  # of a run
PAUSE_SECONDS = 0.1  # between shifts, while documents wait for their portal


def register(offer: Path) -> float:
    """Register sites and documents as operations would. Return the seconds for the documents."""
    from ingestion.intake import manifest
    from ingestion.intake.registration import register_manifest
    from ingestion.intake.submission import Submission
    from ingestion.models import BatchSource

    call_command("migrate", verbosity=0)
    call_command("load_sites", str(offer / "sites.json"), verbosity=0)
    start = time.monotonic()
    lines = manifest.read_manifest((offer / "manifest.ndjson").read_text())
    register_manifest(lines, Submission(BatchSource.MANIFEST, Actor.software("bench", OPERATIONS)))
    return time.monotonic() - start


def work(result: Path, *, watched: bool) -> None:
    """Run shifts until every document is settled."""
    from ingestion.dispatch.shift import Shift
    from ingestion.models import Document

    slow = SlowCallbacks()
    begun, start = datetime.now(UTC), time.monotonic()
    while Document.objects.unsettled().exists() and time.monotonic() - start < TIMEOUT_SECONDS:
        shift = Shift.work()
        asyncio.run(slow.watch(shift) if watched else shift)
        time.sleep(PAUSE_SECONDS)
    seconds = time.monotonic() - start - PAUSE_SECONDS
    rows = Document.objects.all()
    settled = [
        (site, state, (at - begun).total_seconds())
        for site, state, at in rows.values_list("site__site_id", "state", "settled_at")
        if at is not None
    ]
    write(result, outcome(seconds, Document.objects.count(), settled, slow.longest))


def main() -> None:
    """Run the step that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("step", choices=["register", "work"])
    parser.add_argument("path", type=Path)
    parser.add_argument("--watched", action="store_true")
    arguments = parser.parse_args()
    django.setup()
    if arguments.step == "register":
        sys.stdout.write(f"{register(arguments.path):.2f}\n")
    else:
        work(arguments.path, watched=arguments.watched)


if __name__ == "__main__":
    main()
