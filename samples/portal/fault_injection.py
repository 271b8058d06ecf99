"""Which requests the portal fails, and how: decided by seed and path alone.

A document whose path has bad luck fails on its first one or two requests and is well after that.
Requests that the rate limit turned away do not count.
"""

import random
import threading
from collections import Counter
from enum import StrEnum


class Trouble(StrEnum):
    UNAVAILABLE = "503"
    RESET = "connection reset in mid-body"
    SLOW = "slow"
    TRUNCATED = "fewer bytes than announced"


class Weather:
    """`share` of the paths have trouble. Safe to ask from many threads."""

    def __init__(self, share: float, seed: int) -> None:
        if not 0.0 <= share <= 1.0:
            raise ValueError(f"a share of faults lies between 0 and 1, not at {share}")
        self.share, self.seed = share, seed
        self._asked: Counter[str] = Counter()
        self._lock = threading.Lock()  # guards _asked

    def on(self, path: str) -> Trouble | None:
        """What happens to this request. Counts it."""
        with self._lock:
            self._asked[path] += 1
            tries = self._asked[path]
        trouble, lasts = self.forecast(path)
        return trouble if tries <= lasts else None

    def forecast(self, path: str) -> tuple[Trouble | None, int]:
        """The trouble that a path has, and for how many requests. Counts nothing."""
        rng = random.Random(f"{self.seed} {path}")
        if rng.random() >= self.share:
            return None, 0
        return rng.choice(list(Trouble)), rng.randint(1, 2)
