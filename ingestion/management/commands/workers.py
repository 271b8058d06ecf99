"""Runs a worker host until it is stopped: its cluster, and the loop that watches it."""

import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from ingestion.dispatch.processes.worker_host import HostProcess
from ingestion.operations import alerts, scaling
from ingestion.operations.periodic_check import PeriodicCheck
from ingestion.storage.bucket_checks import BUCKETS


class Command(BaseCommand):
    help = (
        "Works on batches until stopped. SIGTERM or Ctrl-C drains: what was begun finishes or "
        "returns to the queue. A second one ends at once. Exit code 0 after a clean drain, else 1."
    )

    requires_migrations_checks = True

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--leave-when-idle",
            action="store_true",
            help="end when idle for SCALE_IN_SECONDS, if SCALE_MIN_HOSTS earlier hosts run",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        # A bucket without locks has to be found before a document is stored in it. `check --deploy`
        # does so too. Other commands do not, because the check sends requests.
        self.check(tags=[BUCKETS], include_deployment_checks=True)

        def ready() -> None:
            if options["verbosity"]:
                self.stdout.write("Working. Ctrl-C drains and stops.")
                self.stdout.flush()

        checks = [
            PeriodicCheck(module.__name__, check, interval_seconds=module.CHECK_INTERVAL_SECONDS)
            for module, check in (
                (alerts, alerts.check_and_send),
                (scaling, scaling.check_and_request),
            )
        ]
        host = HostProcess(
            periodic=[check.run_if_due for check in checks],
            leaves_when_idle=options["leave_when_idle"],
        )
        sys.exit(host.run(ready=ready))
