"""Decides which schemes, hosts and ports a portal may use. `address_policy` checks IP addresses.

The library that connects later also parses the addresses here, so two parsers can never disagree
about the host.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Self

import httpx2 as httpx

from ingestion.core.errors import OffLimits
from ingestion.core.ports import PortalTerms
from sites.portal_origin import PORTAL_SCHEMES

Origin = tuple[str, str, int]  # scheme, host and port


@lru_cache(maxsize=256)
def parse_address(address: str) -> httpx.URL:
    """Return the parsed address. Raises OffLimits if it is not an address.

    The result is cached, because the address of one document is parsed more than once.
    """
    try:
        return httpx.URL(address)
    except (httpx.InvalidURL, ValueError) as error:
        raise OffLimits(f"this is not an address: {error}") from error


def get_origin(url: httpx.URL) -> Origin:
    """Return scheme, host and port, to which credentials are bound (RFC 6454)."""
    host = url.raw_host.decode("ascii").lower()
    scheme = PORTAL_SCHEMES.get(url.scheme)
    return url.scheme, host, url.port or (scheme.default_port if scheme else 0)


@dataclass(frozen=True, slots=True)
class AllowedHosts:
    """Holds the portal's own host and its other hosts, on standard ports unless a port is named."""

    own_origin: Origin
    hosts: frozenset[tuple[str, int]]  # host and port
    schemes: frozenset[str]

    @classmethod
    def of(cls, terms: PortalTerms) -> Self:
        """Return the hosts that a portal's row names. Raises OffLimits for an invalid one."""
        schemes = frozenset({"https", "http"} if terms.allow_http else {"https"})
        standard_ports = {PORTAL_SCHEMES[scheme].default_port for scheme in schemes}
        own_origin = get_origin(parse_address(terms.base_url))
        hosts = {(own_origin[1], port) for port in {own_origin[2], *standard_ports}}
        for entry in terms.allowed_hosts:
            named = parse_address(f"https://{entry}")
            # The parser drops the port if it is the default of https.
            ports = {named.port} if named.port else standard_ports
            hosts |= {(get_origin(named)[1], port) for port in ports}
        return cls(own_origin, frozenset(hosts), schemes)

    def check(self, url: httpx.URL, *, redirected_from: httpx.URL | None = None) -> None:
        """Raise OffLimits if the portal may not use this address."""
        scheme, host, port = get_origin(url)
        if scheme not in self.schemes:
            raise OffLimits(f"{scheme or 'no scheme'} is not permitted for this portal")
        if redirected_from is not None and redirected_from.scheme == "https" != scheme:
            raise OffLimits(f"the portal redirected from https to {scheme}")
        if url.userinfo:
            raise OffLimits("the address contains a user name or password")
        if (host, port) not in self.hosts:
            raise OffLimits(f"{host}:{port} is not one of the portal's hosts")

    def is_own_origin(self, url: httpx.URL) -> bool:
        """Return whether the URL has the scheme, host and port of the portal itself."""
        return get_origin(url) == self.own_origin
