"""Requires a new password or multi-factor authentication first, by a middleware (R19, R21)."""

from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

from django.contrib.auth import logout
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse

from sites.accounts import second_factor
from web.shell.current_person import PROGRAM_PATHS, get_current_page_name, get_current_person

_EXEMPT_PAGES = {"login", "login_code", "logout", "session", "help_rejections", "password_link"}


class RequiredActions:
    """Redirects people to the page of an action that they must complete before all others."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        return self._get_response(request)

    def process_view(self, request: HttpRequest, *_view: Any) -> HttpResponse | None:
        """Redirect to the page of the required action, or return None if there is none."""
        page = get_current_page_name(request)
        if page in _EXEMPT_PAGES or request.path.startswith(PROGRAM_PATHS):
            return None
        person = get_current_person(request)
        if person is None:
            return None
        if person.second_factor_since and not second_factor.is_verified(request.session):
            # Multi-factor authentication was set up in another session after this one began.
            logout(request)
            required = "login"
        elif person.must_change_password():
            required = "password"
        elif person.needs_second_factor and not person.second_factor_since:
            required = "account_code"
        else:
            return None
        if page == required:
            return None
        return redirect(f"{reverse(required)}?{urlencode({'next': request.path}, safe='/')}")
