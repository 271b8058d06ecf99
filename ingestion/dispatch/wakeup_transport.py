"""Sends wakeups to workers with django-q2's broker, in the database or in Redis.

The interface is small, so another engine could replace the broker (Celery, procrastinate, Django's
tasks): a wakeup that is lost or doubled does no harm.
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


class WakeupTransport(Protocol):
    """The interface of a broker. Every method raises what the broker's library raises."""

    def wake_worker(self) -> None:
        """Ask some worker for a shift."""
        ...

    def find_pending_wakeup(self) -> str:
        """Return a name for the oldest wakeup that no cluster has taken, or ""."""
        ...

    def purge(self, older_than: timedelta) -> int:
        """Delete wakeups that no worker will answer. Returns how many there were."""
        ...


class DatabaseTransport:
    """Uses rows of django-q2's ORM broker. A row is locked while its shift runs, then deleted."""

    def wake_worker(self) -> None:
        _enqueue_shift()

    def find_pending_wakeup(self) -> str:
        waiting = self._wakeups().filter(lock__lte=timezone.now())
        return str(waiting.order_by("pk").values_list("pk", flat=True).first() or "")

    def purge(self, older_than: timedelta) -> int:
        now = timezone.now()
        # `lock` is the time of the wakeup. Once it is taken, it is the time at which the broker
        # would deliver it again.
        taken = Q(lock__gt=now, lock__lt=now + timedelta(seconds=Conf.RETRY) - older_than)
        deleted, _ = self._wakeups().filter(Q(lock__lt=now - older_than) | taken).delete()
        return int(deleted)

    def _wakeups(self) -> Any:
        return OrmQ.objects.using(Conf.ORM).filter(key=Conf.CLUSTER_NAME)


class RedisTransport:
    """Uses a list in Redis. A worker removes the wakeup that it takes: if it dies, it is lost."""

    def wake_worker(self) -> None:
        _enqueue_shift()

    def find_pending_wakeup(self) -> str:
        broker = get_broker()
        oldest = broker.connection.lrange(broker.list_key, 0, 0)
        return "".join(wakeup.decode() for wakeup in oldest)

    def purge(self, older_than: timedelta) -> int:
        return 0


def get_transport() -> WakeupTransport:
    """Return the transport that the settings choose."""
    return RedisTransport() if settings.REDIS_URL else DatabaseTransport()


def wake_worker_for_job() -> None:
    """Wake a worker for the next background job. Raises what the broker's library raises."""
    async_task("ingestion.tasks.do_job", task_name="job", save=False, ack_failure=True)


def _enqueue_shift() -> None:
    async_task("ingestion.tasks.work_shift", task_name="shift", save=False, ack_failure=True)
