"""Requires the user name and the password again for each electronic signature.

21 CFR 11.200(a)(1): an open session alone must not be sufficient for a signature.
"""

from datetime import UTC

from django.utils.crypto import constant_time_compare
from django.utils.translation import gettext as _

from sites.accounts import lockout
from sites.eligibility import list_missing_for_signature
from sites.models import User


class NotSigned(Exception):
    """The person could not sign. The message is for people."""


def confirm(person: User, *, username: str, password: str) -> None:
    """Check that this person is signing now, and that they may sign. Raises NotSigned.

    Failures are counted, so that nobody can guess the password in an open session.
    """
    if missing := list_missing_for_signature(person):
        raise NotSigned(" ".join(each.sentence for each in missing))
    is_own_name = constant_time_compare(username, person.get_username())
    try:
        # Both are always checked, so that the response time does not reveal which one was wrong.
        lockout.require_proof(person, lambda: person.check_password(password) and is_own_name)
    except lockout.ProofRefused as refused:
        if refused.until is None:
            message = _(
                "The user name or password is incorrect. Enter your own user name and password. "
                "Your entries are kept."
            )
            raise NotSigned(message) from None
        message = _(
            "Too many wrong attempts. You can sign again at {time} UTC. The text that you entered "
            "is still here."
        )
        raise NotSigned(message.format(time=f"{refused.until.astimezone(UTC):%H:%M}")) from None
