"""A worker host in one command: the cluster, the dispatcher's loop, and a clean end."""

import sys
from typing import Any

from django.core.management.base import BaseCommand

from ingestion.dispatch.processes.worker_host import HostProcess
from ingestion.operations.alerts import Watchman
from ingestion.storage.bucket_checks import BUCKETS


class Command(BaseCommand):
    help = (
        "Works batches until it is stopped. SIGTERM or Ctrl-C drains: what is in hand finishes or "
        "goes back to the queue. Twice means now. Exit code 0 after a clean drain, 1 otherwise."
    )

    requires_migrations_checks = True

    def handle(self, *args: Any, **options: Any) -> None:
        # A bucket that locks nothing is found before a document lies in it. `check --deploy` asks
        # the same; other commands do not, for it takes requests.
        self.check(tags=[BUCKETS], include_deployment_checks=True)

        def ready() -> None:
            if options["verbosity"]:
                self.stdout.write("Working. Ctrl-C drains and stops.")
                self.stdout.flush()

        sys.exit(HostProcess(periodic=[Watchman().look]).run(ready=ready))
