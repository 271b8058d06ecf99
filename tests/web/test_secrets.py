"""Secrets appear in no log and on no page: passwords, tokens, sessions, keys."""

import logging

import pytest
from django.test import Client

from api.http import auth
from tests.api.conftest import make_token
from tests.factories import make_user
from tests.web.scenes import (
    FILED,
    make_packet,
    pdf,
    send,
)

PASSWORD, NEW, TYPED = "correct horse", "a heron in the reeds", "my other password"


@pytest.fixture
def everything(caplog):
    """Log everything, also what production does not log."""
    caplog.set_level(logging.DEBUG)
    for name in ("django", "httpx2", "httpcore2", "django.db.backends"):
        caplog.set_level(logging.DEBUG if "db" not in name else logging.INFO, logger=name)
    return caplog


def go_the_whole_way(site):
    """Sign in after a failure, upload, change the password and cause an error; return the pages."""
    browser = Client(raise_request_exception=False)
    pages = [browser.post("/login/", {"username": "mara", "password": TYPED})]
    pages.append(browser.post("/login/", {"username": "mara", "password": PASSWORD}))
    session = browser.cookies["sessionid"].value
    pages += [browser.get(path) for path in ("/", "/account/", "/packets/new/", "/account/code/")]
    pages.append(send(browser, **{"file-0": pdf(), "type-0": "irb-approval"}))
    pages.append(browser.post("/password/", {"old": TYPED, "new": NEW, "repeated": NEW}))
    pages.append(browser.post("/password/", {"old": PASSWORD, "new": NEW, "repeated": NEW}))
    return pages, {session, browser.cookies["sessionid"].value}


def test_secrets_are_neither_logged_nor_shown(site, mara, everything, settings, monkeypatch):
    # Only the first bad token of a minute is logged.
    monkeypatch.setattr(auth, "bad_tokens", auth.BadTokenCounter())
    pages, sessions = go_the_whole_way(site)
    token, secret = make_token(site=site)
    almost = secret[:-2]
    for given in (secret, f"{almost}zz"):
        headers = {"authorization": f"Bearer {given}"}
        pages.append(Client().get("/api/v1/documents", headers=headers))
    ada = Client()
    ada.force_login(make_user("ada", is_staff=True, is_superuser=True))
    for path in ("user", "apitoken", "portal"):
        pages.append(ada.get(f"/admin/clinical_sites/{path}/"))
    pages.append(ada.get(f"/admin/clinical_sites/user/{mara.pk}/change/"))
    pages.append(ada.get(f"/admin/clinical_sites/apitoken/{token.pk}/change/"))
    mara.refresh_from_db()
    hidden = {settings.SECRET_KEY, PASSWORD, NEW, TYPED, almost, mara.password, token.digest}
    output = everything.text + "".join(page.content.decode() for page in pages)
    for each in hidden | sessions:
        assert each not in output


def test_an_internal_error_does_not_log_passwords(site, mara, everything, settings):
    make_packet(site, mara, FILED)
    settings.AUDIT_TRAIL = "another"  # the ledger refuses to be gone on with under another name
    browser = Client(raise_request_exception=False)
    browser.force_login(mara)
    failed = browser.post("/password/", {"old": PASSWORD, "new": NEW, "repeated": NEW})
    assert failed.status_code == 500
    assert "Traceback" in everything.text
    assert PASSWORD not in everything.text
    assert NEW not in everything.text + failed.content.decode()
