"""The moment of signing: both components of an electronic signature are asked for again.

21 CFR 11.200(a)(1): a session that was left open signs nothing.
"""

from datetime import UTC, datetime

from django.utils.crypto import constant_time_compare
from django.utils.translation import gettext

from sites.accounts import lockout
from sites.eligibility import may_sign
from sites.models import User


class NotSigned(Exception):
    """Enter your own user name and password again. Nothing is lost."""


def confirm(person: User, *, username: str, password: str) -> None:
    """That it is this person who signs, now, and that they may. Raises NotSigned, for people.

    Wrong ones are counted: a session that was left open is no place to guess passwords.
    """
    if missing := may_sign(person):
        raise NotSigned(" ".join(each.sentence for each in missing))
    is_theirs = constant_time_compare(username, person.get_username())
    try:
        # Both are looked at, so that the answer takes as long whichever is wrong.
        lockout.require_proof(person, lambda: person.check_password(password) and is_theirs)
    except lockout.ProofRefused as refused:
        raise NotSigned(_too_often(refused.until) if refused.until else NotSigned.__doc__) from None


def _too_often(until: datetime) -> str:
    at = until.astimezone(UTC)
    sentence = gettext(
        "Too many wrong attempts. You can sign again at {time} UTC. The text that you entered is "
        "still here."
    )
    return sentence.format(time=f"{at:%H:%M}")
