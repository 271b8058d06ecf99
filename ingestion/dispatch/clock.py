"""Reads the clock of the database, which all hosts share, and converts its times to local ones."""

import time
from datetime import datetime

from django.db import connection
from django.utils import timezone

CLOCK_SYNC_SECONDS = 10.0  # between two comparisons with the database's clock


def read_database_time() -> datetime:
    """Return the time of the database's clock. SQLite has none, so it is the clock of this host."""
    if connection.vendor != "postgresql":
        return timezone.now()
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        now: datetime = cursor.fetchone()[0]
        return now


class DatabaseClock:
    """Converts times of the database's clock to monotonic seconds of this process.

    It queries the database, so call it only in the thread of a `DatabaseThread`.
    """

    def __init__(self) -> None:
        self._offset = 0.0  # seconds between the database's clock and the monotonic one
        self._synced_at = float("-inf")

    def local(self, moment: float) -> float:
        """Return the local monotonic seconds for seconds since 1970 by the database's clock.

        The clocks are compared again after CLOCK_SYNC_SECONDS. The fastest of three comparisons is
        the most exact one: its error is at most half the time that it took.
        """
        if time.monotonic() - self._synced_at > CLOCK_SYNC_SECONDS:
            comparisons = []
            for _ in range(3):
                before = time.monotonic()
                database_time = read_database_time().timestamp()
                after = time.monotonic()
                comparisons.append((after - before, database_time - (before + after) / 2))
            _, self._offset = min(comparisons)
            self._synced_at = time.monotonic()
        return moment - self._offset
