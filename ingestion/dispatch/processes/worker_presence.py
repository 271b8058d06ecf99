"""Which workers of this host are at work, and when each last gave a sign: a small file for each.

Written by the workers, read by their host's watchdog. Files and no shared memory with a lock: one
that a killed process held would hang whoever asks next. Times are CLOCK_MONOTONIC, which all
processes of a machine share.
"""

import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

FOLDER = "at-work"  # in the folder of a session

_folder: Path | None = None  # none: no host watches, as under a plain `qcluster`
_began, _owner = 0.0, ""


@dataclass(frozen=True, slots=True)
class AtWork:
    pid: int
    began: float  # monotonic seconds, as the next
    seen: float
    owner: str = ""  # as it stands on its leases


def keep_in(folder: Path) -> None:
    """Where signs go; for this process and all that it forks."""
    global _folder  # noqa: PLW0603 - set once, before the fork
    folder.mkdir(exist_ok=True)
    _folder = folder


@contextmanager
def at_work() -> Iterator[None]:
    global _began, _owner  # noqa: PLW0603 - a worker does one thing at a time
    _began, _owner = time.monotonic(), _this_moment()
    sign()
    try:
        yield
    finally:
        _owner = ""
        if _folder:
            (_folder / str(os.getpid())).unlink(missing_ok=True)


def owner() -> str:
    """Who holds the leases of this shift."""
    return _owner or _this_moment()


def _this_moment() -> str:
    """This process and now, so that no later process with the same number is taken for it."""
    return f"{socket.gethostname()}:{os.getpid()}:{time.time_ns()}"


def sign() -> None:
    """I am alive. Whole or not at all, for it is read at any moment."""
    if _folder is None:
        return
    own = _folder / str(os.getpid())
    own.with_suffix(".new").write_text(f"{_began} {time.monotonic()} {_owner}")
    own.with_suffix(".new").replace(own)


def read(folder: Path) -> list[AtWork]:
    """Everybody's last sign, also that of who has died since."""
    found = []
    with suppress(FileNotFoundError):  # the cluster is just starting
        for file in folder.iterdir():
            if file.name.isdigit():
                with suppress(FileNotFoundError):  # its shift is over
                    began, seen, owner = file.read_text().split()
                    found.append(AtWork(int(file.name), float(began), float(seen), owner))
    return found


def forget(folder: Path, worker: AtWork) -> None:
    """It died, and its leases are given back."""
    (folder / str(worker.pid)).unlink(missing_ok=True)
