"""What a worker host runs: one cluster in its own session, the dispatcher's loop, the watchdog.

The loop makes orphaned chunks due again and rings while due chunks wait. It never leases anything
itself, and any number of hosts may run it against one database. It has the ledger's new entries
signed when that is due, and once more when it ends; and it has alarms told to people.
"""

import logging
import os
import select
import signal
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from types import FrameType

from django.conf import settings
from django.db import DatabaseError, close_old_connections

from audit import background_jobs
from audit.signing.checkpoint_scheduler import Notary
from ingestion.dispatch import (
    completion_polls,
    leases,
    recovery,
    wakeup,
)
from ingestion.dispatch.processes import parent_death, process_session
from ingestion.dispatch.processes.host_heartbeat import Heartbeat
from ingestion.dispatch.processes.process_session import Session
from ingestion.dispatch.processes.watchdog import Patience, Watchdog
from ingestion.dispatch.processes.worker_presence import AtWork
from ingestion.documents import batches
from sites.accounts import auditor_access_log, sign_in_log

logger = logging.getLogger(__name__)

TICK_SECONDS = 1.0


def tick() -> str:
    """One look: recover what is orphaned, ring if something is due and no ring is unanswered.

    Failed sign-ins and what auditors opened are entered here too, so that the last ones do not wait
    for others.

    Answers the oldest ring that was unanswered before, or "".
    """
    if swept := recovery.sweep():
        logger.warning("%s", swept)
    batches.carry_out_cancelling()
    completion_polls.poll_due()
    background_jobs.look_after()
    sign_in_log.enter_failures()
    auditor_access_log.enter()
    unanswered = wakeup.unanswered()
    if not unanswered and leases.anything_due():
        wakeup.ring()
    return unanswered


class Host:
    """Runs until it is told to stop; twice means now."""

    def __init__(self, periodic: Sequence[Callable[[], None]] = ()) -> None:
        """`periodic` is called in each tick: each function returns at once if nothing is due."""
        self._periodic = periodic
        # Plain flags: an Event's lock could be held by the very thread that a signal interrupts.
        self._stop = self._now = False
        self._woken, self._wakes = os.pipe()  # written by a signal, and never read
        os.set_blocking(self._wakes, False)
        self._watchdog = Watchdog(Patience.from_settings(), settings.WORKERS)
        self._notary = Notary()
        self._heartbeat = Heartbeat()
        self._session: Session

    def run(self, *, ready: Callable[[], None] = lambda: None) -> int:
        """The exit code: 0 after a clean drain, 1 when it had to be killed."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_signal)
        signal.set_wakeup_fd(self._wakes)
        parent_death.name("host")
        _give_back(process_session.sweep_folders())
        self._start()
        ready()
        try:
            while not self._stop:
                self._tick()
                self._pause(TICK_SECONDS)
        finally:
            self._end()
        return 1 if self._session.was_killed else 0

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self._now, self._stop = self._stop, True

    def _pause(self, seconds: float) -> None:
        """As long, or until we are told to stop. To wake up and look costs more than a tick."""
        select.select([self._woken], [], [], seconds)

    def _tick(self) -> None:
        if self._session.is_over:
            self._start_again("the cluster died")
        try:
            close_old_connections()
            at_work, fallen = self._session.workers()
            for worker in fallen:
                _recover_from(worker)
                self._session.forget(worker)
            self._watch(tick(), at_work)
            self._heartbeat.beat(len(at_work))
            self._notary.look()
            for call in self._periodic:
                call()
        except DatabaseError:
            logger.exception("the dispatcher cannot reach the database; it tries again")

    def _watch(self, ring: str, at_work: Collection[AtWork]) -> None:
        for pid in self._watchdog.overdue(at_work):
            logger.error("worker %d is at work and gives no sign; it is killed", pid)
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if self._watchdog.is_stuck(ring, at_work):
            self._start_again("nobody takes a ring, though a worker has nothing to do")

    def _start(self) -> None:
        self._session = Session()
        self._watchdog.started()

    def _start_again(self, why: str) -> None:
        logger.error("%s; starting another cluster", why)
        _give_back(self._session.kill())
        self._pause(self._watchdog.rest_seconds)
        self._start()

    def _end(self) -> None:
        """Ask it to drain; what is left after STOP_SECONDS, or a second signal, is killed."""
        if not self._now:
            self._session.ask_to_stop()
            self._session.await_end(unless=lambda: self._now)
        _give_back(self._session.kill())
        if not self._now:
            self._notary.close()
            self._heartbeat.leave()


def _give_back(fallen: Iterable[AtWork]) -> None:
    """What they had in hand. Where the database cannot be reached, their leases will expire."""
    try:
        for worker in fallen:
            _recover_from(worker)
    except DatabaseError:
        logger.exception("what killed workers had in hand waits for its leases to expire")


def _recover_from(worker: AtWork) -> None:
    """Whoever was killed will not come back: its work need not wait until its leases expire."""
    if chunks := leases.recover_from(worker.owner):
        logger.warning("worker %d died at its work; chunks due again: %d", worker.pid, chunks)
    background_jobs.recover_from(worker.owner)
