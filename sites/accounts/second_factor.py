"""The code at sign-in: a time-based one from a phone (RFC 6238), or a recovery code (R21).

Keys, replay and drift are django-otp's. Recovery codes are drawn from 80 random bits and kept as a
part of their SHA-256: a copy of the database signs nobody in with them.
"""

import hashlib
import secrets
from base64 import b32encode
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils import timezone
from django_otp import DEVICE_ID_SESSION_KEY
from django_otp.plugins.otp_static.models import StaticDevice, StaticToken
from django_otp.plugins.otp_totp.models import TOTPDevice

from audit.change_tracking.field_changes import SECRET
from audit.ledger.log import ledger
from sites.models import User

APP, RECOVERY = "an app", "a recovery code"  # as entries name them
RECOVERY_CODES = 10
_BYTES = 10  # of one


def is_done(session: Mapping[str, Any]) -> bool:
    return DEVICE_ID_SESSION_KEY in session


def begun(person: User) -> Any:
    """The key that waits for its first code, drawn when there is none."""
    device, _ = TOTPDevice.objects.get_or_create(user=person, confirmed=False, name=APP)
    return device


def key_text(device: Any) -> str:
    """For typing: groups of four."""
    return _in_fours(b32encode(device.bin_key).decode())


def set_up(person: User, code: str) -> tuple[Any, list[str]] | None:
    """The device and the recovery codes, which nobody sees again; None: it is not the code.

    On record, in one transaction with the change. What was set up before opens nothing any more.
    """
    with ledger():
        row = User.lock(person.pk)
        device = TOTPDevice.objects.select_for_update().filter(user=row, confirmed=False).first()
        if device is None or not device.verify_token(_plain(code)):
            return None
        _forget(row, except_for=device.pk)
        device.confirmed = True
        device.save()
        codes = _recovery_codes(row)
        _changed(row, timezone.now())
    return device, codes


def matching(person: User, code: str) -> Any:
    """The device that this code is of, used up now; None: it is of none."""
    typed = _plain(code)
    with transaction.atomic():
        for kind, given in ((TOTPDevice, typed), (StaticDevice, _kept(typed))):
            device = kind.objects.select_for_update().filter(user=person, confirmed=True).first()
            if device and device.verify_token(given):
                return device
    return None


def recovery_codes_left(person: User) -> int:
    left: int = StaticToken.objects.filter(device__user=person).count()
    return left


def reset(person: User) -> bool:
    """Take it away: the next code is set up anew. Whether there was one. Inside ledger()."""
    had_one = person.second_step_since is not None
    _forget(person)
    return had_one


def _forget(person: User, except_for: int = 0) -> None:
    TOTPDevice.objects.filter(user=person).exclude(pk=except_for).delete()
    StaticDevice.objects.filter(user=person).delete()


def _recovery_codes(person: User) -> list[str]:
    box = StaticDevice.objects.create(user=person, name=RECOVERY)
    codes = [
        _in_fours(b32encode(secrets.token_bytes(_BYTES)).decode()) for _ in range(RECOVERY_CODES)
    ]
    for code in codes:
        box.token_set.create(token=_kept(_plain(code)))
    return codes


def _changed(person: User, since: datetime) -> None:
    old, person.second_step_since = person.second_step_since, since
    person.save(update_fields=["second_step_since"])
    moments = {"old": str(old) if old else None, "new": str(since)}
    keys = {"old": SECRET if old else None, "new": SECRET}
    person.record(
        "user.changed",
        by=person.actor,
        detail={"object": str(person), "changes": {"second_step_since": moments, "key": keys}},
    )


def _plain(code: str) -> str:
    return "".join(code.split()).replace("-", "").upper()


def _kept(code: str) -> str:
    """16 characters, as many as django-otp's column holds."""
    return hashlib.sha256(code.encode()).hexdigest()[:16]


def _in_fours(text: str) -> str:
    return " ".join(text[at : at + 4] for at in range(0, len(text), 4))
