"""Tests of the addresses that a portal may have, and to which it may redirect."""

import pytest

from ingestion.core.errors import NotServed, OffLimits
from ingestion.sources.http.allowed_hosts import AllowedHosts, parse_address
from tests.ingestion.sources.http.conftest import make_item
from tests.ingestion.sources.http.servers import give, redirect, serve

PDF = b"%PDF-1.7 " + b"x" * 2000


def hosts(base_url="https://portal.example/1001/", **terms):
    return AllowedHosts.of(make_item(base_url, **{"allow_http": False} | terms).terms)


@pytest.mark.parametrize(
    "address",
    [
        "https://portal.example/anything.pdf",
        "https://PORTAL.example:443/cv.pdf",
        "https://files.example/cv.pdf",
        "https://deep.example:8443/cv.pdf",
    ],
)
def test_the_portals_own_host_and_its_allowed_hosts_are_permitted(address):
    hosts(allowed_hosts=("files.example", "deep.example:8443")).check(parse_address(address))


@pytest.mark.parametrize(
    "address",
    [
        "https://elsewhere.example/cv.pdf",
        "https://portal.example.elsewhere.example/cv.pdf",
        "https://elsewhere.example/portal.example",
        "https://portal.example./cv.pdf",
        "https://portal.example:8443/cv.pdf",
        "https://portal.example:22/cv.pdf",
        "https://deep.example/cv.pdf",
        "http://portal.example/cv.pdf",
        "ftp://portal.example/cv.pdf",
        "file:///etc/passwd",
        "/cv.pdf",
        "https://name:secret@portal.example/cv.pdf",
        "https://portal.example@elsewhere.example/cv.pdf",
        "https://portal.example\\@elsewhere.example/cv.pdf",
        "https://127.0.0.1/cv.pdf",
        "https://2130706433/cv.pdf",
        "https://[::1]/cv.pdf",
    ],
)
def test_other_hosts_ports_and_schemes_are_refused(address):
    with pytest.raises(OffLimits):
        hosts(allowed_hosts=("deep.example:8443",)).check(parse_address(address))


@pytest.mark.parametrize("address", ["https://", "https://[::1", "https://x:y/", "https://a b/"])
def test_an_invalid_address_is_refused(address):
    with pytest.raises(OffLimits):
        hosts().check(parse_address(address))


def test_a_portal_on_another_port_has_its_own_origin():
    own = hosts("https://portal.example:8443/1001/")
    own.check(parse_address("https://portal.example:8443/cv.pdf"))
    assert own.is_own_origin(parse_address("https://portal.example:8443/x"))
    assert not own.is_own_origin(parse_address("https://portal.example/x"))


def test_an_internationalised_name_is_compared_in_its_dns_form():
    hosts("https://klinik-münchen.example/").check(
        parse_address("https://xn--klinik-mnchen-3ob.example/x")
    )


async def test_redirects_within_the_portal_are_followed(portal, fetch):
    portal.on("/cv.pdf", redirect("/new/cv.pdf"))
    portal.on("/new/cv.pdf", redirect("newer.pdf", 308))
    portal.on("/new/newer.pdf", give(PDF))
    assert (await fetch(portal.url("/cv.pdf"))).size == len(PDF)


async def test_a_fourth_redirect_is_not_followed(portal, fetch):
    portal.on("/cv.pdf", redirect("/cv.pdf"))
    with pytest.raises(NotServed, match="more than 3 redirects"):
        await fetch(portal.url("/cv.pdf"))
    assert len(portal.seen) == 4


async def test_a_redirect_without_a_target_is_an_error_that_names_its_status(portal, fetch):
    portal.on("/cv.pdf", give(b"", 302))
    with pytest.raises(NotServed) as caught:
        await fetch(portal.url("/cv.pdf"))
    assert caught.value.facts == {"status": 302}


