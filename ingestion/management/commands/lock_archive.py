"""Adjusts the object locks in the archive's bucket now.

A job does the same after each change, and each night for a part of the archive. Exit codes: 0 the
locks are as the ledger says; 1 the bucket refused some; 2 the command could not run.
"""

import argparse
import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import Error

from ingestion.storage import object_locks
from ingestion.storage.archive import get_archive
from ingestion.storage.buckets import BucketArchive
from ingestion.storage.object_locks import LockUpdateResult
from sites.models import Study


class Command(BaseCommand):
    help = (
        "Locks documents in the archive's bucket for as long as the ledger says, and sets and "
        "removes legal holds. In compliance mode, a lock cannot be shortened."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--study", default="", help="only the study with this protocol number")
        parser.add_argument("--dry-run", action="store_true", help="count, change nothing")

    def handle(self, *args: Any, study: str, dry_run: bool, **options: Any) -> None:
        try:
            studies = Study.objects.filter(protocol_number=study) if study else Study.objects.all()
            keys = list(studies.values_list("pk", flat=True))
            if study and not keys:
                raise CommandError(f"There is no study {study!r}.", returncode=2)
            result = object_locks.update_locks(keys, dry_run=dry_run)
        except Error as error:
            raise CommandError(
                f"The database failed: {str(error).strip()}", returncode=2
            ) from error
        if not isinstance(get_archive(), BucketArchive):
            self.stdout.write("The archive is a folder: its files are always read-only.")
            return
        self.stdout.write(_describe_result(result, dry_run=dry_run))
        if result.refused:
            sys.exit(1)


def _describe_result(result: LockUpdateResult, *, dry_run: bool) -> str:
    """Return the result for people, with the first refusals by name."""
    verb = "would be locked" if dry_run else "locked"
    lines = [f"{result.checked:,} documents checked, {result.changed:,} {verb} anew."]
    lines += [f"Refused: {sha256}: {why}" for sha256, why in result.named.items()]
    if result.refused > len(result.named):
        lines.append(f"And {result.refused - len(result.named):,} more.")
    if result.refused:
        lines.append("Grant the rights that docs/operations.md lists, and run this again.")
    return "\n".join(lines)
