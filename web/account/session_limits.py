"""Ends sessions by a middleware, and serves the URL where `session.js` queries them (R20).

Requests with tokens have no session. Requests that scripts of a page send on their own
(`X-Fragment`) do not extend a session, but end a session that has expired.
"""

import time
from collections.abc import Callable, Mapping
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.middleware.csrf import get_token
from django.shortcuts import render
from django.utils.translation import gettext_lazy as _

from sites.accounts import sessions, sign_in_log
from sites.models import User
from web.shell.access import FORM, restrict_page
from web.shell.current_person import PROGRAM_PATHS, get_current_person

_END_MESSAGES = {
    sessions.IDLE: _("You were signed out because you were inactive. Sign in to continue."),
    sessions.ELSEWHERE: _(
        "You were signed out here because you signed in elsewhere. "
        "If that was not you, change your password and tell your administrator."
    ),
    sessions.TOO_OLD: _(
        "You were signed out because your session reached its maximum length. Sign in to continue."
    ),
}


class SessionLimits:
    """Ends sessions that have expired, and extends the others."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        person = None if request.path.startswith(PROGRAM_PATHS) else get_current_person(request)
        if person:
            self._end_or_extend_session(request, person)
        return self._get_response(request)

    def _end_or_extend_session(self, request: HttpRequest, person: User) -> None:
        now, is_fragment = time.time(), bool(request.headers.get("X-Fragment"))
        if reason := sessions.find_end_reason(request.session, person, now):
            sign_in_log.record_session_end(person, reason)
            sessions.end_session(person, request.session)
            request.session.flush()
            request.user = AnonymousUser()
            if not is_fragment:
                messages.info(request, _END_MESSAGES[reason])
        elif not is_fragment:
            sessions.record_activity(request.session, now)


@login_not_required
@restrict_page(FORM)
def session(request: HttpRequest) -> HttpResponse:
    """Return who is signed in, the seconds until the session ends, and a new CSRF token, as JSON.

    The button "Stay signed in" sends a POST request, which counts as activity. A person who opens
    the address gets a page.
    """
    person = get_current_person(request)
    if request.method != "POST" and not request.headers.get("X-Fragment"):
        return render(request, "account/session.html")
    if person is None:
        return JsonResponse({"person": ""})
    # The seconds until the first limit applies, and until the maximum length of a session.
    until_first, until_maximum = sessions.compute_remaining_seconds(request.session, time.time())
    left = {"seconds": int(until_first), "whole": int(until_maximum)}
    return JsonResponse({"person": person.actor_name, "csrf": get_token(request), **left})


def get_session_terms(context: Mapping[str, Any]) -> dict[str, str | int] | None:
    """Return what a page needs to warn before the session ends; None if nobody is signed in."""
    request: HttpRequest | None = context.get("request")
    if request is None or (person := get_current_person(request)) is None:
        return None
    if sessions.BEGAN_KEY not in request.session:
        return None
    until_first, _until_maximum = sessions.compute_remaining_seconds(request.session, time.time())
    return {
        "person": person.actor_name,
        "seconds": int(until_first),
        "warning": sessions.WARNING_SECONDS,
    }
