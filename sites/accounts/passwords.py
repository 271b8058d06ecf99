"""Which new passwords are refused, beside Django's own rules (NIST SP 800-63B, 3.1.1.2)."""

import hashlib
import logging
import re
from typing import Any

import httpx2
from django.conf import settings
from django.core.exceptions import ValidationError
from django.utils.translation import gettext, gettext_lazy
from zxcvbn import zxcvbn

logger = logging.getLogger(__name__)

LEAST_SCORE = 3  # of zxcvbn's 0 to 4: fewer than 10**8 guesses are refused
MAX_LENGTH = 72  # characters that zxcvbn looks at
SECONDS = 5  # for an answer of the breach service


class GuessablePasswordValidator:
    """Refuses variants of common passwords, words, names, dates and keyboard patterns.

    Django's own validator knows 20,000 passwords, and only letter for letter.
    """

    def validate(self, password: str, user: Any = None) -> None:
        """Raise ValidationError for a password that is easy to guess."""
        names = ("username", "printed_name", "email")
        words = re.findall(r"\w{3,}", " ".join(str(getattr(user, name, "")) for name in names))
        found = zxcvbn(password[:MAX_LENGTH], user_inputs=["siteledger", *words])
        if found["score"] < LEAST_SCORE:
            raise ValidationError(
                gettext_lazy("This password is easy to guess. Use three or more unrelated words."),
                code="password_guessable",
            )

    def get_help_text(self) -> str:
        return gettext("Your password cannot be a variant of a common password, a name or a date.")


class BreachedPasswordValidator:
    """Refuses passwords that were published, if a breach service is set.

    PASSWORD_BREACH_SERVICE is the address of a range interface like that of Have I Been Pwned: it
    is sent the first 5 of 40 digits of the password's SHA-1, and returns the rest of all that begin
    with these. A service that does not answer refuses nothing, and is logged.
    """

    def validate(self, password: str, user: Any = None) -> None:
        """Raise ValidationError for a password that was published."""
        if settings.PASSWORD_BREACH_SERVICE and self._is_published(password):
            raise ValidationError(
                gettext_lazy(
                    "This password appears in a published data breach. Choose another one."
                ),
                code="password_published",
            )

    def get_help_text(self) -> str:
        if not settings.PASSWORD_BREACH_SERVICE:
            return ""
        return gettext("Your password cannot be one that appears in a published data breach.")

    def _is_published(self, password: str) -> bool:
        digest = hashlib.sha1(password.encode(), usedforsecurity=False).hexdigest().upper()
        address = f"{settings.PASSWORD_BREACH_SERVICE.rstrip('/')}/{digest[:5]}"
        try:
            answer = httpx2.get(address, timeout=SECONDS, headers={"Add-Padding": "true"})
            answer.raise_for_status()
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            logger.warning("the breach service did not answer: %s", type(error).__name__)
            return False
        for line in answer.text.splitlines():
            rest, _, count = line.strip().partition(":")
            if rest.upper() == digest[5:]:
                return count != "0"  # 0: padding
        return False
