"""Sends a request to a portal and follows its redirects. Each address is checked before use.

Credentials are sent only to the portal's own scheme, host and port. After a redirect to another
host they are not sent again, even if a later redirect leads back to the portal, because that other
host chose the address.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import httpx2 as httpx

from ingestion.core.errors import NotServed, PortalUnreachable
from ingestion.core.ports import WaitForSlot
from ingestion.sources.http.allowed_hosts import parse_address
from ingestion.sources.http.connections import PortalConnection

MAX_REDIRECTS = 3  # for one request
REDIRECT_STATUSES = frozenset({301, 302, 303, 307, 308})


async def skip_wait(portal: str) -> None:
    """Return at once: the portal has no rate limit."""


@asynccontextmanager
async def send_request(
    connection: PortalConnection,
    address: str,
    headers: Mapping[str, str],
    *,
    method: str = "GET",
    condition: Mapping[str, str] | None = None,
    wait_for_slot: WaitForSlot = skip_wait,
) -> AsyncIterator[httpx.Response]:
    """Yield the response after the last redirect, with its body unread.

    The caller has a slot for the first request. `wait_for_slot` is awaited before each redirect
    to the portal itself, so that it counts against the portal's rate as well.

    `condition` holds headers about `address` itself, for example an ETag. They are not sent to the
    target of a redirect.

    Raises OffLimits for an address that is not permitted, NotServed after too many redirects, and
    PortalUnreachable if a connection ends before a response begins. Load balancers end it when
    their portal is down. In contrast to an incomplete body, that says nothing about the document.
    """
    url = parse_address(address)
    connection.hosts.check(url)
    transport = connection.transport_for(url)
    sent_headers = {**headers, **(condition or {})}
    for _ in range(MAX_REDIRECTS + 1):
        try:
            response = await transport.send(method, url, sent_headers)
        except (httpx.RemoteProtocolError, httpx.ReadError) as error:
            raise PortalUnreachable(f"the connection ended before a response: {error}") from error
        try:
            if response.status_code not in REDIRECT_STATUSES:
                yield response
                return
            previous, url = url, _redirect_target(response)
        finally:
            await response.aclose()
        sent_headers = dict(headers)
        connection.hosts.check(url, redirected_from=previous)
        if connection.hosts.is_own_origin(url):
            await wait_for_slot(connection.terms.key)
        else:
            transport = connection.other_transport
    raise NotServed(f"more than {MAX_REDIRECTS} redirects", status=response.status_code)


def _redirect_target(response: httpx.Response) -> httpx.URL:
    location = response.headers.get("Location")
    if not location:
        raise NotServed("a redirect without a Location", status=response.status_code)
    return response.url.join(parse_address(location))
