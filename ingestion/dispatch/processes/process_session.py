"""Starts, stops and kills a cluster that runs in a process session of its own.

A session can be killed as a whole. This is necessary because the processes of django-q2 share
queues with locks: if one process is killed while it holds a lock, the others stop sooner or later.
"""

import fcntl
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from django.conf import settings

from ingestion.dispatch.processes import worker_presence

PREFIX = "siteledger-host-"  # of the names of temporary folders; the process id of the host follows
LOCK_FILE = "alive"  # in the folder of a session, locked while one of its processes lives
MAX_STOP_SECONDS = 30.0  # a drain takes `drain_seconds`, and django-q2 some more to stop


class ProcessSession:
    """Represents a running cluster. Creating an instance starts the cluster.

    `folder` is the temporary folder of the cluster's processes. `kill` removes it.
    """

    def __init__(self, host: str) -> None:
        """Start the cluster of the host with this name."""
        self.folder = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-"))
        self.was_killed = False
        self._main_ended_at = 0.0
        self._main = subprocess.Popen(  # noqa: S603 - our own module
            [
                sys.executable,
                "-m",
                "ingestion.dispatch.processes.cluster",
                str(self.folder),
                str(os.getpid()),
                host,
            ],
            cwd=settings.BASE_DIR,
            start_new_session=True,
        )

    @property
    def has_ended(self) -> bool:
        """Return whether the main process has ended and its workers have drained.

        Workers have MAX_STOP_SECONDS to drain: documents that they finish need not be processed
        again, and they return their leases at once.
        """
        if self._main.poll() is None:
            return False
        now = time.monotonic()
        self._main_ended_at = self._main_ended_at or now
        return not self.members() or now - self._main_ended_at > MAX_STOP_SECONDS

    def workers(self) -> tuple[list[worker_presence.BusyWorker], list[worker_presence.BusyWorker]]:
        """Return the living busy workers, and the dead ones that were not removed yet.

        Call `remove_worker` when the leases of a dead worker were recovered.
        """
        busy = worker_presence.read_busy_workers(self.folder / worker_presence.FOLDER)
        # The processes are listed after the heartbeats, so that a new worker does not count as
        # dead.
        members = self.members() if busy else set()
        living = [worker for worker in busy if worker.pid in members]
        return living, [worker for worker in busy if worker.pid not in members]

    def remove_worker(self, worker: worker_presence.BusyWorker) -> None:
        """Remove the presence file of a worker that is no longer busy."""
        worker_presence.remove_worker(self.folder / worker_presence.FOLDER, worker)

    def ask_to_stop(self) -> None:
        """Ask the cluster to drain and to stop."""
        self._main.terminate()

    def await_end(self, *, unless: Callable[[], bool]) -> None:
        """Wait until no process is left, at most MAX_STOP_SECONDS or until `unless()` is true.

        It does not wait for the main process only: a SIGTERM to every process ends that process
        first, while its workers drain.
        """
        until = time.monotonic() + MAX_STOP_SECONDS
        while self.members() and time.monotonic() < until and not unless():
            time.sleep(0.1)

    def kill(self) -> list[worker_presence.BusyWorker]:
        """Kill all processes, and remove the folder. Returns the busy workers among them.

        A process that waits for a disk ends later than it is killed, so killing is repeated for
        MAX_STOP_SECONDS.
        """
        until = time.monotonic() + MAX_STOP_SECONDS
        while (members := self.members()) and time.monotonic() < until:
            self.was_killed = True
            for member in members:
                with suppress(ProcessLookupError):
                    os.kill(member, signal.SIGKILL)
            time.sleep(0.02)
        self._main.wait()
        _, dead = self.workers()
        shutil.rmtree(self.folder, ignore_errors=True)
        return dead

    def members(self) -> set[int]:
        """Return the ids of the session's living processes and of their children elsewhere."""
        rows = []  # id, parent and session of every living process, by `stat` of proc(5)
        for process in Path("/proc").iterdir():
            with suppress(OSError, ValueError):  # not a process, or one that has just ended
                stat = (process / "stat").read_text()
                state, parent, _group, session = stat.rpartition(")")[2].split()[:4]
                if state not in "ZX":
                    rows.append((int(process.name), int(parent), int(session)))
        found = {pid for pid, _, session in rows if session == self._main.pid}
        while more := {pid for pid, parent, _ in rows if parent in found} - found:
            found |= more
        return found


def lock_folder(folder: Path) -> None:
    """Lock the folder of a session for as long as this process, or one that it forks, lives."""
    held = os.open(folder / LOCK_FILE, os.O_CREAT | os.O_RDWR)
    fcntl.flock(held, fcntl.LOCK_EX)  # Forked processes share the lock; the last one releases it.


def remove_orphaned_folders() -> list[worker_presence.BusyWorker]:
    """Remove the folders of killed hosts, except those of clusters that still drain.

    Returns the busy workers that died with these hosts.
    """
    dead: list[worker_presence.BusyWorker] = []
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        owner = folder.name.removeprefix(PREFIX).partition("-")[0]
        if not Path(f"/proc/{owner}").exists() and not _is_locked(folder):
            dead += worker_presence.read_busy_workers(folder / worker_presence.FOLDER)
            shutil.rmtree(folder, ignore_errors=True)
    return dead


def _is_locked(folder: Path) -> bool:
    """Return whether a process of the session lives."""
    with suppress(FileNotFoundError), (folder / LOCK_FILE).open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False
