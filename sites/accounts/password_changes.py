"""Passwords: chosen by their own person, and by no one else (R19)."""

from typing import Any

from django.utils import timezone
from django.utils.translation import gettext

from sites import account_changes, account_notices


def change_own(person: Any, password: str) -> None:
    """Save the password that a person chose. Their other sessions end.

    They are told by mail, in case that it was not they.
    """
    with account_changes.by_themselves(person) as row:
        row.set_password(password)
        row.password_changed_at, row.password_is_temporary = timezone.now(), False
        row.link_issued_at = None  # a link that is still out would be another way in
        account_notices.write(
            row,
            gettext("Your account: password changed"),
            gettext(
                "The password of the account {account} was changed. If you did not change it, tell "
                "your administrator immediately."
            ).format(account=row.username),
        )
    person.refresh_from_db()


def issue_link(person: Any) -> None:
    """Let a link for a new password be made, and suspend signing until the identity is verified.

    Changes the row and does not save it. An older link stops working.
    """
    now = timezone.now()
    person.link_issued_at = now
    person.signing_suspended_at = person.signing_suspended_at or now
