"""Verifies the second factor: a time-based code (RFC 6238), or a recovery code (R21).

django-otp handles keys, replay and drift. Recovery codes have 80 random bits, and only a part of
their SHA-256 is stored, so that they cannot be taken from a copy of the database.
"""

import hashlib
import secrets
from base64 import b32encode
from collections.abc import Mapping
from typing import Any

from django.db import transaction
from django.utils import timezone
from django_otp import DEVICE_ID_SESSION_KEY
from django_otp.plugins.otp_static.models import StaticDevice, StaticToken
from django_otp.plugins.otp_totp.models import TOTPDevice

from audit.change_tracking.field_changes import SECRET
from audit.ledger.log import ledger
from sites.models import User

APP, RECOVERY = "an app", "a recovery code"  # the names in entries
RECOVERY_CODES = 10
_RECOVERY_CODE_BYTES = 10


def is_verified(session: Mapping[str, Any]) -> bool:
    """Return whether the second factor was verified in this session."""
    return DEVICE_ID_SESSION_KEY in session


def begin_setup(person: User) -> Any:
    """Return the device whose first code is awaited. It is created if there is none."""
    device, _ = TOTPDevice.objects.get_or_create(user=person, confirmed=False, name=APP)
    return device


def format_key(device: Any) -> str:
    """Return the key in groups of four characters."""
    return _in_fours(b32encode(device.bin_key).decode())


def set_up(person: User, code: str) -> tuple[Any, list[str]] | None:
    """Confirm the new device with a code. Return it with its recovery codes, or None.

    The result is None if the code is wrong. The recovery codes are not shown again. The change is
    recorded in the same transaction. Earlier devices and recovery codes are deleted.
    """
    with ledger():
        row = User.lock(person.pk)
        device = TOTPDevice.objects.select_for_update().filter(user=row, confirmed=False).first()
        if device is None or not device.verify_token(_normalize(code)):
            return None
        _delete_devices(row, except_for=device.pk)
        device.confirmed = True
        device.save()
        codes = _create_recovery_codes(row)
        old, row.second_factor_since = row.second_factor_since, timezone.now()
        row.save(update_fields=["second_factor_since"])
        changes = {
            "second_factor_since": {
                "old": str(old) if old else None,
                "new": str(row.second_factor_since),
            },
            "key": {"old": SECRET if old else None, "new": SECRET},
        }
        row.record("user.changed", by=row.actor, detail={"object": str(row), "changes": changes})
    return device, codes


def verify_code(person: User, code: str) -> Any:
    """Return the device to which this code belongs, and use the code up. None for a wrong code."""
    normalized = _normalize(code)
    with transaction.atomic():
        for kind, token in ((TOTPDevice, normalized), (StaticDevice, _hash(normalized))):
            device = kind.objects.select_for_update().filter(user=person, confirmed=True).first()
            if device and device.verify_token(token):
                return device
    return None


def count_recovery_codes(person: User) -> int:
    """Return the number of the person's recovery codes that are not used yet."""
    left: int = StaticToken.objects.filter(device__user=person).count()
    return left


def reset(person: User) -> bool:
    """Remove the second factor. Return whether there was one. Call this inside `ledger()`."""
    had_one = person.second_factor_since is not None
    _delete_devices(person)
    return had_one


def _delete_devices(person: User, except_for: int = 0) -> None:
    TOTPDevice.objects.filter(user=person).exclude(pk=except_for).delete()
    StaticDevice.objects.filter(user=person).delete()


def _create_recovery_codes(person: User) -> list[str]:
    device = StaticDevice.objects.create(user=person, name=RECOVERY)
    codes = [
        _in_fours(b32encode(secrets.token_bytes(_RECOVERY_CODE_BYTES)).decode())
        for _ in range(RECOVERY_CODES)
    ]
    for code in codes:
        device.token_set.create(token=_hash(_normalize(code)))
    return codes


def _normalize(code: str) -> str:
    return "".join(code.split()).replace("-", "").upper()


def _hash(code: str) -> str:
    """Return 16 characters of a digest, the size of django-otp's column."""
    return hashlib.sha256(code.encode()).hexdigest()[:16]


def _in_fours(text: str) -> str:
    return " ".join(text[at : at + 4] for at in range(0, len(text), 4))
