"""Records which documents on file expire. A scheduled task does the same each night."""

import argparse
from typing import Any

from django.core.management.base import BaseCommand

from ingestion.documents import expiries


class Command(BaseCommand):
    help = (
        "Records which documents on file expire soon (90, 30 and 7 days before their last day, or "
        "as their study says) and which have expired. Each warning is recorded once."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="count, record nothing")

    def handle(self, *args: Any, dry_run: bool = False, **options: Any) -> None:
        recorded = expiries.record_expiries(dry_run=dry_run)
        verb = "would be recorded" if dry_run else "recorded"
        self.stdout.write(
            f"{recorded.expiring} documents expiring soon and {recorded.expired} expired documents "
            f"{verb}."
        )
