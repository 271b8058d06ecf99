"""What a person has to do before anything else: a new password, a code at sign-in (R19, R21)."""

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
            logout(request)  # it was set up elsewhere since: this session knows the password alone
            return redirect(f"{reverse('login')}?{urlencode({'next': request.path}, safe='/')}")
        return _led_to(_duty(person), page, request)


def _duty(person: User) -> str:
    """The page of what comes first; "" for nothing."""
    if person.must_change_password():
        return "password"
    return "account_code" if person.needs_second_step and not person.second_step_since else ""


def _led_to(duty: str, page: str, request: HttpRequest) -> HttpResponse | None:
    if not duty or page == duty:
        return None
    return redirect(f"{reverse(duty)}?{urlencode({'next': request.path}, safe='/')}")
