"""One sweep for orphans now, for an operator who does not want to wait for the next tick."""

from typing import Any

from django.core.management.base import BaseCommand

from ingestion.dispatch import recovery


class Command(BaseCommand):
    help = (
        "Makes the chunks of workers that fell silent due again, removes spool folders that nobody "
        "holds, and says how many there were. Every host does the same each second."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(str(recovery.recover_orphans()))
