"""A real Chromium (Debian's) against the live server.

A test fails if a page violates the content security policy, if a script has an error, and if a
page requests another host.
"""

import os
import shutil

import pytest
from playwright.sync_api import expect, sync_playwright

# --no-sandbox: tests often run as root in containers. The rest keeps Chromium from calling home.
expect.set_options(timeout=60_000)  # milliseconds, for what never appears
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="package")
def browser():
    """It is not shared by the session, because Playwright's event loop would affect other tests."""
    # The shell has no user interface of its own, which keeps one core busy in the full browser.
    path = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    if path is None:
        pytest.skip("there is no chromium here: apt-get install chromium-headless-shell")
    # Playwright's loop runs in this thread, and Django would refuse to touch its database.
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
    try:
        with sync_playwright() as playwright:
            chromium = playwright.chromium.launch(executable_path=path, headless=True, args=FLAGS)
            yield chromium
            chromium.close()
    finally:
        del os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"]


@pytest.fixture(autouse=True)
def _folders(settings, tmp_path):
    settings.SPOOL_DIR, settings.ARCHIVE_DIR = tmp_path / "spool", tmp_path / "archive"
    settings.PREVIEW_DIR = tmp_path / "previews"
    settings.STATIC_ROOT = tmp_path / "static"  # WhiteNoise walks through it, and warns without it
    settings.STATIC_ROOT.mkdir()


@pytest.fixture
def open_page(browser, live_server):
    """`open_page(width=320)` returns a new page of a visitor without a session."""
    bad, contexts = [], []

    def is_ours(url):
        return url.startswith((live_server.url, "data:", "blob:"))

    def opened(**options):
        usual = {"reduced_motion": "reduce", "locale": "en-GB", "timezone_id": "UTC"}
        context = browser.new_context(base_url=live_server.url, **usual | options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(60_000)
        # A submission first detects the types of its files, for up to GUESS_SECONDS (15).
        page.set_default_navigation_timeout(90_000)
        page.on("pageerror", lambda error: bad.append(str(error)))
        page.on(
            "console",
            lambda message: (
                bad.append(message.text) if "Content Security Policy" in message.text else None
            ),
        )
        page.on("request", lambda asked: None if is_ours(asked.url) else bad.append(asked.url))
        return page

    yield opened
    for context in contexts:
        context.close()
    assert not bad, bad


@pytest.fixture
def sign_in(open_page):
    """`sign_in(user)` returns a page on which the person has signed in with the form."""

    def enter(user, **options):
        page = open_page(**options)
        page.goto("/")
        page.get_by_label("User name").fill(user.username)
        page.get_by_label("Password").fill("correct horse")
        page.get_by_role("button", name="Sign in").click()
        page.get_by_role("button", name="Sign out").wait_for()
        return page

    return enter


@pytest.fixture
def signed_in(open_page, client, live_server, settings):
    """`signed_in(user)` returns a page with a session of the person, without the form."""

    def sign_in(user, **options):
        page = open_page(**options)
        client.force_login(user)
        name = settings.SESSION_COOKIE_NAME
        cookie = {"name": name, "value": client.cookies[name].value, "url": live_server.url}
        page.context.add_cookies([cookie])
        return page

    return sign_in
