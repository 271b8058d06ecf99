"""Ends downloads that are too slow: a portal has to deliver a minimum throughput.

The timeouts of httpx2 apply to single reads, so a portal that sends one byte at a time never
exceeds them, and the total timeout grows with the file. This check lies between the two. A portal
that sends nothing at all is left to the read timeout.
"""

import time
from collections import deque
from collections.abc import Callable

from ingestion.core.errors import PortalUnreachable

MARKS_PER_WINDOW = 10  # bounds the memory, however small the pieces are


class ThroughputGuard:
    """Measures the throughput of one download over a sliding window."""

    def __init__(
        self,
        min_bytes_per_second: float,
        window_seconds: float,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._min_bytes_per_second = min_bytes_per_second
        self._window_seconds = window_seconds
        self._clock = clock
        self._received = 0  # bytes
        self._marks = deque([(clock(), 0)])  # times, with the bytes received until then

    def add(self, size: int) -> None:
        """Count `size` bytes. Raises PortalUnreachable if the last window was too slow."""
        now = self._clock()
        self._received += size
        while len(self._marks) > 1 and self._marks[1][0] <= now - self._window_seconds:
            self._marks.popleft()
        begun_at, received_before = self._marks[0]
        seconds, received = now - begun_at, self._received - received_before
        if seconds >= self._window_seconds and received < self._min_bytes_per_second * seconds:
            raise PortalUnreachable(
                f"{received} bytes in {seconds:.0f} s are too slow", seconds=int(seconds)
            )
        if now - self._marks[-1][0] >= self._window_seconds / MARKS_PER_WINDOW:
            self._marks.append((now, self._received))
