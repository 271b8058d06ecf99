"""One byte that says: finish what is in hand and start nothing.

Created before the cluster forks, so that its workers share it; django-q2 never tells a task that
its cluster is stopping. No lock: a signal handler sets it.
"""

import ctypes
import multiprocessing.sharedctypes

_flag = multiprocessing.sharedctypes.RawValue(ctypes.c_bool, False)


def start() -> None:
    _flag.value = True


def stop() -> None:
    """Only for a process that goes on after a drain: a test."""
    _flag.value = False


def is_draining() -> bool:
    return bool(_flag.value)
