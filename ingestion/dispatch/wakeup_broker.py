"""Defines the brokers that django-q2 uses: its own, with wakeups that arrive at once.

`Q_CLUSTER["broker_class"]` names them, which is django-q2's way to replace a broker.
"""

from datetime import timedelta
from typing import Any

from django.utils import timezone
from django_q.brokers.orm import ORM
from django_q.conf import Conf

from ingestion.dispatch import wakeup_notifications

# A row may be so much younger than the time of this host, whose clock may differ from the sender's.
CLOCK_TOLERANCE = timedelta(seconds=5)


class NotifyingBroker(ORM):  # type: ignore[misc] # django-q2 has no types
    """Keeps tasks in the database, and notifies idle clusters of new ones."""

    def __init__(self, list_key: str | None = None) -> None:
        super().__init__(list_key=list_key or Conf.CLUSTER_NAME)
        self._listener = wakeup_notifications.ClusterListener()

    def enqueue(self, task: str) -> Any:
        """Add a row for the task, and notify the clusters. Returns the key of the row."""
        key = super().enqueue(task)
        wakeup_notifications.notify_clusters()
        return key

    def dequeue(self) -> list[tuple[int, str]]:
        """Take the oldest task, and return its key and its payload.

        If there is none, waits for a notification, at most the time between two polls, and returns
        an empty list.
        """
        rows = self.get_connection().filter(
            key=self.list_key, lock__lt=timezone.now() + CLOCK_TOLERANCE
        )
        oldest = rows.order_by("pk").first()
        if oldest is None:
            self._listener.wait(Conf.POLL)
            return []
        # Of several clusters that found the row, one takes it.
        taken = self.get_connection().filter(pk=oldest.pk, lock=oldest.lock)
        is_ours = taken.update(lock=self.timeout(oldest))
        return [(oldest.pk, oldest.payload)] if is_ours else []
