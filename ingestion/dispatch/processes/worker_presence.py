"""Records which workers of this host are busy, and the last heartbeat of each, in small files.

The workers write the files, and the watchdog of their host reads them. A shared memory with a lock
would not do: the lock of a killed process would block the next reader for ever. Times are
CLOCK_MONOTONIC, which all processes of a machine share.
"""

import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

FOLDER = "at-work"  # in the folder of a process session

_folder: Path | None = None  # None: no host watches, for example under a plain `qcluster`
_began_at, _owner = 0.0, ""


@dataclass(frozen=True, slots=True)
class BusyWorker:
    """Holds the last heartbeat of a worker that works on a shift, in monotonic seconds."""

    pid: int
    began_at: float
    seen_at: float
    owner: str = ""  # as the leases name the worker


def set_folder(folder: Path) -> None:
    """Set where this process, and every process that it forks, writes its heartbeat."""
    global _folder  # noqa: PLW0603 - set once, before the fork
    folder.mkdir(exist_ok=True)
    _folder = folder


@contextmanager
def mark_busy() -> Iterator[None]:
    """Record that this worker works on a shift, while the block runs."""
    global _began_at, _owner  # noqa: PLW0603 - a worker runs one shift at a time
    _began_at, _owner = time.monotonic(), _new_owner()
    record_heartbeat()
    try:
        yield
    finally:
        _owner = ""
        if _folder:
            (_folder / str(os.getpid())).unlink(missing_ok=True)


def current_owner() -> str:
    """Return how the leases of this shift name this worker."""
    return _owner or _new_owner()


def _new_owner() -> str:
    """Return host, process and time, so that a later process with the same number differs."""
    return f"{socket.gethostname()}:{os.getpid()}:{time.time_ns()}"


def record_heartbeat() -> None:
    """Write the heartbeat of this worker. The file is replaced, because it is read at any time."""
    if _folder is None:
        return
    own = _folder / str(os.getpid())
    own.with_suffix(".new").write_text(f"{_began_at} {time.monotonic()} {_owner}")
    own.with_suffix(".new").replace(own)


def read_busy_workers(folder: Path) -> list[BusyWorker]:
    """Return the last heartbeat of each worker, also of workers that have died since."""
    found = []
    with suppress(FileNotFoundError):  # The cluster is just starting.
        for file in folder.iterdir():
            if file.name.isdigit():
                with suppress(FileNotFoundError):  # The shift has ended.
                    began, seen, owner = file.read_text().split()
                    found.append(BusyWorker(int(file.name), float(began), float(seen), owner))
    return found


def remove_worker(folder: Path, worker: BusyWorker) -> None:
    """Remove the heartbeat of a worker that died and whose leases were recovered."""
    (folder / str(worker.pid)).unlink(missing_ok=True)
