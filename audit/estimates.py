"""Estimates how long work takes, from the pace of earlier work and of the work itself.

An estimate is a range, because no two pieces of work have the same pace. Before the work begins,
the range is that of earlier work. While it goes on, its own pace counts in proportion to the part
that is done, so the range becomes narrower and ends at 0.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median, quantiles

MIN_SAMPLES = 5  # with fewer, the range is widened
MAX_SECONDS = 10 * 365 * 86_400.0  # of an estimate, for work that has hardly begun
WIDENING = 2.0  # the factor for a range of so few samples


@dataclass(frozen=True, slots=True)
class Estimate:
    """The seconds that work will still take. Of ten estimates, about eight are in the range."""

    low: int
    likely: int
    high: int


def estimate_remaining(
    paces: Sequence[float], *, total: float, done: float = 0.0, elapsed: float = 0.0
) -> Estimate | None:
    """Estimate the seconds until `total` units of work are done.

    `paces` are the seconds for each unit of earlier work, and `elapsed` those that the `done` units
    took. Returns None if there is neither earlier work nor any progress.
    """
    done = min(done, total)
    bounds = _find_bounds(paces)
    if done > 0 and elapsed > 0 and math.isfinite(own := elapsed / done):
        bounds = bounds or (own / WIDENING, own, own * WIDENING)
        part = done / total
        low, likely, high = ((1 - part) * pace + part * own for pace in bounds)
        bounds = (low, likely, high)
    if bounds is None:
        return None
    # Rounded first, because 100 units of 1.1 seconds are a little more than 110 seconds.
    seconds = (min((total - done) * pace, MAX_SECONDS) for pace in bounds)
    low, likely, high = (math.ceil(round(each, 6)) for each in seconds)
    return Estimate(low, likely, high)


def _find_bounds(paces: Sequence[float]) -> tuple[float, float, float] | None:
    """Return the first decile, the median and the last decile, widened for a few samples."""
    if not paces:
        return None
    if len(paces) < MIN_SAMPLES:
        return min(paces) / WIDENING, median(paces), max(paces) * WIDENING
    deciles = quantiles(paces, n=10, method="inclusive")
    return deciles[0], median(paces), deciles[-1]
