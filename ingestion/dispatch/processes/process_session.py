"""A cluster in a process session of its own, as its host sees it: start, ask to stop, kill.

The session is what can be killed whole: django-q2's processes hold locks on each other's queues,
and one that is killed with a lock takes the rest with it, sooner or later.
"""

import fcntl
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from django.conf import settings

from ingestion.dispatch.processes import worker_presence

PREFIX = "siteledger-host-"
ALIVE = "alive"  # a file in a session's folder, locked while one of its processes lives
STOP_SECONDS = 30.0  # a drain takes drain_seconds and django-q2's own stop a few more


class Session:
    """Started when it is made. Its folder is its children's temporary one, and ends with it."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-"))
        self.was_killed = False
        self._headless_since = 0.0
        self._head = subprocess.Popen(  # noqa: S603 - ourselves
            [
                sys.executable,
                "-m",
                "ingestion.dispatch.processes.cluster",
                str(self.folder),
                str(os.getpid()),
            ],
            cwd=settings.BASE_DIR,
            start_new_session=True,
        )

    @property
    def is_over(self) -> bool:
        """Its head is gone, and its workers have drained or had the time to.

        What they finish need not be done again, and their leases are given back at once.
        """
        if self._head.poll() is None:
            return False
        now = time.monotonic()
        self._headless_since = self._headless_since or now
        return not self.members() or now - self._headless_since > STOP_SECONDS

    def workers(self) -> tuple[list[worker_presence.AtWork], list[worker_presence.AtWork]]:
        """Those with a shift in hand: who is alive, and who died and is not forgotten yet."""
        signs = worker_presence.read(self.folder / worker_presence.FOLDER)
        # Looked for later than the signs: nobody who just began is taken for dead.
        members = self.members() if signs else set()
        living = [worker for worker in signs if worker.pid in members]
        return living, [worker for worker in signs if worker.pid not in members]

    def forget(self, worker: worker_presence.AtWork) -> None:
        worker_presence.forget(self.folder / worker_presence.FOLDER, worker)

    def ask_to_stop(self) -> None:
        self._head.terminate()

    def await_end(self, *, unless: Callable[[], bool]) -> None:
        """Until nobody is left, STOP_SECONDS at most. `unless` is asked now and then.

        A SIGTERM to every process ends the cluster's head first; its workers drain alone.
        """
        until = time.monotonic() + STOP_SECONDS
        while self.members() and time.monotonic() < until and not unless():
            time.sleep(0.1)

    def kill(self) -> list[worker_presence.AtWork]:
        """Whatever is left goes at once, its parsers and its folder with it. Answers the fallen."""
        until = time.monotonic() + STOP_SECONDS  # a process in the disk's hands goes when it may
        while (members := self.members()) and time.monotonic() < until:
            self.was_killed = True
            for member in members:
                with suppress(ProcessLookupError):
                    os.kill(member, signal.SIGKILL)
            time.sleep(0.02)
        self._head.wait()
        _, fallen = self.workers()
        shutil.rmtree(self.folder, ignore_errors=True)
        return fallen

    def members(self) -> set[int]:
        """Living processes of the session, and their children, some in sessions of their own."""
        rows = list(_processes())
        found = {pid for pid, _, session in rows if session == self._head.pid}
        while more := {pid for pid, parent, _ in rows if parent in found} - found:
            found |= more
        return found


def hold(folder: Path) -> None:
    """Keep a folder for as long as this process lives, or one that it forks."""
    held = os.open(folder / ALIVE, os.O_CREAT | os.O_RDWR)
    fcntl.flock(held, fcntl.LOCK_EX)  # forks share the lock; it goes with the last of them


def sweep_folders() -> list[worker_presence.AtWork]:
    """Of hosts that were killed themselves. Their clusters may still drain: those keep theirs.

    Answers the workers that died in the others with a shift in hand.
    """
    fallen: list[worker_presence.AtWork] = []
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        owner = folder.name.removeprefix(PREFIX).partition("-")[0]
        if not Path(f"/proc/{owner}").exists() and not _is_held(folder):
            fallen += worker_presence.read(folder / worker_presence.FOLDER)
            shutil.rmtree(folder, ignore_errors=True)
    return fallen


def _is_held(folder: Path) -> bool:
    with suppress(FileNotFoundError), (folder / ALIVE).open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def _processes() -> Iterator[tuple[int, int, int]]:
    """Living ones: number, parent, session (proc(5): `stat`)."""
    for process in Path("/proc").iterdir():
        with suppress(OSError, ValueError):  # no process, or one that has just ended
            stat = (process / "stat").read_text()
            state, parent, _group, session = stat.rpartition(")")[2].split()[:4]
            if state not in "ZX":
                yield int(process.name), int(parent), int(session)
