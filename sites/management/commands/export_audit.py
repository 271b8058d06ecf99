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
        parser.add_argument("target", type=Path, metavar="DIR|FILE.zip", help="A new one.")
        add = parser.add_argument
        add("--study", default="", metavar="PROTOCOL", help="All its sites.")
        add("--site", default="", metavar="SITE")
        add("--document", default="", metavar="ID", help="All its versions; SITE/ID: one site's.")
        add("--packet", "--correlation", default="", metavar="ID", help="A correlation id.")
        add("--since", "--from", type=parse_time, metavar="T", help="Recorded then or later. UTC.")
        add("--until", "--to", type=parse_time, metavar="T", help="Recorded before. UTC.")
        add("--size", type=int, help="Up to the checkpoint of so many entries, not the newest.")

    def handle(self, *_args: Any, **options: Any) -> None:
        selection = _selection(options)
        try:
            made = make_package(
                options["target"],
                selection,
                by=Actor.software("command", OPERATIONS),
                size=options["size"],
                progress=self._show if self.stdout.isatty() else _quiet,
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
            f"SHA-256 of its manifest, which is on record: {made.manifest_sha256}"
        )

    def _show(self, done: int, of: int) -> None:
        self.stdout.write(f"\r{done:,} of {of:,} entries", ending="\n" if done == of else "")
        self.stdout.flush()


def _quiet(_done: int, _of: int) -> None:
    pass


def _selection(options: dict[str, Any]) -> Selection:
    site, document = options["site"], options["document"]
    if not site and "/" in document:
        site, _, document = document.partition("/")
    return Selection(
        sites=_select_sites(options["study"], site),
        study=options["study"],
        doc_id=document,
        correlation_id=options["packet"],
        since=options["since"] or "",
        until=options["until"] or "",
    )


def _select_sites(study: str, site: str) -> frozenset[str]:
    """Return the numbers of the selected sites, or none for all. Raises CommandError."""
    if not study:
        return frozenset([site] if site else [])
    found = Site.objects.filter(study__protocol_number=study)
    numbers = list(found.values_list("site_id", flat=True))
    chosen = frozenset(number for number in numbers if site in ("", number))
    if not chosen:
        what = f"site {site}" if numbers else "site"
        raise CommandError(f"there is no {what} of a study {study}")
    return chosen
