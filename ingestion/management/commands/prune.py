"""Removes what is no longer needed, by the retention policy. Run it once a day."""

import argparse
from typing import Any

from django.core.management.base import BaseCommand

from ingestion.operations import retention


class Command(BaseCommand):
    help = (
        "Removes the chunks of batches that finished RETENTION_DAYS ago, and unneeded files of the "
        "spool. Never removes documents, findings, ledger entries or files of the archive."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--days", type=int, help="instead of RETENTION_DAYS")
        parser.add_argument("--dry-run", action="store_true", help="count, remove nothing")

    def handle(
        self, *args: Any, days: int | None = None, dry_run: bool = False, **options: Any
    ) -> None:
        pruned = retention.prune(days=days, dry_run=dry_run)
        verb = "would be removed" if dry_run else "removed"
        self.stdout.write(
            f"{pruned.chunks} chunks of {pruned.batches} finished batches and {pruned.files} "
            f"leftovers in the spool {verb}."
        )
