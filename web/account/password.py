"""Lets people change their own password. Each change is recorded (R19)."""

from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import messages
from django.contrib.auth import password_validation, update_session_auth_hash
from django.core.exceptions import ValidationError
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.debug import sensitive_post_parameters

from audit.change_tracking import form_errors
from sites.accounts import lockout, password_changes
from sites.models import User
from web.shell.access import FORM, SignedIn, restrict_page
from web.shell.current_person import get_requested_next_page
from web.shell.forms import PlainForm
from web.shell.landing import start_page
from web.shell.wording import format_clock

if TYPE_CHECKING:
    from django_stubs_ext import StrPromise

CHANGED = _("Your password was changed. You were signed out everywhere else.")


def _password_field(label: "StrPromise", autocomplete: str) -> forms.CharField:
    typed = forms.PasswordInput(attrs={"autocomplete": autocomplete})
    return forms.CharField(label=label, strip=False, widget=typed)


class PasswordForm(PlainForm):
    """Changes the person's own password. The current one is required."""

    old = _password_field(_("Current password"), "current-password")
    new = _password_field(_("New password"), "new-password")
    repeated = _password_field(_("Repeat the new password"), "new-password")

    def __init__(self, person: User, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._person = person

    def clean_old(self) -> str:
        return prove_password(self._person, self.cleaned_data["old"])

    def clean(self) -> dict[str, Any]:
        given = super().clean() or {}
        new = given.get("new", "")
        if new and new == given.get("old"):
            self.add_error(
                "new",
                ValidationError(gettext("Choose a password other than your current one."), "same"),
            )
        elif new:
            try:
                password_validation.validate_password(new, self._person)
            except ValidationError as error:
                self.add_error("new", error)
        if new and given.get("repeated") and new != given["repeated"]:
            self.add_error(
                "repeated",
                ValidationError(
                    gettext("The two passwords differ. Enter the new password again."), "differ"
                ),
            )
        return given


def prove_password(person: User, typed: str) -> str:
    """Return the password if it is the person's own, for the `clean` method of a form field.

    Raises ValidationError if it is wrong, which counts as a failure, or during a lockout.
    """
    try:
        lockout.require_proof(person, lambda: person.check_password(typed))
    except lockout.ProofRefused as refusal:
        message = gettext("This is not your current password.")
        if refusal.until:
            message = gettext("Too many wrong attempts. Try again at {time}.").format(
                time=format_clock(refusal.until)
            )
        raise ValidationError(message, code="wrong") from None
    return typed


@restrict_page(FORM)
@sensitive_post_parameters()
def change_password(request: SignedIn) -> HttpResponse:
    """Show the form. With POST, change the password and end all other sessions of the person."""
    person = request.user
    form = PasswordForm(person, request.POST or None)
    if form.is_valid():
        password_changes.change_own_password(person, form.cleaned_data["new"])
        update_session_auth_hash(request, person)
        messages.success(request, CHANGED)
        return HttpResponseRedirect(get_requested_next_page(request) or start_page(request.user))
    if form.errors:
        by = person.actor
        form_errors.record_form_errors(
            "password", codes=form_errors.list_error_codes(form), values={}, by=by
        )
    context = {
        "form": form,
        "rules": password_validation.password_validators_help_texts(),
        "is_temporary": person.password_is_temporary,
        "is_due": person.must_change_password(),
        "next": get_requested_next_page(request),
    }
    return render(request, "account/password.html", context, status=400 if form.errors else 200)
