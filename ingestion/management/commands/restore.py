"""Restores a backup into an empty installation, and checks all of it.

Exit codes: 0 restored, and all checks passed; 1 restored, and a check failed; 2 not restored.
"""

import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import Error

from audit.ledger.actors import OPERATIONS, Actor
from ingestion.backup import restoration
from ingestion.backup.contents import BackupError
from ingestion.core.errors import StorageUnavailable


class Command(BaseCommand):
    help = "Restores database, archive, spool and anchors from a backup, and checks them."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "place",
            type=Path,
            metavar="DIR",
            help="A backup, or a folder whose newest backup is used.",
        )
        parser.add_argument(
            "--verify-only",
            action="store_true",
            help="Read all files of the backup, write nothing.",
        )

    def handle(self, *_args: Any, place: Path, verify_only: bool, **_options: Any) -> None:
        try:
            if verify_only:
                folder, manifest = restoration.inspect_backup(place.resolve())
                self.stdout.write(
                    f"{folder}: all {manifest.files:,} files are unchanged since the backup was "
                    f"made, {manifest.began_at}. Only a restore shows that they can be used."
                )
                return
            restored = restoration.restore_backup(
                place.resolve(), by=Actor.software("restore", OPERATIONS)
            )
        except (BackupError, StorageUnavailable, OSError, Error) as error:
            message = f"Not restored: {str(error).strip()}"
            raise CommandError(message, returncode=2) from error
        self.stdout.write(
            f"{restored.folder} is restored, as of {restored.manifest.began_at}: "
            f"{restored.entries:,} entries of the ledger and {restored.files:,} files of the "
            "archive were verified."
        )
        if restored.findings:
            verdict = "PROBLEMS WERE FOUND. Do not start the workers yet:"
        else:
            verdict = (
                "Ledger and archive are intact. Start the workers: they continue unfinished work."
            )
        self.stdout.write("\n".join([verdict, *restored.findings, *restored.notes]))
        if restored.findings:
            sys.exit(1)
