"""Lockouts, the end of sessions, and multi-factor authentication in a browser."""

import re
import time

import cv2
import numpy as np
import pytest
from django.contrib.sessions.models import Session
from django_otp.oath import TOTP
from django_otp.plugins.otp_totp.models import TOTPDevice
from playwright.sync_api import expect

from sites.accounts import sessions
from sites.models import User
from tests.browser.actions import fits
from tests.factories import make_site, make_user

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
]
NEW = "a heron in the reeds"


def sign_in(page, typed="correct horse"):
    page.get_by_label("User name").fill("mara")
    page.get_by_label("Password").fill(typed)
    page.get_by_role("button", name="Sign in").click()


def pass_on_the_server(minutes):
    """Move the last activity into the past by so many seconds."""
    for row in Session.objects.all():
        session = row.get_session_store_class()(row.session_key)
        session[sessions.ACTIVE_KEY] -= minutes * 60
        session.save()


def question(page):
    return page.get_by_role("dialog")


@pytest.mark.slow
@pytest.mark.requirement("R19")
def test_a_locked_account_shows_when_to_try_again(open_page, mara):
    page = open_page(viewport={"width": 320, "height": 640})
    page.goto("/login/")
    for _ in range(5):
        sign_in(page, "wrong")
    expect(page.get_by_role("alert")).to_contain_text("Try again at")
    expect(page.get_by_role("alert")).to_contain_text(re.compile(r"UTC, in \d+ minutes?"))
    assert fits(page)
    page.get_by_role("link", name="Back to sign-in").click()
    sign_in(page)
    expect(page.locator("h1")).to_have_text("Wait before you try again")


@pytest.fixture
def typing(signed_in, mara):
    """Return a page on which Mara fills in a form, with a controlled clock of the browser."""
    page = signed_in(mara)
    page.clock.install()
    page.goto("/password/")
    page.get_by_label("New password", exact=True).fill(NEW)
    return page


@pytest.mark.requirement("R20")
def test_the_page_warns_before_the_session_ends_and_extends_it(typing):
    pass_on_the_server(14)
    typing.clock.fast_forward("13:40")
    expect(question(typing)).to_contain_text("You will be signed out in 1:")
    expect(question(typing).get_by_role("button", name="Stay signed in")).to_be_focused()
    typing.keyboard.press("Enter")
    expect(question(typing)).to_be_hidden()
    expect(typing.get_by_label("New password", exact=True)).to_have_value(NEW)
    typing.reload()
    expect(typing.locator("h1")).to_have_text("Change your password")


@pytest.mark.slow
@pytest.mark.requirement("R20")
def test_work_in_another_tab_extends_the_session(typing):
    with typing.expect_response("**/session/"):
        typing.clock.fast_forward("13:40")  # here; the server has seen something since
    expect(question(typing)).to_be_hidden()
    pass_on_the_server(14)
    typing.clock.fast_forward("13:40")
    expect(question(typing)).to_be_visible()


@pytest.mark.slow
@pytest.mark.requirement("R20")
def test_entered_text_survives_the_end_of_the_session(typing, mara):
    pass_on_the_server(16)
    typing.clock.fast_forward("13:40")
    expect(question(typing)).to_contain_text("The text that you entered is still here.")
    typing.keyboard.press("Escape")
    expect(question(typing)).to_be_visible()
    with typing.context.expect_page() as opened:
        typing.get_by_role("link", name="Sign in again").click()
    sign_in(opened.value)
    expect(opened.value.locator("h1")).to_have_text("You are signed in")
    opened.value.close()
    typing.evaluate("dispatchEvent(new Event('focus'))")  # headless tabs never lose it
    expect(question(typing)).to_be_hidden()
    typing.get_by_label("Current password").fill("correct horse")
    typing.get_by_label("Repeat the new password").fill(NEW)
    typing.get_by_role("button", name="Change password").click()
    expect(typing.get_by_text("Your password was changed.")).to_be_visible()
    assert User.objects.get(pk=mara.pk).check_password(NEW)


