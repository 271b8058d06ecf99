"""One-time links with which a person chooses their own password.

The token is Django's (`PasswordResetTokenGenerator`): an HMAC over the account's password, address
and last sign-in. So a link works once, ends with ACCOUNT_LINK_HOURS, and stops working when the
address is changed or a newer link is issued.
"""

from typing import Any

from django.conf import settings
from django.contrib.auth.tokens import PasswordResetTokenGenerator
from django.urls import reverse
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode


class LinkTokens(PasswordResetTokenGenerator):
    key_salt = "sites.password_links"

    def _make_hash_value(self, user: Any, timestamp: int) -> str:
        issued = user.link_issued_at.isoformat() if user.link_issued_at else ""
        return f"{super()._make_hash_value(user, timestamp)}{issued}"

    def check_token(self, user: Any, token: str | None) -> bool:
        """Whether the token is of the last link that was issued, unused and in time."""
        if user is None or user.link_issued_at is None:
            return False
        return super().check_token(user, token)


tokens = LinkTokens()


def path_for(person: Any) -> str:
    """The path of a link for this person, whose `link_issued_at` is saved."""
    uid = urlsafe_base64_encode(force_bytes(person.pk))
    return reverse("password_link", args=[uid, tokens.make_token(person)])


def address_for(person: Any) -> str:
    """The same with the address of this installation (SITE_URL) before it."""
    return f"{settings.SITE_URL.rstrip('/')}{path_for(person)}"
