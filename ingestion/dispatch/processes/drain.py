"""Defines when shifts drain, which means that they finish their documents and begin no others.

A whole cluster drains when a shared byte is set, because django-q2 does not tell a running task
that its cluster stops. The byte is created before the cluster forks its workers. A single worker
drains when it receives SIGTERM, which a stopping init system sends to every process of a unit, or
SIGHUP, which means that its parent died. After a second SIGTERM, it returns its chunks at once.
"""

import asyncio
import ctypes
import multiprocessing.sharedctypes
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ingestion.dispatch.processes import parent_death
from ingestion.dispatch.processes.parent_death import ORPHANED

# The value is shared without a lock, because a signal handler sets it.
_cluster = multiprocessing.sharedctypes.RawValue(ctypes.c_bool, False)
_signals = 0  # how many signals to end this process received during a shift


def start_draining() -> None:
    """Let every worker of this cluster drain."""
    _cluster.value = True


def is_draining() -> bool:
    """Return whether the cluster or this worker drains."""
    return bool(_cluster.value) or _signals > 0


def is_asked_to_leave() -> bool:
    """Return whether this worker ends after its shift: it received SIGTERM, or lost its parent.

    A signal that arrives when the shift has just ended may be lost, so the parent is looked up too.
    """
    return _signals > 0 or parent_death.is_orphaned()


@contextmanager
def drain_on_sigterm(
    loop: asyncio.AbstractEventLoop, give_up: Callable[[], object]
) -> Iterator[None]:
    """Let SIGTERM drain this worker while the block runs. A second SIGTERM calls `give_up`.

    Does nothing outside the main thread, because only the main thread receives signals.
    """

    def on_term() -> None:
        global _signals  # noqa: PLW0603 - a process has one set of signals
        _signals += 1
        if _signals > 1:
            give_up()

    def on_parent_death() -> None:
        # This does not count as a second SIGTERM: a SIGTERM to every process ends the parent too.
        global _signals  # noqa: PLW0603 - as above
        _signals = max(_signals, 1)

    if threading.current_thread() is not threading.main_thread():
        yield  # as in tests
        return
    loop.add_signal_handler(signal.SIGTERM, on_term)
    loop.add_signal_handler(ORPHANED, on_parent_death)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGTERM)
        loop.remove_signal_handler(ORPHANED)