def test_entered_text_of_one_person_is_not_shown_to_the_next(typing, client, live_server, settings):
    client.force_login(make_user("otto", sites=(make_site("0204"),)))
    name = settings.SESSION_COOKIE_NAME
    cookie = {"name": name, "value": client.cookies[name].value, "url": live_server.url}
    typing.context.add_cookies([cookie])
    typing.clock.fast_forward("13:40")
    expect(typing.get_by_role("link", name="Your account: otto")).to_be_visible()
    expect(typing.get_by_label("New password", exact=True)).to_have_value("")


@pytest.mark.requirement("R20")
def test_the_session_limit_applies_without_javascript(signed_in, mara):
    page = signed_in(mara, java_script_enabled=False)
    page.goto("/")
    expect(question(page)).to_be_hidden()
    pass_on_the_server(16)
    page.reload()
    expect(page.get_by_text("because you were inactive")).to_be_visible()


def code(later=0):
    """Return the code of this half minute, or of a later one, as an app on a phone shows it.

    The server learns how far a clock is behind from a code that arrives in the next half minute, so
    one that would be late is not used.
    """
    remaining = 30 - time.time() % 30
    if remaining < 10:
        time.sleep(remaining)
    totp = TOTP(TOTPDevice.objects.get().bin_key)
    totp.time = time.time() + later * 30
    return f"{totp.token():06}"


def seen_by_a_phone(picture):
    """Return the text of the QR code. Several sizes are tried, as a phone tries many frames."""
    seen = cv2.imdecode(np.frombuffer(picture.screenshot(), np.uint8), cv2.IMREAD_GRAYSCALE)
    for scale in (3, 2, 4, 2.5, 5):
        frame = cv2.resize(seen, None, fx=scale, fy=scale, interpolation=cv2.INTER_NEAREST)
        for detector in (cv2.QRCodeDetector(), cv2.QRCodeDetectorAruco()):
            if text := detector.detectAndDecode(frame)[0]:
                return text
    return ""


@pytest.mark.slow
@pytest.mark.requirement("R20")
def test_the_maximum_length_is_announced_once_and_does_not_block_the_page(typing):
    for row in Session.objects.all():
        session = row.get_session_store_class()(row.session_key)
        session[sessions.BEGAN_KEY] -= 12 * 3600 - 100
        session.save()
    typing.clock.fast_forward("13:40")
    expect(question(typing)).to_contain_text("Your session ends soon")
    question(typing).get_by_role("button", name="Continue working").click()
    expect(question(typing)).to_be_hidden()
    expect(typing.get_by_label("New password", exact=True)).to_have_value(NEW)


@pytest.mark.requirement("R21")
def test_a_code_is_set_up_and_required_at_the_next_sign_in(open_page, mara):
    page = open_page(viewport={"width": 320, "height": 640})
    page.goto("/account/code/")
    sign_in(page)
    expect(page.get_by_role("img", name="QR code")).to_be_visible()
    assert fits(page)
    assert seen_by_a_phone(page.locator("svg.sl-qr")) == TOTPDevice.objects.get().config_url
    page.get_by_label("Code shown in the app").fill(code())
    page.get_by_label("Your password").fill("correct horse")
    page.get_by_role("button", name="Finish setup").click()
    expect(page.locator(".sl-codes code")).to_have_count(10)
    assert fits(page)
    page.get_by_role("link", name="I have saved my codes. Continue").click()
    page.get_by_role("button", name="Sign out").click()
    sign_in(page)
    page.get_by_label("Code").fill(code(later=1))
    page.get_by_role("button", name="Sign in").click()
    expect(page.locator("h1")).to_have_text("My packets")


def test_name_and_account_fit_into_one_line_on_a_phone(signed_in, mara):
    page = signed_in(mara, viewport={"width": 320, "height": 640})
    page.goto("/account/")
    brand, account = page.locator(".sl-brand"), page.locator(".sl-account")
    assert abs(brand.bounding_box()["y"] - account.bounding_box()["y"]) < 10
