"""Tests of conditional requests for documents on file, and of doubtful 304 responses."""

import hashlib

import pytest

from ingestion.core.errors import NotServed
from ingestion.core.ports import FiledVersion, NotModified
from tests.ingestion.sources.http.conftest import make_item
from tests.ingestion.sources.http.servers import give, redirect, serve

BODY = b"%PDF-1.7 " + b"x" * 2000
FILED = FiledVersion('"v1"', hashlib.sha256(BODY).hexdigest())


def conditional(body=BODY, etag='"v1"', headers_of_304=None):
    """Return an answer as web servers give it: 304 with the ETag if the request names that ETag."""

    def answer(handler):
        if handler.headers.get("If-None-Match", "").removeprefix("W/") == etag.removeprefix("W/"):
            return give(b"", 304, **({"ETag": etag} if headers_of_304 is None else headers_of_304))(
                handler
            )
        return give(body, ETag=etag)(handler)

    return answer


@pytest.fixture
def ask(portal, portals):
    """Fetch a document on file. Returns the result, and the number of further requests."""

    async def ask(filed=FILED, path="/cv.pdf", **terms):
        slots = []

        async def wait_for_slot(key):
            slots.append(key)

        item = make_item(portal.url(path), filed=filed, **terms)
        async with portals(wait_for_slot=wait_for_slot) as opened:
            return await opened.fetch(item), len(slots)

    return ask


async def test_an_unchanged_document_is_not_downloaded(portal, ask, tmp_path):
    portal.on("/cv.pdf", conditional())
    answer, slots = await ask()
    assert isinstance(answer, NotModified)
    assert (answer.facts["answer"], slots) == ("304 unchanged", 0)
    assert portal.headers("/cv.pdf")[0]["If-None-Match"] == '"v1"'
    assert not list(tmp_path.iterdir())


async def test_a_changed_document_is_downloaded_with_its_new_etag(portal, ask):
    new = b"%PDF-1.7 new"
    portal.on("/cv.pdf", conditional(new, '"v2"'))
    fetched, _ = await ask()
    assert (fetched.path.read_bytes(), fetched.etag) == (new, '"v2"')


async def test_a_document_that_is_not_on_file_is_requested_without_a_condition(portal, ask):
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
    "headers_of_304", [{"ETag": 'W/"v1"'}, {"ETag": '"v2"'}, {}], ids=["weak", "another", "none"]
)
async def test_status_304_with_another_etag_is_followed_by_an_unconditional_request(
    portal, ask, headers_of_304
):
    portal.on("/cv.pdf", conditional(headers_of_304=headers_of_304))
    fetched, slots = await ask()
    assert (fetched.path.read_bytes(), slots) == (BODY, 1)
    sent = [headers["If-None-Match"] for headers in portal.headers("/cv.pdf")]
    assert sent == ['"v1"', None]


async def test_status_304_without_a_condition_is_a_permanent_error(portal, ask):
    portal.on("/cv.pdf", give(b"", 304, ETag='"v1"'))
    with pytest.raises(NotServed) as caught:
        await ask(filed=None)
    assert caught.value.facts == {"status": 304}
    assert len(portal.seen) == 1


async def test_an_etag_is_neither_sent_to_nor_taken_from_another_address(portal, ask):
    with serve() as other:
        other.on("/store.pdf", conditional())
        portal.on("/there.pdf", redirect(other.url("/store.pdf")))
        portal.on("/here.pdf", redirect("/cv.pdf"))
        portal.on("/cv.pdf", conditional())
        elsewhere, _ = await ask(
            path="/there.pdf", allowed_hosts=(f"127.0.0.1:{other.server_port}",)
        )
        within, _ = await ask(path="/here.pdf")
        sent = [*other.headers("/store.pdf"), *portal.headers("/cv.pdf")]
    assert [elsewhere.size, within.size] == [len(BODY)] * 2
    assert [elsewhere.etag, within.etag] == ["", ""]
    assert [headers["If-None-Match"] for headers in sent] == [None, None]
    assert portal.headers("/there.pdf")[0]["If-None-Match"] == '"v1"'


async def test_the_rest_of_a_document_is_requested_without_a_condition(portal, portals):
    half = give(BODY[:1500], length=len(BODY), ETag='"v2"')
    portal.on("/cv.pdf", half, give(BODY, ETag='"v2"'))
    item = make_item(portal.url("/cv.pdf"), filed=FILED)
    async with portals() as opened:
        with pytest.raises(Exception, match="ended early"):
            await opened.fetch(item)
        assert (await opened.fetch(item)).size == len(BODY)
    first, second = portal.headers("/cv.pdf")
    assert (first["If-None-Match"], first["Range"]) == ('"v1"', None)
    assert (second["If-None-Match"], second["Range"]) == (None, "bytes=1500-")
