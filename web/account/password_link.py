"""Lets people choose their own password with a one-time link."""

from typing import Any

from django.contrib import messages
from django.contrib.auth import password_validation
from django.contrib.auth.forms import SetPasswordForm
from django.contrib.auth.views import PasswordResetConfirmView
from django.http import HttpResponse
from django.urls import reverse_lazy
from django.utils.translation import gettext

from sites import password_links
from sites.accounts import password_changes
from sites.models import User


class NewPasswordForm(SetPasswordForm):  # type: ignore[type-arg] # generic only in the stubs
    """A new password, recorded in the ledger as a change by the person."""

    user: User

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        for field in self.fields.values():
            field.widget.attrs["class"] = "sl-input"
            field.help_text = ""  # the page lists the rules once, above the fields

    def save(self, commit: bool = True) -> User:
        password_changes.change_own_password(self.user, self.cleaned_data["new_password1"])
        return self.user


class PasswordLink(PasswordResetConfirmView):
    """Django's view, which moves the token into the session so that no `Referer` discloses it."""

    token_generator = password_links.tokens
    form_class = NewPasswordForm
    template_name = "account/password_link.html"
    success_url = reverse_lazy("login")
    reset_url_token = "choose"  # noqa: S105 - replaces the token in the URL

    def get_user(self, uidb64: str) -> User | None:
        person = super().get_user(uidb64)
        if isinstance(person, User) and person.is_active and person.has_access():
            return person
        return None

    def get_context_data(self, **options: Any) -> dict[str, Any]:
        rules = password_validation.password_validators_help_texts()
        return super().get_context_data(rules=rules, **options)

    def render_to_response(self, context: dict[str, Any], **options: Any) -> HttpResponse:
        """Answer 410 for a used link, with a page that says what to do, and 400 for errors."""
        if not self.validlink:
            options["status"] = 410
        elif context["form"].errors:
            options["status"] = 400
        return super().render_to_response(context, **options)

    def form_valid(self, form: Any) -> HttpResponse:
        response = super().form_valid(form)
        messages.success(self.request, gettext("Your password was saved. Sign in with it."))
        return response
