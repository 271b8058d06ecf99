"""The walls around a child that reads: memory, time, and its end with its owner's.

A child leads its own session, so that a tesseract it started dies with it. A thread of its own
waits for SIGTERM and for the end of the owner. Neither can be left to Python's signal handlers,
which do not run while C code is at work, nor to PR_SET_PDEATHSIG, which under a forkserver
watches the forkserver and not the owner. Linux only: it reads /proc.
"""

import gc
import logging
import os
import resource
import shutil
import signal
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.util import Finalize
from pathlib import Path

import cv2

WATCH_SECONDS = 1.0  # between two looks at the owner


@dataclass(frozen=True, slots=True)
class OwnerProcess:
    """A process that cannot be mistaken for a later one with the same number."""

    pid: int
    started: int  # clock ticks after boot

    @classmethod
    def this_process(cls) -> "OwnerProcess":
        return cls(os.getpid(), _started(os.getpid()))

    @property
    def is_alive(self) -> bool:
        return _started(self.pid) == self.started


def initialise_child(owner: OwnerProcess, memory_bytes: int, scratch: Path) -> None:
    """Make this process a child that reads. The pool's initializer."""
    os.setsid()
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the owner's to handle
    signal.signal(signal.SIGPROF, signal.SIG_DFL)  # kills, also in the middle of C code
    os.environ["OMP_THREAD_LIMIT"] = "1"  # tesseract's threads cost six times what they gain
    cv2.setNumThreads(1)
    tempfile.tempdir = str(scratch)  # what a killed child leaves there, the owner removes
    for noisy in (
        "pikepdf",
        "pypdf",
        "pypdfium2",
        "pyhanko",
        "pyhanko_certvalidator",
    ):  # what they say of a file, we say ourselves
        logging.getLogger(noisy).setLevel(logging.CRITICAL)
    gc.freeze()  # what every child was started with never becomes garbage
    # Blocked in all threads, SIGTERM waits for the watch to take it.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    Finalize(None, _clean_up_after, args=(owner, scratch), exitpriority=0)
    threading.Thread(target=_watch, args=(owner, scratch), name="watch", daemon=True).start()


@contextmanager
def page_time_limit(seconds: float) -> Iterator[None]:
    """Kill this child when the block takes longer. For children only: elsewhere it kills too.

    Seconds of its own processor time: on a busy machine the same file has the same time. What only
    waits is ended with its task.
    """
    before = signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, *before)


def kill_orphans(pid: int) -> None:
    """Kill what a dead child left running in its process group."""
    # While a group has members its number is not given to a new process: if there
    # is one, it is not ours, and ours is empty.
    if not Path(f"/proc/{pid}").exists():
        with suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)


def _watch(owner: OwnerProcess, scratch: Path) -> None:
    while owner.is_alive:
        if signal.sigtimedwait({signal.SIGTERM}, WATCH_SECONDS) is not None:
            break
    _clean_up_after(owner, scratch)
    os.killpg(0, signal.SIGKILL)


def _clean_up_after(owner: OwnerProcess, scratch: Path) -> None:
    """A child may also find its pipe broken, and leave, before the watch has looked."""
    if not owner.is_alive:
        shutil.rmtree(scratch, ignore_errors=True)


def _started(pid: int) -> int:
    """When a process started; 0 when there is none, or only its zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return 0
    state, *fields = stat.rpartition(")")[2].split()
    return 0 if state in "ZX" else int(fields[18])  # field 22 of proc(5), counted from the name on
