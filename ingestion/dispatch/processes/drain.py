"""Tells shifts to drain: to finish what they have begun, and to begin nothing more.

A whole cluster drains by one shared byte, which is created before the cluster forks, because
django-q2 does not tell a task that its cluster stops. One worker drains on SIGTERM, which a
stopping init system sends to every process of a unit, or on SIGHUP, when its parent has died. After
a second SIGTERM, a worker returns its chunks to the queue at once.
"""

import asyncio
import ctypes
import multiprocessing.sharedctypes
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ingestion.dispatch.processes.parent_death import ORPHANED

_cluster = multiprocessing.sharedctypes.RawValue(
    ctypes.c_bool, False
)  # no lock, because a signal handler sets it
_signals = 0  # signals to end that this process received during a shift


def start_draining() -> None:
    """Let every worker of this cluster drain."""
    _cluster.value = True


def is_draining() -> bool:
    """Return whether the cluster or this worker drains."""
    return bool(_cluster.value) or _signals > 0


def is_asked_to_leave() -> bool:
    """Return whether this worker itself received SIGTERM, so that it ends after its shift."""
    return _signals > 0


@contextmanager
def on_sigterm(loop: asyncio.AbstractEventLoop, give_up: Callable[[], object]) -> Iterator[None]:
    """While the block runs, SIGTERM drains this worker; a second one calls `give_up`."""

    def on_term() -> None:
        global _signals  # noqa: PLW0603 - a process has one set of signals
        _signals += 1
        if _signals > 1:
            give_up()

    def on_parent_death() -> None:
        # This does not count as a second SIGTERM: one to every process ends the parent as well.
        global _signals  # noqa: PLW0603 - as above
        _signals = max(_signals, 1)

    if threading.current_thread() is not threading.main_thread():
        yield  # Only a main thread receives signals. Tests use others.
        return
    loop.add_signal_handler(signal.SIGTERM, on_term)
    loop.add_signal_handler(ORPHANED, on_parent_death)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGTERM)
        loop.remove_signal_handler(ORPHANED)
