"""The nightly look at what is on file, by hand or by a scheduler of one's own."""

import argparse
from typing import Any

from django.core.management.base import BaseCommand

from ingestion.documents import expiries


class Command(BaseCommand):
    help = (
        "Notes which documents on file run out soon (90, 30 and 7 days before their last day, or "
        "as their study lays down) and which have. Each warning is noted once."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="count, note nothing")

    def handle(self, *args: Any, dry_run: bool = False, **options: Any) -> None:
        noted = expiries.note(dry_run=dry_run)
        said = "would be noted" if dry_run else "noted"
        self.stdout.write(f"{noted.soon} that run out soon and {noted.over} that have {said}.")
