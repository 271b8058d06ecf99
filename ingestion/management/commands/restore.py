"""Brings a backup back into an empty place, and checks all of it.

Exit codes: 0 it is back, and holds; 1 it is back, and something is wrong, which is named; 2 it was
refused or could not be done, and nothing works yet.
"""

import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import Error

from ingestion.backup import restoring
from ingestion.backup.contents import BackupProblem
from ingestion.backup.restoring import Restored
from ingestion.core.errors import StorageUnavailable


class Command(BaseCommand):
    help = "Brings database, archive, spool and anchors back from a backup, and checks them."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "place", type=Path, metavar="DIR", help="A backup; of several in it the newest."
        )
        parser.add_argument(
            "--verify-only", action="store_true", help="Read every file of it; write nothing."
        )

    def handle(self, *_args: Any, place: Path, verify_only: bool, **_options: Any) -> None:
        try:
            if verify_only:
                self.stdout.write(_looked_at(place.resolve()))
                return
            restored = restoring.restore(place.resolve(), actor="system:restore")
        except (BackupProblem, StorageUnavailable, OSError, Error) as error:
            message = f"Not restored: {str(error).strip()}"
            raise CommandError(message, returncode=2) from error
        self.stdout.write(_told(restored))
        if restored.findings:
            sys.exit(1)


def _looked_at(place: Path) -> str:
    """Raises BackupProblem."""
    folder, manifest = restoring.look(place)
    return (
        f"{folder}: all {manifest.files:,} files are what they were when the backup was made, "
        f"{manifest.began_at}. Only restoring shows that they work."
    )


def _told(restored: Restored) -> str:
    manifest = restored.manifest
    first = (
        f"{restored.folder} is back, as it was at {manifest.began_at}: {restored.entries:,} "
        f"entries of the ledger and {restored.files:,} files of the archive, all of them read."
    )
    if restored.findings:
        verdict = "But NOT ALL IS WELL, and workers should not be started yet:"
    else:
        verdict = "Ledger and archive hold. Start the workers: what was under way goes on."
    return "\n".join([first, verdict, *restored.findings, *restored.notes])
