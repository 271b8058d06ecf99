"""The doorbell: tells some worker that chunks are due. The rows are the truth.

A ring may be lost (the dispatcher rings again) or doubled (the shift finds nothing and ends), so
any `transport` will do, and one that cannot be reached is trouble for the log and for nobody else.
"""

import logging
from datetime import timedelta

from django.db import DatabaseError

from ingestion.dispatch.wakeup_transport import get_transport

logger = logging.getLogger(__name__)


def wake_worker() -> None:
    """Ask for a shift. A broker that cannot be reached is no loss: the loop rings again."""
    try:
        get_transport().ring()
    except Exception:  # whatever the broker's library raises
        logger.exception("the bell does not ring; the dispatcher will try again")


def find_pending_wakeup() -> str:
    """The oldest ring that no cluster has taken, or "". Raises DatabaseError."""
    try:
        return get_transport().unanswered()
    except DatabaseError:
        raise
    except Exception:  # as above; then there is nobody to ring for, either
        logger.exception("the broker does not say what is unanswered")
        return ""


def purge_wakeups(older_than: timedelta) -> int:
    """Forget rings that nobody will answer any more. Answers how many there were."""
    return get_transport().purge(older_than)
