"""Signing in and out, and one's own account."""

from django.contrib.auth.views import LogoutView
from django.urls import path

from ingestion.web.account import access, codes, limits, overview, password
from ingestion.web.signin import SignIn, code

urlpatterns = [
    path("login/", SignIn.as_view(), name="login"),
    path("login/code/", code, name="login_code"),
    path("logout/", LogoutView.as_view(), name="logout"),
    path("session/", limits.session, name="session"),
    path("password/", password.password, name="password"),
    path("account/", overview.account, name="account"),
    path("account/code/", codes.set_up, name="account_code"),
    path("account/training/", overview.training, name="account_training"),
    path("account/policy/", overview.policy, name="account_policy"),
    path("access/", access.review, name="access_review"),
    path("access/people.csv", access.table, name="access_table"),
]
