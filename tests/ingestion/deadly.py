"""What a pool's child is given to read, and may not survive. Small, for children import it."""

import os
import signal
import time


def read(payload: bytes) -> int:
    if payload == b"hangs":
        time.sleep(600)
    if payload == b"kills":
        os.kill(os.getpid(), signal.SIGKILL)
    return len(payload)
