"""Alarms looked after once: by hand, or by cron on a machine that is no worker host."""

import argparse
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from ingestion.operations import alarms, alerts


class Command(BaseCommand):
    help = (
        "Looks for alarms and tells those that began, still last or are over, by mail and webhook. "
        "Worker hosts do the same each minute; that none of them lives has to be told by another: "
        "let cron call this where the web runs. Exit code 1 when something could not be told."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="show what rings, tell nobody")

    def handle(self, *args: Any, dry_run: bool = False, **options: Any) -> None:
        ringing = alarms.look().alarms if dry_run else alerts.look()
        for alarm in ringing:
            self.stdout.write(f"{alarm.key}: {alarm.said}\n  {alarm.do}")
        if not ringing:
            self.stdout.write("No alarm rings.")
        if dry_run:
            return
        if not alerts.channels():
            self.stdout.write("Nobody is told: set ALERT_EMAILS or ALERT_WEBHOOK.")
        if errors := alerts.deliver(is_asked_for=True):
            raise CommandError(" ".join(dict.fromkeys(errors)))
