"""Who may come in: first whether anybody may try now, then whose password it is."""

from typing import Any

from axes.backends import AxesStandaloneBackend
from django.contrib.auth.backends import ModelBackend
from django.http import HttpRequest

from sites.models import User


class Doorkeeper(AxesStandaloneBackend):  # type: ignore[misc] # axes has no types
    """Refuses while `sites.accounts.lockout` says so, before a password is looked at."""

    def authenticate(self, request: HttpRequest | None, **credentials: Any) -> None:
        if request is not None:  # nobody signs in from a shell
            super().authenticate(request, **credentials)


class People(ModelBackend):
    def get_user(self, user_id: int) -> User | None:
        """None outside the days of the account: its sessions end by themselves (R34)."""
        person = super().get_user(user_id)
        return person if person and person.has_access() else None
