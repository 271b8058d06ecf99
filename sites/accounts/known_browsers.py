"""Recognises browsers in which a person has signed in before by a signed cookie, without rows.

Failed attempts of strangers elsewhere therefore do not lock a person out of their own browser
(OWASP, "Slow Down Online Guessing Attacks with Device Cookies"). The cookie gives no access by
itself.
"""

import secrets
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.core import signing
from django.http import HttpRequest
from django.http.response import HttpResponseBase

COOKIE = "known"
COOKIE_LIFE = timedelta(days=90)  # since the last sign-in with the browser
MAX_PEOPLE_PER_BROWSER = 8  # people of a site may share a computer
_SALT = "sites.accounts.known_browsers"


def get_browser_key(request: HttpRequest, person: Any) -> str:
    """Return a key for this browser and person, or "" if the person never signed in with it."""
    browser, people = _read_cookie(request)
    return f"{browser}:{person.pk}" if person and person.pk in people else ""


def remember(response: HttpResponseBase, request: HttpRequest, person: Any) -> None:
    """Set the cookie of the response to a sign-in."""
    browser, people = _read_cookie(request)
    browser = browser or secrets.token_urlsafe(16)
    recent = [person.pk, *(pk for pk in people if pk != person.pk)][:MAX_PEOPLE_PER_BROWSER]
    response.set_cookie(
        COOKIE,
        signing.dumps([browser, recent], salt=_SALT),
        max_age=COOKIE_LIFE,
        path="/login/",
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


def _read_cookie(request: HttpRequest) -> tuple[str, list[int]]:
    """Return the key of the browser, and the primary keys of the people who signed in with it."""
    try:
        found = signing.loads(request.COOKIES.get(COOKIE, ""), salt=_SALT, max_age=COOKIE_LIFE)
    except signing.BadSignature:
        return "", []
    return found[0], found[1]
