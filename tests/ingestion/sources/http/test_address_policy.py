"""Tests of the address policy: no portal can make SiteLedger connect into the local network."""

import asyncio

import httpcore2 as httpcore
import httpx2 as httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingestion.core.errors import OffLimits
from ingestion.core.limits import Limits
from ingestion.sources.address_policy import check_address, check_numeric_host, resolve_host
from ingestion.sources.http.connections import PortalConnection
from ingestion.sources.http.guarded_backend import GuardedBackend
from tests.ingestion.sources.http.conftest import make_item
from tests.ingestion.sources.http.servers import give, redirect, serve

PDF = b"%PDF-1.7 " + b"x" * 2000

NEVER = ["169.254.169.254", "fe80::1", "224.0.0.1", "ff02::1", "0.0.0.0", "::"]  # noqa: S104 - not bound to
PRIVATE = [
    "127.0.0.1",
    "10.1.2.3",
    "172.16.0.1",
    "192.168.1.1",
    "100.64.0.1",  # carriers' NAT, which `is_private` misses
    "198.18.0.1",
    "::1",
    "fd00::1",
    "2002:7f00:1::",  # 6to4 of 127.0.0.1
    "64:ff9b::7f00:1",  # NAT64 of 127.0.0.1
    "255.255.255.255",
]


CLOUD_METADATA = [
    "169.254.170.2",  # AWS ECS
    "fd00:ec2::254",  # AWS over IPv6
    "fd00:ec2::23",  # AWS EKS
    "fd20:ce::254",  # Google over IPv6
    "168.63.129.16",  # Azure's host
    "192.0.0.192",  # Oracle
    "fd00:c1::a9fe:a9fe",  # Oracle over IPv6
    "100.100.100.200",  # Alibaba
    "64:ff9b::a83f:8110",  # Azure's host through NAT64
    "2002:a83f:8110::",  # Azure's host through 6to4
]
WRAPPED = [
    "::7f00:1",  # IPv4-compatible
    "::a9fe:a9fe",
    "::93.184.215.14",
    "::ffff:10.0.0.1",  # IPv4-mapped
    "::ffff:93.184.215.14",
    "::ffff:169.254.169.254",
    "::ffff:0:169.254.169.254",  # IPv4-translated
    "64:ff9b::a9fe:a9fe",
    "64:ff9b:1::a9fe:a9fe",  # NAT64 with a prefix of the local network
    "64:ff9b:1:ffff::1",
    "2001:0:a9fe:a9fe::1",  # Teredo
    "fec0::1",  # site-local
    "feff::1",
]


@pytest.mark.parametrize("address", [*NEVER, *CLOUD_METADATA, *WRAPPED])
def test_some_addresses_are_refused_whatever_the_portal_allows(address):
    for allow_private in (True, False):
        with pytest.raises(OffLimits):
            check_address(address, allow_private=allow_private)


@pytest.mark.parametrize("address", PRIVATE)
def test_a_private_address_is_allowed_only_for_a_portal_that_may_be_private(address):
    check_address(address, allow_private=True)
    with pytest.raises(OffLimits):
        check_address(address, allow_private=False)


@pytest.mark.parametrize("address", ["93.184.215.14", "2606:2800:21f::1", "64:ff9b::5db8:d70e"])
def test_a_public_address_is_allowed(address):
    check_address(address, allow_private=False)


@given(st.ip_addresses(v=4))
def test_a_nat64_address_is_judged_as_the_ipv4_address_in_it(address):
    def refused(text):
        try:
            check_address(text, allow_private=False)
        except OffLimits:
            return True
        return False

    assert refused(f"64:ff9b::{address}") == refused(str(address))
    assert refused(f"::ffff:{address}")


@pytest.mark.parametrize(
    "host", ["2130706433", "0x7f000001", "0x7f.1", "0177.0.0.1", "127.1", "1.2.3.4.5", "portal.1"]
)
def test_a_number_in_place_of_a_host_name_is_refused_before_it_is_resolved(host):
    with pytest.raises(OffLimits):
        check_numeric_host(host)


@pytest.mark.parametrize("host", ["portal.example", "1001.portal.example", "93.184.215.14", "::1"])
def test_names_and_ordinary_addresses_are_not_mistaken_for_numbers(host):
    check_numeric_host(host)


class FakeNetwork(httpcore.AsyncNetworkBackend):
    """Connects to the addresses in `up`, and remembers all that were requested."""

    def __init__(self, *up):
        self.up, self.requested = up, []

    async def connect_tcp(self, host, port, *options):
        self.requested.append(host)
        if host not in self.up:
            raise httpcore.ConnectError(f"no server at {host}")
        return httpcore.AsyncMockStream([])


def answering(*answers):
    """Return a resolver that gives one answer after the other."""
    left = list(answers)

    async def resolve(host, port):
        return left.pop(0)

    return resolve


async def connect(network, *answers, host="portal.example"):
    backend = GuardedBackend(allow_private=False, resolve=answering(*answers), network=network)
    return await backend.connect_tcp(host, 443, timeout=5)


