"""Calculates when requests to a portal may start, by the generic cell rate algorithm (ITU-T I.371).

Spending tokens moves the theoretical arrival time (`tat`) on by one interval for each token, and
the new `tat` says when each request may start. The `tat` is stored elsewhere: in a row
(`dispatch.portal_limit_rows`) or in memory (`core.portal_limits.LocalPortalLimit`).

In any window of t seconds, a portal sees at most burst + rate * t requests, provided that each
request starts at its start time or at most `slack` seconds later.
"""

import math
from dataclasses import dataclass
from typing import Self

# SiteLedger leaves 2 % of the rate and one token of the burst unused, so that the portal's clock
# and ours agree even about a request that the network delayed. Where the burst is one, no token can
# be reserved, and only the rate is reduced.
RATE_SHARE = 0.98
RATE_SHARE_WITHOUT_BURST = 0.965
# An event loop may need so many seconds to wake up. At a fast portal, as many tokens are reserved
# as requests start in this time.
MAX_WAKEUP_DELAY_SECONDS = 0.05
# If so many tokens are reserved, they are more than all workers together ever hold unused. Then a
# request may be delayed by any time.
MIN_TOKENS_FOR_FREE_TIMING = 1000


@dataclass(frozen=True, slots=True)
class RequestRate:
    """Holds the rate of one portal. All values are seconds; callers use one clock for all times."""

    interval: float  # between two requests, once the burst is spent
    tolerance: float  # how far requests may run ahead of the interval
    slack: float  # how late a request may start after its start time
    has_single_token: bool = False  # the burst is one
    is_delay_tolerant: bool = False  # the reserved tokens make up for any delay

    @classmethod
    def of(cls, rate: float, burst: int) -> Self:
        """Return the rate of a portal that allows `rate` requests per second, `burst` at once.

        Raises ValueError if the rate is not positive or the burst is less than one.
        """
        if rate <= 0 or burst < 1:
            raise ValueError(f"rate and burst must be positive, not {rate} and {burst}")
        reserved = min(burst - 1, max(1, math.ceil(rate * MAX_WAKEUP_DELAY_SECONDS)))
        interval = 1 / (rate * (RATE_SHARE if reserved else RATE_SHARE_WITHOUT_BURST))
        return cls(
            interval,
            tolerance=(burst - reserved - 1) * interval,
            slack=reserved * interval if reserved else interval - 1 / rate,
            has_single_token=not reserved,
            is_delay_tolerant=reserved >= MIN_TOKENS_FOR_FREE_TIMING,
        )

    def spend(self, tat: float, at: float, tokens: int = 1) -> float:
        """Return the theoretical arrival time after `tokens` were spent at the time `at`."""
        return max(tat, at) + tokens * self.interval

    def start_times(self, tat: float, at: float, tokens: int) -> list[float]:
        """Return when each of the `tokens` may start. `tat` is the value that `spend` returned."""
        first = tat - tokens * self.interval - self.tolerance
        return [max(at, first + number * self.interval) for number in range(tokens)]

    def has_ample_tokens(self, tat: float, at: float) -> bool:
        """Return whether more than half of the burst is left."""
        return tat - at < self.tolerance / 2
