"""Checks the alarms once, by hand or by cron on a machine that is no worker host."""

import argparse
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from ingestion.operations import alarms, alerts


class Command(BaseCommand):
    help = (
        "Checks the alarms, and sends those that began, continue or ended, by email and webhook. "
        "Worker hosts do the same each minute. Let cron run this on a web host as well, so that "
        "you are notified if no worker host is running. Exit code 1 if a message was not sent."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "--dry-run", action="store_true", help="show active alarms, send nothing"
        )

    def handle(self, *args: Any, dry_run: bool = False, **options: Any) -> None:
        active = alarms.find_alarms().alarms if dry_run else alerts.update_alerts()
        for alarm in active:
            self.stdout.write(f"{alarm.key}: {alarm.text}\n  {alarm.action}")
        if not active:
            self.stdout.write("No alarm is active.")
        if dry_run:
            return
        if not alerts.list_channels():
            self.stdout.write("No message was sent: set ALERT_EMAILS or ALERT_WEBHOOK.")
        if errors := alerts.send_due_alerts(is_requested=True):
            raise CommandError(" ".join(dict.fromkeys(errors)))
