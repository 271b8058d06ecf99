"""Validates new passwords, in addition to Django's validators (NIST SP 800-63B, 3.1.1.2)."""

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

MIN_SCORE = 3  # of 0 to 4 by zxcvbn; lower scores need fewer than 10**8 guesses
MAX_ZXCVBN_CHARACTERS = 72  # which zxcvbn rates
TIMEOUT_SECONDS = 5  # of a request to the breach service


class GuessablePasswordValidator:
    """Refuses variants of common passwords, words, names, dates and keyboard patterns.

    Django's own validator has a list of 20,000 passwords and finds only exact matches.
    """

    def validate(self, password: str, user: Any = None) -> None:
        """Raise ValidationError for a password that is easy to guess."""
        names = ("username", "printed_name", "email")
        words = re.findall(r"\w{3,}", " ".join(str(getattr(user, name, "")) for name in names))
        rating = zxcvbn(password[:MAX_ZXCVBN_CHARACTERS], user_inputs=["siteledger", *words])
        if rating["score"] < MIN_SCORE:
            raise ValidationError(
                gettext_lazy("This password is easy to guess. Use three or more unrelated words."),
                code="password_guessable",
            )

    def get_help_text(self) -> str:
        """Return the rule in a sentence, which forms show."""
        return gettext("Your password cannot be a variant of a common password, a name or a date.")


class BreachedPasswordValidator:
    """Refuses passwords in published data breaches, if PASSWORD_BREACH_SERVICE is set.

    The setting is the address of a range interface like that of Have I Been Pwned. The service
    receives the first 5 of 40 digits of the password's SHA-1, and returns the rest of all digests
    that begin with them. If the service does not answer, the password is accepted, and the failure
    is logged.
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
        """Return the rule in a sentence, or "" if no service is set."""
        if not settings.PASSWORD_BREACH_SERVICE:
            return ""
        return gettext("Your password cannot be one that appears in a published data breach.")

    def _is_published(self, password: str) -> bool:
        digest = hashlib.sha1(password.encode(), usedforsecurity=False).hexdigest().upper()
        address = f"{settings.PASSWORD_BREACH_SERVICE.rstrip('/')}/{digest[:5]}"
        try:
            response = httpx2.get(address, timeout=TIMEOUT_SECONDS, headers={"Add-Padding": "true"})
            response.raise_for_status()
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            logger.warning("the breach service did not answer: %s", type(error).__name__)
            return False
        for line in response.text.splitlines():
            suffix, _, count = line.strip().partition(":")
            if suffix.upper() == digest[5:]:
                return count != "0"  # lines with 0 are padding
        return False
