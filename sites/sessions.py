"""How long somebody stays signed in: while something is done, and a day's work at most (R20).

Two times are in the session itself, in seconds since 1970.
"""

import time
from typing import Any

from django.conf import settings
from django.contrib.auth.signals import user_logged_in

IDLE, TOO_OLD = "IDLE", "TOO_OLD"  # why one ended
GRAIN = 30  # seconds between two writes of the session, by which it may last longer
WARNING = 120  # seconds before the end, in which a page asks
BEGAN, SEEN = "began", "seen"


def connect() -> None:
    """Idempotent."""
    user_logged_in.connect(_begin, dispatch_uid="sites.session_begins")


def _begin(request: Any, **_signal: Any) -> None:
    request.session[BEGAN] = request.session[SEEN] = int(time.time())


def left(session: Any, now: float) -> tuple[float, float]:
    """Seconds until it ends if nothing is done, and if something is. Both may be negative."""
    idle = session.get(SEEN, 0) + settings.SESSION_IDLE_MINUTES * 60 + GRAIN - now
    whole = session.get(BEGAN, 0) + settings.SESSION_HOURS * 3600 - now
    return min(idle, whole), whole


def ended(session: Any, now: float) -> str:
    """Why, as a code; "" while it lasts."""
    soonest, whole = left(session, now)
    if whole <= 0:
        return TOO_OLD
    return IDLE if soonest <= 0 else ""


def touch(session: Any, now: float) -> None:
    """Something was done."""
    if now - session.get(SEEN, 0) >= GRAIN:
        session[SEEN] = int(now)
