"""Import studies, sites and portals from a file of the sponsor's register."""

import argparse
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from audit.ledger.actors import OPERATIONS, Actor
from sites import site_import


class Command(BaseCommand):
    help = "Creates or updates studies, sites and portals from a JSON list."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument("--dry-run", action="store_true", help="check the file, change nothing")

    def handle(self, *args: Any, file: Path, dry_run: bool, **options: Any) -> None:
        try:
            rows = site_import.read_sites(file.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, site_import.SiteImportRefused) as error:
            raise CommandError(f"{file} was refused, and nothing was changed:\n{error}") from error
        if dry_run:
            self.stdout.write(f"{len(rows)} sites would be loaded.")
            return
        try:
            summary = site_import.import_sites(rows, by=Actor.software("load_sites", OPERATIONS))
        except site_import.SiteImportRefused as error:
            raise CommandError(f"{file} was refused, and nothing was changed:\n{error}") from error
        if options["verbosity"]:
            self.stdout.write(f"{len(rows)} sites: {summary}.")
