"""System checks of the settings that say when there is an alarm, and whom it is told."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, register
from django.core.exceptions import ValidationError
from django.core.validators import validate_email

OTHERS = 0o077  # the bits of a mode that let anybody but the owner in


@register
def check_alerts(**options: Any) -> list[CheckMessage]:
    return [*_addresses(), *_webhook(), *_times()]


def _addresses() -> Iterator[CheckMessage]:
    for address in settings.ALERT_EMAILS:
        try:
            validate_email(address)
        except ValidationError:
            yield Error(
                f"ALERT_EMAILS: {address} is not an address of mail.",
                hint="Write ops@example.org,qa@example.org.",
                id="ingestion.E070",
            )


def _webhook() -> Iterator[CheckMessage]:
    if settings.ALERT_WEBHOOK and not settings.ALERT_WEBHOOK.startswith(("https://", "http://")):
        yield Error(
            "ALERT_WEBHOOK is not an address.",
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
    elif secret.stat().st_mode & OTHERS:
        yield Error(
            f"ALERT_WEBHOOK_SECRET_FILE={secret} can be read by others.",
            hint=f"chmod 600 {secret}",
            id="ingestion.E073",
        )


def _times() -> Iterator[CheckMessage]:
    if settings.ALERT_AGAIN_HOURS < 1:
        yield Error("ALERT_AGAIN_HOURS has to be at least 1.", id="ingestion.E074")
    if settings.WORKER_SILENT_SECONDS < 3 * settings.HEARTBEAT_SECONDS:
        yield Error(
            "A worker host that misses a sign would be taken for dead.",
            hint="WORKER_SILENT_SECONDS has to be at least three times HEARTBEAT_SECONDS.",
            id="ingestion.E075",
        )
