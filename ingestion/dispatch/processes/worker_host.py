"""Runs a worker host: one cluster in a process session of its own, with a loop that watches it.

Each tick of the loop makes the chunks of dead workers due again, wakes a worker if chunks are due,
and restarts a cluster that is stuck. The host claims no chunks itself, so any number of hosts may
use one database. It also signs new ledger entries when that is due, once more when it ends, and
calls other periodic functions, such as the one that sends alerts.
"""

import logging
import os
import select
import signal
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from types import FrameType

from django.conf import settings
from django.db import DatabaseError, close_old_connections, connection

from audit import job_runs
from audit.signing.checkpoint_scheduler import CheckpointScheduler
from ingestion.core.capacity import may_leave
from ingestion.dispatch import (
    demand,
    leases,
    recovery,
    running_tasks,
    wakeup,
)
from ingestion.dispatch.completion_polls import CompletionPolls
from ingestion.dispatch.processes import host_heartbeat, parent_death, process_session
from ingestion.dispatch.processes.host_heartbeat import HostHeartbeat
from ingestion.dispatch.processes.process_session import ProcessSession
from ingestion.dispatch.processes.watchdog import Watchdog, WatchdogTimeouts
from ingestion.dispatch.processes.worker_presence import BusyWorker
from ingestion.documents import batches
from sites.accounts import auditor_access_log, sign_in_log

logger = logging.getLogger(__name__)

TICK_SECONDS = 1.0
LOCK_TIMEOUT = "5s"  # of PostgreSQL; SQLite has one of its own


def _limit_lock_waits() -> None:
    """Let a statement of this host fail that waits longer for a lock of another session.

    A worker that froze in a transaction keeps its locks until its host kills it, so no host may
    wait for them. The connection may be a new one. Raises DatabaseError.
    """
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(f"SET lock_timeout = '{LOCK_TIMEOUT}'")


def run_tick(polls: CompletionPolls) -> str:
    """Do the work that every host does in each tick, with the rows that all hosts share.

    It recovers orphaned chunks, continues cancellations, polls batches and maintains background
    jobs. It enters failed sign-ins and the records that auditors opened into the ledger, so that
    the last ones do not wait for others. It wakes a worker if chunks are due that no
    running shift claims, and no wakeup is pending.

    Returns the oldest wakeup that was pending before, or "". Raises DatabaseError.
    """
    recovered = recovery.recover_orphans()
    if recovered.chunks:
        logger.warning("chunks of silent workers are due again: %d", recovered.chunks)
    if recovered.folders:  # A shift that ends beside the search may leave one, too.
        logger.info("spool folders without a lease were removed: %d", recovered.folders)
    batches.continue_cancellations()
    polls.poll_due_batches()
    job_runs.maintain_jobs()
    sign_in_log.record_failures()
    auditor_access_log.record_views()
    pending = wakeup.find_pending_wakeup()
    if not pending and (batch := demand.find_batch_without_worker()):
        wakeup.wake_worker(batch, even_if_served=True)
    return pending


