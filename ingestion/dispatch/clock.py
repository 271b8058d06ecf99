"""The one clock of all hosts: the database's. And what it says, in terms of this process's own."""

import time
from datetime import datetime

from django.db import connection
from django.utils import timezone

SYNC_SECONDS = 10.0  # between two looks at the database's clock


def database_now() -> datetime:
    """With SQLite there is only this host's."""
    if connection.vendor != "postgresql":
        return timezone.now()
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        now: datetime = cursor.fetchone()[0]
        return now


class DatabaseClock:
    """The database's clock in terms of this process's monotonic one. Used in the Door's thread."""

    def __init__(self) -> None:
        self._offset = 0.0
        self._synced_at = float("-inf")

    def local(self, moment: float) -> float:
        """Seconds since 1970 there, to monotonic seconds here."""
        if time.monotonic() - self._synced_at > SYNC_SECONDS:
            # The quickest of three answers tells most: it is off by half of its way at most.
            _, self._offset = min(self._look() for _ in range(3))
            self._synced_at = time.monotonic()
        return moment - self._offset

    def _look(self) -> tuple[float, float]:
        """How long a look at the clock took, and what the clocks were apart in its middle."""
        before = time.monotonic()
        there = database_now().timestamp()
        after = time.monotonic()
        return after - before, there - (before + after) / 2
