"""`Prefer: wait=N` (RFC 7240): answer early when the batch is final, else after N seconds.

A waiter holds a thread of the web server, so only a quarter of them may wait; beyond that the
preference is passed over, as the RFC allows. Waiting looks at a row and can touch nothing.
"""

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from django.conf import settings

LONGEST = 20  # seconds
DESCRIBED = {
    "in": "header",
    "name": "Prefer",
    "description": f"wait=N: wait up to N seconds (at most {LONGEST}) for the batch to be final.",
    "schema": {"type": "string", "examples": ["wait=0"]},
}
_WAIT = re.compile(r'\s*wait\s*=\s*"?(\d{1,9})"?\s*(;.*)?', re.IGNORECASE).fullmatch


def preferred(header: str) -> int:
    """The N of the first `wait=N`, at most LONGEST; 0 when there is none."""
    for preference in header.split(","):
        if re.match(r"\s*wait\b", preference, re.IGNORECASE):
            # The first of several counts, even when it says nothing (RFC 7240, 2).
            found = _WAIT(preference)
            return min(int(found[1]), LONGEST) if found else 0
    return 0


class _Seats:
    """How many threads of this process wait just now."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._taken = 0  # guarded by _lock

    @contextmanager
    def one(self) -> Iterator[bool]:
        """Whether there was a seat; it is given back on the way out."""
        with self._lock:
            free = self._taken < max(1, settings.WEB_THREADS // 4)
            self._taken += free
        try:
            yield free
        finally:
            with self._lock:
                self._taken -= free


seats = _Seats()
