"""Defines the authentication backends: first the lockout, then the password."""

from typing import Any

from django.contrib.auth.backends import ModelBackend
from django.http import HttpRequest

from sites.accounts import lockout
from sites.models import User


class LockoutBackend:
    """Refuses an attempt while `sites.accounts.lockout` is in effect, before passwords are checked.

    It loads no people and grants no permissions, and therefore has no methods for these.
    """

    def authenticate(
        self, request: HttpRequest | None, username: str | None = None, **_credentials: Any
    ) -> None:
        """Raise PermissionDenied if the attempt is locked out. Commands have no request."""
        if request is not None:
            lockout.refuse_if_locked(request, username or "")


class People(ModelBackend):
    """Checks passwords, and loads the people of sessions."""

    def get_user(self, user_id: int) -> User | None:
        """Return None outside the period of access: the person's sessions then end (R34)."""
        person = super().get_user(user_id)
        return person if person and person.has_access() else None
