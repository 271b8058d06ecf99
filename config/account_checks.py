"""Checks the settings of accounts and sessions."""

from collections.abc import Iterator
from typing import Any

from django.conf import settings
from django.core import checks
from django.core.checks import CheckMessage, Error, register

from ingestion.roles import ROLES
from sites.accounts.sessions import WARNING_SECONDS
from sites.roles import ADMINISTRATORS, COORDINATORS

MIN_PASSWORD_LENGTH = 8  # characters; NIST SP 800-63B, 3.1.1, allows no shorter passwords


@register
def check_accounts(**options: Any) -> list[CheckMessage]:
    """Return the problems of the settings of accounts and sessions."""
    messages = [
        *_check_lockout(),
        *_check_sessions(),
        *_check_passwords(),
        *_check_deadlines(),
    ]
    known = {*ROLES, ADMINISTRATORS, COORDINATORS}
    messages += [
        Error(
            f"OTP_REQUIRED_ROLES: the role '{name}' does not exist, so nobody would need a code.",
            hint=f"Choose from {', '.join(sorted(known))}.",
            id="config.E017",
        )
        for name in settings.OTP_REQUIRED_ROLES
        if name not in known
    ]
    return messages


def _check_lockout() -> Iterator[CheckMessage]:
    if settings.LOCKOUT_FAILURES < 1 or settings.LOCKOUT_MINUTES <= 0:
        yield Error(
            "LOCKOUT_FAILURES and LOCKOUT_MINUTES have to be positive. Otherwise nobody, or "
            "everybody, would be locked out.",
            hint="Remove them to use the defaults: 5 failures and 15 minutes.",
            id="config.E010",
        )
    if settings.LOCKOUT_FAILURES > 10:
        yield checks.Warning(
            f"LOCKOUT_FAILURES is {settings.LOCKOUT_FAILURES}, which allows too many guesses.",
            hint="Set it to 10 or less.",
            id="config.W010",
        )
    if settings.LOCKOUT_ADDRESS_FAILURES <= settings.LOCKOUT_FAILURES:
        yield Error(
            "LOCKOUT_ADDRESS_FAILURES has to be greater than LOCKOUT_FAILURES. Otherwise the "
            "mistakes of one person would lock out everybody at the same address.",
            hint="Remove it to use the default: 50.",
            id="config.E011",
        )


def _check_sessions() -> Iterator[CheckMessage]:
    idle = settings.SESSION_IDLE_MINUTES * 60
    if idle <= WARNING_SECONDS:
        yield Error(
            f"SESSION_IDLE_MINUTES is {settings.SESSION_IDLE_MINUTES}, but people are warned "
            f"{WARNING_SECONDS // 60} minutes before the end of a session.",
            hint="Remove it to use the default: 15.",
            id="config.E012",
        )
    if idle > settings.SESSION_HOURS * 3600:
        yield Error(
            "SESSION_HOURS is less than SESSION_IDLE_MINUTES.",
            hint="Remove it to use the default: 12.",
            id="config.E013",
        )
    if idle > 3600:
        yield checks.Warning(
            f"SESSION_IDLE_MINUTES is {settings.SESSION_IDLE_MINUTES}, so that an unattended "
            "session stays open for more than an hour.",
            hint="Set it to 60 or less.",
            id="config.W011",
        )
    if settings.SESSIONS_AT_A_TIME < 1:
        yield Error(
            f"SESSIONS_AT_A_TIME is {settings.SESSIONS_AT_A_TIME}, so that nobody could sign in.",
            hint="Remove it to use the default: 3.",
            id="config.E018",
        )


def _check_passwords() -> Iterator[CheckMessage]:
    if settings.PASSWORD_LENGTH < MIN_PASSWORD_LENGTH:
        yield Error(
            f"PASSWORD_LENGTH is {settings.PASSWORD_LENGTH}. The minimum is {MIN_PASSWORD_LENGTH}.",
            hint="Remove it to use the default: 12.",
            id="config.E014",
        )
    service = settings.PASSWORD_BREACH_SERVICE
    if service and not service.startswith("https:"):
        yield Error(
            "PASSWORD_BREACH_SERVICE has to be an https address.",
            hint="Remove it to use no service.",
            id="config.E019",
        )
    if settings.PASSWORD_DAYS < 0:
        yield Error(
            "PASSWORD_DAYS cannot be negative. 0 means that passwords never expire.",
            id="config.E015",
        )


def _check_deadlines() -> Iterator[CheckMessage]:
    if settings.ACCOUNT_LINK_HOURS < 1:
        yield Error(
            f"ACCOUNT_LINK_HOURS is {settings.ACCOUNT_LINK_HOURS}, so that no password link "
            "could be used.",
            hint="Remove it to use the default: 24.",
            id="config.E025",
        )
    if settings.APPROVAL_DAYS < 1:
        yield Error(
            f"APPROVAL_DAYS is {settings.APPROVAL_DAYS}, so that no request could be approved.",
            hint="Remove it to use the default: 14.",
            id="config.E026",
        )
    if settings.ACCESS_REVIEW_DAYS < 1:
        yield Error(
            "ACCESS_REVIEW_DAYS has to be at least 1, because accounts are reviewed regularly.",
            hint="Remove it to use the default: 90.",
            id="config.E016",
        )
