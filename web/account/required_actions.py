"""The middleware that demands a new password or multi-factor setup before all else (R19, R21)."""

from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

from django.contrib.auth import logout
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse

from sites.accounts import second_factor
from sites.models import User
from web.shell.current_person import PROGRAM_PATHS, current_page_name, current_person

_OPEN = {"login", "login_code", "logout", "session", "help_rejections", "password_link"}


class FirstThings:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        return self._get_response(request)

    def process_view(self, request: HttpRequest, *_view: Any) -> HttpResponse | None:
        page = current_page_name(request)
        if page in _OPEN or request.path.startswith(PROGRAM_PATHS):
            return None
        person = current_person(request)
        if person is None:
            return None
        if person.second_step_since and not second_factor.is_done(request.session):
            logout(request)  # multi-factor was set up elsewhere: this session was opened without it
            return redirect(f"{reverse('login')}?{urlencode({'next': request.path}, safe='/')}")
        return _redirect_to(_required_page(person), page, request)


def _required_page(person: User) -> str:
    """Return the URL name of the page that comes first, or ""."""
    if person.must_change_password():
        return "password"
    return "account_code" if person.needs_second_step and not person.second_step_since else ""


def _redirect_to(required: str, page: str, request: HttpRequest) -> HttpResponse | None:
    if not required or page == required:
        return None
    return redirect(f"{reverse(required)}?{urlencode({'next': request.path}, safe='/')}")
