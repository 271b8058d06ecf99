"""Records in small files which workers of this host are busy, with the last heartbeat of each.

The workers write the files, and their host reads them. Shared memory with a lock would not be safe:
the lock of a killed process would block the next reader for ever. Times are seconds of
CLOCK_MONOTONIC, which all processes of a machine share.
"""

import json
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ingestion.dispatch import running_tasks
from ingestion.dispatch.running_tasks import RunningTask

FOLDER = "at-work"  # in the folder of a process session

_folder: Path | None = None  # None: there is no host, for example under a plain `qcluster`
_began_at, _owner = 0.0, ""


@dataclass(frozen=True, slots=True)
class BusyWorker:
    """Describes a worker that works on a shift or a job. Times are monotonic seconds."""

    pid: int
    began_at: float
    seen_at: float  # its last heartbeat
    owner: str = ""  # the worker's name in `lease_owner`
    task: RunningTask | None = None


def set_folder(folder: Path) -> None:
    """Set where this process, and every process that it forks, writes its heartbeat."""
    global _folder  # noqa: PLW0603 - set once, before the fork
    folder.mkdir(exist_ok=True)
    _folder = folder


@contextmanager
def mark_busy() -> Iterator[None]:
    """Record that this worker is busy while the block runs, under a new name for its leases."""
    global _began_at, _owner  # noqa: PLW0603 - a worker runs one task at a time
    _began_at, _owner = time.monotonic(), _new_owner()
    record_heartbeat()
    try:
        yield
    finally:
        _owner = ""
        if _folder:
            (_folder / str(os.getpid())).unlink(missing_ok=True)


def get_current_owner() -> str:
    """Return the name of this worker for the leases of its shift."""
    return _owner or _new_owner()


def _new_owner() -> str:
    """Return host, process id and time. The time tells later processes with the same id apart."""
    return f"{socket.gethostname()}:{os.getpid()}:{time.time_ns()}"


def record_heartbeat() -> None:
    """Write the heartbeat of this worker.

    The file is replaced by one rename, so that the host never reads half of it.
    """
    if _folder is None:
        return
    own = _folder / str(os.getpid())
    task = running_tasks.get_running_task()
    content: dict[str, Any] = {"began_at": _began_at, "seen_at": time.monotonic(), "owner": _owner}
    content["task"] = asdict(task) if task else None
    own.with_suffix(".new").write_text(json.dumps(content))
    own.with_suffix(".new").replace(own)


def read_busy_workers(folder: Path) -> list[BusyWorker]:
    """Return the workers with a file, which includes busy workers that died."""
    found = []
    with suppress(FileNotFoundError):  # The cluster has just started.
        for file in folder.iterdir():
            if file.name.isdigit():
                # The shift has ended, or the file is one of an earlier release.
                with suppress(FileNotFoundError, ValueError):
                    content = json.loads(file.read_text())
                    task = content.pop("task")
                    task = RunningTask(**task) if task else None
                    found.append(BusyWorker(int(file.name), **content, task=task))
    return found


def count_busy_workers() -> int:
    """Return how many workers of this host are busy; 0 if there is no host."""
    return len(read_busy_workers(_folder)) if _folder else 0


def remove_worker(folder: Path, worker: BusyWorker) -> None:
    """Remove the file of a dead worker, after its leases were recovered."""
    (folder / str(worker.pid)).unlink(missing_ok=True)
