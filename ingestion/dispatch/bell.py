"""The doorbell: tells some worker that chunks are due. The rows are the truth.

A ring may be lost (the dispatcher rings again) or doubled (the shift finds nothing and ends), so
any broker would do; this is django-q2.
"""

import logging

from django_q.brokers import get_broker
from django_q.tasks import async_task

logger = logging.getLogger(__name__)


def ring() -> None:
    """Ask for a shift. A broker that cannot be reached is no loss: the loop rings again."""
    try:
        async_task("ingestion.tasks.work_shift", task_name="shift", save=False, ack_failure=True)
    except Exception:  # whatever the broker's library raises
        logger.exception("the bell does not ring; the dispatcher will try again")


def unanswered() -> int:
    """Rings that no worker has taken yet."""
    return int(get_broker().queue_size())
