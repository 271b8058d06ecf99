"""Detects calls in Pebble's pool that will never begin, by the state of their futures.

A parser process acknowledges a task after it has taken it. If the process dies in between, for
example because it has no memory to unpickle the task, the task is lost with it. Pebble does not
know which process had it, so the task waits forever and its timeout does not begin.
"""

from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any

# Processes start within seconds, and within some more on a busy machine.
GRACE_SECONDS = 60.0


class StallDetector:
    """Detects lost calls. It remembers since when calls wait and none runs, in monotonic seconds.

    A call is lost if a later one began before it, or if no call has run for `GRACE_SECONDS`.
    """

    def __init__(self) -> None:
        self._idle_since: float | None = None

    def has_stalled(self, calls: Sequence[Future[Any]], now: float) -> bool:
        """Return whether a call is lost.

        `calls` are in the order in which they were scheduled. `now` is in monotonic seconds.
        """
        runs = waits = is_overtaken = False
        # In reverse, an earlier call is examined later. It cannot begin after its examination
        # without having begun before the later calls.
        for call in reversed(calls):
            if call.running():
                runs = True
            elif not call.done():
                waits, is_overtaken = True, is_overtaken or runs
        if runs or not waits:
            self._idle_since = None
        elif self._idle_since is None:
            self._idle_since = now
        is_idle = self._idle_since is not None and now - self._idle_since > GRACE_SECONDS
        return is_overtaken or is_idle
