"""Inject faults into requests. Only the seed and the path determine which requests fail, and how.

A document with a fault fails on its first one or two requests and is served afterwards. Requests
that exceed the rate limit do not count.
"""

import random
import threading
from collections import Counter
from enum import StrEnum


class PortalFault(StrEnum):
    """Lists the faults that the portal injects."""

    UNAVAILABLE = "503"
    RESET = "connection reset in mid-body"
    SLOW = "slow"
    TRUNCATED = "fewer bytes than announced"


class FaultInjection:
    """Injects faults into a `share` of all paths. Safe for several threads.

    Raises ValueError unless `share` is between 0 and 1.
    """

    def __init__(self, share: float, seed: int) -> None:
        if not 0.0 <= share <= 1.0:
            raise ValueError(f"the share of faults must be between 0 and 1, not {share}")
        self.share, self.seed = share, seed
        self._requests: Counter[str] = Counter()
        self._lock = threading.Lock()  # guards _requests

    def on(self, path: str) -> PortalFault | None:
        """Count the request and return its fault, or None."""
        with self._lock:
            self._requests[path] += 1
            count = self._requests[path]
        fault, affected = self.forecast(path)
        return fault if count <= affected else None

    def forecast(self, path: str) -> tuple[PortalFault | None, int]:
        """Return the fault of a path and the number of requests it affects. Counts nothing."""
        rng = random.Random(f"{self.seed} {path}")
        if rng.random() >= self.share:
            return None, 0
        return rng.choice(list(PortalFault)), rng.randint(1, 2)
