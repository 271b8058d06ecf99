"""What carries a ring to a worker: django-q2's broker, in the database or in Redis.

So small that another engine could ring instead (Celery, procrastinate, Django's own tasks): a ring
that is lost or doubled does no harm, for the rows are the truth.
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
    def ring(self) -> None:
        """Ask for a shift. Raises whatever the broker's library does."""
        ...

    def unanswered(self) -> str:
        """The oldest ring that no cluster has taken: a name for it, or "" when there is none."""
        ...

    def purge(self, older_than: timedelta) -> int:
        """Forget rings that nobody will answer any more. Answers how many there were."""
        ...


class DatabaseTransport:
    """Rows of django-q2's ORM broker. A row is locked, and not gone, while its shift runs."""

    def ring(self) -> None:
        _enqueue_shift()

    def unanswered(self) -> str:
        waiting = self._rings().filter(lock__lte=timezone.now())
        return str(waiting.order_by("pk").values_list("pk", flat=True).first() or "")

    def purge(self, older_than: timedelta) -> int:
        now = timezone.now()
        # `lock` is when it was rung; once taken, when the broker would deliver it again.
        taken = Q(lock__gt=now, lock__lt=now + timedelta(seconds=Conf.RETRY) - older_than)
        deleted, _ = self._rings().filter(Q(lock__lt=now - older_than) | taken).delete()
        return int(deleted)

    def _rings(self) -> Any:
        return OrmQ.objects.using(Conf.ORM).filter(key=Conf.CLUSTER_NAME)


class RedisTransport:
    """A list in Redis. A ring is gone once it is taken, and lost with the worker that took it."""

    def ring(self) -> None:
        _enqueue_shift()

    def unanswered(self) -> str:
        broker = get_broker()
        return "".join(ring.decode() for ring in broker.connection.lrange(broker.list_key, 0, 0))

    def purge(self, older_than: timedelta) -> int:
        return 0


def get_transport() -> WakeupTransport:
    return RedisTransport() if settings.REDIS_URL else DatabaseTransport()


def wake_worker_for_job() -> None:
    """Wake a worker for the next background job. Raises what the broker's client raises."""
    async_task("ingestion.tasks.do_job", task_name="job", save=False, ack_failure=True)


def _enqueue_shift() -> None:
    async_task("ingestion.tasks.work_shift", task_name="shift", save=False, ack_failure=True)
