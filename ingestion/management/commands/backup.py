"""Makes a backup while the workers continue.

Exit codes: 0 made; 1 made, but files that the database names were missing or changed; 2 not made.
"""

import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import Error

from audit.ledger.actors import OPERATIONS, Actor
from ingestion.backup.contents import BackupError
from ingestion.backup.creation import create_backup
from ingestion.core.errors import StorageUnavailable

NOT_INCLUDED = (
    "Not in the backup, store them elsewhere: the signing key (AUDIT_KEY_FILE), the settings\n"
    "(.env, or the environment), PORTAL_SECRETS_DIR, DOCUMENT_TYPES_FILE, exports (EXPORT_DIR).\n"
    "The backup is not encrypted, and documents contain personal data: see docs/operations.md."
)


class Command(BaseCommand):
    help = "Copies database, archive, spool and anchors, as of one moment, into DIR."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "target",
            type=Path,
            metavar="DIR",
            help="May contain older backups: their files of the archive are not copied again.",
        )

    def handle(self, *_args: Any, target: Path, **_options: Any) -> None:
        try:
            made = create_backup(target.resolve(), by=Actor.software("backup", OPERATIONS))
        except (BackupError, StorageUnavailable, OSError, Error) as error:
            message = f"No backup was made: {str(error).strip()}"
            raise CommandError(message, returncode=2) from error
        manifest = made.manifest
        self.stdout.write(
            f"{made.folder}: {manifest.files:,} files, {manifest.bytes / 1e6:,.1f} MB "
            f"({made.new_files:,} new in the archive), and a ledger of {manifest.entries:,} "
            "entries.\n"
            f"SHA-256 of its manifest, which the ledger contains: {made.sha256}\n{NOT_INCLUDED}"
        )
        if missing := manifest.missing_count:
            self.stderr.write(
                f"{missing:,} files that the database names are missing, or have "
                f"changed: {', '.join(manifest.missing)}. See `manage.py "
                "verify_archive`."
            )
            sys.exit(1)
