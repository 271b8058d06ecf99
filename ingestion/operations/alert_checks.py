"""Checks the settings of alarms: their times, and the recipients of alerts."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, register
from django.core.exceptions import ValidationError
from django.core.validators import validate_email

OTHERS_ALL = 0o077  # all permissions of group and others


@register
def check_alerts(**options: Any) -> list[CheckMessage]:
    """Return the problems of the settings of alarms."""
    return [*_check_times_and_recipients(), *_check_webhook()]


def _check_times_and_recipients() -> Iterator[CheckMessage]:
    """Check ALERT_EMAILS, and the times of alarms."""
    if settings.ALERT_AGAIN_HOURS < 1:
        yield Error("ALERT_AGAIN_HOURS has to be at least 1.", id="ingestion.E074")
    if settings.WORKER_SILENT_SECONDS < 3 * settings.HEARTBEAT_SECONDS:
        yield Error(
            "A worker host that misses one heartbeat would count as dead.",
            hint="WORKER_SILENT_SECONDS has to be at least three times HEARTBEAT_SECONDS.",
            id="ingestion.E075",
        )
    for address in settings.ALERT_EMAILS:
        try:
            validate_email(address)
        except ValidationError:
            yield Error(
                f"ALERT_EMAILS: {address} is not an email address.",
                hint="Write ops@example.org,qa@example.org.",
                id="ingestion.E070",
            )


def _check_webhook() -> Iterator[CheckMessage]:
    if settings.ALERT_WEBHOOK and not settings.ALERT_WEBHOOK.startswith(("https://", "http://")):
        yield Error(
            "ALERT_WEBHOOK is not a URL.",
            hint="Write https://hooks.example.org/..., or leave it out.",
            id="ingestion.E072",
        )
    if not settings.ALERT_WEBHOOK_SECRET_FILE:
        return
    secret = Path(settings.ALERT_WEBHOOK_SECRET_FILE)
    if not secret.is_file() or not secret.read_bytes().strip():
        yield Error(
            f"ALERT_WEBHOOK_SECRET_FILE={secret} is not a file with a secret in it.",
            hint="Give the path of a file that the worker hosts may read.",
            id="ingestion.E073",
        )
    elif secret.stat().st_mode & OTHERS_ALL:
        yield Error(
            f"ALERT_WEBHOOK_SECRET_FILE={secret} can be read by others.",
            hint=f"chmod 600 {secret}",
            id="ingestion.E073",
        )
