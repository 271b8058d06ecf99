"""Who signed in and out, who failed to, and who was locked out: on record (R07, R09, R19).

Only what a request does is a sign-in. Failures are counted by minute, name and address, and
entered when the minute is over, by the next attempt or by the worker hosts: nobody makes the chain
grow from outside faster than that (decision 25). That a failure was one too many is an entry beside
it.
"""

import unicodedata
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth import signals
from django.db import IntegrityError, transaction
from django.db.models import F, Value
from django.utils import timezone

from audit.ledger import context
from audit.ledger.actors import Actor
from audit.ledger.log import ledger, record
from sites.models import FailedSignIns, User

MINUTE = timedelta(minutes=1)
MOST = 100  # names and addresses told apart in one minute; those beyond are counted together
AT_ONCE = 500  # rows that one transaction enters
SIGN_IN_ACTOR = Actor.software("signin", "service")


def connect() -> None:
    """Idempotent."""
    signals.user_logged_in.connect(_signed_in, dispatch_uid="sites.signed_in")
    signals.user_logged_out.connect(_signed_out, dispatch_uid="sites.signed_out")
    signals.user_login_failed.connect(_failed, dispatch_uid="sites.sign_in_failed")


def _signed_in(user: User, **_signal: Any) -> None:
    enter_failures()
    device = getattr(user, "otp_device", None)  # what a second step was done with
    _enter(user, "user.signed_in", detail={"second_step": device.name} if device else {})


def _signed_out(user: User | None, **_signal: Any) -> None:
    if user is not None:
        _enter(user, "user.signed_out")


def session_ended(user: User, why: str) -> None:
    """By itself, and seen to be over now: `why` is a code (R20)."""
    _enter(user, "user.session_ended", code=why)


def _enter(user: User, event: str, code: str = "", detail: Mapping[str, Any] | None = None) -> None:
    if not _is_request():
        return
    with ledger():
        user.record(event, by=user.actor, code=code, detail=detail)


def _failed(credentials: Mapping[str, Any], **_signal: Any) -> None:
    if not _is_request():
        return
    failed(as_typed(credentials.get("username")))


def failed(name: str) -> None:
    """Somebody of this name did not get in."""
    enter_failures()
    count_failure(name, context.current_origin().facts["address"], timezone.now())


def as_typed(name: object) -> str:
    """A user name as it is counted and entered."""
    return unicodedata.normalize("NFC", str(name or ""))[:150]


def _is_request() -> bool:
    return "address" in context.current_origin().facts


def count_lock(name: str, address: str, until: datetime) -> None:
    """A failure of this minute, counted before, was one too many."""
    count_failure(name, address, timezone.now(), more=0, locked_until=until)


def count_failure(
    name: str,
    address: str,
    now: datetime,
    *,
    more: int = 1,
    locked_until: datetime | None = None,
) -> None:
    """One more in this minute."""
    minute = now.replace(second=0, microsecond=0)
    changes: dict[str, Any] = {"count": F("count") + more}
    if locked_until:
        changes["locked_until"] = Value(locked_until)
    if _changed(minute, name, address, changes):
        return
    if FailedSignIns.objects.filter(minute=minute).count() >= MOST:
        name = address = ""
        if _changed(minute, name, address, changes):
            return
    new = {"count": more, "locked_until": locked_until}
    try:
        with transaction.atomic():
            FailedSignIns.objects.create(minute=minute, name=name, address=address, **new)
    except IntegrityError:  # another was first
        _changed(minute, name, address, changes)


def _changed(minute: datetime, name: str, address: str, changes: Mapping[str, Any]) -> bool:
    rows = FailedSignIns.objects.filter(minute=minute, name=name, address=address)
    return bool(rows.update(**changes))


def enter_failures(now: datetime | None = None) -> int:
    """Enter those of the minutes that are over, once each. Answers how many entries there were."""
    over = FailedSignIns.objects.filter(minute__lte=(now or timezone.now()) - MINUTE)
    if not over.exists():
        return 0
    with ledger():
        rows = list(over.select_for_update().order_by("pk")[:AT_ONCE])
        known = dict(
            User.objects.filter(username__in=[row.name for row in rows]).values_list(
                "username", "pk"
            )
        )
        for row in rows:
            _enter_failure(row, f"user:{known[row.name]}" if row.name in known else "")
        FailedSignIns.objects.filter(pk__in=[row.pk for row in rows]).delete()
    return len(rows)


def _enter_failure(row: FailedSignIns, user: str) -> None:
    who = {"name": row.name, "address": row.address, "user": user}
    if row.count:
        _enter_counted("signin.failed", row, {**who, "count": row.count})
    if row.locked_until:
        _enter_counted("signin.locked", row, {**who, "until": row.locked_until.isoformat()})


def _enter_counted(event: str, row: FailedSignIns, detail: Mapping[str, Any]) -> None:
    subject = f"signin:{row.pk}"
    record(event, subject=subject, by=SIGN_IN_ACTOR, occurred_at=row.minute, detail=detail)
