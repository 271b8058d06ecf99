"""Counts the processor time that OCR may take for a page."""

import os


class TimeBudget:
    """The processor time that is left for the OCR of a page.

    Counts the time of this process and of the programs that it ran. On a busy host, a page takes
    several times as long by the clock, and needs the same processor time.
    """

    def __init__(self, seconds: float) -> None:
        """`seconds` is the processor time for the page, from now on."""
        self.seconds = seconds
        self._end = _used_seconds() + seconds

    @property
    def remaining(self) -> float:
        """Return the seconds that are left, at least 0."""
        return max(self._end - _used_seconds(), 0.0)


def _used_seconds() -> float:
    return sum(os.times()[:4])  # user and system, of this process and of those that ended
