"""Defines a reader that may hang or die, for tests of parser processes.

It is small, because each parser process imports it.
"""

import os
import signal
import time


def read(payload: bytes) -> int:
    if payload == b"hangs":
        time.sleep(600)
    if payload == b"kills":
        os.kill(os.getpid(), signal.SIGKILL)
    return len(payload)
