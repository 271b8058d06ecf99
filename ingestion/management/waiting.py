"""What commands that submit share: waiting for a batch, telling how it ended."""

import argparse
import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from ingestion.documents import progress
from ingestion.intake import registration
from ingestion.models import Batch
from ingestion.operations import work_status

SILENCE_SECONDS = 10.0  # after which a wait without a living worker says so


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--wait", action="store_true", help="end when the batch is final")
    parser.add_argument("--json", action="store_true", dest="as_json")


def add_key(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--key",
        default="",
        help="names this submission: sent again under its key, it is the same batch",
    )


def admitted(submit: Callable[[], Batch]) -> Batch:
    """At the ceiling, exit code 75 (EX_TEMPFAIL of sysexits.h): a scheduler tries again later."""
    try:
        return submit()
    except registration.AtCapacity as full:
        raise CommandError(str(full), returncode=os.EX_TEMPFAIL) from full
    except registration.KeyReused as error:
        raise CommandError(str(error)) from error


def report(batch: Batch, command: BaseCommand, options: dict[str, Any]) -> None:
    """Print the batch's summary, after waiting for it where that was asked for."""
    try:
        now = _wait(batch, command) if options["wait"] else progress.of(batch)
    except KeyboardInterrupt:
        command.stderr.write(f"Not waiting any longer. Batch {batch.reference} goes on without us.")
        sys.exit(130)
    if options["as_json"]:
        command.stdout.write(json.dumps(now.as_json()))
        return
    command.stdout.write(
        f"Batch {now.batch}: {now.state}, {now.settled} of {now.total} documents settled after "
        f"{now.seconds:.1f} s."
    )
    for name, n in now.states.items():
        command.stdout.write(f"  {n:>5} {name}")
    for code, n in now.codes.items():
        command.stdout.write(f"        {n} x {code}")


def _wait(batch: Batch, command: BaseCommand) -> progress.Progress:
    """Looks at the row only; interrupting it changes nothing in the work."""
    started, told = time.monotonic(), False
    for now in progress.until_final(batch):
        silent = time.monotonic() - started > SILENCE_SECONDS and work_status.work_is_left_lying()
        if silent and not told and not now.is_final:
            command.stderr.write(
                "No worker is alive. The batch is on record and waits; start one with "
                "`manage.py workers`."
            )
            told = True
    return now
