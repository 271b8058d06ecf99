"""Who signed in and out, and who failed to: on record (R07, R09; 21 CFR 11.300(d)).

Only what a request does is a sign-in. Failures are counted by minute, name and address, and
entered when the minute is over, by the next attempt or by the worker hosts: nobody makes the chain
grow from outside faster than that (decision 25).
"""

import unicodedata
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth import signals
from django.db import IntegrityError, transaction
from django.db.models import F
from django.utils import timezone

from audit import context
from audit.log import ledger, record
from sites.models import FailedSignIns, User

MINUTE = timedelta(minutes=1)
MOST = 100  # names and addresses told apart in one minute; those beyond are counted together
AT_ONCE = 500  # rows that one transaction enters
_SYSTEM = "system:signin"


def connect() -> None:
    """Idempotent."""
    signals.user_logged_in.connect(_signed_in, dispatch_uid="sites.signed_in")
    signals.user_logged_out.connect(_signed_out, dispatch_uid="sites.signed_out")
    signals.user_login_failed.connect(_failed, dispatch_uid="sites.sign_in_failed")


def _signed_in(user: User, **_signal: Any) -> None:
    enter_failures()
    _enter(user, "user.signed_in")


def _signed_out(user: User | None, **_signal: Any) -> None:
    if user is not None:
        _enter(user, "user.signed_out")


def _enter(user: User, event: str) -> None:
    if not _is_request():
        return
    with ledger():
        person = User.objects.select_for_update().get(pk=user.pk)
        person.revision += 1
        person.save(update_fields=["revision"])
        record(event, subject=person.actor, n=person.revision, actor=person.actor, role=person.role)


def _failed(credentials: Mapping[str, Any], **_signal: Any) -> None:
    if not _is_request():
        return
    enter_failures()
    name = unicodedata.normalize("NFC", str(credentials.get("username", "")))[:150]
    count_failure(name, context.origin().facts["address"], timezone.now())


def _is_request() -> bool:
    return "address" in context.origin().facts


def count_failure(name: str, address: str, now: datetime) -> None:
    """One more in this minute."""
    minute = now.replace(second=0, microsecond=0)
    if _one_more(minute, name, address):
        return
    if FailedSignIns.objects.filter(minute=minute).count() >= MOST:
        name = address = ""
        if _one_more(minute, name, address):
            return
    try:
        with transaction.atomic():
            FailedSignIns.objects.create(minute=minute, name=name, address=address)
    except IntegrityError:  # another was first
        _one_more(minute, name, address)


def _one_more(minute: datetime, name: str, address: str) -> bool:
    rows = FailedSignIns.objects.filter(minute=minute, name=name, address=address)
    return bool(rows.update(count=F("count") + 1))


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
    record(
        "signin.failed",
        subject=f"signin:{row.pk}",
        n=0,
        actor=_SYSTEM,
        role="service",
        occurred_at=row.minute,
        detail={"name": row.name, "address": row.address, "count": row.count, "user": user},
    )
