"""Records the heartbeat of each worker host in a row, for pages, metrics and alarms.

Leases do not depend on it: the row of a chunk says when its lease expires. The heartbeats of single
workers are in `worker_presence`.
"""

import os
import socket
import time
from collections.abc import Callable
from datetime import datetime, timedelta

from django.conf import settings
from django.utils import timezone

from ingestion.core.capacity import HostLoad
from ingestion.models import WorkerHost

MAX_MISSED_HEARTBEATS = 2.5  # after more, pages say that no worker runs
FORGET_AFTER = timedelta(days=1)  # afterwards, a host without a heartbeat is not listed any more


_own_name = ""  # "": this process belongs to no host, for example under a plain `qcluster`


def set_own_name(name: str) -> None:
    """Set the name of the host to which this process, and every process that it forks, belongs."""
    global _own_name  # noqa: PLW0603 - set once, before the fork
    _own_name = name


def get_own_name() -> str:
    """Return the name of the host to which this process belongs, or ""."""
    return _own_name


class HostHeartbeat:
    """Writes the heartbeat of this host. Every method may raise DatabaseError."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._at_work = 0
        self.name = f"{socket.gethostname()}:{os.getpid()}:{time.time_ns()}"
        self._next_at = clock()

    def beat(self, at_work: int) -> None:
        """Record that the host lives, with `at_work` busy workers.

        Does nothing if the last heartbeat is younger than HEARTBEAT_SECONDS and as many workers
        were busy then. Other hosts leave wakeups to this one while it has an idle worker.
        """
        if self._clock() < self._next_at and at_work == self._at_work:
            return
        self._at_work = at_work
        self._next_at = self._clock() + settings.HEARTBEAT_SECONDS
        now = timezone.now()
        values = {"seen_at": now, "at_work": at_work, "workers": settings.WORKERS}
        own = {"host": socket.gethostname(), "software": settings.SOFTWARE_VERSION}
        _, is_new = WorkerHost.objects.update_or_create(
            name=self.name, defaults=values, create_defaults={**values, **own, "started_at": now}
        )
        if is_new:
            WorkerHost.objects.filter(seen_at__lt=now - FORGET_AFTER).delete()

    def leave(self) -> None:
        """Remove the row, when the host ends as intended."""
        WorkerHost.objects.filter(name=self.name).delete()


def list_hosts() -> list[WorkerHost]:
    """Return the hosts whose last heartbeat is at most a day old.

    A host that ended as intended is not among them.
    """
    return list(WorkerHost.objects.filter(seen_at__gt=timezone.now() - FORGET_AFTER))


def is_host_alive(host: WorkerHost) -> bool:
    """Return whether the last heartbeat is at most WORKER_SILENT_SECONDS old."""
    return timezone.now() - host.seen_at <= timedelta(seconds=settings.WORKER_SILENT_SECONDS)


def list_loads() -> list[HostLoad]:
    """Return the load of each host that missed few heartbeats, in the stable order of hosts."""
    silence = timedelta(seconds=MAX_MISSED_HEARTBEATS * settings.HEARTBEAT_SECONDS)
    living = WorkerHost.objects.filter(seen_at__gt=timezone.now() - silence).order_by("pk")
    return [HostLoad(*row) for row in living.values_list("name", "workers", "at_work")]


def is_any_running() -> bool:
    """Return whether any host missed few heartbeats, for pages on which people wait.

    It reacts sooner than `is_host_alive`, on which an alarm depends: with the default settings, a
    page says within half a minute that the last host has ended.
    """
    silence = timedelta(seconds=MAX_MISSED_HEARTBEATS * settings.HEARTBEAT_SECONDS)
    return WorkerHost.objects.filter(seen_at__gt=timezone.now() - silence).exists()


def get_last_heartbeat_at() -> datetime | None:
    """Return the time of the latest heartbeat of any host, or None if no host is known."""
    newest = WorkerHost.objects.order_by("-seen_at").values_list("seen_at", flat=True)
    return newest.first()
