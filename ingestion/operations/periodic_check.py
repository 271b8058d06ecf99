"""Runs a check of a worker host every so many seconds, in a thread of its own."""

import logging
import threading
import time
from collections.abc import Callable

from django.db import connections

logger = logging.getLogger(__name__)


class PeriodicCheck:
    """Runs a check regularly. No other work of the host waits for it, however slow it is.

    Each worker host has its own. A check that raises is logged, and the next one tries again.
    """

    def __init__(
        self,
        name: str,
        check: Callable[[], object],
        *,
        interval_seconds: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._name, self._check, self._interval_seconds = name, check, interval_seconds
        self._clock = clock
        self._next_at = clock()
        self._thread: threading.Thread | None = None

    def run_if_due(self) -> None:
        """Start the check if the interval has passed and the last one has ended. Call it often."""
        is_running = self._thread is not None and self._thread.is_alive()
        if self._clock() < self._next_at or is_running:
            return
        self._next_at = self._clock() + self._interval_seconds
        self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._check()
        except Exception:  # The thread ends here. The next check tries again.
            logger.exception("the check %s failed", self._name)
        finally:
            connections.close_all()
