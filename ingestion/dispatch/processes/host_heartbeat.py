"""Which worker hosts are there, seen from anywhere: a row for each, with its last sign.

For people and alarms alone. No lease hangs on it: whether a chunk is lost stands on the chunk.
"""

import os
import socket
import time
from collections.abc import Callable
from datetime import datetime, timedelta

from django.conf import settings
from django.utils import timezone

from ingestion.models import WorkerHost

MISSED_HEARTBEATS = 2.5  # after which people who wait are told that no worker is running
FORGOTTEN = timedelta(days=1)  # after which a host that fell silent is not listed any more


class Heartbeat:
    """One per host; everything happens in the thread that calls. Raises DatabaseError."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._name = f"{socket.gethostname()}:{os.getpid()}:{time.time_ns()}"
        self._next = clock()

    def beat(self, at_work: int) -> None:
        """Often: writes every HEARTBEAT_SECONDS."""
        if self._clock() < self._next:
            return
        self._next = self._clock() + settings.HEARTBEAT_SECONDS
        now = timezone.now()
        sign = {"seen_at": now, "at_work": at_work, "workers": settings.WORKERS}
        own = {"host": socket.gethostname(), "software": settings.SOFTWARE_VERSION}
        _, is_new = WorkerHost.objects.update_or_create(
            name=self._name, defaults=sign, create_defaults={**sign, **own, "started_at": now}
        )
        if is_new:
            WorkerHost.objects.filter(seen_at__lt=now - FORGOTTEN).delete()

    def leave(self) -> None:
        """It ends as it was told to: nobody has to look for it."""
        WorkerHost.objects.filter(name=self._name).delete()


def hosts() -> list[WorkerHost]:
    """All that gave a sign within a day and did not take leave."""
    return list(WorkerHost.objects.filter(seen_at__gt=timezone.now() - FORGOTTEN))


def is_alive(host: WorkerHost) -> bool:
    return timezone.now() - host.seen_at <= timedelta(seconds=settings.WORKER_SILENT_SECONDS)


def is_any_running() -> bool:
    """Return whether a worker host gave one of its last heartbeats, for pages on which people wait.

    Sooner than `is_alive`, which raises an alarm: with the usual settings a page that asks every
    two seconds tells within half a minute that the last worker is gone.
    """
    patience = timedelta(seconds=MISSED_HEARTBEATS * settings.HEARTBEAT_SECONDS)
    return WorkerHost.objects.filter(seen_at__gt=timezone.now() - patience).exists()


def last_seen() -> datetime | None:
    """When any host gave a sign; None: no host ever did, or all that did took leave."""
    newest = WorkerHost.objects.order_by("-seen_at").values_list("seen_at", flat=True)
    return newest.first()
