"""A portal's request rate, as arithmetic: one theoretical arrival time, no task, no lock.

The generic cell rate algorithm (ITU-T I.371). A request may go when it is not
earlier than `ready_at()`; spending moves the arrival time on by one interval.
In any window of t seconds at most burst + rate * t requests go.
"""

# What we leave unused, so that the portal's own clock and ours never disagree about a request
# that was late on the wire: 2 % of the rate and, where there are several, one token of the burst.
HEADROOM = 0.98


class TokenBucket:
    """`rate` per second, `burst` at once. Times are the caller's, in seconds, never decreasing."""

    __slots__ = ("_full_at", "_interval", "_tolerance")

    def __init__(self, rate: float, burst: int) -> None:
        if rate <= 0 or burst < 1:
            raise ValueError(f"a bucket needs a positive rate and burst, not {rate} and {burst}")
        self._interval = 1 / (rate * HEADROOM)
        self._tolerance = (max(1, burst - 1) - 1) * self._interval
        self._full_at = 0.0  # when the bucket would be full again

    def ready_at(self) -> float:
        """The earliest time at which a token may be spent."""
        return self._full_at - self._tolerance

    def spend(self, now: float) -> None:
        """Take one token. Raises ValueError before `ready_at()`."""
        if now < self.ready_at():
            raise ValueError("no token is left")
        self._full_at = max(self._full_at, now) + self._interval
