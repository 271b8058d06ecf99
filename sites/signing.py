"""The moment of signing: both components of an electronic signature are asked for again.

21 CFR 11.200(a)(1): a session that was left open signs nothing.
"""

from django.utils.crypto import constant_time_compare

from sites.models import User


class NotSigned(Exception):
    """Enter your own user name and password again. Nothing is lost."""


def confirm(person: User, *, username: str, password: str) -> None:
    """That it is this person who signs, now. Raises NotSigned."""
    is_theirs = constant_time_compare(username, person.get_username())
    # Both are looked at, so that the answer takes as long whichever is wrong.
    if not (person.check_password(password) and is_theirs):
        raise NotSigned(NotSigned.__doc__)
