"""Decides to which IP addresses connections to portals may go. Each kind of source uses it.

A portal that could name addresses of the local network would read them for the author of the
manifest (server-side request forgery). A name is therefore resolved once, each of its addresses is
checked, and the connection goes to an address that was checked, so a name that resolves to another
address a moment later (DNS rebinding) has no effect.
"""

import asyncio
import ipaddress
import socket
from collections.abc import Awaitable, Callable, Sequence

from ingestion.core.errors import OffLimits

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address

# The well-known prefix of RFC 6052: an IPv4 address in the last 32 bits, to which a gateway of our
# network connects. Hosts without IPv4 reach public portals this way.
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")

_LOOPBACK = ipaddress.IPv6Address("::1")  # in ::/96, but not an IPv4-compatible address

# Addresses that no portal has, whatever its rate configuration allows.
_REFUSED_ALWAYS = [
    ipaddress.ip_network(network)
    for network in (
        "::/96",  # IPv4-compatible (RFC 4291, 2.5.5.1; deprecated)
        "::ffff:0:0/96",  # IPv4-mapped (RFC 4291, 2.5.5.2): inside a host, never on the wire
        "::ffff:0:0:0/96",  # IPv4-translated (RFC 7915)
        "64:ff9b:1::/48",  # NAT64 with a prefix of the local network (RFC 8215)
        "2001::/32",  # Teredo (RFC 4380)
        "fec0::/10",  # site-local (RFC 3879; deprecated)
        # The metadata services of cloud providers, which hand out a host's credentials. Those at
        # link-local addresses, as 169.254.169.254, are refused with all link-local addresses.
        "fd00:ec2::/32",  # AWS
        "fd20:ce::/32",  # Google Cloud
        "fd00:c1::/32",  # Oracle Cloud
        "fd00:42::42/128",  # Scaleway
        "100.100.100.200/32",  # Alibaba Cloud
        "168.63.129.16/32",  # Azure
        "192.0.0.192/32",  # Oracle Cloud
    )
]


async def resolve_host(host: str, port: int) -> list[str]:
    """Return all addresses of the host, in the order in which to try them. Raises OSError."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(address[0]) for *_, address in found]


def check_address(text: str, *, allow_private: bool) -> None:
    """Raise OffLimits unless `text` is a public address, or a private one and these are allowed.

    Multicast, link-local and unspecified addresses, cloud metadata services and the forms of IPv6
    in which an IPv4 address is wrapped are refused even if private addresses are allowed.
    """
    given = ipaddress.ip_address(text)
    address = _embedded_ipv4(given)
    is_refused_always = any(
        each in network for network in _REFUSED_ALWAYS for each in {given, address} - {_LOOPBACK}
    )
    is_special = address.is_multicast or address.is_link_local or address.is_unspecified
    if is_refused_always or is_special:
        raise OffLimits(f"{text} cannot be the address of a portal")
    # Not `is_private`: that one misses the carriers' 100.64.0.0/10 (RFC 6598).
    if not allow_private and not address.is_global:
        raise OffLimits(f"{text} is not a public address")


def _embedded_ipv4(address: _Address) -> _Address:
    """Return the IPv4 address to which a NAT64 or 6to4 address leads; others as they are."""
    if isinstance(address, ipaddress.IPv4Address):
        return address
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address.sixtofour or address


def check_numeric_host(host: str) -> None:
    """Raise OffLimits for addresses in unusual forms, as 2130706433, 0x7f.1 and 0177.0.0.1.

    Resolvers accept them as IPv4 addresses, while parsers of addresses see a name.
    """
    last = host.rstrip(".").rpartition(".")[2].lower()
    if not (last.isdecimal() or last.startswith("0x")):
        return
    try:
        ipaddress.ip_address(host)
    except ValueError:
        raise OffLimits(f"{host} is a number, not a name") from None
