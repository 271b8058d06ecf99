"""Signing in and out: one page for everybody, and from there to where each role starts.

Whoever has set up a code is asked for it on a second page, and is signed in only then.
"""

import time
from datetime import UTC, datetime
from typing import Any, cast
from urllib.parse import urlencode

from django import forms
from django.contrib.auth import REDIRECT_FIELD_NAME, login
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.debug import sensitive_post_parameters

from sites.accounts import (
    known_browsers,
    lockout,
    second_factor,
    sign_in_log,
)
from sites.models import User
from web.shell.access import FORM, page
from web.shell.current_person import requested_next_page
from web.shell.forms import PlainForm
from web.shell.landing import start_page

_BACKEND = "sites.backends.People"
_HALF_WAY = "half_way"  # in the session: whose password was right, when, and where to go then
_HALF_WAY_SECONDS = 600
_AGAIN = "Enter the user name and password again"


class SignInForm(AuthenticationForm):
    # One message for every cause: it does not tell which user names exist.
    error_messages = {"invalid_login": _AGAIN, "inactive": _AGAIN}

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        for field in self.fields.values():
            field.widget.attrs["class"] = "sl-input"

    def confirm_login_allowed(self, user: User) -> None:
        """After the password was right: only its owner learns of the account's days."""
        if self.request is not None:
            counts, _person = lockout.attempt_counts(user.get_username(), self.request)
            lockout.end_attempt(*counts)
        super().confirm_login_allowed(user)
        if not user.has_access():
            sign_in_log.failed(user.get_username())
            raise ValidationError(_outside(user), code="outside")


def _outside(person: User) -> str:
    today = timezone.now().astimezone(UTC).date()
    if person.access_from and today < person.access_from:
        said = f"Your access begins on {person.access_from:%-d %b %Y}"
    else:
        said = f"Your access ended with {person.access_until:%-d %b %Y}"
    return f"{said} (UTC). Ask your administrator if you need it at another time."


class SignIn(LoginView):
    template_name = "signin.html"
    authentication_form = SignInForm
    redirect_authenticated_user = True

    def get_default_redirect_url(self) -> str:
        return start_page(cast("User", self.request.user))

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        person = form.get_user()
        if person.second_step_since:
            self.request.session.cycle_key()
            self.request.session[_HALF_WAY] = [person.pk, int(time.time())]
            return redirect(_asking_for_code(self.get_redirect_url()))
        response = super().form_valid(form)
        known_browsers.remember(response, self.request, person)
        return response

    def form_invalid(self, form: AuthenticationForm) -> HttpResponse:
        if until := lockout.refused_until(self.request):
            return locked(self.request, until)
        return super().form_invalid(form)


def locked(request: HttpRequest, until: datetime) -> HttpResponse:
    """The same for a name, an address and a name that nobody has."""
    seconds = max(1, round((until - timezone.now()).total_seconds()))
    context = {"until": until, "minutes": -(-seconds // 60)}
    response = render(request, "account/locked.html", context, status=429)
    response["Retry-After"] = str(seconds)
    return response


class CodeForm(PlainForm):
    code = forms.CharField(
        label="Code",
        help_text="Six digits from the app on your phone, or one of your recovery codes.",
        max_length=40,
    )

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        usual = {"autocomplete": "one-time-code", "autofocus": True, "autocapitalize": "off"}
        self.fields["code"].widget.attrs |= usual


@login_not_required
@page(FORM)
@sensitive_post_parameters("code")
def code(request: HttpRequest) -> HttpResponse:
    """The second step of signing in."""
    person = _half_way(request)
    if person is None:
        return redirect("login")
    form = CodeForm(request.POST or None)
    if form.is_valid():
        try:
            return _signed_in(request, person, form.cleaned_data["code"])
        except lockout.ProofRefused as refused:
            sign_in_log.failed(person.get_username())
            if refused.until:
                return locked(request, refused.until)
            form.add_error("code", "This is not the code. Wait for the next one, and enter that.")
    context = {"form": form, "next": requested_next_page(request)}
    return render(request, "account/code.html", context, status=400 if form.errors else 200)


def _signed_in(request: HttpRequest, person: User, typed: str) -> HttpResponse:
    """Raises Refused."""
    device = lockout.require_proof(person, lambda: second_factor.matching(person, typed))
    vars(person)["otp_device"] = device  # django-otp keeps it in the session
    del request.session[_HALF_WAY]
    login(request, person, backend=_BACKEND)
    response = HttpResponseRedirect(
        requested_next_page(request) or start_page(cast("User", request.user))
    )
    known_browsers.remember(response, request, person)
    return response


def _half_way(request: HttpRequest) -> User | None:
    pk, at = request.session.get(_HALF_WAY, (0, 0))
    if time.time() - at > _HALF_WAY_SECONDS:
        return None
    person = User.objects.filter(pk=pk, is_active=True).first()
    return person if person and person.has_access() else None


def _asking_for_code(after: str) -> str:
    onward = urlencode({REDIRECT_FIELD_NAME: after}, safe="/")
    return f"{reverse('login_code')}?{onward}" if after else reverse("login_code")