async def test_the_connection_goes_to_the_address_that_was_checked():
    network = FakeNetwork("93.184.215.14")
    # A second resolution would return the second answer, as in DNS rebinding.
    await connect(network, ["93.184.215.14"], ["127.0.0.1"])
    assert network.requested == ["93.184.215.14"]


async def test_a_name_is_checked_again_on_reconnection():
    network = FakeNetwork("93.184.215.14", "127.0.0.1")
    resolve = answering(["93.184.215.14"], ["127.0.0.1"])
    backend = GuardedBackend(allow_private=False, resolve=resolve, network=network)
    await backend.connect_tcp("portal.example", 443)
    with pytest.raises(OffLimits):
        await backend.connect_tcp("portal.example", 443)


async def test_a_name_with_one_private_address_is_refused():
    network = FakeNetwork("93.184.215.14")
    with pytest.raises(OffLimits):
        await connect(network, ["93.184.215.14", "10.0.0.1"])
    assert not network.requested


async def test_the_next_address_is_tried_if_one_does_not_answer():
    network = FakeNetwork("93.184.215.15")
    await connect(network, ["93.184.215.14", "93.184.215.15"])
    assert network.requested == ["93.184.215.14", "93.184.215.15"]


@pytest.mark.parametrize("answer", [[], ["93.184.215.14"]], ids=["no address", "no server"])
async def test_an_unreachable_host_is_a_connection_error(answer):
    with pytest.raises(httpcore.ConnectError):
        await connect(FakeNetwork(), answer)


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "::1"])
async def test_addresses_of_the_system_resolver_are_checked_too(host):
    backend = GuardedBackend(allow_private=False, resolve=resolve_host)
    with pytest.raises(OffLimits):
        await backend.connect_tcp(host, 9, timeout=5)


async def test_a_resolver_that_does_not_answer_is_a_timeout():
    async def never(host, port):
        await asyncio.Event().wait()

    backend = GuardedBackend(allow_private=False, resolve=never)
    with pytest.raises(httpcore.ConnectTimeout):
        await backend.connect_tcp("portal.example", 443, timeout=0.05)


async def test_a_unix_socket_is_refused():
    with pytest.raises(OffLimits):
        await GuardedBackend(allow_private=True).connect_unix_socket("/run/docker.sock")


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "2130706433", "0x7f.1"])
async def test_a_portal_cannot_have_an_address_of_the_local_network(fetch, host):
    with pytest.raises(OffLimits):
        await fetch(
            f"http://{host}:9/x.pdf", allow_private_hosts=False, with_={"resolve": resolve_host}
        )


async def test_a_redirect_into_the_local_network_is_refused_at_the_socket(portal, fetch):
    async def resolve(host, port):
        return ["169.254.169.254" if host == "cloud.example" else "127.0.0.1"]

    portal.on("/cv.pdf", redirect("http://cloud.example/latest/meta-data"))
    with pytest.raises(OffLimits, match=r"169\.254"):
        await fetch(
            portal.url("/cv.pdf", "portal.example"),
            allowed_hosts=("cloud.example",),
            with_={"resolve": resolve},
        )


async def test_a_proxy_in_the_environment_is_ignored(portal, fetch, monkeypatch):
    with serve() as proxy:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy.url())
        portal.on("/cv.pdf", give(PDF))
        await fetch(portal.url("/cv.pdf"))
        assert not proxy.seen


async def test_httpx2_opens_all_connections_through_the_address_policy():
    """Guard against a release of httpx2 that no longer uses `AsyncHTTPTransport._pool`."""
    resolved = []

    async def resolve(host, port):
        resolved.append((host, port))
        return ["10.0.0.1"]

    item = make_item("https://portal.example/", allow_http=False, allow_private_hosts=False)
    connection = PortalConnection.open(item.terms, Limits(), resolve)
    for transport in (connection.portal_transport, connection.other_transport):
        assert type(transport._pool) is httpcore.AsyncConnectionPool
        assert isinstance(transport._pool._network_backend, GuardedBackend)
        assert (transport._pool._uds, transport._pool._proxy) == (None, None)
        with pytest.raises(OffLimits):
            await transport.send("GET", httpx.URL("https://portal.example/"), {})
    assert resolved == [("portal.example", 443)] * 2
    assert (
        httpx.AsyncHTTPTransport.handle_async_request
        is type(connection.portal_transport).handle_async_request
    )
    await connection.aclose()


async def test_a_refused_address_leaves_no_connection_and_the_next_fetch_works(portal, portals):
    resolve = answering(["10.0.0.1", "169.254.169.254"], ["127.0.0.1"])
    portal.on("/cv.pdf", give(PDF))
    item = make_item(portal.url("/cv.pdf", "portal.example"), max_in_flight=1)
    async with portals(resolve=resolve) as opened:
        with pytest.raises(OffLimits):
            await opened.fetch(item)
        assert (await opened.fetch(item)).size == len(PDF)
