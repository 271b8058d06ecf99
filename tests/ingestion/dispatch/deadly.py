"""Tasks that a real worker runs in tests, and that end badly."""

import os
import signal

from django_q.signals import post_execute_in_worker


def die_with_the_timers_lock():
    """Killed while it hands its result over, the lock that the sentinel wants in its hands."""

    def die(**_):
        os.kill(os.getpid(), signal.SIGKILL)

    post_execute_in_worker.connect(die, weak=False)


def fail():
    message = "this one fails"
    raise RuntimeError(message)
