"""When to finish what is in hand and start nothing: said to a whole cluster, or to one worker.

To a cluster by one shared byte, created before it forks: django-q2 never tells a task that its
cluster is stopping. To a worker by SIGTERM, which a stopping init system sends to every process of
a unit, or by SIGHUP, when its parent died. A second SIGTERM means now: what is in hand goes back to
the queue unfinished.
"""

import asyncio
import ctypes
import multiprocessing.sharedctypes
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ingestion.dispatch.processes.parent_death import ORPHANED

_cluster = multiprocessing.sharedctypes.RawValue(ctypes.c_bool, False)  # no lock: a handler sets it
_signals = 0  # to end, that this process got during a shift


def start() -> None:
    """Drain every worker of this cluster."""
    _cluster.value = True


def is_draining() -> bool:
    return bool(_cluster.value) or _signals > 0


def was_told_to_leave() -> bool:
    """SIGTERM came for this worker itself: it should end after its shift."""
    return _signals > 0


@contextmanager
def on_sigterm(loop: asyncio.AbstractEventLoop, give_up: Callable[[], object]) -> Iterator[None]:
    """While the block runs, SIGTERM drains this worker; a second one calls `give_up`."""

    def told() -> None:
        global _signals  # noqa: PLW0603 - one for each process, as signals are
        _signals += 1
        if _signals > 1:
            give_up()

    def orphaned() -> None:
        # No second SIGTERM: one to every process ends the parent as well.
        global _signals  # noqa: PLW0603 - as above
        _signals = max(_signals, 1)

    if threading.current_thread() is not threading.main_thread():
        yield  # only a main thread gets signals; others are a test's
        return
    loop.add_signal_handler(signal.SIGTERM, told)
    loop.add_signal_handler(ORPHANED, orphaned)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGTERM)
        loop.remove_signal_handler(ORPHANED)
