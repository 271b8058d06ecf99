"""Defines tasks that fail or die in a real worker, for tests."""

import os
import signal

from django_q.signals import post_execute_in_worker


def die_with_the_timers_lock():
    """Kill the worker while it holds the lock of its timer, for which the sentinel waits."""

    def die(**_):
        os.kill(os.getpid(), signal.SIGKILL)

    post_execute_in_worker.connect(die, weak=False)


def fail():
    message = "this one fails"
    raise RuntimeError(message)
