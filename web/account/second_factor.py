"""`/account/code/`: set up a code at sign-in, from an app on one's phone (R21)."""

import io
from typing import Any

import segno
from django import forms
from django.core.exceptions import ValidationError
from django.http import HttpResponse
from django.shortcuts import render
from django.utils.safestring import SafeString, mark_safe
from django.views.decorators.debug import sensitive_post_parameters
from django_otp import login as keep_in_session

from sites.accounts import second_factor
from sites.models import User
from web.account.password import prove_password
from web.shell.access import FORM, SignedIn, page
from web.shell.current_person import requested_next_page
from web.shell.forms import PlainForm
from web.shell.landing import start_page


class SetUpForm(PlainForm):
    code = forms.CharField(label="Code that the app shows now", max_length=20)
    password = forms.CharField(
        label="Your password",
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
        help_text="Because whoever sets up the code can sign in with it.",
    )

    def __init__(self, person: User, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._person = person
        self.fields["code"].widget.attrs |= {"autocomplete": "one-time-code"}

    def clean_password(self) -> str:
        return prove_password(self._person, self.cleaned_data["password"])


@page(FORM)
@sensitive_post_parameters()
def set_up(request: SignedIn) -> HttpResponse:
    person = request.user
    form = SetUpForm(person, request.POST or None)
    if form.is_valid():
        if made := second_factor.set_up(person, form.cleaned_data["code"]):
            device, codes = made
            keep_in_session(request, device)
            return _shown_once(request, codes)
        form.add_error(
            "code", ValidationError("This is not the code. Enter the next one.", "wrong")
        )
    device = second_factor.begun(person)
    context = {
        "form": form,
        "picture": picture(device.config_url),
        "key": second_factor.key_text(device),
        "is_needed": person.needs_second_step,
        "since": person.second_step_since,
        "next": requested_next_page(request),
    }
    return render(request, "account/code_setup.html", context, status=400 if form.errors else 200)


def _shown_once(request: SignedIn, codes: list[str]) -> HttpResponse:
    """In this answer alone: a redirect would have to keep them somewhere."""
    context = {"codes": codes, "onward": requested_next_page(request) or start_page(request.user)}
    return render(request, "account/recovery_codes.html", context)


def picture(address: str) -> SafeString:
    """A QR code as an SVG without styles: the content security policy blocks those."""
    drawn = io.BytesIO()
    segno.make_qr(address, error="m").save(
        drawn, kind="svg", xmldecl=False, svgns=True, omitsize=True, border=2, svgclass="sl-qr",
        lineclass=None, title="QR code of the key", light="#fff", dark="#000",
    )  # fmt: skip
    return mark_safe(drawn.getvalue().decode())  # noqa: S308 - segno's, of our own key
