"""What a worker host runs: one cluster in its own session, and the dispatcher's loop.

The loop makes orphaned chunks due again and rings while due chunks wait. It never leases anything
itself, and any number of hosts may run it against one database.
"""

import logging
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from types import FrameType

from django.conf import settings
from django.db import DatabaseError, close_old_connections

from ingestion.dispatch import bell, leases
from ingestion.models import Chunk

logger = logging.getLogger(__name__)

TICK_SECONDS = 1.0
STOP_SECONDS = 30.0  # a drain takes drain_seconds and django-q2's own stop a few more


def tick() -> None:
    """One look: recover what is orphaned, ring if something is due and no ring is unanswered."""
    if recovered := leases.recover():
        logger.warning("recovered %d chunks of workers that fell silent", recovered)
    if Chunk.objects.due(leases.database_now()).exists() and bell.unanswered() == 0:
        bell.ring()


class Host:
    """Runs until it is told to stop; twice means now."""

    def __init__(self) -> None:
        self._stop = threading.Event()
        self._now = False
        self._cluster: subprocess.Popen[bytes] | None = None

    def run(self, *, ready: Callable[[], None] = lambda: None) -> int:
        """The exit code: 0 after a clean drain, 1 when it had to be killed."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_signal)
        self._start_cluster()
        ready()
        try:
            while not self._stop.wait(TICK_SECONDS):
                self._tick()
        finally:
            drained = self._stop_cluster()
        return 0 if drained else 1

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self._now = self._stop.is_set()
        self._stop.set()
        if self._now:
            self._kill_session()

    def _tick(self) -> None:
        if self._cluster and self._cluster.poll() is not None:
            logger.error(
                "the cluster died (exit code %s); starting another", self._cluster.returncode
            )
            self._kill_session()
            self._start_cluster()
        try:
            close_old_connections()
            tick()
        except DatabaseError:
            logger.exception("the dispatcher cannot reach the database; it tries again")

    def _start_cluster(self) -> None:
        self._cluster = subprocess.Popen(
            [sys.executable, "-m", "ingestion.dispatch.cluster"],
            cwd=settings.BASE_DIR,
            start_new_session=True,
        )

    def _stop_cluster(self) -> bool:
        """Ask it to drain; kill its session if it does not end in time."""
        if self._cluster is None:
            return True
        if not self._now:
            self._cluster.terminate()
        with suppress(subprocess.TimeoutExpired):
            self._cluster.wait(STOP_SECONDS)
        drained = self._cluster.returncode == 0
        self._kill_session()
        return drained

    def _kill_session(self) -> None:
        """Whatever is left of the cluster's process group goes; parsers end with their owner."""
        if self._cluster is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._cluster.pid, signal.SIGKILL)
