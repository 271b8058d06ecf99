"""Provides shared parts of commands with a batch: options, waiting for its end, and the report."""

import argparse
import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from ingestion.documents import progress
from ingestion.documents.stuck_sites import StuckSite
from ingestion.intake import admission
from ingestion.intake.submission import IdempotencyKeyReused
from ingestion.models import Batch
from ingestion.operations import work_status

SILENCE_SECONDS = 10.0  # after so long a wait without a running worker, a message says so


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options that `report` reads."""
    parser.add_argument("--wait", action="store_true", help="wait until the batch has ended")
    parser.add_argument("--json", action="store_true", dest="as_json")


def add_key(parser: argparse.ArgumentParser) -> None:
    """Add the option for the idempotency key."""
    parser.add_argument(
        "--key",
        default="",
        help="identifies this submission: submitted again with the same key, it is the same batch",
    )


def submit_or_fail(submit: Callable[[], Batch]) -> Batch:
    """Return the batch that `submit` registers. Raises CommandError if it is refused.

    If there is too much unfinished work, the exit code is 75 (EX_TEMPFAIL of sysexits.h), so that a
    scheduler tries again later.
    """
    try:
        return submit()
    except admission.AtCapacity as full:
        raise CommandError(str(full), returncode=os.EX_TEMPFAIL) from full
    except IdempotencyKeyReused as error:
        raise CommandError(str(error)) from error


def report(batch: Batch, command: BaseCommand, options: dict[str, Any]) -> None:
    """Print the summary of the batch, after its end if `--wait` is given.

    Ctrl-C ends the waiting with exit code 130 and leaves the batch alone. With `--json`, prints
    the progress as one JSON object.
    """
    try:
        now = _await_end(batch, command) if options["wait"] else progress.get_progress(batch)
    except KeyboardInterrupt:
        command.stderr.write(f"No longer waiting. Work on batch {batch.reference} continues.")
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
    for stuck in now.stuck_sites:
        command.stdout.write(_describe_stuck_site(stuck))


def _await_end(batch: Batch, command: BaseCommand) -> progress.BatchProgress:
    """Wait until the batch has ended, and return its final progress.

    Waiting only reads rows, so it can be interrupted at any time.
    """
    started, is_warned, named = time.monotonic(), False, set[str]()
    for now in progress.follow_until_final(batch):
        silent = time.monotonic() - started > SILENCE_SECONDS and work_status.is_work_unattended()
        if silent and not is_warned and not now.is_final:
            command.stderr.write(
                "No worker is running. The batch is registered and waits. Start a worker with "
                "`manage.py workers`."
            )
            is_warned = True
        for stuck in now.stuck_sites:
            if stuck.site not in named:
                command.stderr.write(_describe_stuck_site(stuck))
                named.add(stuck.site)
    return now


def _describe_stuck_site(stuck: StuckSite) -> str:
    """Return the sentence about a site without progress. Other sites may move meanwhile."""
    listed = ", ".join(stuck.doc_ids)
    more = stuck.documents - len(stuck.doc_ids)
    documents = f"{listed} and {more} more" if more > 0 else listed
    return (
        f"Site {stuck.site} has made no progress since {stuck.since:%Y-%m-%d %H:%M:%S} UTC, "
        f"because {stuck.cause_text}. Unfinished: {documents}."
    )
