"""Prints the status of the work."""

import argparse
import json
from typing import Any

from django.core.management.base import BaseCommand
from django.utils import timezone
from django_q.models import Failure

from ingestion.dispatch import wakeup
from ingestion.models import Document
from ingestion.operations import metrics, work_status


class Command(BaseCommand):
    help = (
        "Prints queue depth, work in progress, the oldest waiting document, workers, portals that "
        "are down or fully used, sites without progress, the documents of the last 7 days that "
        "were not filed by owner, the size of the ledger, and what of it is signed and anchored."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", dest="as_json")

    def handle(self, *args: Any, as_json: bool, **options: Any) -> None:
        since = timezone.now() - metrics.OWNERS_PERIOD
        unfiled = metrics.count_unfiled_by_owner(Document.objects.all(), since)
        status = work_status.get_status() | {
            "unfiled_by_owner": {str(owner): number for owner, number in unfiled.items()},
            "ring_unanswered": bool(wakeup.find_pending_wakeup()),
            "failed_tasks": Failure.objects.filter(success=False).count(),
        }
        if as_json:
            self.stdout.write(json.dumps(status))
            return
        for name, value in status.items():
            text = str(value)
            if isinstance(value, dict):
                text = ", ".join(f"{n} {state}" for state, n in value.items()) or "none"
            elif isinstance(value, list):
                text = ", ".join(value) or "none"
            self.stdout.write(f"{name.replace('_', ' '):<24} {text}")
