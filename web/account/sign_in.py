"""Serves the sign-in page of all roles, and the second page, which asks for the code of an app.

People who have set up multi-factor authentication are signed in after the second page.
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
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.debug import sensitive_post_parameters

from sites.accounts import (
    known_browsers,
    lockout,
    second_factor,
    sign_in_log,
)
from sites.models import User
from web.shell.access import FORM, restrict_page
from web.shell.current_person import get_requested_next_page
from web.shell.forms import PlainForm
from web.shell.landing import start_page

_BACKEND = "sites.backends.People"
# Session key for the account whose password was correct, and when (seconds since the epoch).
_AWAITING_CODE = "half_way"
_MAX_SECONDS_UNTIL_CODE = 600
_INCORRECT = _("The user name or password is incorrect.")


class SignInForm(AuthenticationForm):
    """Asks for user name and password. No message reveals which user names exist."""

    # One message for every cause, so that it does not reveal which user names exist.
    error_messages = {"invalid_login": _INCORRECT, "inactive": _INCORRECT}

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        for field in self.fields.values():
            field.widget.attrs["class"] = "sl-input"

    def confirm_login_allowed(self, user: User) -> None:
        """Refuse accounts outside their period of access, after the password was correct."""
        if self.request is not None:
            counts, _person = lockout.list_attempt_counts(user.get_username(), self.request)
            lockout.end_attempt(*counts)
        super().confirm_login_allowed(user)
        if not user.has_access():
            sign_in_log.record_failed_sign_in(user.get_username())
            today = timezone.now().astimezone(UTC).date()
            message, day = gettext("Your access ended on {date} (UTC)."), user.access_until
            if user.access_from and today < user.access_from:
                message, day = gettext("Your access begins on {date} (UTC)."), user.access_from
            advice = gettext("Ask your administrator if you need access at another time.")
            raise ValidationError(
                f"{message.format(date=f'{day:%-d %b %Y}')} {advice}", code="outside"
            )


class SignIn(LoginView):
    """Asks for user name and password, and leads to the second page if the person uses an app."""

    template_name = "signin.html"
    authentication_form = SignInForm
    redirect_authenticated_user = True

    def get_default_redirect_url(self) -> str:
        return start_page(cast("User", self.request.user))

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        person = form.get_user()
        if person.second_factor_since:
            self.request.session.cycle_key()
            self.request.session[_AWAITING_CODE] = [person.pk, int(time.time())]
            onward = self.get_redirect_url()
            query = urlencode({REDIRECT_FIELD_NAME: onward}, safe="/")
            url = reverse("login_code")
            return redirect(f"{url}?{query}" if onward else url)
        response = super().form_valid(form)
        known_browsers.remember(response, self.request, person)
        return response

    def form_invalid(self, form: AuthenticationForm) -> HttpResponse:
        if until := lockout.get_refused_until(self.request):
            return render_lockout(self.request, until)
        return super().form_invalid(form)


def render_lockout(request: HttpRequest, until: datetime) -> HttpResponse:
    """Return the page of a lockout, which ends at `until`.

    It is the same for a user name, an address, and a user name that does not exist.
    """
    seconds = max(1, round((until - timezone.now()).total_seconds()))
    context = {"until": until, "minutes": -(-seconds // 60)}
    response = render(request, "account/locked.html", context, status=429)
    response["Retry-After"] = str(seconds)
    return response


class CodeForm(PlainForm):
    """Asks for the second factor: a code of the app, or a recovery code."""

    code = forms.CharField(
        label=_("Code"),
        help_text=_("Six digits from the app on your phone, or one of your recovery codes."),
        max_length=40,
    )

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        attributes = {"autocomplete": "one-time-code", "autofocus": True, "autocapitalize": "off"}
        self.fields["code"].widget.attrs |= attributes


@login_not_required
@restrict_page(FORM)
@sensitive_post_parameters("code")
def enter_code(request: HttpRequest) -> HttpResponse:
    """Ask for the code of the app, the second factor. With POST, check it and sign in."""
    pk, at = request.session.get(_AWAITING_CODE, (0, 0))
    person = User.objects.filter(pk=pk, is_active=True).first()
    is_too_late = time.time() - at > _MAX_SECONDS_UNTIL_CODE
    if person is None or is_too_late or not person.has_access():
        return redirect("login")
    form = CodeForm(request.POST or None)
    if form.is_valid():
        try:
            return _sign_in(request, person, form.cleaned_data["code"])
        except lockout.ProofRefused as refusal:
            sign_in_log.record_failed_sign_in(person.get_username())
            if refusal.until:
                return render_lockout(request, refusal.until)
            form.add_error("code", gettext("The code is incorrect. Enter the next one."))
    context = {"form": form, "next": get_requested_next_page(request)}
    return render(request, "account/code.html", context, status=400 if form.errors else 200)


def _sign_in(request: HttpRequest, person: User, typed_code: str) -> HttpResponse:
    """Sign in with the code. Raises ProofRefused if it is wrong or during a lockout."""
    device = lockout.require_proof(person, lambda: second_factor.verify_code(person, typed_code))
    del request.session[_AWAITING_CODE]
    # login() stores the device in the session: django-otp reads this attribute.
    person.otp_device = device  # type: ignore[attr-defined]
    login(request, person, backend=_BACKEND)
    onward = get_requested_next_page(request) or start_page(cast("User", request.user))
    response = HttpResponseRedirect(onward)
    known_browsers.remember(response, request, person)
    return response
