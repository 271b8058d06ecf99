"""Makes and checks one-time links with which a person chooses their own password.

The token is Django's (`PasswordResetTokenGenerator`): an HMAC over the account's password, email
address and last sign-in. A link therefore works once, expires after ACCOUNT_LINK_HOURS, and stops
working when the address is changed or a newer link is issued.
"""

from typing import Any

from django.conf import settings
from django.contrib.auth.tokens import PasswordResetTokenGenerator
from django.urls import reverse
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode


class LinkTokens(PasswordResetTokenGenerator):
    """Makes and checks the tokens of links, separately from those of Django's own links."""

    key_salt = "sites.password_links"

    def _make_hash_value(self, user: Any, timestamp: int) -> str:
        issued = user.link_issued_at.isoformat() if user.link_issued_at else ""
        return f"{super()._make_hash_value(user, timestamp)}{issued}"

    def check_token(self, user: Any, token: str | None) -> bool:
        """Return whether the token belongs to the newest link, which is unused and not expired."""
        if user is None or user.link_issued_at is None:
            return False
        return super().check_token(user, token)


tokens = LinkTokens()


def make_link_path(person: Any) -> str:
    """Return the path of a link for this person. `link_issued_at` has to be saved before."""
    uid = urlsafe_base64_encode(force_bytes(person.pk))
    return reverse("password_link", args=[uid, tokens.make_token(person)])


def make_link_address(person: Any) -> str:
    """Return the link with the address of this installation (SITE_URL)."""
    return f"{settings.SITE_URL.rstrip('/')}{make_link_path(person)}"
