"""Runs a worker host: one cluster in its own process session, the dispatcher's loop, the watchdog.

The loop makes orphaned chunks due again, and wakes a worker while chunks are due. It leases no
chunks, and any number of hosts may run it against one database. It also signs new ledger entries
when that is due, once more when the host ends, and sends alarms.
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
from audit.signing.checkpoint_scheduler import CheckpointScheduler
from ingestion.dispatch import (
    completion_polls,
    leases,
    recovery,
    wakeup,
)
from ingestion.dispatch.processes import parent_death, process_session
from ingestion.dispatch.processes.host_heartbeat import HostHeartbeat
from ingestion.dispatch.processes.process_session import ProcessSession
from ingestion.dispatch.processes.watchdog import Watchdog, WatchdogTimeouts
from ingestion.dispatch.processes.worker_presence import BusyWorker
from ingestion.documents import batches
from sites.accounts import auditor_access_log, sign_in_log

logger = logging.getLogger(__name__)

TICK_SECONDS = 1.0


def run_tick() -> str:
    """Recover what is orphaned, and wake a worker if chunks are due and no wakeup is unanswered.

    Failed sign-ins and the records that auditors opened are entered into the ledger here too, so
    that the last ones do not wait for others.

    Returns the oldest wakeup that was unanswered before, or "".
    """
    if recovered := recovery.recover_orphans():
        logger.warning("%s", recovered)
    batches.continue_cancellations()
    completion_polls.poll_due_batches()
    background_jobs.maintain_jobs()
    sign_in_log.enter_failures()
    auditor_access_log.enter()
    unanswered = wakeup.find_pending_wakeup()
    if not unanswered and leases.is_any_chunk_due():
        wakeup.wake_worker()
    return unanswered


class HostProcess:
    """Runs until it receives SIGTERM or SIGINT. The second one ends it at once."""

    def __init__(self, periodic: Sequence[Callable[[], None]] = ()) -> None:
        """`periodic` is called in each tick: each function returns at once if nothing is due."""
        self._periodic = periodic
        # Plain flags: the lock of an Event could be held by the thread that a signal interrupts.
        self._is_stopping = self._is_killing = False
        self._signalled, self._signal_writer = os.pipe()  # a signal writes; nothing reads it
        os.set_blocking(self._signal_writer, False)
        self._watchdog = Watchdog(WatchdogTimeouts.from_settings(), settings.WORKERS)
        self._notary = CheckpointScheduler()
        self._heartbeat = HostHeartbeat()
        self._session: ProcessSession

    def run(self, *, ready: Callable[[], None] = lambda: None) -> int:
        """Return the exit code: 0 after a clean drain, 1 if processes had to be killed.

        `ready` is called when the cluster was started.
        """
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_signal)
        signal.set_wakeup_fd(self._signal_writer)
        parent_death.name_process("host")
        _recover_leases_of(process_session.remove_orphaned_folders())
        self._start()
        ready()
        try:
            while not self._is_stopping:
                self._tick()
                self._pause(TICK_SECONDS)
        finally:
            self._end()
        return 1 if self._session.was_killed else 0

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self._is_killing, self._is_stopping = self._is_stopping, True

    def _pause(self, seconds: float) -> None:
        """Wait, until a signal comes. Polling more often would cost more than a tick."""
        select.select([self._signalled], [], [], seconds)

    def _tick(self) -> None:
        if self._session.has_ended:
            self._restart("the cluster died")
        try:
            close_old_connections()
            busy, dead = self._session.workers()
            for worker in dead:
                _recover_from(worker)
                self._session.remove_worker(worker)
            self._watch(run_tick(), busy)
            self._heartbeat.beat(len(busy))
            self._notary.look()
            for call in self._periodic:
                call()
        except DatabaseError:
            logger.exception("the dispatcher cannot reach the database; it tries again")

    def _watch(self, unanswered: str, busy: Collection[BusyWorker]) -> None:
        for pid in self._watchdog.find_overdue(busy):
            logger.error("worker %d has a shift and no heartbeat; it is killed", pid)
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if self._watchdog.is_stuck(unanswered, busy):
            self._restart("no worker takes a wakeup, though one of them is idle")

    def _start(self) -> None:
        self._session = ProcessSession()
        self._watchdog.note_start()

    def _restart(self, reason: str) -> None:
        logger.error("%s; starting another cluster", reason)
        _recover_leases_of(self._session.kill())
        self._pause(self._watchdog.restart_delay_seconds)
        self._start()

    def _end(self) -> None:
        """Let the cluster drain. After MAX_STOP_SECONDS or a second signal, the rest is killed."""
        if not self._is_killing:
            self._session.ask_to_stop()
            self._session.await_end(unless=lambda: self._is_killing)
        _recover_leases_of(self._session.kill())
        if not self._is_killing:
            self._notary.close()
            self._heartbeat.leave()


def _recover_leases_of(dead: Iterable[BusyWorker]) -> None:
    """Make the work of dead workers due again. Without a database, their leases will expire."""
    try:
        for worker in dead:
            _recover_from(worker)
    except DatabaseError:
        logger.exception("the work of killed workers waits until their leases expire")


def _recover_from(worker: BusyWorker) -> None:
    """Make the work of a dead worker due again, before its leases expire."""
    if chunks := leases.recover_leases_of(worker.owner):
        logger.warning("worker %d died during a shift; chunks due again: %d", worker.pid, chunks)
    background_jobs.recover_jobs_of(worker.owner)
