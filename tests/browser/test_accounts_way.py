"""Locked out, nearly signed out, and with a code: in a real browser."""

import time
from base64 import b32decode
from importlib import import_module
from pathlib import Path

import pytest
from django.contrib.auth.models import Group
from django_otp.oath import TOTP
from playwright.sync_api import expect

from ingestion import roles
from sites import sessions
from sites.models import User
from tests.browser.test_a_coordinators_way import fits
from tests.factories import make_site, make_user

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
    pytest.mark.timeout(120),
]
SHOTS = Path("/tmp/shots/accounts")


@pytest.fixture
def mara():
    return make_user("mara", sites=(make_site("0203"),), printed_name="Mara Lindqvist")


def sign_in(page, password="correct horse"):
    page.get_by_label("User name").fill("mara")
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in").click()


def shot(page, name):
    page.screenshot(path=SHOTS / f"{name}.png", full_page=True)


def test_shots(signed_in, open_page, mara, settings):
    page = open_page()
    page.goto("/login/")
    for _ in range(5):
        sign_in(page, "wrong")
    shot(page, "locked-1200")
    page.set_viewport_size({"width": 320, "height": 700})
    shot(page, "locked-320")
    rafael = make_user("rafael", is_staff=True, printed_name="Rafael Duarte", is_superuser=True)
    User.objects.filter(pk=mara.pk).update(
        training_acknowledged_at=None, policy_acknowledged_at=None
    )
    for who, paths in (
        (mara, ["account", "account/code", "account/policy", "password", "packets/new", "session"]),
        (
            rafael,
            ["access", "admin/clinical_sites/user", f"admin/clinical_sites/user/{mara.pk}/change"],
        ),
    ):
        page = signed_in(who)
        for path in paths:
            for width in (1200, 320):
                page.set_viewport_size({"width": width, "height": 800})
                page.goto(f"/{path}/")
                shot(page, f"{path.replace('/', '-')}-{width}")
    page = signed_in(mara)
    page.goto("/account/")
    for part in ("warning", "last", "over"):
        page.evaluate(
            "(part) => {const d = document.getElementById('session'); for (const e of d.querySelectorAll('[data-part]')) e.hidden = e.dataset.part !== part; d.open || d.showModal()}",
            part,
        )
        page.screenshot(path=SHOTS / f"dialog-{part}.png")
