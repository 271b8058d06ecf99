"""System checks for the settings of accounts and sessions."""

from collections.abc import Iterator
from typing import Any

from django.conf import settings
from django.core import checks
from django.core.checks import CheckMessage, Error, register

from ingestion.roles import ROLES
from sites.accounts.sessions import WARNING
from sites.roles import ADMINISTRATORS, COORDINATORS

LEAST_PASSWORD = 8  # NIST SP 800-63B, 3.1.1: no shorter ones, whatever else is asked


@register
def check_accounts(**options: Any) -> list[CheckMessage]:
    return [*_lockout(), *_sessions(), *_passwords(), *_roles()]


def _lockout() -> Iterator[CheckMessage]:
    if settings.LOCKOUT_FAILURES < 1 or settings.LOCKOUT_MINUTES <= 0:
        yield Error(
            "LOCKOUT_FAILURES and LOCKOUT_MINUTES have to be positive: nobody, or anybody, would "
            "be locked out.",
            hint="Leave them out: 5 failures, 15 minutes.",
            id="config.E010",
        )
    if settings.LOCKOUT_FAILURES > 10:
        yield checks.Warning(
            f"LOCKOUT_FAILURES is {settings.LOCKOUT_FAILURES}: so many guesses are free.",
            hint="Set it to 10 or less.",
            id="config.W010",
        )
    if settings.LOCKOUT_ADDRESS_FAILURES <= settings.LOCKOUT_FAILURES:
        yield Error(
            "LOCKOUT_ADDRESS_FAILURES has to exceed LOCKOUT_FAILURES: one person's mistakes would "
            "lock out everybody at that address.",
            hint="Leave it out: 50.",
            id="config.E011",
        )


def _sessions() -> Iterator[CheckMessage]:
    idle = settings.SESSION_IDLE_MINUTES * 60
    if idle <= WARNING:
        yield Error(
            f"SESSION_IDLE_MINUTES is {settings.SESSION_IDLE_MINUTES}: people are warned "
            f"{WARNING // 60} minutes before.",
            hint="Leave it out: 15.",
            id="config.E012",
        )
    if idle > settings.SESSION_HOURS * 3600:
        yield Error(
            "SESSION_HOURS is less than SESSION_IDLE_MINUTES.",
            hint="Leave it out: 12.",
            id="config.E013",
        )
    if idle > 3600:
        yield checks.Warning(
            f"SESSION_IDLE_MINUTES is {settings.SESSION_IDLE_MINUTES}: sessions left open stay "
            "so for more than an hour.",
            hint="Set it to 60 or less.",
            id="config.W011",
        )
    if settings.SESSIONS_AT_A_TIME < 1:
        yield Error(
            f"SESSIONS_AT_A_TIME is {settings.SESSIONS_AT_A_TIME}: nobody could sign in.",
            hint="Leave it out: 3.",
            id="config.E018",
        )


def _passwords() -> Iterator[CheckMessage]:
    if settings.PASSWORD_LENGTH < LEAST_PASSWORD:
        yield Error(
            f"PASSWORD_LENGTH is {settings.PASSWORD_LENGTH}: at least {LEAST_PASSWORD}.",
            hint="Leave it out: 12.",
            id="config.E014",
        )
    service = settings.PASSWORD_BREACH_SERVICE
    if service and not service.startswith("https:"):
        yield Error(
            "PASSWORD_BREACH_SERVICE has to be an https address.",
            hint="Leave it out: no service is asked.",
            id="config.E019",
        )
    if settings.PASSWORD_DAYS < 0:
        yield Error("PASSWORD_DAYS may not be negative; 0 means never.", id="config.E015")
    if settings.ACCOUNT_LINK_HOURS < 1:
        yield Error(
            f"ACCOUNT_LINK_HOURS is {settings.ACCOUNT_LINK_HOURS}: no link for a password could "
            "be used.",
            hint="Leave it out: 24.",
            id="config.E025",
        )
    if settings.APPROVAL_DAYS < 1:
        yield Error(
            f"APPROVAL_DAYS is {settings.APPROVAL_DAYS}: no request could be approved.",
            hint="Leave it out: 14.",
            id="config.E026",
        )
    if settings.ACCESS_REVIEW_DAYS < 1:
        yield Error(
            "ACCESS_REVIEW_DAYS has to be at least 1: reviews of accounts have to come round.",
            hint="Leave it out: 90.",
            id="config.E016",
        )


def _roles() -> Iterator[CheckMessage]:
    known = {*ROLES, ADMINISTRATORS, COORDINATORS}
    for name in settings.OTP_REQUIRED_ROLES:
        if name not in known:
            yield Error(
                f"OTP_REQUIRED_ROLES: there is no role '{name}', so nobody would be asked.",
                hint=f"Choose among {', '.join(sorted(known))}.",
                id="config.E017",
            )
