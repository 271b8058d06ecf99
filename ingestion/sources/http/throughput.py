"""A portal that is too slow is as good as silent: a least throughput over a sliding window.

httpx2's timeouts bound each single read, which a byte now and then satisfies for ever; the total
timeout grows with the file. This one looks in between. Silence itself is the read timeout's.
"""

import time
from collections import deque
from collections.abc import Callable

from ingestion.core.errors import PortalUnreachable

_MARKS = 10  # in one window: what is remembered is bounded, however small the pieces


class ThroughputGuard:
    def __init__(
        self,
        bytes_per_second: float,
        window_seconds: float,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._least, self._window, self._clock = bytes_per_second, window_seconds, clock
        self._total = 0
        self._marks = deque([(clock(), 0)])  # when, and how many bytes had come by then

    def add(self, size: int) -> None:
        """Raises PortalUnreachable when a whole window brought less than it should."""
        now = self._clock()
        self._total += size
        while len(self._marks) > 1 and self._marks[1][0] <= now - self._window:
            self._marks.popleft()
        since, before = self._marks[0]
        took, came = now - since, self._total - before
        if took >= self._window and came < self._least * took:
            raise PortalUnreachable(
                f"{came} bytes in {took:.0f} s: too slow to go on", seconds=int(took)
            )
        if now - self._marks[-1][0] >= self._window / _MARKS:
            self._marks.append((now, self._total))
