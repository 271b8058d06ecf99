"""Cancels a batch."""

import argparse
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from audit.ledger.actors import OPERATIONS, Actor
from ingestion.documents import batches
from ingestion.management import waiting
from ingestion.models import Batch


class Command(BaseCommand):
    help = "Cancels a batch: waiting documents at once, others when their current step ends."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("batch", metavar="BAT-YYYY-NNNN")
        waiting.add_arguments(parser)

    def handle(self, *args: Any, batch: str, **options: Any) -> None:
        found = Batch.objects.filter(reference=batch).first()
        if found is None:
            raise CommandError(f"there is no batch {batch!r}")
        try:
            batches.cancel_batch(found, by=Actor.software("cancel", OPERATIONS))
        except batches.AlreadyFinal as error:
            raise CommandError(str(error)) from error
        waiting.report(found, self, options)
