"""Limits sessions: their duration, and the number of concurrent sessions of one account.

A session ends after a time without activity, and after a working day in any case (R20). The session
itself contains both times, in seconds since 1970. An account can have at most SESSIONS_AT_A_TIME
sessions, so that a shared account is noticed and a forgotten session ends (R18). Each session has a
mark, and the account stores the marks of its valid sessions.
"""

import secrets
import time
from typing import Any

from django.conf import settings
from django.contrib.auth.signals import user_logged_in, user_logged_out
from django.db import transaction

from sites.models import User

IDLE, TOO_OLD, ELSEWHERE = "IDLE", "TOO_OLD", "ELSEWHERE"  # reasons why a session ended
WRITE_INTERVAL_SECONDS = 30  # between two writes of the session; it may last longer by this time
WARNING_SECONDS = 120  # before the end of a session, in which a page shows a warning
BEGAN_KEY, ACTIVE_KEY, MARK_KEY = "began", "seen", "mark"  # keys in the session


def connect_signals() -> None:
    """Connect the signals of sign-in and sign-out. Idempotent."""
    user_logged_in.connect(_on_sign_in, dispatch_uid="sites.session_begins")
    user_logged_out.connect(_on_sign_out, dispatch_uid="sites.session_is_left")


def _on_sign_in(request: Any, user: User, **_signal: Any) -> None:
    """Begin a session. If there are too many, the oldest one ends."""
    request.session[BEGAN_KEY] = request.session[ACTIVE_KEY] = int(time.time())
    request.session[MARK_KEY] = mark = secrets.token_hex(8)
    max_sessions: int = settings.SESSIONS_AT_A_TIME
    with transaction.atomic():
        person = User.objects.select_for_update().get(pk=user.pk)
        _save_marks(person, [*person.session_marks, mark][-max_sessions:])


def _on_sign_out(request: Any, user: User | None, **_signal: Any) -> None:
    if user:
        end_session(user, request.session)


def end_session(user: User, session: Any) -> None:
    """Remove the mark of the session from the account."""
    with transaction.atomic():
        person = User.objects.select_for_update().get(pk=user.pk)
        _save_marks(
            person, [mark for mark in person.session_marks if mark != session.get(MARK_KEY)]
        )


def _save_marks(person: User, marks: list[str]) -> None:
    User.objects.filter(pk=person.pk).update(session_marks=marks)


def compute_remaining_seconds(session: Any, now: float) -> tuple[float, float]:
    """Return the seconds until the session ends without activity, and with activity.

    Both can be negative. `now` is in seconds since 1970.
    """
    idle_minutes, hours = settings.SESSION_IDLE_MINUTES, settings.SESSION_HOURS
    idle = session.get(ACTIVE_KEY, 0) + idle_minutes * 60 + WRITE_INTERVAL_SECONDS - now
    total = session.get(BEGAN_KEY, 0) + hours * 3600 - now
    return min(idle, total), total


def find_end_reason(session: Any, person: User, now: float) -> str:
    """Return the code of the reason why the session has ended, or "" if it is valid."""
    if MARK_KEY in session and session[MARK_KEY] not in person.session_marks:
        return ELSEWHERE
    without_activity, total = compute_remaining_seconds(session, now)
    if total <= 0:
        return TOO_OLD
    return IDLE if without_activity <= 0 else ""


def record_activity(session: Any, now: float) -> None:
    """Store the time of an activity, at most once in WRITE_INTERVAL_SECONDS."""
    if now - session.get(ACTIVE_KEY, 0) >= WRITE_INTERVAL_SECONDS:
        session[ACTIVE_KEY] = int(now)
