"""A secret that is changed while a shift runs is read anew on a 401, and shown once more."""

import asyncio
import threading
from itertools import count

import pytest

from ingestion.core.errors import AccessRefused, Misconfigured
from tests.ingestion.sources.http.conftest import make_item
from tests.ingestion.sources.http.servers import give, redirect, serve

BODY = b"%PDF-1.7 cv"
NAME = "PORTAL_SECRET_SITE_1001"


def lets_in(secret, after=lambda: None):
    """An answer for whoever shows the secret; `after` happens when somebody does not."""

    def answer(handler):
        if handler.headers.get("Authorization") == secret:
            return give(BODY)(handler)
        after()
        return give(b"", 401)(handler)

    return answer


@pytest.fixture
def secret(settings, tmp_path_factory):
    """A file, as a secret store mounts it; `rotate` changes it."""
    settings.PORTAL_SECRETS_DIR = tmp_path_factory.mktemp("secrets")
    file = settings.PORTAL_SECRETS_DIR / NAME
    file.write_text("Bearer old")
    return file


def rotate(secret, text):
    """At once: nobody finds it half written."""
    new = secret.with_suffix(f".{threading.get_ident()}")
    new.write_text(text)
    new.replace(secret)


@pytest.fixture
def tokens():
    return []


@pytest.fixture
def opened(portals, tokens):
    async def another_token(key):
        tokens.append(key)

    return portals(another_token=another_token)


def shown(portal, path="/cv.pdf"):
    return [headers["Authorization"] for headers in portal.headers(path)]


async def test_a_rotated_secret_is_shown_once_more_with_a_slot_of_its_own(
    portal, opened, secret, tokens
):
    portal.on("/cv.pdf", lets_in("Bearer new", lambda: rotate(secret, "Bearer new")))
    item = make_item(portal.url("/cv.pdf"))
    async with opened as portals:
        assert (await portals.fetch(item)).size == len(BODY)
        assert tokens == ["site-1001"]
        assert (await portals.fetch(item)).size == len(BODY)
    assert shown(portal) == ["Bearer old", "Bearer new", "Bearer new"]
    assert len(tokens) == 1


async def test_a_secret_of_the_environment_is_read_anew_as_well(portal, opened, settings):
    settings.PORTAL_SECRETS = {NAME: "Bearer old"}

    def change():
        settings.PORTAL_SECRETS = {NAME: "Bearer new"}

    portal.on("/cv.pdf", lets_in("Bearer new", change))
    async with opened as portals:
        assert (await portals.fetch(make_item(portal.url("/cv.pdf")))).size == len(BODY)


async def test_a_secret_that_is_the_same_is_not_shown_again(portal, opened, secret, tokens):
    portal.on("/cv.pdf", give(b"", 401))
    async with opened as portals:
        with pytest.raises(AccessRefused) as caught:
            await portals.fetch(make_item(portal.url("/cv.pdf")))
    assert (caught.value.facts, tokens) == ({"status": 401}, [])
    assert shown(portal) == ["Bearer old"]


async def test_a_portal_that_refuses_the_new_secret_too_is_not_asked_a_third_time(
    portal, opened, secret, tokens
):
    numbers = count()
    refuse = lets_in("nobody's", lambda: rotate(secret, f"Bearer {next(numbers)}"))
    portal.on("/cv.pdf", refuse)
    async with opened as portals:
        with pytest.raises(AccessRefused):
            await portals.fetch(make_item(portal.url("/cv.pdf")))
    assert shown(portal) == ["Bearer old", "Bearer 0"]


async def test_documents_that_were_refused_together_all_come(portal, opened, secret):
    portal.on("/cv.pdf", lets_in("Bearer new", lambda: rotate(secret, "Bearer new")))
    items = [make_item(portal.url("/cv.pdf"), document=n) for n in (1, 2)]
    async with opened as portals:
        fetched = await asyncio.gather(*(portals.fetch(item) for item in items))
    assert [each.size for each in fetched] == [len(BODY)] * 2


async def test_a_403_is_not_about_an_old_secret(portal, opened, secret):
    portal.on("/cv.pdf", lambda handler: (rotate(secret, "new"), give(b"", 403)(handler)))
    async with opened as portals:
        with pytest.raises(AccessRefused):
            await portals.fetch(make_item(portal.url("/cv.pdf")))
    assert shown(portal) == ["Bearer old"]


async def test_who_refuses_us_abroad_never_saw_the_secret_and_does_not_see_the_new_one(
    portal, opened, secret
):
    with serve() as other:
        other.on("/x", lets_in("nobody's", lambda: rotate(secret, "Bearer new")))
        portal.on("/cv.pdf", redirect(other.url("/x")))
        hosts = (f"127.0.0.1:{other.server_port}",)
        async with opened as portals:
            with pytest.raises(AccessRefused):
                await portals.fetch(make_item(portal.url("/cv.pdf"), allowed_hosts=hosts))
        assert shown(other, "/x") == [None]
    assert shown(portal) == ["Bearer old"]


async def test_a_secret_that_cannot_be_read_any_more_is_our_fault(portal, opened, secret):
    portal.on("/cv.pdf", lets_in("x", lambda: secret.write_bytes(b"\xff\xfe")))
    async with opened as portals:
        with pytest.raises(Misconfigured):
            await portals.fetch(make_item(portal.url("/cv.pdf")))
