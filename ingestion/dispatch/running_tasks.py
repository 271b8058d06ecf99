"""Knows which django-q2 task this process runs, and records the task of a killed worker as failed.

django-q2 stores the result that a worker returns, and a killed worker returns none. The worker host
finds the worker's presence file, which has the task.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils import timezone
from django_q.brokers import get_broker
from django_q.models import Task
from django_q.signals import post_execute_in_worker, pre_execute

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RunningTask:
    """Describes a task with values that a JSON file can hold."""

    id: str
    name: str
    func: str
    group: str
    cluster: str
    enqueued_at: str  # ISO 8601; django-q2 shows it as the start of the task
    ack_id: int | None  # what the broker calls the task; None: it has forgotten it
    correlation_id: str


_running: RunningTask | None = None


def connect_signals() -> None:
    """Connect the receivers. Called once, when Django starts."""
    pre_execute.connect(_set_running_task, dispatch_uid=__name__)
    post_execute_in_worker.connect(_clear_running_task, dispatch_uid=__name__)


def get_running_task() -> RunningTask | None:
    """Return the task that this process runs, or None outside of a worker."""
    return _running


def record_killed_task(task: RunningTask, batches: Sequence[str]) -> None:
    """Record that the worker of a task was killed, and tell the broker that the task has ended.

    `batches` are references of the batches on which it worked. If the broker delivers the task
    again nevertheless, django-q2 updates the same row, and a result that it has already is kept.
    """
    during = f"while it worked on {', '.join(batches)}" if batches else "during this task"
    _, is_new = Task.objects.get_or_create(
        id=task.id,
        defaults={
            "name": task.name,
            "func": task.func,
            "group": task.group or None,
            "cluster": task.cluster,
            "args": (),
            "kwargs": {},
            "started": datetime.fromisoformat(task.enqueued_at),
            "stopped": timezone.now(),
            "success": False,
            "result": f"The worker was killed {during}. The work continues in another shift.",
            "attempt_count": 1,
        },
    )
    if is_new:
        code = task.func.rpartition(".")[2]
        logger.error("task.failed", extra={"code": code, "correlation_id": task.correlation_id})
    if task.ack_id is not None:
        get_broker().acknowledge(task.ack_id)


def _set_running_task(task: dict[str, Any], **_: Any) -> None:
    global _running  # noqa: PLW0603 - a worker runs one task at a time
    _running = RunningTask(
        id=task["id"],
        name=task["name"],
        func=str(task["func"]),
        group=task.get("group") or "",
        cluster=task.get("cluster") or "",
        enqueued_at=task["started"].isoformat(),
        ack_id=task.get("ack_id"),
        correlation_id=task.get("correlation_id") or "",
    )


def _clear_running_task(**_: Any) -> None:
    global _running  # noqa: PLW0603 - as above
    _running = None
