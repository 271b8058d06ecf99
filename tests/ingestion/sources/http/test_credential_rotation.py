"""Tests of secrets that change while a shift runs: status 401 makes it read them again."""

import asyncio
import threading
from itertools import count

import pytest

from ingestion.core.errors import AccessRefused, Misconfigured
from tests.ingestion.sources.http.conftest import make_item
from tests.ingestion.sources.http.servers import give, redirect, serve

BODY = b"%PDF-1.7 cv"
NAME = "PORTAL_SECRET_SITE_1001"


def require(secret, on_refusal=lambda: None):
    """Return an answer that requires the secret. `on_refusal` is called before status 401."""

    def answer(handler):
        if handler.headers.get("Authorization") == secret:
            return give(BODY)(handler)
        on_refusal()
        return give(b"", 401)(handler)

    return answer


@pytest.fixture
def secret(settings, tmp_path_factory):
    """Return the file of a secret, as a secret store mounts it. `rotate` changes it."""
    settings.PORTAL_SECRETS_DIR = tmp_path_factory.mktemp("secrets")
    file = settings.PORTAL_SECRETS_DIR / NAME
    file.write_text("Bearer old")
    return file


def rotate(secret, text):
    """Replace the file in one step, so that no reader finds it half written."""
    new = secret.with_suffix(f".{threading.get_ident()}")
    new.write_text(text)
    new.replace(secret)


@pytest.fixture
def slots():
    return []


@pytest.fixture
def opened(portals, slots):
    async def wait_for_slot(key):
        slots.append(key)

    return portals(wait_for_slot=wait_for_slot)


def sent_secrets(portal, path="/cv.pdf"):
    return [headers["Authorization"] for headers in portal.headers(path)]


async def test_a_rotated_secret_is_sent_once_more_in_a_slot_of_its_own(
    portal, opened, secret, slots
):
    portal.on("/cv.pdf", require("Bearer new", lambda: rotate(secret, "Bearer new")))
    item = make_item(portal.url("/cv.pdf"))
    async with opened as portals:
        assert (await portals.fetch(item)).size == len(BODY)
        assert slots == ["site-1001"]
        assert (await portals.fetch(item)).size == len(BODY)
    assert sent_secrets(portal) == ["Bearer old", "Bearer new", "Bearer new"]
    assert len(slots) == 1


async def test_a_secret_of_the_environment_is_reloaded_too(portal, opened, settings):
    settings.PORTAL_SECRETS = {NAME: "Bearer old"}

    def change():
        settings.PORTAL_SECRETS = {NAME: "Bearer new"}

    portal.on("/cv.pdf", require("Bearer new", change))
    async with opened as portals:
        assert (await portals.fetch(make_item(portal.url("/cv.pdf")))).size == len(BODY)


async def test_an_unchanged_secret_is_not_sent_again(portal, opened, secret, slots):
    portal.on("/cv.pdf", give(b"", 401))
    async with opened as portals:
        with pytest.raises(AccessRefused) as caught:
            await portals.fetch(make_item(portal.url("/cv.pdf")))
    assert (caught.value.facts, slots) == ({"status": 401}, [])
    assert sent_secrets(portal) == ["Bearer old"]


async def test_there_is_no_third_request_if_the_new_secret_is_refused_too(
    portal, opened, secret, slots
):
    numbers = count()
    refuse = require("another", lambda: rotate(secret, f"Bearer {next(numbers)}"))
    portal.on("/cv.pdf", refuse)
    async with opened as portals:
        with pytest.raises(AccessRefused):
            await portals.fetch(make_item(portal.url("/cv.pdf")))
    assert sent_secrets(portal) == ["Bearer old", "Bearer 0"]


async def test_documents_that_were_refused_at_the_same_time_are_all_fetched(portal, opened, secret):
    portal.on("/cv.pdf", require("Bearer new", lambda: rotate(secret, "Bearer new")))
    items = [make_item(portal.url("/cv.pdf"), document=n) for n in (1, 2)]
    async with opened as portals:
        fetched = await asyncio.gather(*(portals.fetch(item) for item in items))
    assert [each.size for each in fetched] == [len(BODY)] * 2


async def test_status_403_does_not_reload_the_secret(portal, opened, secret):
    portal.on("/cv.pdf", lambda handler: (rotate(secret, "new"), give(b"", 403)(handler)))
    async with opened as portals:
        with pytest.raises(AccessRefused):
            await portals.fetch(make_item(portal.url("/cv.pdf")))
    assert sent_secrets(portal) == ["Bearer old"]


async def test_another_host_that_answers_401_receives_neither_secret(portal, opened, secret):
    with serve() as other:
        other.on("/x", require("another", lambda: rotate(secret, "Bearer new")))
        portal.on("/cv.pdf", redirect(other.url("/x")))
        hosts = (f"127.0.0.1:{other.server_port}",)
        async with opened as portals:
            with pytest.raises(AccessRefused):
                await portals.fetch(make_item(portal.url("/cv.pdf"), allowed_hosts=hosts))
        assert sent_secrets(other, "/x") == [None]
    assert sent_secrets(portal) == ["Bearer old"]


async def test_a_secret_that_cannot_be_reloaded_is_misconfigured(portal, opened, secret):
    portal.on("/cv.pdf", require("x", lambda: secret.write_bytes(b"\xff\xfe")))
    async with opened as portals:
        with pytest.raises(Misconfigured):
            await portals.fetch(make_item(portal.url("/cv.pdf")))
