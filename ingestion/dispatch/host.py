"""What a worker host runs: one cluster in its own session, and the dispatcher's loop.

The loop makes orphaned chunks due again and rings while due chunks wait. It never leases anything
itself, and any number of hosts may run it against one database.
"""

import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import FrameType

from django.conf import settings
from django.db import DatabaseError, close_old_connections

from ingestion import batches
from ingestion.dispatch import bell, leases, polls

logger = logging.getLogger(__name__)

TICK_SECONDS = 1.0
STOP_SECONDS = 30.0  # a drain takes drain_seconds and django-q2's own stop a few more


def tick() -> None:
    """One look: recover what is orphaned, ring if something is due and no ring is unanswered."""
    if recovered := leases.recover():
        logger.warning("recovered %d chunks of workers that fell silent", recovered)
    batches.carry_out_cancelling()
    polls.poll_due()
    if leases.anything_due() and bell.unanswered() == 0:
        bell.ring()


class Host:
    """Runs until it is told to stop; twice means now."""

    def __init__(self) -> None:
        # Plain flags: an Event's lock could be held by the very thread that a signal interrupts.
        self._stop = self._now = self._killed = False
        self._cluster: subprocess.Popen[bytes] | None = None

    def run(self, *, ready: Callable[[], None] = lambda: None) -> int:
        """The exit code: 0 after a clean drain, 1 when it had to be killed."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_signal)
        self._start_cluster()
        ready()
        try:
            while not self._stop:
                self._tick()
                self._pause(TICK_SECONDS)
        finally:
            drained = self._stop_cluster()
        return 0 if drained else 1

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self._now, self._stop = self._stop, True
        if self._now:
            self._kill_session()

    def _pause(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while not self._stop and time.monotonic() < until:
            time.sleep(0.05)

    def _tick(self) -> None:
        if self._cluster and self._cluster.poll() is not None:
            logger.error(
                "the cluster died (exit code %s); starting another", self._cluster.returncode
            )
            self._kill_session()
            self._killed = False  # the exit code tells how we ended, not what died on the way
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
        """Ask it to drain; kill what is left of its session after STOP_SECONDS."""
        if self._cluster is None:
            return True
        if not self._now:
            self._cluster.terminate()
            with suppress(subprocess.TimeoutExpired):
                self._cluster.wait(STOP_SECONDS)
            self._await_stragglers()
        self._kill_session()
        self._cluster.wait()
        return not self._killed

    def _await_stragglers(self) -> None:
        """A SIGTERM to every process ends the cluster's head first; its workers drain alone."""
        until = time.monotonic() + STOP_SECONDS
        while self._members() and time.monotonic() < until and not self._now:
            time.sleep(0.1)

    def _members(self) -> list[int]:
        """Living processes of the cluster's session (proc(5): state and session of `stat`)."""
        members = []
        for process in Path("/proc").iterdir():
            with suppress(OSError, ValueError):  # no process, or one that has just ended
                stat = (process / "stat").read_text()
                state, _parent, _group, session = stat.rpartition(")")[2].split()[:4]
                if self._cluster and session == str(self._cluster.pid) and state not in "ZX":
                    members.append(int(process.name))
        return members

    def _kill_session(self) -> None:
        """Whatever is left of the cluster goes at once; its parsers end with their owner."""
        for member in self._members():
            with suppress(ProcessLookupError):
                os.kill(member, signal.SIGKILL)
                self._killed = True
