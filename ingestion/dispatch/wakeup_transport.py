"""Sends wakeups to workers through django-q2's broker, in the database or in Redis.

The interface is small, so that another engine (Celery, procrastinate, Django's tasks) could replace
django-q2.
"""

from datetime import timedelta
from typing import Any, Protocol

from django.conf import settings
from django.db.models import Q
from django.utils import timezone
from django_q.brokers import get_broker
from django_q.conf import Conf
from django_q.models import OrmQ
from django_q.tasks import async_task

SHIFT_TASK = "ingestion.tasks.work_shift"
ANY_BATCH = "any batch"  # the group of a task that was not woken for one batch


class WakeupTransport(Protocol):
    """Defines the interface of a broker. Every method raises what the broker's library raises."""

    def wake_worker(self, batch: str) -> None:
        """Ask any worker to start a shift. `batch` is shown with the task."""
        ...

    def find_pending_wakeup(self) -> str:
        """Return a name for the oldest wakeup that no cluster has taken, or ""."""
        ...

    def purge(self, older_than: timedelta) -> int:
        """Delete older wakeups that no worker will take. Returns how many there were."""
        ...


class DatabaseTransport:
    """Uses rows of django-q2's ORM broker.

    A row is locked while its shift runs, and deleted afterwards.
    """

    def wake_worker(self, batch: str) -> None:
        """Add a row that asks any worker to start a shift."""
        _enqueue_shift(batch)

    def find_pending_wakeup(self) -> str:
        """Return the key of the oldest row that no cluster has taken, or ""."""
        waiting = self._wakeups().filter(lock__lte=timezone.now())
        return str(waiting.order_by("pk").values_list("pk", flat=True).first() or "")

    def purge(self, older_than: timedelta) -> int:
        """Delete the rows of older wakeups, taken or not. Returns their number."""
        now = timezone.now()
        # `lock` is the time at which the wakeup was sent. When a worker takes it, django-q2 sets
        # `lock` to the time, `retry` seconds later, at which it would deliver the wakeup again.
        taken = Q(lock__gt=now, lock__lt=now + timedelta(seconds=Conf.RETRY) - older_than)
        deleted, _ = self._wakeups().filter(Q(lock__lt=now - older_than) | taken).delete()
        return int(deleted)

    def _wakeups(self) -> Any:
        return OrmQ.objects.using(Conf.ORM).filter(key=Conf.CLUSTER_NAME)


class RedisTransport:
    """Uses a list in Redis.

    A worker removes a wakeup when it takes it. If the worker dies, the wakeup is lost.
    """

    def wake_worker(self, batch: str) -> None:
        """Add an element to the list that asks any worker to start a shift."""
        _enqueue_shift(batch)

    def find_pending_wakeup(self) -> str:
        """Return the oldest element of the list, or ""."""
        broker = get_broker()
        oldest = broker.connection.lrange(broker.list_key, 0, 0)
        return "".join(wakeup.decode() for wakeup in oldest)

    def purge(self, older_than: timedelta) -> int:
        """Return 0, because Redis keeps no wakeups after they were taken."""
        return 0


def get_transport() -> WakeupTransport:
    """Return the transport that the settings choose."""
    return RedisTransport() if settings.REDIS_URL else DatabaseTransport()


def wake_worker_for_job() -> None:
    """Ask any worker to run the next background job. Raises what the broker's library raises."""
    async_task("ingestion.tasks.do_job", task_name="job", save=False, ack_failure=True)


def _enqueue_shift(batch: str) -> None:
    """Enqueue a task whose group is the batch, so that django-q2's pages show and filter it."""
    async_task(
        SHIFT_TASK,
        task_name=f"shift for {batch or ANY_BATCH}",
        group=batch or ANY_BATCH,
        save=True,  # what it did is shown until `prune`
        ack_failure=True,
    )
