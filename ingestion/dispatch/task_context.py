"""Passes the correlation ID through django-q2's queue, by its signals.

A task carries the ID of the request, command or task that enqueued it. While a worker runs the
task, the ID is bound, so that its entries and its lines of the log have it. A document that a shift
has in hand brings its own ID. A task that a schedule enqueued has a new one.
"""

import logging
from typing import Any

from django_q.signals import post_execute_in_worker, pre_enqueue, pre_execute
from structlog.contextvars import bind_contextvars, unbind_contextvars

from audit.correlation import get_correlation_id

logger = logging.getLogger(__name__)

_KEY = "correlation_id"  # in the package of a task, and in structlog's context


def connect_signals() -> None:
    """Connect the receivers. Called once, when Django starts."""
    pre_enqueue.connect(_add_id, dispatch_uid=__name__)
    pre_execute.connect(_bind_id, dispatch_uid=__name__)
    post_execute_in_worker.connect(_end_task, dispatch_uid=__name__)


def _add_id(task: dict[str, Any], **_: Any) -> None:
    task[_KEY] = str(get_correlation_id())


def _bind_id(task: dict[str, Any], **_: Any) -> None:
    bind_contextvars(**{_KEY: task.get(_KEY) or str(get_correlation_id())})


def _end_task(task: dict[str, Any], **_: Any) -> None:
    """Log that a task failed. django-q2 logs its error, which may contain personal data."""
    if not task.get("success", True):
        logger.error("task.failed", extra={"code": str(task["func"]).rpartition(".")[2]})
    unbind_contextvars(_KEY)
