"""Decides from document counts whether a batch progresses, waits, or has to be given up.

Each poll compares two counts with those of the previous poll: the unfinished documents, which fall
to zero, and the finished ones, which rise. Both are needed. A file that is divided adds documents
while work goes on, so the unfinished ones may rise with progress. What one poll leaves to the next
is a `PollState`, which the process that polls keeps in its memory; another process resumes from the
time of the last progress (docs/adr/0054).

The module is pure. `dispatch.completion_polls` polls and acts on the decision.
"""

import math
from dataclasses import dataclass
from enum import Enum


class PollOutcome(Enum):
    """Lists the outcomes of a poll."""

    ALL_PROCESSED = "all processed"
    PROGRESS_MADE = "progress made"  #: Poll again; the count of retries starts at zero.
    RETRY_NEEDED = "retry needed"  #: Nothing changed since the last poll; poll again.
    RETRIES_EXHAUSTED = "retries exhausted"  #: End the batch and name what is unfinished.


@dataclass(frozen=True, slots=True)
class BatchCounts:
    """Holds what one poll counts.

    Documents that were held because a batch or a site was given up are in neither count, so that
    giving up is no progress.
    """

    unfinished: int
    finished: int


@dataclass(frozen=True, slots=True)
class PollState:
    """Holds the counts of the last poll (None before the first) and the polls without progress."""

    counts: BatchCounts | None = None
    retries: int = 0

    @classmethod
    def resume(
        cls, counts: BatchCounts, idle_seconds: float, stall_limit: "StallLimit"
    ) -> "PollState":
        """Return the state of a process that polls a batch for the first time.

        `idle_seconds` have passed since the last progress, so a restart of the process does not
        start the limit again.
        """
        retries = min(stall_limit.retries, int(idle_seconds // stall_limit.retry_delay))
        return cls(counts, retries) if retries else cls()


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
    counts: BatchCounts, state: PollState, stall_limit: StallLimit
) -> PollDecision:
    """Return what follows from the current counts of a batch's documents.

    The batch is processed when no document is unfinished, and it progresses while more documents
    are finished. Giving up is final: a batch that was given up is not polled for another limit,
    whatever its counts do.
    """
    if counts.unfinished <= 0:
        return PollDecision(PollOutcome.ALL_PROCESSED, PollState(counts), 0.0)
    is_given_up = state.retries > stall_limit.retries
    has_progress = state.counts is None or counts.finished > state.counts.finished
    if has_progress and not is_given_up:
        delay = poll_delay_seconds(counts.unfinished)
        return PollDecision(PollOutcome.PROGRESS_MADE, PollState(counts), delay)
    if state.retries < stall_limit.retries:
        following = PollState(counts, state.retries + 1)
        return PollDecision(PollOutcome.RETRY_NEEDED, following, stall_limit.retry_delay)
    exhausted = PollState(counts, stall_limit.retries + 1)
    return PollDecision(PollOutcome.RETRIES_EXHAUSTED, exhausted, stall_limit.retry_delay)
