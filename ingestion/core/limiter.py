"""A portal's request rate, as arithmetic: one theoretical arrival time, no clock, no task, no lock.

The generic cell rate algorithm (ITU-T I.371). Whoever spends tokens moves the theoretical arrival
time (`tat`) on by one interval for each, and learns from it when each request may go. Where the
`tat` is kept is not known here: in a row (`dispatch.gates`), or in memory (`gate.LocalGate`).

In any window of t seconds a portal sees at most burst + rate * t requests, as long as each goes at
its go-time or at most `slack` later.
"""

import math
from dataclasses import dataclass
from typing import Self

# What we leave unused, so that the portal's own clock and ours never disagree about a request that
# was late on the wire: 2 % of the rate and one token of the burst. Where the burst is one, there
# is no token to hold back: then the rate alone pays for it.
HEADROOM = 0.98
HEADROOM_OF_ONE = 0.965
# At a fast portal one token is worth less time than an event loop needs to wake up: there as many
# are held back as go in this time.
LATE_SECONDS = 0.05
# So many held back are more than all workers together ever have reserved and not used: there a
# request may be late as it likes.
MANY = 1000


@dataclass(frozen=True, slots=True)
class Pace:
    """All in seconds. Times are anybody's, as long as they are of one clock."""

    interval: float  # between two requests, once the burst is spent
    tolerance: float  # how far the requests may run ahead of that
    slack: float  # how late a request may go after its go-time
    holds_one: bool = False  # the burst is one: no two requests are ever closer than the rate says
    holds_many: bool = False  # lateness does not matter: what is held back makes up for all of it

    @classmethod
    def of(cls, rate: float, burst: int) -> Self:
        """`rate` per second, `burst` at once, as the portal counts them."""
        if rate <= 0 or burst < 1:
            raise ValueError(f"a pace needs a positive rate and burst, not {rate} and {burst}")
        held_back = min(burst - 1, max(1, math.ceil(rate * LATE_SECONDS)))
        interval = 1 / (rate * (HEADROOM if held_back else HEADROOM_OF_ONE))
        slack = held_back * interval if held_back else interval - 1 / rate
        tolerance = (burst - held_back - 1) * interval
        is_much = held_back >= MANY
        return cls(interval, tolerance, slack, holds_one=not held_back, holds_many=is_much)

    def spend(self, tat: float, at: float, tokens: int = 1) -> float:
        """The arrival time after `tokens` were spent at the time `at`."""
        return max(tat, at) + tokens * self.interval

    def go_times(self, tat: float, at: float, tokens: int) -> list[float]:
        """When each of the `tokens` that were just spent may go. `tat` is what `spend` gave."""
        first = tat - tokens * self.interval - self.tolerance
        return [max(at, first + number * self.interval) for number in range(tokens)]

    def is_plenty(self, tat: float, at: float) -> bool:
        """More than half of the burst is left: tokens are not what is scarce."""
        return tat - at < self.tolerance / 2
