"""Is a batch getting anywhere? A state machine that looks at counts, from time to time.

Each look compares the count of now with the one before: all done, some progress, none for now, or
none for so long that waiting on would be waiting for ever. What one look leaves to the next is a
`Polled`, a message of two numbers that travels on the batch's row (docs/adr/0013): a look that is
interrupted is made again with the numbers of the last one, and no message is there to be lost.

Pure: who looks, and what is done about it, is `dispatch.polls`.
"""

import math
import sys
from dataclasses import dataclass
from enum import Enum


class Scenario(Enum):
    ALL_PROCESSED = "all processed"
    PROGRESS_MADE = "progress made"  #: look again; the retries start afresh
    RETRY_NEEDED = "retry needed"  #: nothing moved since the last look; look again
    RETRIES_EXHAUSTED = "retries exhausted"  #: end with what is unfinished, named; never block


@dataclass(frozen=True, slots=True)
class Polled:
    """What the last look saw: None before the first one. `retries` are looks without progress."""

    previous: int | None = None
    retries: int = 0


@dataclass(frozen=True, slots=True)
class Look:
    scenario: Scenario
    polled: Polled  # for the next look
    delay: float  # seconds until then


@dataclass(frozen=True, slots=True)
class Patience:
    """A batch may stand still for `seconds` before it is given up."""

    seconds: float

    @property
    def retry_delay(self) -> float:
        return min(RETRY_DELAY, self.seconds)

    @property
    def retries(self) -> int:
        """So many looks without progress fill the time."""
        return math.ceil(self.seconds / self.retry_delay)


RETRY_DELAY = 120.0  # seconds between two looks at what stands still
_DELAYS = ((500, 60.0), (1000, 120.0), (2000, 180.0), (5000, 240.0))
_LONGEST = 300.0


def delay(left: int) -> float:
    """Seconds until the next look: the more is left, the less a look is worth."""
    return next((seconds for most, seconds in _DELAYS if left < most), _LONGEST)


def look(current: int, polled: Polled, patience: Patience, *, target: int | None = None) -> Look:
    """Counts what is left, down to none; or with a `target` what is done, up to that.

    Giving up is for good. It is what the give-up itself does that moves the count then, and a look
    that took this for progress would wait through the whole time once more.
    """
    left, before = _left(current, target), _left(polled.previous, target)
    if left == 0:
        return Look(Scenario.ALL_PROCESSED, Polled(current), 0.0)
    if polled.retries > patience.retries:
        return _given_up(current, patience)
    if left < before:
        return Look(Scenario.PROGRESS_MADE, Polled(current), delay(left))
    if polled.retries < patience.retries:
        again = Polled(current, polled.retries + 1)
        return Look(Scenario.RETRY_NEEDED, again, patience.retry_delay)
    return _given_up(current, patience)


def _left(count: int | None, target: int | None) -> int:
    """The first look always counts as progress: before it, everything was left and more."""
    if count is None:
        return sys.maxsize
    return max(0, count if target is None else target - count)


def _given_up(current: int, patience: Patience) -> Look:
    polled = Polled(current, patience.retries + 1)
    return Look(Scenario.RETRIES_EXHAUSTED, polled, patience.retry_delay)
