"""Signing in and out: one page for everybody, and from there to where each role starts."""

from typing import Any, cast

from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView

from ingestion.web.start import start_page
from sites.models import User


class SignInForm(AuthenticationForm):
    # One message for every cause: it does not tell which user names exist.
    error_messages = {
        "invalid_login": "Enter the user name and password again",
        "inactive": "Enter the user name and password again",
    }

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        for field in self.fields.values():
            field.widget.attrs["class"] = "sl-input"


class SignIn(LoginView):
    template_name = "signin.html"
    authentication_form = SignInForm
    redirect_authenticated_user = True

    def get_default_redirect_url(self) -> str:
        return start_page(cast("User", self.request.user))
