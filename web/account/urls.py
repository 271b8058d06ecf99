"""Signing in and out, and one's own account."""

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
from web.account.sign_in import SignIn, code

urlpatterns = [
    path("login/", SignIn.as_view(), name="login"),
    path("login/code/", code, name="login_code"),
    path("logout/", login_not_required(LogoutView.as_view()), name="logout"),
    path("session/", session_limits.session, name="session"),
    path("password/", password.password, name="password"),
    path(
        "password/link/<uidb64>/<token>/",
        password_link.PasswordLink.as_view(),
        name="password_link",
    ),
    path("account/", account.account, name="account"),
    path("account/code/", second_factor.set_up, name="account_code"),
    path("account/training/", account.training, name="account_training"),
    path("account/policy/", account.policy, name="account_policy"),
    path("account/identity/", account.ask_for_identity, name="account_identity"),
    path("approvals/", approvals.requests, name="approvals"),
    path("approvals/<int:pk>/", approvals.one_request, name="approval"),
    path("access/", access_review.review, name="access_review"),
    path("access/people.csv", access_review.table, name="access_table"),
]
