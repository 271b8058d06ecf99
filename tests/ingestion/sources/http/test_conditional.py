"""A portal is asked for anything but what is on file. Not every 304 is believed."""

import hashlib

import pytest

from ingestion.core.errors import NotServed
from ingestion.core.ports import FiledVersion, NotModified
from tests.ingestion.sources.http.conftest import make_item
from tests.ingestion.sources.http.servers import give, redirect, serve

BODY = b"%PDF-1.7 " + b"x" * 2000
FILED = FiledVersion('"v1"', hashlib.sha256(BODY).hexdigest())


def conditional(body=BODY, etag='"v1"', said=None):
    """As a web server does it: 304 with its ETag where that is what was asked about."""

    def answer(handler):
        if handler.headers.get("If-None-Match", "").removeprefix("W/") == etag.removeprefix("W/"):
            return give(b"", 304, **({"ETag": etag} if said is None else said))(handler)
        return give(body, ETag=etag)(handler)

    return answer


@pytest.fixture
def ask(portal, portals):
    """One fetch of what is on file; answers it and how many slots beyond the first it took."""

    async def ask(filed=FILED, path="/cv.pdf", **terms):
        tokens = []

        async def another_token(key):
            tokens.append(key)

        item = make_item(portal.url(path), filed=filed, **terms)
        async with portals(another_token=another_token) as opened:
            return await opened.fetch(item), len(tokens)

    return ask


async def test_a_portal_whose_document_is_unchanged_sends_no_bytes(portal, ask, tmp_path):
    portal.on("/cv.pdf", conditional())
    answer, tokens = await ask()
    assert isinstance(answer, NotModified)
    assert (answer.facts["answer"], tokens) == ("304 unchanged", 0)
    assert portal.headers("/cv.pdf")[0]["If-None-Match"] == '"v1"'
    assert not list(tmp_path.iterdir())


async def test_a_document_that_changed_comes_with_its_new_etag(portal, ask):
    new = b"%PDF-1.7 new"
    portal.on("/cv.pdf", conditional(new, '"v2"'))
    fetched, _ = await ask()
    assert (fetched.path.read_bytes(), fetched.etag) == (new, '"v2"')


async def test_what_is_not_on_file_is_asked_for_without_a_condition(portal, ask):
    portal.on("/cv.pdf", conditional())
    fetched, _ = await ask(filed=None)
    assert fetched.etag == '"v1"'
    assert "If-None-Match" not in portal.headers("/cv.pdf")[0]


@pytest.mark.parametrize(
    "etag",
    ["", 'W/"v1"', "v1", '"a"b"', f'"{"x" * 199}"', '"\xe9"'],
    ids=["none", "weak", "unquoted", "quote inside", "too long", "not ASCII"],
)
async def test_only_a_strong_etag_of_reasonable_length_is_kept(portal, ask, etag):
    portal.on("/cv.pdf", give(BODY, **({"ETag": etag} if etag else {})))
    fetched, _ = await ask(filed=None)
    assert (fetched.etag, fetched.size) == ("", len(BODY))


@pytest.mark.parametrize(
    "said", [{"ETag": 'W/"v1"'}, {"ETag": '"v2"'}, {}], ids=["weak", "another", "none"]
)
async def test_a_304_that_does_not_name_the_same_etag_is_asked_about_once_more(portal, ask, said):
    portal.on("/cv.pdf", conditional(said=said))
    fetched, tokens = await ask()
    assert (fetched.path.read_bytes(), tokens) == (BODY, 1)
    asked = [headers["If-None-Match"] for headers in portal.headers("/cv.pdf")]
    assert asked == ['"v1"', None]


async def test_a_304_that_nobody_asked_for_is_the_portals_error_for_good(portal, ask):
    portal.on("/cv.pdf", give(b"", 304, ETag='"v1"'))
    with pytest.raises(NotServed) as caught:
        await ask(filed=None)
    assert caught.value.facts == {"status": 304}
    assert len(portal.seen) == 1


async def test_an_etag_means_nothing_at_another_address_and_is_not_shown_there(portal, ask):
    with serve() as other:
        other.on("/store.pdf", conditional())
        portal.on("/there.pdf", redirect(other.url("/store.pdf")))
        portal.on("/here.pdf", redirect("/cv.pdf"))
        portal.on("/cv.pdf", conditional())
        abroad, _ = await ask(path="/there.pdf", allowed_hosts=(f"127.0.0.1:{other.server_port}",))
        at_home, _ = await ask(path="/here.pdf")
        shown = [*other.headers("/store.pdf"), *portal.headers("/cv.pdf")]
    assert [abroad.size, at_home.size] == [len(BODY)] * 2
    assert [abroad.etag, at_home.etag] == ["", ""]
    assert [headers["If-None-Match"] for headers in shown] == [None, None]
    assert portal.headers("/there.pdf")[0]["If-None-Match"] == '"v1"'


async def test_the_rest_of_a_document_is_asked_for_without_a_condition(portal, portals):
    half = give(BODY[:1500], length=len(BODY), ETag='"v2"')
    portal.on("/cv.pdf", half, give(BODY, ETag='"v2"'))
    item = make_item(portal.url("/cv.pdf"), filed=FILED)
    async with portals() as opened:
        with pytest.raises(Exception, match="broke off"):
            await opened.fetch(item)
        assert (await opened.fetch(item)).size == len(BODY)
    first, second = portal.headers("/cv.pdf")
    assert (first["If-None-Match"], first["Range"]) == ('"v1"', None)
    assert (second["If-None-Match"], second["Range"]) == (None, "bytes=1500-")
