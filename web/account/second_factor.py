"""Lets people set up multi-factor authentication with an app (R21)."""

import io
from typing import Any

import segno
from django import forms
from django.core.exceptions import ValidationError
from django.http import HttpResponse
from django.shortcuts import render
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.debug import sensitive_post_parameters
from django_otp import login as keep_in_session

from sites.accounts import second_factor
from sites.models import User
from web.account.password import prove_password
from web.shell.access import FORM, SignedIn, restrict_page
from web.shell.current_person import get_requested_next_page
from web.shell.forms import PlainForm
from web.shell.landing import start_page


class SetUpForm(PlainForm):
    """Confirms a new device with its first code and the person's password."""

    code = forms.CharField(label=_("Code shown in the app"), max_length=20)
    password = forms.CharField(
        label=_("Your password"),
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
        help_text=_("Required, because anyone who sets up an app can sign in with it."),
    )

    def __init__(self, person: User, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._person = person
        self.fields["code"].widget.attrs |= {"autocomplete": "one-time-code"}

    def clean_password(self) -> str:
        return prove_password(self._person, self.cleaned_data["password"])


@restrict_page(FORM)
@sensitive_post_parameters()
def set_up(request: SignedIn) -> HttpResponse:
    """Show the QR code of a new device. With POST, check its code and show the recovery codes."""
    person = request.user
    form = SetUpForm(person, request.POST or None)
    if form.is_valid():
        if enrolment := second_factor.set_up(person, form.cleaned_data["code"]):
            device, codes = enrolment
            keep_in_session(request, device)
            # Only this response shows the codes: a redirect would have to store them.
            onward = get_requested_next_page(request) or start_page(person)
            return render(
                request, "account/recovery_codes.html", {"codes": codes, "onward": onward}
            )
        form.add_error(
            "code", ValidationError(gettext("The code is incorrect. Enter the next one."), "wrong")
        )
    device = second_factor.begin_setup(person)
    context = {
        "form": form,
        "qr_code": render_qr_code(device.config_url),
        "key": second_factor.format_key(device),
        "is_needed": person.needs_second_factor,
        "since": person.second_factor_since,
        "next": get_requested_next_page(request),
    }
    return render(request, "account/code_setup.html", context, status=400 if form.errors else 200)


def render_qr_code(address: str) -> SafeString:
    """Return a QR code as SVG without styles, which the content security policy would block."""
    svg = io.BytesIO()
    segno.make_qr(address, error="m").save(
        svg, kind="svg", xmldecl=False, svgns=True, omitsize=True, border=2, svgclass="sl-qr",
        lineclass=None, title=gettext("QR code of the key"), light="#fff", dark="#000",
    )  # fmt: skip
    return mark_safe(svg.getvalue().decode())  # noqa: S308 - segno's output for our own key
