"""Puts held documents back into the queue, after the cause was fixed."""

import argparse
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from audit.ledger.actors import OPERATIONS, Actor
from ingestion.intake import retrying
from ingestion.models import Document
from ingestion.rules.codes import CODES
from sites.models import Site


class Command(BaseCommand):
    help = "Puts held documents back into the queue: all, or those of a code or a site."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--code", help="only those held for this reason")
        parser.add_argument("--site", metavar="ID", help="only those of this site")

    def handle(
        self, *args: Any, code: str | None = None, site: str | None = None, **options: Any
    ) -> None:
        held = Document.objects.held()
        if code:
            if code not in CODES:
                raise CommandError(f"there is no code {code!r}")
            held = held.filter(code=code)
        if site:
            if not Site.objects.filter(site_id=site).exists():
                raise CommandError(f"there is no site {site!r}")
            held = held.filter(site__site_id=site)
        retried = retrying.retry_held(held, by=Actor.software("retry", OPERATIONS))
        self.stdout.write(f"{retried} documents are in the queue again.")
