"""Which addresses a portal may name: scheme, host and port. Names only; see `guard` for the rest.

Everything is parsed by the one library that later connects, so that two parsers can never
disagree about what the host is.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Self

import httpx2 as httpx

from ingestion.core.errors import OffLimits
from ingestion.core.ports import PortalTerms

DEFAULT_PORT = {"https": 443, "http": 80}
Origin = tuple[str, str, int]


@lru_cache(maxsize=256)
def parse_address(address: str) -> httpx.URL:
    """Raises OffLimits. Remembers the last ones: of one document it is asked more than once."""
    try:
        return httpx.URL(address)
    except (httpx.InvalidURL, ValueError) as error:
        raise OffLimits(f"this is no address: {error}") from error


def get_origin(url: httpx.URL) -> Origin:
    """Scheme, host and port: what credentials belong to (RFC 6454)."""
    host = url.raw_host.decode("ascii").lower()
    return url.scheme, host, url.port or DEFAULT_PORT.get(url.scheme, 0)


@dataclass(frozen=True, slots=True)
class AllowedHosts:
    """The portal's own host and those of its list, on the standard ports unless one is named."""

    home: Origin
    places: frozenset[tuple[str, int]]
    schemes: frozenset[str]

    @classmethod
    def of(cls, terms: PortalTerms) -> Self:
        """Raises OffLimits."""
        schemes = frozenset({"https", "http"} if terms.allow_http else {"https"})
        standard = {DEFAULT_PORT[scheme] for scheme in schemes}
        home = get_origin(parse_address(terms.base_url))
        places = {(home[1], port) for port in {home[2], *standard}}
        for entry in terms.allowed_hosts:
            named = parse_address(f"https://{entry}")
            # Without a port, or with https's own, which the parser drops.
            ports = {named.port} if named.port else standard
            places |= {(get_origin(named)[1], port) for port in ports}
        return cls(home, frozenset(places), schemes)

    def check(self, url: httpx.URL, *, came_from: httpx.URL | None = None) -> None:
        """Raises OffLimits."""
        scheme, host, port = get_origin(url)
        if scheme not in self.schemes:
            raise OffLimits(f"{scheme or 'no scheme'} is not how this portal is asked")
        if came_from is not None and came_from.scheme == "https" != scheme:
            raise OffLimits(f"the portal sent us from https to {scheme}")
        if url.userinfo:
            raise OffLimits("the address carries a name or password of its own")
        if (host, port) not in self.places:
            raise OffLimits(f"{host}:{port} is not one of the portal's hosts")

    def is_home(self, url: httpx.URL) -> bool:
        return get_origin(url) == self.home
