"""Wakes a worker when chunks are due, by a message through the queue of django-q2.

No worker is woken while a running shift has room (`dispatch.demand`), so that load concentrates.

A wakeup carries no work: the rows of chunks say what is due, and a wakeup only saves the time of
polling. It may be lost, because the host sends the next one in its next tick, and it may be
doubled, because a shift that finds nothing due ends. So a broker that cannot be reached causes an
entry in the log and no error.
"""

import logging
from datetime import timedelta

from django.db import DatabaseError

from ingestion.dispatch.demand import is_served_by_running_shifts
from ingestion.dispatch.wakeup_transport import get_transport

logger = logging.getLogger(__name__)


def wake_worker(batch: str = "", *, even_if_served: bool = False) -> None:
    """Ask a worker to start a shift, unless running shifts have room for what is due.

    `batch` is the reference of the batch whose chunks became due; "": the shift serves any batch.
    The task only shows it, because a shift claims what ranks first. `even_if_served` is for chunks
    that running shifts should have claimed.

    Does not raise if the broker cannot be reached: the host tries again in its next tick, and also
    if running shifts do not claim the chunks.
    """
    try:
        if even_if_served or not is_served_by_running_shifts():
            get_transport().wake_worker(batch)
    except Exception:  # Each broker's library raises errors of its own.
        logger.exception("no worker could be woken; the dispatcher will try again")


def find_pending_wakeup() -> str:
    """Return a name for the oldest wakeup that no cluster has taken, or "" if there is none.

    Returns "" as well if the broker does not answer. Raises DatabaseError if the database fails.
    """
    try:
        return get_transport().find_pending_wakeup()
    except DatabaseError:
        raise
    except Exception:  # As above. If the broker does not answer, no worker can be woken either.
        logger.exception("the broker did not answer")
        return ""


def purge_wakeups(older_than: timedelta) -> int:
    """Delete wakeups that are older and that no worker will take. Returns how many there were."""
    return get_transport().purge(older_than)
