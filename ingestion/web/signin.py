"""Signing in and out: one page for everybody, and from there to where each role starts."""

from typing import Any

from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView
from django.urls import reverse

from ingestion.originals import REVIEWS


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
        user = self.request.user
        if not getattr(user, "is_staff", False):
            return reverse("home")
        is_reviewer = not getattr(user, "is_superuser", False) and user.has_perm(REVIEWS)
        return reverse("review_queue" if is_reviewer else "admin:index")