class HostProcess:
    """Runs until it receives SIGTERM or SIGINT, then drains. The second signal ends it at once."""

    def __init__(
        self, periodic: Sequence[Callable[[], None]] = (), *, leaves_when_idle: bool = False
    ) -> None:
        """Create a host that calls each function of `periodic` once per tick.

        A function has to return at once if nothing is due. With `leaves_when_idle`, the host ends
        when it was idle for SCALE_IN_SECONDS and at least SCALE_MIN_HOSTS others started before it.
        """
        self._leaves_when_idle = leaves_when_idle
        self._idle_since = time.monotonic()
        self._periodic = periodic
        # These are plain flags: the lock of an Event could be held by the thread that a signal
        # interrupts.
        self._is_stopping = self._is_killing = False
        # A signal writes to this pipe, which ends a pause. Nothing reads from it.
        self._signalled, self._signal_writer = os.pipe()
        os.set_blocking(self._signal_writer, False)
        self._watchdog = Watchdog(WatchdogTimeouts.from_settings(), settings.WORKERS)
        self._checkpoints = CheckpointScheduler()
        self._heartbeat = HostHeartbeat()
        self._polls = CompletionPolls()
        self._session: ProcessSession

    def run(self, *, ready: Callable[[], None] = lambda: None) -> int:
        """Run the host. Returns the exit code: 0 after a clean drain, 1 if processes were killed.

        `ready` is called when the cluster was started. When the host ends, the cluster may drain
        for MAX_STOP_SECONDS or until a second signal. Then the remaining processes are killed.
        """
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_signal)
        signal.set_wakeup_fd(self._signal_writer)
        parent_death.name_process("host")
        _recover_killed_workers(process_session.remove_orphaned_folders())
        self._start_cluster()
        ready()
        try:
            while not self._is_stopping:
                self._tick()
                self._pause(TICK_SECONDS)
        finally:
            if not self._is_killing:
                self._session.ask_to_stop()
                self._session.await_end(unless=lambda: self._is_killing)
            _recover_killed_workers(self._session.kill())
            if not self._is_killing:
                self._checkpoints.close()
                self._heartbeat.leave()
        return 1 if self._session.was_killed else 0

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self._is_killing, self._is_stopping = self._is_stopping, True

    def _pause(self, seconds: float) -> None:
        """Wait, until a signal comes. Polling a flag often would cost more than a tick."""
        select.select([self._signalled], [], [], seconds)

    def _tick(self) -> None:
        """Watch the cluster and its workers, and do the periodic work.

        If the database fails, the next tick tries again.
        """
        if self._session.has_ended:
            self._restart_cluster("the cluster died")
        try:
            close_old_connections()
            busy, dead = self._session.workers()
            # First of all, because the rest may wait for locks that such a worker holds.
            for pid in self._watchdog.find_overdue(busy):
                logger.error("worker %d has a shift and no heartbeat; it is killed", pid)
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            _limit_lock_waits()
            for worker in dead:
                _recover_worker(worker)
                self._session.remove_worker(worker)
            pending = run_tick(self._polls)
            if self._watchdog.is_stuck(pending, busy):
                self._restart_cluster("no worker takes a wakeup, though one of them is idle")
            self._heartbeat.beat(len(busy))
            self._leave_if_idle(is_busy=bool(busy))
            self._checkpoints.run_if_due()
            for call in self._periodic:
                call()
        except DatabaseError:
            logger.exception("the dispatcher cannot reach the database; it tries again")

    def _leave_if_idle(self, *, is_busy: bool) -> None:
        """Drain and end if this host may leave and was idle for long enough."""
        now = time.monotonic()
        if is_busy or not self._leaves_when_idle:
            self._idle_since = now
        elif now - self._idle_since >= settings.SCALE_IN_SECONDS:
            hosts = host_heartbeat.list_loads()
            if may_leave(hosts, self._heartbeat.name, settings.SCALE_MIN_HOSTS):
                logger.info("this host was idle for long enough, and ends")
                self._is_stopping = True

    def _start_cluster(self) -> None:
        self._session = ProcessSession(self._heartbeat.name)
        self._watchdog.note_start()

    def _restart_cluster(self, reason: str) -> None:
        logger.error("%s; starting another cluster", reason)
        _recover_killed_workers(self._session.kill())
        self._pause(self._watchdog.restart_delay_seconds)
        self._start_cluster()


def _recover_worker(worker: BusyWorker) -> None:
    """Make chunks and jobs of a dead worker due again, before its leases expire.

    Its task is recorded as failed, because django-q2 stores no result of a killed worker.
    """
    batches = leases.find_batches_of(worker.owner)
    if chunks := leases.recover_leases_of(worker.owner):
        logger.warning("worker %d died during a shift; chunks due again: %d", worker.pid, chunks)
    job_runs.recover_jobs_of(worker.owner)
    if worker.task:
        running_tasks.record_killed_task(worker.task, batches)


def _recover_killed_workers(dead: Iterable[BusyWorker]) -> None:
    """Recover workers that were killed. If the database fails, their leases will expire."""
    try:
        for worker in dead:
            _recover_worker(worker)
    except DatabaseError:
        logger.exception("the work of killed workers waits until their leases expire")
