"""Decides from document counts whether a batch progresses, waits, or has to be given up.

Each poll compares the current count with the count of the previous poll. What one poll leaves to
the next is a `PollState`, two numbers that are stored on the batch's row (docs/adr/0013), so a poll
that is interrupted is repeated with the same numbers.

The module is pure. `dispatch.completion_polls` polls and acts on the decision.
"""

import math
import sys
from dataclasses import dataclass
from enum import Enum


class PollOutcome(Enum):
    """Lists the outcomes of a poll."""

    ALL_PROCESSED = "all processed"
    PROGRESS_MADE = "progress made"  #: Poll again; the count of retries starts at zero.
    RETRY_NEEDED = "retry needed"  #: Nothing changed since the last poll; poll again.
    RETRIES_EXHAUSTED = "retries exhausted"  #: End the batch and name what is unfinished.


@dataclass(frozen=True, slots=True)
class PollState:
    """Holds the count of the last poll (None before the first) and the polls without progress."""

    previous: int | None = None
    retries: int = 0


@dataclass(frozen=True, slots=True)
class PollDecision:
    """Holds the outcome of a poll, the state for the next one, and the seconds until then."""

    outcome: PollOutcome
    state: PollState
    delay_seconds: float


@dataclass(frozen=True, slots=True)
class StallLimit:
    """Limits how many seconds a batch may make no progress before it is given up."""

    seconds: float

    @property
    def retry_delay(self) -> float:
        """Return the seconds between two polls of a batch that makes no progress."""
        return min(MAX_RETRY_DELAY_SECONDS, self.seconds)

    @property
    def retries(self) -> int:
        """Return how many polls without progress fill the time."""
        return math.ceil(self.seconds / self.retry_delay)


MAX_RETRY_DELAY_SECONDS = 120.0
# Seconds until the next poll of a batch with fewer documents left than the first number.
_DELAYS = ((500, 60.0), (1000, 120.0), (2000, 180.0), (5000, 240.0))
_MAX_DELAY_SECONDS = 300.0


def poll_delay_seconds(left: int) -> float:
    """Return the seconds until the next poll. Large batches are polled less often."""
    return next((seconds for limit, seconds in _DELAYS if left < limit), _MAX_DELAY_SECONDS)


def decide_next_poll(
    current: int, state: PollState, stall_limit: StallLimit, *, target: int | None = None
) -> PollDecision:
    """Return what follows from the current count of a batch's documents.

    Without `target`, `current` counts the unfinished documents, down to zero. With `target`, it
    counts the finished ones, up to `target`.

    Giving up is final: it changes the count by itself, and a poll that took this for progress would
    wait through the whole stall limit once more.
    """
    left, before = _left(current, target), _left(state.previous, target)
    if left == 0:
        return PollDecision(PollOutcome.ALL_PROCESSED, PollState(current), 0.0)
    is_given_up = state.retries > stall_limit.retries
    if left < before and not is_given_up:
        delay = poll_delay_seconds(left)
        return PollDecision(PollOutcome.PROGRESS_MADE, PollState(current), delay)
    if state.retries < stall_limit.retries:
        following = PollState(current, state.retries + 1)
        return PollDecision(PollOutcome.RETRY_NEEDED, following, stall_limit.retry_delay)
    exhausted = PollState(current, stall_limit.retries + 1)
    return PollDecision(PollOutcome.RETRIES_EXHAUSTED, exhausted, stall_limit.retry_delay)


def _left(count: int | None, target: int | None) -> int:
    """Return the documents left. Before the first poll, more than any count: it is progress."""
    if count is None:
        return sys.maxsize
    return max(0, count if target is None else target - count)
