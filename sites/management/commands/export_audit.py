"""Export the audit trail as a package that inspectors can verify without SiteLedger.

The command is not in `audit`, because the ledger contains sites but no studies. Exit code 1: there
is nothing to export, or the ledger is not consistent.
"""

import argparse
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils.dateparse import parse_date, parse_datetime

from audit.export.package import make_package
from audit.export.selection import Selection
from audit.export.trail import ExportRefused
from audit.ledger.actors import OPERATIONS, Actor
from audit.ledger.chain import BrokenChain
from audit.ledger.log import write_time
from sites.models import Site


def parse_time(text: str) -> str:
    """Return a day or time in the format of entries. It is in UTC unless it has a zone."""
    try:
        if day := parse_date(text):
            return write_time(datetime(day.year, day.month, day.day, tzinfo=UTC))
        if found := parse_datetime(text):
            return write_time(found if found.tzinfo else found.replace(tzinfo=UTC))
    except ValueError:
        pass
    raise argparse.ArgumentTypeError(
        f"not a day or a time: {text!r}; as 2026-08-14 or 2026-08-14T09:30Z"
    )


class Command(BaseCommand):
    help = "Exports the audit trail, or a part of it, with everything needed to verify it."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "target", type=Path, metavar="DIR|FILE.zip", help="A new folder or file."
        )
        add = parser.add_argument
        add("--study", default="", metavar="PROTOCOL", help="Only the sites of this study.")
        add("--site", default="", metavar="SITE", help="Only the site with this number.")
        add(
            "--document",
            default="",
            metavar="ID",
            help="Only this document, with all versions; SITE/ID if other sites use the same ID.",
        )
        add(
            "--packet",
            "--correlation",
            default="",
            metavar="ID",
            help="Only the packet with this correlation id.",
        )
        add(
            "--since",
            "--from",
            type=parse_time,
            metavar="T",
            help="Only entries recorded at this time or later. UTC.",
        )
        add(
            "--until",
            "--to",
            type=parse_time,
            metavar="T",
            help="Only entries recorded before this time. UTC.",
        )
        add(
            "--size",
            type=int,
            help="End at the checkpoint of this number of entries, not at the newest.",
        )

    def handle(self, *_args: Any, **options: Any) -> None:
        selection = _select_entries(options)
        try:
            made = make_package(
                options["target"],
                selection,
                by=Actor.software("command", OPERATIONS),
                size=options["size"],
                progress=self._show_progress,
            )
        except ExportRefused as error:
            raise CommandError(f"{error} Nothing was exported.") from error
        except BrokenChain as error:
            message = f"the ledger does not hold: {error}; see manage.py verify_audit --full"
            raise CommandError(f"{message}. Nothing was exported.") from error
        except OSError as error:
            raise CommandError(f"{options['target']} could not be written: {error}") from error
        self.stdout.write(
            f"{made.target}: {made.entries:,} entries, up to the checkpoint of {made.size:,}.\n"
            f"SHA-256 of its manifest, which the ledger contains: {made.manifest_sha256}"
        )

    def _show_progress(self, done: int, total: int) -> None:
        if self.stdout.isatty():
            end = "\n" if done == total else ""
            self.stdout.write(f"\r{done:,} of {total:,} entries", ending=end)
            self.stdout.flush()


def _select_entries(options: dict[str, Any]) -> Selection:
    """Return the selection that the options describe.

    Raises CommandError if the study has no sites, or not the selected one.
    """
    site, study, document = options["site"], options["study"], options["document"]
    if not site and "/" in document:
        site, _, document = document.partition("/")
    sites = frozenset([site] if site else [])
    if study:
        numbers = Site.objects.filter(study__protocol_number=study).values_list(
            "site_id", flat=True
        )
        sites = frozenset(number for number in numbers if site in ("", number))
        if not sites:
            name = f"site {site}" if numbers else "site"
            raise CommandError(f"there is no {name} of a study {study}")
    return Selection(
        sites=sites,
        study=study,
        doc_id=document,
        correlation_id=options["packet"],
        since=options["since"] or "",
        until=options["until"] or "",
    )
