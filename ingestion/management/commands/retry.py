"""Held documents go on once their fault is mended: for many at a time, or for a script."""

import argparse
from typing import Any

from django.core.management.base import BaseCommand

from ingestion import retrying
from ingestion.core.states import DocumentState
from ingestion.filing import By
from ingestion.models import Document


class Command(BaseCommand):
    help = "Puts held documents back into the queue, with new budgets, on record."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--code", help="only those that are held under this code")
        parser.add_argument("--site", metavar="ID")
        parser.add_argument("--dry-run", action="store_true", help="count them, change nothing")

    def handle(self, *args: Any, dry_run: bool, **options: Any) -> None:
        held = Document.objects.filter(state=DocumentState.HELD)
        if options["code"]:
            held = held.filter(code=options["code"])
        if options["site"]:
            held = held.filter(site__site_id=options["site"])
        if dry_run:
            self.stdout.write(f"{held.count()} documents would be tried again.")
            return
        tried = 0
        while batch := list(held.order_by("pk").values_list("pk", flat=True)[: retrying.AT_ONCE]):
            by = By("system:retry", "ops")
            tried += retrying.try_again(Document.objects.filter(pk__in=batch), by=by)
        self.stdout.write(f"{tried} documents are tried again.")
