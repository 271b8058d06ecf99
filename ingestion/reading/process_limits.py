"""Limits a parser process: its memory and processor time. It ends together with its owner.

A parser process leads its own session, so that a Tesseract program that it started ends with it.
A thread of its own waits for SIGTERM and for the end of the owner. Two other means cannot do that:
Python's signal handlers do not run while C code works, and under a forkserver PR_SET_PDEATHSIG
watches the forkserver instead of the owner. This module reads /proc, so it needs Linux.
"""

import ctypes
import gc
import logging
import logging.config
import os
import resource
import shutil
import signal
import tempfile
import threading
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.util import Finalize
from pathlib import Path
from typing import Any

from ingestion.reading.reading_stages import open_work_note

OWNER_CHECK_SECONDS = 1.0  # between two checks whether the owner is alive
ALLOCATIONS_PER_COLLECTION = 50_000  # of objects, a few megabytes
M_ARENA_MAX = -8  # of mallopt(3)
# Our own results report what these libraries log about a file.
MUTED_LOGGERS = ("pikepdf", "pypdf", "pypdfium2", "pyhanko", "pyhanko_certvalidator")


@dataclass(frozen=True, slots=True)
class OwnerProcess:
    """The process that owns parser processes.

    The start time distinguishes it from a later process with the same process id.
    """

    pid: int
    started: int  # clock ticks after boot

    @classmethod
    def this_process(cls) -> "OwnerProcess":
        """Return the current process as an owner."""
        return cls(os.getpid(), _start_time(os.getpid()))

    @property
    def is_alive(self) -> bool:
        """Return whether the process still runs."""
        return _start_time(self.pid) == self.started


def initialise_child(
    owner: OwnerProcess,
    memory_bytes: int,
    scratch: Path,
    log_config: Mapping[str, Any] | None = None,
) -> None:
    """Apply the limits of a parser process to this process. The pool calls it as initializer.

    `memory_bytes` bounds the address space, and `scratch` is the folder for temporary files.
    `log_config` configures the log, as `logging.config.dictConfig` does.
    """
    if log_config:
        logging.config.dictConfig(dict(log_config))
    os.setsid()
    use_one_heap()
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the owner handles Ctrl-C
    signal.signal(signal.SIGPROF, signal.SIG_DFL)  # ends the process, even inside C code
    os.environ["OMP_THREAD_LIMIT"] = "1"  # Tesseract's threads cost six times what they gain
    import cv2  # noqa: PLC0415 - only parser processes need it

    cv2.setNumThreads(1)
    tempfile.tempdir = str(scratch)  # the owner removes what a killed process leaves there
    open_work_note(scratch)
    warnings.simplefilter("ignore")  # of Pillow about damaged files, for example
    for name in MUTED_LOGGERS:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    configure_garbage_collection()
    # Blocked in all threads, SIGTERM stays pending until the watcher thread receives it.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    Finalize(None, _remove_orphaned_scratch, args=(owner, scratch), exitpriority=0)
    threading.Thread(target=_watch, args=(owner, scratch), name="watch", daemon=True).start()


def use_one_heap() -> None:
    """Let all threads of this process share one heap, for example in a process that reads pages.

    Another heap for each thread takes up to 128 MB of its address space, and memory that one
    thread releases would not serve the others.
    """
    ctypes.CDLL(None).mallopt(M_ARENA_MAX, 1)


def configure_garbage_collection() -> None:
    """Let the garbage collector run seldom, and leave out what the process started with.

    A page has many thousands of small objects, and hardly any of them are in a cycle. By default,
    the collector examines them after each 700.
    """
    gc.freeze()  # objects from the forkserver never become garbage
    gc.set_threshold(ALLOCATIONS_PER_COLLECTION)


@contextmanager
def limit_page_time(seconds: float) -> Iterator[None]:
    """Kill this process if the block uses more seconds of processor time.

    For parser processes only, because it kills any other process too. Processor time makes the
    limit the same on a busy machine. A block that only waits is ended by the limit of its task.
    """
    before = signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, *before)


def kill_orphans(pid: int) -> None:
    """Kill the processes that a dead parser process left in its process group."""
    # The kernel does not reuse a process group's number while the group has members. If a process
    # with this number exists, it is a new one, and the old group is empty.
    if not Path(f"/proc/{pid}").exists():
        with suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)


def _watch(owner: OwnerProcess, scratch: Path) -> None:
    """Kill this process group after SIGTERM, or after the end of the owner."""
    while owner.is_alive:
        if signal.sigtimedwait({signal.SIGTERM}, OWNER_CHECK_SECONDS) is not None:
            break
    _remove_orphaned_scratch(owner, scratch)
    os.killpg(0, signal.SIGKILL)


def _remove_orphaned_scratch(owner: OwnerProcess, scratch: Path) -> None:
    """Remove the scratch folder if the owner is dead.

    The finalizer calls it as well, because a process may exit over a broken pipe before the
    watcher thread has noticed the end of the owner.
    """
    if not owner.is_alive:
        shutil.rmtree(scratch, ignore_errors=True)


def _start_time(pid: int) -> int:
    """Return the start time of a process in clock ticks after boot, or 0 if it does not run."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return 0
    state, *fields = stat.rpartition(")")[2].split()
    # The start time is field 22 of proc(5); these fields begin after the second, the name.
    return 0 if state in "ZX" else int(fields[18])
