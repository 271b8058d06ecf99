"""One question to a portal, redirects and all. Every hop is checked before it is made.

Credentials go to the portal's own scheme, host and port. Once a redirect has led elsewhere they
are gone for good, also when the next one leads back: whoever we met there chose that address.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager

import httpx2 as httpx

from ingestion.core.errors import NotServed, PortalUnreachable
from ingestion.sources.http.allowed_hosts import parse_address
from ingestion.sources.http.connections import GuardedTransport, PortalConnection

MAX_HOPS = 3
REDIRECTS = frozenset({301, 302, 303, 307, 308})

AnotherToken = Callable[[str], Awaitable[None]]


async def skip_token(portal: str) -> None:
    """No token is needed for a further request."""


@asynccontextmanager
async def send_request(
    line: PortalConnection,
    address: str,
    headers: Mapping[str, str],
    *,
    method: str = "GET",
    condition: Mapping[str, str] | None = None,
    another_token: AnotherToken = skip_token,
) -> AsyncIterator[httpx.Response]:
    """The answer at the end of the redirects, its body unread. Raises OffLimits, NotServed.

    The caller has a token for the first request; `another_token` is awaited before each further
    one to the portal itself, so that its redirects count for its rate as well. The `condition` is
    about this very address (an ETag means nothing elsewhere): where it leads to never sees it.
    """
    url = parse_address(address)
    line.hosts.check(url)
    transport = line.home if line.hosts.is_home(url) else line.abroad
    asked = {**headers, **(condition or {})}
    for _ in range(MAX_HOPS + 1):
        response = await _answer(transport, method, url, asked)
        try:
            if response.status_code not in REDIRECTS:
                yield response
                return
            came_from, url = url, _target(response)
        finally:
            await response.aclose()
        asked = dict(headers)
        line.hosts.check(url, came_from=came_from)
        if not line.hosts.is_home(url):
            transport = line.abroad
        else:
            await another_token(line.terms.key)
    raise NotServed(f"more than {MAX_HOPS} redirects", status=response.status_code)


async def _answer(
    transport: GuardedTransport, method: str, url: httpx.URL, headers: Mapping[str, str]
) -> httpx.Response:
    """Raises PortalUnreachable for a connection that ends before a word of an answer has come.

    So do load balancers whose portal is down. It says nothing about the document; a body that
    breaks off may.
    """
    try:
        return await transport.ask(method, url, headers)
    except (httpx.RemoteProtocolError, httpx.ReadError) as error:
        raise PortalUnreachable(f"it hung up before it answered: {error}") from error


def _target(response: httpx.Response) -> httpx.URL:
    location = response.headers.get("Location")
    if not location:
        raise NotServed("a redirect to nowhere", status=response.status_code)
    return response.url.join(parse_address(location))
