"""When does a cluster that looks alive not work? Seen from outside, once a tick. No I/O here.

One SIGKILL of an idle worker can stop a django-q2 cluster for good without a word: it dies with
the lock of the queue that all workers read. What gives it away is a ring that nobody takes while
this host has a worker with nothing to do. A cluster that was just started gets time to boot, and
twice as much after each start that did not help.
"""

import time
from collections.abc import Callable, Collection
from dataclasses import dataclass

from django.conf import settings

from ingestion.dispatch.processes.worker_presence import AtWork

LONGEST_GRACE = 300.0  # seconds, as the next
LONGEST_REST = 30.0
KILL_SECONDS = 30.0  # django-q2 had as long to end a worker over its time itself


@dataclass(frozen=True, slots=True)
class Patience:
    """In seconds."""

    ring: float  # for a ring that nobody takes, and for a cluster that boots
    silence: float  # for a worker without a sign: its leases are somebody else's by then
    work: float  # for a shift that does not end

    @classmethod
    def from_settings(cls) -> "Patience":
        return cls(
            ring=settings.WATCHDOG_SECONDS,
            silence=settings.LEASE_SECONDS + settings.HEARTBEAT_SECONDS,
            work=settings.Q_CLUSTER["timeout"] + KILL_SECONDS,
        )


class Watchdog:
    def __init__(
        self, patience: Patience, workers: int, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._patience = patience
        self._workers = workers
        self._clock = clock
        self._starts = 0  # since a worker was seen at work
        self._ring, self._since = "", 0.0  # the oldest unanswered one, and since when it counts

    @property
    def rest_seconds(self) -> float:
        """Before the next start: a cluster that dies while it boots is not worth a busy loop."""
        return min(2.0 ** (self._starts - 2), LONGEST_REST) if self._starts > 1 else 0.0

    def started(self) -> None:
        """A cluster was just started: nothing is expected of it for a while."""
        grace = min(self._patience.ring * 2.0**self._starts, LONGEST_GRACE)
        self._starts += 1
        self._ring, self._since = "", self._clock() + grace

    def is_stuck(self, ring: str, at_work: Collection[AtWork]) -> bool:
        """Nobody takes this ring, and one of us could."""
        now = self._clock()
        if at_work:
            self._starts = 0
        if len(at_work) >= self._workers or ring != self._ring:
            self._ring = ring if len(at_work) < self._workers else ""
            self._since = max(now, self._since)
            return False
        return bool(ring) and now - self._since > self._patience.ring

    def overdue(self, at_work: Collection[AtWork]) -> list[int]:
        """Workers that will not come back: to be killed, one by one."""
        now = self._clock()
        return [
            worker.pid
            for worker in at_work
            if now - worker.seen > self._patience.silence
            or now - worker.began > self._patience.work
        ]
