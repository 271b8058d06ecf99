"""Wakes a worker while chunks are due. The rows say what is due; a wakeup saves time only.

A wakeup may be lost, because the dispatcher sends the next one, or doubled, because a shift that
finds nothing ends. So any `WakeupTransport` will do, and one that cannot be reached causes an entry
in the log and no error.
"""

import logging
from datetime import timedelta

from django.db import DatabaseError

from ingestion.dispatch.wakeup_transport import get_transport

logger = logging.getLogger(__name__)


def wake_worker() -> None:
    """Ask some worker for a shift. If the broker cannot be reached, the dispatcher tries again."""
    try:
        get_transport().wake_worker()
    except Exception:  # Each broker's library raises errors of its own.
        logger.exception("no worker could be woken; the dispatcher will try again")


def find_pending_wakeup() -> str:
    """Return the oldest wakeup that no cluster has taken, or "". Raises DatabaseError."""
    try:
        return get_transport().find_pending_wakeup()
    except DatabaseError:
        raise
    except Exception:  # As above. Then no worker can be woken either.
        logger.exception("the broker did not answer")
        return ""


def purge_wakeups(older_than: timedelta) -> int:
    """Delete wakeups that no worker will answer. Returns how many there were."""
    return get_transport().purge(older_than)
