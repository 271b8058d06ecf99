"""Defines the brokers of django-q2: wakeups arrive at once, and are taken in the order of hosts.

`Q_CLUSTER["broker_class"]` names them, which is django-q2's way to replace a broker. A cluster
whose workers are all busy takes nothing, so that no wakeup waits behind a long shift. Of several
hosts with an idle worker, the first one takes it (`core.capacity`).
"""

import math
import time
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.utils import timezone
from django_q.brokers import Broker
from django_q.brokers.orm import ORM
from django_q.brokers.redis_broker import Redis
from django_q.conf import Conf

from ingestion.core.capacity import compute_yield_seconds
from ingestion.dispatch import wakeup_notifications
from ingestion.dispatch.processes import host_heartbeat, worker_presence

# A row may be so much younger than the time of this host, whose clock may differ from the sender's.
CLOCK_TOLERANCE = timedelta(seconds=5)
Tasks = list[tuple[Any, Any]]  # keys and payloads


class NotifyingBroker(Broker):  # type: ignore[misc] # django-q2 has no types
    """Notifies waiting clusters of new tasks through the database."""

    def __init__(self, list_key: str | None = None) -> None:
        super().__init__(list_key=list_key or Conf.CLUSTER_NAME)
        self._listener = wakeup_notifications.ClusterListener()

    def enqueue(self, task: str) -> Any:
        """Store the task, and notify the clusters.

        Returns the key of its row, or the length of the list in Redis.
        """
        stored = super().enqueue(task)
        wakeup_notifications.notify_clusters()
        return stored


class DatabaseBroker(NotifyingBroker, ORM):  # type: ignore[misc] # see above
    """Keeps tasks in the database."""

    def dequeue(self) -> Tasks:
        """Take the oldest task, and return its key and its payload.

        If there is none for this cluster, waits for a notification, at most the time between two
        polls, and returns an empty list.
        """
        now = timezone.now()
        rows = self.get_connection().filter(key=self.list_key, lock__lt=now + CLOCK_TOLERANCE)
        oldest = rows.order_by("pk").first()
        if oldest is None:
            self._listener.wait(Conf.POLL)
            return []
        age = max(0.0, (now - oldest.lock).total_seconds())
        wait = _compute_wait() - age
        if wait > 0:
            self._listener.wait(min(wait, Conf.POLL))
            return []
        # Of several clusters that found the row, one takes it.
        taken = self.get_connection().filter(pk=oldest.pk, lock=oldest.lock)
        is_ours = taken.update(lock=self.timeout(oldest))
        return [(oldest.pk, oldest.payload)] if is_ours else []


class RedisBroker(NotifyingBroker, Redis):  # type: ignore[misc] # see above
    """Keeps tasks in a list of Redis, for which an idle cluster waits.

    A full cluster waits for a notification: a worker may be idle again by then.
    """

    def dequeue(self) -> Tasks | None:
        """Take the oldest task, or wait for one. A later host looks for what earlier ones left."""
        wait = _compute_wait()
        if not wait:
            taken: Tasks | None = super().dequeue()
            return taken
        if wait == math.inf:
            self._listener.wait(Conf.POLL)
            return None
        time.sleep(min(wait, Conf.POLL))
        task = self.connection.lpop(self.list_key)
        return [(None, task)] if task else None


def _compute_wait() -> float:
    """Return for how many seconds this cluster leaves a wakeup to others; infinity: it is full."""
    if worker_presence.count_busy_workers() >= settings.WORKERS:
        return math.inf
    own = host_heartbeat.get_own_name()
    return compute_yield_seconds(host_heartbeat.list_loads(), own) if own else 0.0
