"""Sees that a call in Pebble's pool will never begin, from outside: by what the futures say.

A child acknowledges a task once it has taken it. One that dies in between, as without the memory to
unpickle it, takes along a task of which Pebble knows no child: it waits for ever, and its timeout
does not begin.
"""

from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any

GRACE_SECONDS = 60.0  # children start within seconds, on a busy machine within some more


class StallDetector:
    """Remembers since when calls wait and none runs. Times are monotonic seconds."""

    def __init__(self) -> None:
        self._idle_since: float | None = None

    def has_stalled(self, calls: Sequence[Future[Any]], now: float) -> bool:
        """Is any of them lost? `calls` are in the order in which they were scheduled."""
        runs = waits = is_overtaken = False
        for call in reversed(calls):  # an earlier one, asked later, cannot have begun after it
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
