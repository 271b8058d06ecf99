"""Recovers from dead workers now, without waiting for the next tick of a host."""

from typing import Any

from django.core.management.base import BaseCommand

from ingestion.dispatch import recovery


class Command(BaseCommand):
    help = (
        "Makes the chunks of silent workers due again, removes spool folders without a lease, and "
        "prints how many there were. Every host does the same each second."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(str(recovery.recover_orphans()))
