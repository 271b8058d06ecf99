"""Defines the URLs of sign-in, accounts, approvals and the access review."""

from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.views import LogoutView
from django.urls import path

from web.account import (
    access_review,
    account,
    approvals,
    password,
    password_link,
    second_factor,
    session_limits,
)
from web.account.sign_in import SignIn, enter_code

urlpatterns = [
    path("login/", SignIn.as_view(), name="login"),
    path("login/code/", enter_code, name="login_code"),
    path("logout/", login_not_required(LogoutView.as_view()), name="logout"),
    path("session/", session_limits.session, name="session"),
    path("password/", password.change_password, name="password"),
    path(
        "password/link/<uidb64>/<token>/",
        password_link.PasswordLink.as_view(),
        name="password_link",
    ),
    path("account/", account.account, name="account"),
    path("account/code/", second_factor.set_up, name="account_code"),
    path("account/training/", account.confirm_training, name="account_training"),
    path("account/policy/", account.accept_policy, name="account_policy"),
    path("account/identity/", account.request_verification, name="account_identity"),
    path("approvals/", approvals.list_requests, name="approvals"),
    path("approvals/<int:pk>/", approvals.show_request, name="approval"),
    path("access/", access_review.review_accounts, name="access_review"),
    path("access/people.csv", access_review.download_accounts, name="access_table"),
]
