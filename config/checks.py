"""System checks for the settings of the site as a whole."""

from collections.abc import Iterator
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, register
from django.core.exceptions import ImproperlyConfigured


@register
def check_settings(**options: Any) -> list[CheckMessage]:
    return list(_messages())


def _has_secret_key() -> bool:
    try:
        return bool(settings.SECRET_KEY)
    except ImproperlyConfigured:  # how Django says that it is empty
        return False


def _messages() -> Iterator[CheckMessage]:
    if not _has_secret_key():
        yield Error(
            "SECRET_KEY is not set.",
            hint="Put SECRET_KEY=<50 random characters> into the environment or .env.",
            id="config.E001",
        )
    if not settings.DEBUG and not settings.ALLOWED_HOSTS:
        yield Error(
            "ALLOWED_HOSTS is empty: every request would be refused.",
            hint="Put ALLOWED_HOSTS=ledger.example.org into the environment or .env.",
            id="config.E002",
        )
    if not settings.AUDIT_TRAIL.strip():
        yield Error(
            "AUDIT_TRAIL is empty: ledger entries have to name their trail.",
            hint="Leave it out, or give this deployment a name.",
            id="config.E003",
        )
    if settings.AUDIT_UNANCHORED_SECONDS < 1:
        yield Error(
            "AUDIT_UNANCHORED_SECONDS has to be at least 1.",
            hint="Leave it out: 3600 is an hour.",
            id="config.E004",
        )
    if settings.AUDIT_REVIEW_DAYS < 1:
        yield Error(
            f"AUDIT_REVIEW_DAYS is {settings.AUDIT_REVIEW_DAYS}: reviews of the trail have to come "
            "round.",
            hint="Leave it out, or give the days from one review to the next, such as 30.",
            id="config.E005",
        )
