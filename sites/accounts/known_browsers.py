"""In which browsers a person has signed in before: a signed cookie in each, and no row.

So that failures of strangers elsewhere do not keep a person out of their own browser: OWASP, "Slow
Down Online Guessing Attacks with Device Cookies". It opens nothing by itself.
"""

import secrets
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.core import signing
from django.http import HttpRequest
from django.http.response import HttpResponseBase

COOKIE = "known"
LIFE = timedelta(days=90)  # since somebody signed in there last
_MOST = 8  # people of one browser: a desk at a site is shared
_SALT = "sites.accounts.known_browsers"


def key_of(request: HttpRequest, person: Any) -> str:
    """This browser, where that person has signed in with it before; else ""."""
    browser, people = _read(request)
    return f"{browser}:{person.pk}" if person and person.pk in people else ""


def remember(response: HttpResponseBase, request: HttpRequest, person: Any) -> None:
    """After a sign-in."""
    browser, people = _read(request)
    browser = browser or secrets.token_urlsafe(16)
    latest = [person.pk, *(pk for pk in people if pk != person.pk)][:_MOST]
    response.set_cookie(
        COOKIE,
        signing.dumps([browser, latest], salt=_SALT),
        max_age=LIFE,
        path="/login/",
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


def _read(request: HttpRequest) -> tuple[str, list[int]]:
    try:
        found = signing.loads(request.COOKIES.get(COOKIE, ""), salt=_SALT, max_age=LIFE)
    except signing.BadSignature:
        return "", []
    return found[0], found[1]
