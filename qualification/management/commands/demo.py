"""Processes the packets of sample sites from end to end. `make demo` runs this command."""

import argparse
import os
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from audit.ledger.actors import OPERATIONS, Actor
from audit.signing import key_rotation, keys
from audit.verification.verify import EXIT_CODES, Result
from ingestion.documents import progress
from ingestion.intake import manifest, registration, submission
from ingestion.models import Batch, BatchSource
from qualification import demo_output
from qualification.sandbox.programs import (
    find_free_port,
    manage,
    run_program,
    stop_on_sigterm,
)
from samples.corpus import write_corpus
from samples.portal import SamplePortal, read_limits


class Command(BaseCommand):
    help = (
        "Downloads, reads, checks and files the packets of twelve sample sites, and verifies the "
        "ledger."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--sites", type=int, default=12, choices=range(1, 13), metavar="1-12")
        parser.add_argument("--seed", type=int, default=2026)
        parser.add_argument("--faults", type=float, default=0.08, help="share of transient faults")

    def handle(self, *args: Any, sites: int, seed: int, faults: float, **options: Any) -> None:
        stop_on_sigterm()
        console = Console(highlight=False)
        call_command("migrate", verbosity=0)
        if Batch.objects.exists():
            raise CommandError(
                f"{settings.DATA_DIR} already contains documents. The demo needs its own folder.\n"
                "Start the demo with `make demo`, or set DATA_DIR to an empty folder."
            )
        try:
            with ExitStack() as stack:
                self._demonstrate(stack, console, sites, seed, faults)
        except KeyboardInterrupt:
            console.print("Stopped. All programs of the demo have ended.")
            sys.exit(130)

    def _demonstrate(
        self, stack: ExitStack, console: Console, sites: int, seed: int, faults: float
    ) -> None:
        """Run the demo. The programs that it starts end with `stack`."""
        port = find_free_port()  # The addresses of the documents contain it.
        with console.status("Creating the sample packets ..."):
            corpus = write_corpus(
                Path(settings.DATA_DIR) / "samples",
                base_url=f"http://127.0.0.1:{port}",
                seed=seed,
                today=timezone.now().date(),
                sites=sites,
            )
        console.print(
            f"{corpus.documents} documents of {sites} sites, {corpus.scanned_pages} scanned pages, "
            f"served by a sample portal with rate limits and {faults:.0%} transient faults.",
            soft_wrap=True,
        )
        if not keys.has_private_key():
            key_rotation.create_key(by=Actor.software("demo", OPERATIONS))
        limits = read_limits(corpus.sites)
        portal = stack.enter_context(
            SamplePortal(corpus.directory, limits, faults=faults, seed=seed, port=port)
        )
        call_command("load_sites", str(corpus.sites), verbosity=0)
        environment = os.environ | {"LOG_LEVEL": "WARNING", "DATA_DIR": str(settings.DATA_DIR)}
        stack.enter_context(run_program(manage("workers", "--verbosity", "0"), environment))
        first = _ingest(console, "Packets", corpus.manifest)
        repeated = _ingest(console, "Repeated", corpus.manifest_again)
        demo_output.print_sites(console, [first, repeated])
        demo_output.print_reasons(console, first)
        demo_output.print_portal(console, portal)
        _verify_ledger(console)
        console.print(
            f"The archive, the ledger and the database of this demo are in {settings.DATA_DIR}.",
            soft_wrap=True,
        )


def _verify_ledger(console: Console) -> None:
    """Print the verdict, and explain why it is 3 here. Any other verdict ends the command."""
    try:
        call_command("checkpoint", verbosity=0)
        call_command("verify_audit", "--full")
    except SystemExit as error:
        if error.code != EXIT_CODES[Result.UNANCHORED]:
            raise
        console.print(
            "This is verdict 3 of verify_audit, which is expected for this demo. Its checkpoints "
            "and its database are on the same disk, so a person who can write to that disk could "
            "change both. With an independent anchor (ANCHOR_S3_BUCKET, docs/operations.md) the "
            "verdict is 0: intact and confirmed independently.",
            soft_wrap=True,
        )


def _ingest(console: Console, title: str, file: Path) -> Batch:
    """Register a manifest and show the batch's progress until it is final."""
    lines = manifest.read_manifest(file.read_text(encoding="utf-8"))
    batch = registration.register_manifest(
        lines, submission.Submission(BatchSource.MANIFEST, Actor.software("demo", OPERATIONS))
    )
    columns = (
        TextColumn("{task.description:<10}"),
        BarColumn(bar_width=12),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[states]}"),
    )
    with Progress(*columns, console=console) as bar:
        task = bar.add_task(title, total=len(lines), states="")
        for current in progress.follow_until_final(batch, poll_seconds=0.3):
            states = demo_output.format_states(current.states)
            bar.update(task, completed=current.settled, states=states)
    return batch
