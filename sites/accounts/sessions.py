"""How long somebody stays signed in, and in how many places.

While something is done, and a day's work at most (R20): two times are in the session itself, in
seconds since 1970. In SESSIONS_AT_A_TIME places at most, so that an account that is passed around
shows and one that was forgotten somewhere ends (R18): the session has a mark, and the account
keeps the marks of those that may go on.
"""

import secrets
import time
from typing import Any

from django.conf import settings
from django.contrib.auth.signals import user_logged_in, user_logged_out
from django.db import transaction

from sites.models import User

IDLE, TOO_OLD, ELSEWHERE = "IDLE", "TOO_OLD", "ELSEWHERE"  # why one ended
GRAIN = 30  # seconds between two writes of the session, by which it may last longer
WARNING = 120  # seconds before the end, in which a page asks
BEGAN, SEEN, MARK = "began", "seen", "mark"


def connect() -> None:
    """Idempotent."""
    user_logged_in.connect(_begin, dispatch_uid="sites.session_begins")
    user_logged_out.connect(_signed_out, dispatch_uid="sites.session_is_left")


def _begin(request: Any, user: User, **_signal: Any) -> None:
    """The one that began first ends, where there are too many."""
    request.session[BEGAN] = request.session[SEEN] = int(time.time())
    request.session[MARK] = mark = secrets.token_hex(8)
    most: int = settings.SESSIONS_AT_A_TIME
    with transaction.atomic():
        person = User.objects.select_for_update().get(pk=user.pk)
        _keep(person, [*person.session_marks, mark][-most:])


def _signed_out(request: Any, user: User | None, **_signal: Any) -> None:
    if user:
        leave(user, request.session)


def leave(user: User, session: Any) -> None:
    """It is over, and its place is free."""
    with transaction.atomic():
        person = User.objects.select_for_update().get(pk=user.pk)
        _keep(person, [mark for mark in person.session_marks if mark != session.get(MARK)])


def _keep(person: User, marks: list[str]) -> None:
    User.objects.filter(pk=person.pk).update(session_marks=marks)


def left(session: Any, now: float) -> tuple[float, float]:
    """Seconds until it ends if nothing is done, and if something is. Both may be negative."""
    idle = session.get(SEEN, 0) + settings.SESSION_IDLE_MINUTES * 60 + GRAIN - now
    whole = session.get(BEGAN, 0) + settings.SESSION_HOURS * 3600 - now
    return min(idle, whole), whole


def ended(session: Any, person: User, now: float) -> str:
    """Why, as a code; "" while it lasts."""
    if MARK in session and session[MARK] not in person.session_marks:
        return ELSEWHERE
    soonest, whole = left(session, now)
    if whole <= 0:
        return TOO_OLD
    return IDLE if soonest <= 0 else ""


def touch(session: Any, now: float) -> None:
    """Something was done."""
    if now - session.get(SEEN, 0) >= GRAIN:
        session[SEEN] = int(now)
