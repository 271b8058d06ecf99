"""Registers the files of a folder as a batch, for packets that are delivered on a disk."""

import argparse
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from audit.ledger.actors import OPERATIONS, Actor
from ingestion.intake import manifest, registration
from ingestion.intake.submission import Submission
from ingestion.management import waiting
from ingestion.models import PRIORITIES, BatchSource
from sites.models import Site


class Command(BaseCommand):
    help = (
        "Registers the files of a folder for one site. The name of a file without suffix is the "
        "doc_id. If several files have the same one, the only PDF keeps it, and the others use "
        "their full names."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("folder", type=Path)
        parser.add_argument("--site", required=True, metavar="ID")
        parser.add_argument("--priority", type=int, default=5, choices=PRIORITIES, metavar="1-10")
        waiting.add_key(parser)
        waiting.add_arguments(parser)

    def handle(self, *args: Any, folder: Path, site: str, **options: Any) -> None:
        found = Site.objects.filter(site_id=site).first()
        if found is None:
            raise CommandError(f"there is no site {site!r}; load it with load_sites first")
        submission = Submission(
            BatchSource.FOLDER,
            Actor.software("ingest_folder", OPERATIONS),
            priority=options["priority"],
            idempotency_key=options["key"],
        )
        try:
            batch = waiting.submit_or_fail(
                lambda: registration.register_folder(folder, found, submission)
            )
        except (manifest.SubmissionRefused, OSError) as error:
            raise CommandError(f"{folder} is refused, nothing was registered:\n{error}") from error
        waiting.report(batch, self, options)