@pytest.mark.parametrize(
    "target",
    [
        "http://elsewhere.example/cv.pdf",
        "http://169.254.169.254/latest/meta-data",
        "//elsewhere.example/cv.pdf",
        "file:///etc/passwd",
        "http://127.0.0.1:9/cv.pdf",
    ],
)
async def test_a_redirect_to_another_host_is_refused(portal, fetch, target):
    portal.on("/cv.pdf", redirect(target))
    with pytest.raises(OffLimits):
        await fetch(portal.url("/cv.pdf"))


def test_a_redirect_from_https_to_http_is_refused():
    mixed = hosts(allow_http=True)
    mixed.check(parse_address("http://portal.example/"))
    with pytest.raises(OffLimits, match="from https to http"):
        mixed.check(
            parse_address("http://portal.example/"),
            redirected_from=parse_address("https://portal.example/cv.pdf"),
        )


@pytest.fixture
def secret(settings):
    settings.PORTAL_SECRETS = {"PORTAL_SECRET_SITE_1001": "Bearer 17"}


async def test_the_secret_is_sent_with_every_redirect_within_the_portal(portal, fetch, secret):
    portal.on("/cv.pdf", redirect("/new.pdf"))
    portal.on("/new.pdf", give(PDF))
    await fetch(portal.url("/cv.pdf"))
    assert [headers["Authorization"] for *_, headers in portal.seen] == ["Bearer 17"] * 2


@pytest.mark.parametrize("header", ["Authorization", "X-Api-Key", "Cookie"])
async def test_another_host_receives_no_secret_and_no_cookie_of_the_portal(
    portal, fetch, secret, header
):
    with serve() as store:
        moved = store.url("/cv.pdf", "store.example")
        portal.on("/cv.pdf", redirect(moved, Set_Cookie="session=1"))
        store.on("/cv.pdf", give(PDF))
        allowed = (f"store.example:{store.server_port}",)
        url = portal.url("/cv.pdf", "portal.example")
        await fetch(url, allowed_hosts=allowed, secret_header=header)
        assert portal.headers("/cv.pdf")[0][header] == "Bearer 17"
        assert {"authorization", "x-api-key", "cookie"}.isdisjoint(
            name.lower() for name in store.headers("/cv.pdf")[0]
        )


async def test_the_secret_is_not_sent_after_a_redirect_by_another_host(portal, fetch, secret):
    with serve() as store:
        portal.on("/cv.pdf", redirect(store.url("/back")))
        store.on("/back", redirect(portal.url("/delete-everything")))
        portal.on("/delete-everything", give(PDF))
        await fetch(portal.url("/cv.pdf"), allowed_hosts=(f"127.0.0.1:{store.server_port}",))
    assert portal.headers("/cv.pdf")[0]["Authorization"] == "Bearer 17"
    assert portal.headers("/delete-everything")[0]["Authorization"] is None


async def test_cookies_of_a_portal_are_not_sent_back(portal, portals):
    portal.on("/cv.pdf", give(PDF, Set_Cookie="session=1"))
    async with portals() as opened:
        for document in (1, 2):
            await opened.fetch(make_item(portal.url("/cv.pdf"), document=document))
    assert [headers["Cookie"] for headers in portal.headers("/cv.pdf")] == [None, None]


async def test_each_redirect_to_the_portal_itself_waits_for_a_slot(portal, portals):
    waits = []

    async def wait_for_slot(key):
        waits.append(key)

    with serve() as store:
        portal.on("/cv.pdf", redirect("/new.pdf"))
        portal.on("/new.pdf", redirect(store.url("/cv.pdf")))
        store.on("/cv.pdf", give(PDF))
        allowed = (f"127.0.0.1:{store.server_port}",)
        async with portals(wait_for_slot=wait_for_slot) as opened:
            await opened.fetch(make_item(portal.url("/cv.pdf"), allowed_hosts=allowed))
    assert waits == ["site-1001"]
