"""Implements `Prefer: wait=N` (RFC 7240): responds when the work is final, or after N seconds.

A waiting request occupies a thread of the web server, so only a quarter of the threads may wait.
Beyond that the preference is ignored, as the RFC allows. Waiting only reads rows.
"""

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from django.conf import settings

MAX_WAIT_SECONDS = 20
OPENAPI_PARAMETER = {
    "in": "header",
    "name": "Prefer",
    "description": (
        f"wait=N: wait up to N seconds (at most {MAX_WAIT_SECONDS}) for the work to be final."
    ),
    "schema": {"type": "string", "examples": ["wait=0"]},
}
_WAIT = re.compile(r'\s*wait\s*=\s*"?(\d{1,9})"?\s*(;.*)?', re.IGNORECASE).fullmatch


def parse_wait_seconds(header: str) -> int:
    """Return the N of the first `wait=N`, at most MAX_WAIT_SECONDS, or 0 if there is none."""
    for preference in header.split(","):
        if re.match(r"\s*wait\b", preference, re.IGNORECASE):
            # The first of several preferences counts, even if it is not valid (RFC 7240, 2).
            found = _WAIT(preference)
            return min(int(found[1]), MAX_WAIT_SECONDS) if found else 0
    return 0


class WaitingThreads:
    """Counts the threads of this process that are waiting, and limits their number."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting = 0  # guarded by _lock

    @contextmanager
    def reserve(self) -> Iterator[bool]:
        """Yield whether the calling thread may wait. Its place is free again afterwards."""
        with self._lock:
            may_wait = self._waiting < max(1, settings.WEB_THREADS // 4)
            self._waiting += may_wait
        try:
            yield may_wait
        finally:
            with self._lock:
                self._waiting -= may_wait


waiting_threads = WaitingThreads()
