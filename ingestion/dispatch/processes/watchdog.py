"""Decides when a cluster is stuck, and when a worker is. It does no I/O.

One SIGKILL of an idle worker can stop a django-q2 cluster for good and without a message, because
the worker dies with the lock of the queue that all workers read. The symptom is a wakeup that no
worker takes while this host has an idle worker. A cluster that was just started has time to boot,
and twice as much after each start that did not help. The worker host acts on the decisions.
"""

import time
from collections.abc import Callable, Collection
from dataclasses import dataclass

from django.conf import settings

from ingestion.dispatch.processes.worker_presence import BusyWorker

MAX_BOOT_SECONDS = 300.0  # in which nothing is expected of a cluster that was just started
MAX_RESTART_DELAY_SECONDS = 30.0
# After the timeout of a task, django-q2 has so much time to end the worker itself.
KILL_GRACE_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class WatchdogTimeouts:
    """Holds the seconds after which something counts as stuck."""

    wakeup: float  # a wakeup that no worker takes; also the time in which a cluster boots
    silence: float  # a worker without a heartbeat, when other workers have claimed its leases
    shift: float  # a shift that does not end

    @classmethod
    def from_settings(cls) -> "WatchdogTimeouts":
        """Return the timeouts of the settings, in seconds."""
        return cls(
            wakeup=settings.WATCHDOG_SECONDS,
            silence=settings.LEASE_SECONDS + settings.HEARTBEAT_SECONDS,
            shift=settings.Q_CLUSTER["timeout"] + KILL_GRACE_SECONDS,
        )


class Watchdog:
    """Decides about the clusters of one host, of which one runs at a time. Ask it once per tick."""

    def __init__(
        self,
        timeouts: WatchdogTimeouts,
        workers: int,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._timeouts = timeouts
        self._workers = workers
        self._clock = clock
        self._starts = 0  # of clusters, since a worker was busy
        # The oldest wakeup that no worker took, and from when on the waiting time counts.
        self._wakeup, self._since = "", 0.0

    @property
    def restart_delay_seconds(self) -> float:
        """Return the time to wait before the next start of a cluster that dies while it boots."""
        return (
            min(2.0 ** (self._starts - 2), MAX_RESTART_DELAY_SECONDS) if self._starts > 1 else 0.0
        )

    def note_start(self) -> None:
        """Note that a cluster was just started, and give it time to boot."""
        grace = min(self._timeouts.wakeup * 2.0**self._starts, MAX_BOOT_SECONDS)
        self._starts += 1
        self._wakeup, self._since = "", self._clock() + grace

    def is_stuck(self, wakeup: str, busy: Collection[BusyWorker]) -> bool:
        """Return whether no worker took `wakeup` for too long, although one was idle.

        `wakeup` names the oldest wakeup that no worker took; "" means that there is none.
        """
        now = self._clock()
        if busy:
            self._starts = 0
        if len(busy) >= self._workers or wakeup != self._wakeup:
            self._wakeup = wakeup if len(busy) < self._workers else ""
            self._since = max(now, self._since)
            return False
        return bool(wakeup) and now - self._since > self._timeouts.wakeup

    def find_overdue(self, busy: Collection[BusyWorker]) -> list[int]:
        """Return the process ids of workers that have to be killed.

        They have no heartbeat, or their shift does not end.
        """
        now = self._clock()
        return [
            worker.pid
            for worker in busy
            if now - worker.seen_at > self._timeouts.silence
            or now - worker.began_at > self._timeouts.shift
        ]
