"""Records sign-ins, sign-outs, failed sign-ins and lockouts (R07, R09, R19).

Only requests are recorded, not commands. Failures are counted by minute, name and address, and
recorded after the minute, with the next attempt or by the worker hosts. Outsiders therefore cannot
make the ledger grow faster. A lockout has its own entry.
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
MAX_ROWS_PER_MINUTE = 100  # combinations of name and address; others are counted together
MAX_ROWS_PER_TRANSACTION = 500
SIGN_IN_ACTOR = Actor.software("signin", "service")


def connect_signals() -> None:
    """Connect the signals of sign-in and sign-out. Idempotent."""
    signals.user_logged_in.connect(_on_sign_in, dispatch_uid="sites.signed_in")
    signals.user_logged_out.connect(_on_sign_out, dispatch_uid="sites.signed_out")
    signals.user_login_failed.connect(_on_failure, dispatch_uid="sites.sign_in_failed")


def _on_sign_in(user: User, **_signal: Any) -> None:
    record_failures()
    device = getattr(user, "otp_device", None)  # the device of the second factor
    _record(user, "user.signed_in", detail={"second_factor": device.name} if device else {})


def _on_sign_out(user: User | None, **_signal: Any) -> None:
    if user is not None:
        _record(user, "user.signed_out")


def record_session_end(user: User, reason: str) -> None:
    """Record that a session has ended by a time limit. `reason` is a code (R20)."""
    _record(user, "user.session_ended", code=reason)


def _record(
    user: User, event: str, code: str = "", detail: Mapping[str, Any] | None = None
) -> None:
    if not _is_request():
        return
    with ledger():
        user.record(event, by=user.actor, code=code, detail=detail)


def _on_failure(credentials: Mapping[str, Any], **_signal: Any) -> None:
    if not _is_request():
        return
    record_failed_sign_in(normalize_name(credentials.get("username")))


def record_failed_sign_in(name: str) -> None:
    """Count a failed sign-in with this user name, and record those of earlier minutes."""
    record_failures()
    count_failure(name, context.get_current_origin().facts["address"], timezone.now())


def normalize_name(name: object) -> str:
    """Return a typed user name in the form in which it is counted and recorded."""
    return unicodedata.normalize("NFC", str(name or ""))[:150]


def _is_request() -> bool:
    return "address" in context.get_current_origin().facts


def count_lockout(name: str, address: str, until: datetime) -> None:
    """Note that a failure of this minute, which was counted before, caused a lockout."""
    count_failure(name, address, timezone.now(), more=0, locked_until=until)


def count_failure(
    name: str,
    address: str,
    now: datetime,
    *,
    more: int = 1,
    locked_until: datetime | None = None,
) -> None:
    """Count a failure in this minute."""
    minute = now.replace(second=0, microsecond=0)
    changes: dict[str, Any] = {"count": F("count") + more}
    if locked_until:
        changes["locked_until"] = Value(locked_until)
    if _update(minute, name, address, changes):
        return
    if FailedSignIns.objects.filter(minute=minute).count() >= MAX_ROWS_PER_MINUTE:
        name = address = ""
        if _update(minute, name, address, changes):
            return
    new = {"count": more, "locked_until": locked_until}
    try:
        with transaction.atomic():
            FailedSignIns.objects.create(minute=minute, name=name, address=address, **new)
    except IntegrityError:  # another request created the row
        _update(minute, name, address, changes)


def _update(minute: datetime, name: str, address: str, changes: Mapping[str, Any]) -> bool:
    rows = FailedSignIns.objects.filter(minute=minute, name=name, address=address)
    return bool(rows.update(**changes))


def record_failures(now: datetime | None = None) -> int:
    """Record the failures of minutes that have ended. Return the number of rows."""
    ended = FailedSignIns.objects.filter(minute__lte=(now or timezone.now()) - MINUTE)
    if not ended.exists():
        return 0
    with ledger():
        rows = list(ended.select_for_update().order_by("pk")[:MAX_ROWS_PER_TRANSACTION])
        accounts = dict(
            User.objects.filter(username__in=[row.name for row in rows]).values_list(
                "username", "pk"
            )
        )
        for row in rows:
            user = f"user:{accounts[row.name]}" if row.name in accounts else ""
            facts = {"name": row.name, "address": row.address, "user": user}
            if row.count:
                _record_counted("signin.failed", row, {**facts, "count": row.count})
            if row.locked_until:
                until = row.locked_until.isoformat()
                _record_counted("signin.locked", row, {**facts, "until": until})
        FailedSignIns.objects.filter(pk__in=[row.pk for row in rows]).delete()
    return len(rows)


def _record_counted(event: str, row: FailedSignIns, detail: Mapping[str, Any]) -> None:
    subject = f"signin:{row.pk}"
    record(event, subject=subject, by=SIGN_IN_ACTOR, occurred_at=row.minute, detail=detail)
