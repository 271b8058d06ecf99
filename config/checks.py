"""Checks the settings of the whole deployment."""

from importlib.util import find_spec
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, register
from django.core.exceptions import ImproperlyConfigured


@register
def check_settings(**options: Any) -> list[CheckMessage]:
    """Return the problems of the settings of the deployment."""
    messages: list[CheckMessage] = []
    try:
        has_secret_key = bool(settings.SECRET_KEY)
    except ImproperlyConfigured:  # Django raises it if the key is empty
        has_secret_key = False
    if not has_secret_key:
        messages.append(
            Error(
                "SECRET_KEY is not set.",
                hint="Set SECRET_KEY=<50 random characters> in the environment or in .env.",
                id="config.E001",
            )
        )
    if not settings.DEBUG and not settings.ALLOWED_HOSTS:
        messages.append(
            Error(
                "ALLOWED_HOSTS is empty, so that every request would be refused.",
                hint="Set ALLOWED_HOSTS=ledger.example.org in the environment or in .env.",
                id="config.E002",
            )
        )
    if not settings.AUDIT_TRAIL.strip():
        messages.append(
            Error(
                "AUDIT_TRAIL is empty, but each ledger entry names its audit trail.",
                hint="Remove it to use the default, or set the name of this deployment.",
                id="config.E003",
            )
        )
    if settings.AUDIT_UNANCHORED_SECONDS < 1:
        messages.append(
            Error(
                "AUDIT_UNANCHORED_SECONDS has to be at least 1.",
                hint="Remove it to use the default: 3600, which is one hour.",
                id="config.E004",
            )
        )
    if settings.AUDIT_REVIEW_DAYS < 1:
        messages.append(
            Error(
                f"AUDIT_REVIEW_DAYS is {settings.AUDIT_REVIEW_DAYS}. It has to be at least 1, "
                "because the audit trail is reviewed regularly.",
                hint="Set the number of days between two reviews, for example 30.",
                id="config.E005",
            )
        )
    return messages


@register
def check_log_settings(**options: Any) -> list[CheckMessage]:
    """Return the problems of the settings of the log and of traces."""
    messages: list[CheckMessage] = []
    if settings.LOG_FORMAT not in ("json", "text"):
        messages.append(
            Error(
                f"LOG_FORMAT is {settings.LOG_FORMAT!r}. It has to be json or text.",
                hint="Remove it to use the default: text on a terminal, and json otherwise.",
                id="config.E006",
            )
        )
    if settings.OTEL_EXPORTER_OTLP_ENDPOINT and find_spec("opentelemetry") is None:
        messages.append(
            Error(
                "OTEL_EXPORTER_OTLP_ENDPOINT is set, but OpenTelemetry is not installed.",
                hint="Install requirements-otel.txt, or remove the setting.",
                id="config.E007",
            )
        )
    return messages
