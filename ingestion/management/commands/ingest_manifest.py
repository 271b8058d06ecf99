"""Registers a manifest as a batch. If a line is invalid, nothing is registered."""

import argparse
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from audit.ledger.actors import OPERATIONS, Actor
from ingestion.intake import manifest, registration
from ingestion.intake.submission import Submission
from ingestion.management import waiting
from ingestion.models import PRIORITIES, BatchSource


class Command(BaseCommand):
    help = "Registers the documents of a manifest (NDJSON or a JSON list) and queues them."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument("--priority", type=int, default=5, choices=PRIORITIES, metavar="1-10")
        parser.add_argument(
            "--dry-run", action="store_true", help="check the file, register nothing"
        )
        waiting.add_key(parser)
        waiting.add_arguments(parser)

    def handle(self, *args: Any, file: Path, dry_run: bool, **options: Any) -> None:
        try:
            descriptors = manifest.read_manifest(file.read_text(encoding="utf-8"))
        except manifest.SubmissionRefused as refused:
            raise _refused(file, refused) from refused
        except (OSError, UnicodeDecodeError) as error:
            raise CommandError(f"{file} cannot be read: {error}") from error
        if dry_run:
            self.stdout.write(f"{len(descriptors)} documents would be registered.")
            return
        submission = Submission(
            BatchSource.MANIFEST,
            Actor.software("ingest_manifest", OPERATIONS),
            priority=options["priority"],
            idempotency_key=options["key"],
        )
        try:
            batch = waiting.submit_or_fail(
                lambda: registration.register_manifest(descriptors, submission)
            )
        except manifest.SubmissionRefused as refused:
            raise _refused(file, refused) from refused
        waiting.report(batch, self, options)


def _refused(file: Path, refused: manifest.SubmissionRefused) -> CommandError:
    n = len(refused.faults)
    faults = "1 fault" if n == 1 else f"{n} faults"
    return CommandError(f"{file} is refused, nothing was registered; {faults}:\n{refused}")
