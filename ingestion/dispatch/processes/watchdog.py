"""Decides from outside when a cluster is stuck, and when a worker is. It does no I/O.

One SIGKILL of an idle worker can stop a django-q2 cluster for good and without a message: the
worker dies with the lock of the queue that all workers read. The symptom is a wakeup that no worker
takes while this host has an idle worker. A cluster that was just started has time to boot, and
twice as much after each start that did not help.
"""

import time
from collections.abc import Callable, Collection
from dataclasses import dataclass

from django.conf import settings

from ingestion.dispatch.processes.worker_presence import BusyWorker

MAX_GRACE_SECONDS = 300.0
MAX_RESTART_DELAY_SECONDS = 30.0
KILL_GRACE_SECONDS = 30.0  # in which django-q2 ends a worker over its time itself


@dataclass(frozen=True, slots=True)
class WatchdogTimeouts:
    """Holds after how many seconds something counts as stuck."""

    wakeup: float  # a wakeup that no worker takes; also the time in which a cluster boots
    silence: float  # a worker without a heartbeat: other workers have its leases by then
    shift: float  # a shift that does not end

    @classmethod
    def from_settings(cls) -> "WatchdogTimeouts":
        return cls(
            wakeup=settings.WATCHDOG_SECONDS,
            silence=settings.LEASE_SECONDS + settings.HEARTBEAT_SECONDS,
            shift=settings.Q_CLUSTER["timeout"] + KILL_GRACE_SECONDS,
        )


class Watchdog:
    """Watches one cluster. The host asks it once per tick."""

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
        self._starts = 0  # since a worker was seen busy
        # The oldest unanswered wakeup, and since when it counts.
        self._wakeup, self._since = "", 0.0

    @property
    def restart_delay_seconds(self) -> float:
        """Return how long to wait before the next start of a cluster that dies while it boots."""
        return (
            min(2.0 ** (self._starts - 2), MAX_RESTART_DELAY_SECONDS) if self._starts > 1 else 0.0
        )

    def note_start(self) -> None:
        """Note that a cluster was just started, so that nothing is expected of it for a while."""
        grace = min(self._timeouts.wakeup * 2.0**self._starts, MAX_GRACE_SECONDS)
        self._starts += 1
        self._wakeup, self._since = "", self._clock() + grace

    def is_stuck(self, wakeup: str, busy: Collection[BusyWorker]) -> bool:
        """Return whether no worker took `wakeup`, the oldest unanswered one, for too long.

        An idle worker must have been there. "" means that no wakeup is unanswered.
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
        """Return the processes of workers that are to be killed, because they will not end."""
        now = self._clock()
        return [
            worker.pid
            for worker in busy
            if now - worker.seen_at > self._timeouts.silence
            or now - worker.began_at > self._timeouts.shift
        ]
