"""Changes passwords. Only the person of an account chooses its password (R19)."""

from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _

from sites import account_changes, account_notices


def change_own_password(person: Any, password: str) -> None:
    """Save the password that a person chose, and end their other sessions.

    The person is notified by email, in case someone else changed the password.
    """
    with account_changes.record_own_changes(person) as row:
        row.set_password(password)
        row.password_changed_at, row.password_is_temporary = timezone.now(), False
        row.link_issued_at = None  # an older link would still give access
        account_notices.write(
            row,
            _("Your account: password changed"),
            _(
                "The password of the account {account} was changed. If you did not change it, tell "
                "your administrator immediately."
            ).format(account=row.username),
        )
    person.refresh_from_db()


def issue_link(person: Any) -> None:
    """Permit a new link for a password, and suspend signing until the identity is verified.

    Changes the row but does not save it. An older link stops working.
    """
    now = timezone.now()
    person.link_issued_at = now
    person.signing_suspended_at = person.signing_suspended_at or now
