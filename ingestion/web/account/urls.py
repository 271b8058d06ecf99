"""Signing in and out, and one's own account."""

from django.contrib.auth.views import LogoutView
from django.urls import path

from ingestion.web.account import (
    access,
    approvals,
    codes,
    limits,
    overview,
    password,
    password_link,
)
from ingestion.web.signin import SignIn, code

urlpatterns = [
    path("login/", SignIn.as_view(), name="login"),
    path("login/code/", code, name="login_code"),
    path("logout/", LogoutView.as_view(), name="logout"),
    path("session/", limits.session, name="session"),
    path("password/", password.password, name="password"),
    path(
        "password/link/<uidb64>/<token>/",
        password_link.PasswordLink.as_view(),
        name="password_link",
    ),
    path("account/", overview.account, name="account"),
    path("account/code/", codes.set_up, name="account_code"),
    path("account/training/", overview.training, name="account_training"),
    path("account/policy/", overview.policy, name="account_policy"),
    path("account/identity/", overview.ask_for_identity, name="account_identity"),
    path("approvals/", approvals.requests, name="approvals"),
    path("approvals/<int:pk>/", approvals.one_request, name="approval"),
    path("access/", access.review, name="access_review"),
    path("access/people.csv", access.table, name="access_table"),
]
