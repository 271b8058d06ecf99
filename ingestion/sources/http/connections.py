"""Opens the connections to one portal, with limits, certificates and headers of its own.

There are two transports: `portal_transport` for the portal's own origin, with its credentials, and
`other_transport` for the hosts to which the portal may redirect, which never receive them.
"""

import ssl
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any, Self

import httpcore2 as httpcore
import httpx2 as httpx

from ingestion.core.limits import Limits
from ingestion.core.portal_limits import KEEP_ALIVE_SECONDS
from ingestion.core.ports import PortalTerms
from ingestion.sources.address_policy import Resolve, resolve_host
from ingestion.sources.approved_origin import require_approved_origin
from ingestion.sources.credentials import Credentials
from ingestion.sources.http.allowed_hosts import AllowedHosts
from ingestion.sources.http.guarded_backend import GuardedBackend

DEFAULT_HEADERS = {
    "Accept": "*/*",
    "Connection": "keep-alive",
    "User-Agent": "SiteLedger",
    # A compressed response could expand without limit, and its digest is that of other bytes.
    "Accept-Encoding": "identity",
    "Want-Repr-Digest": "sha-256=10",  # RFC 9530, section 4
}


InThread = Callable[..., Awaitable[Any]]  # runs a function and its arguments in a thread


class GuardedTransport(httpx.AsyncHTTPTransport):
    """The transport of httpx2 over a pool that opens connections only to permitted addresses.

    There is no `httpx2.AsyncClient` around it. A client would follow redirects, keep cookies, and
    read proxies and passwords from the environment, none of which is wanted here, and it would
    make each request slower.

    `_pool` is private to httpx2. A test in `tests/ingestion/sources/http/test_address_policy.py`
    fails if a new release no longer sends its requests through it.
    """

    def __init__(
        self, tls: ssl.SSLContext, connections: int, guard: GuardedBackend, timeout: httpx.Timeout
    ) -> None:
        super().__init__(verify=tls, trust_env=False)
        self.headers = httpx.Headers(DEFAULT_HEADERS)  # of every request
        self._extensions = {"timeout": timeout.as_dict()}
        self._pool = httpcore.AsyncConnectionPool(
            ssl_context=tls,
            # Each request in flight has a connection, so no request waits for the pool.
            max_connections=connections,
            max_keepalive_connections=connections,
            keepalive_expiry=KEEP_ALIVE_SECONDS,
            network_backend=guard,
        )

    async def send(self, method: str, url: httpx.URL, headers: Mapping[str, str]) -> httpx.Response:
        """Send a request. Return the response with its body unread; the caller closes it."""
        own = [(name.encode(), value.encode()) for name, value in headers.items()]
        request = httpx.Request(
            method, url, headers=[*self.headers.raw, *own], extensions=self._extensions
        )
        response = await self.handle_async_request(request)
        response.request = request
        return response


@dataclass(slots=True)
class PortalConnection:
    """Sends the requests to one portal. Its owner closes it with `aclose`."""

    terms: PortalTerms
    hosts: AllowedHosts
    credentials: Credentials
    portal_transport: GuardedTransport
    other_transport: GuardedTransport

    @classmethod
    def open(cls, terms: PortalTerms, limits: Limits, resolve: Resolve = resolve_host) -> Self:
        """Prepare the connections. Runs in a thread, because it reads certificates and secrets.

        Raises Misconfigured if they cannot be used, or if the portal's origin is not approved.
        """
        require_approved_origin(terms)
        credentials = Credentials.of(terms)
        timeout = httpx.Timeout(limits.read_seconds, connect=limits.connect_seconds, pool=None)

        def transport(tls: ssl.SSLContext) -> GuardedTransport:
            guard = GuardedBackend(allow_private=terms.allow_private_hosts, resolve=resolve)
            return GuardedTransport(tls, terms.max_in_flight, guard, timeout)

        portal_transport = transport(credentials.tls())
        portal_transport.headers.update(credentials.request_headers)
        return cls(
            terms,
            AllowedHosts.of(terms),
            credentials,
            portal_transport,
            transport(credentials.tls_for_other_hosts()),
        )

    def transport_for(self, url: httpx.URL) -> GuardedTransport:
        """Return the transport that sends credentials only if `url` has the portal's origin."""
        return self.portal_transport if self.hosts.is_own_origin(url) else self.other_transport

    async def reload_credentials(self, refused: httpx.Request, in_thread: InThread) -> bool:
        """Read the credentials again after status 401. Return whether `refused` sent other ones.

        They are compared with the request and not with the current ones, because the response to
        another request may have renewed these meanwhile.
        """
        if not self.hosts.is_own_origin(refused.url):
            return False  # Other hosts never receive the credentials.
        self.credentials = await in_thread(Credentials.of, self.terms)
        headers = self.credentials.request_headers
        self.portal_transport.headers.update(headers)
        return any(refused.headers.get(name) != value for name, value in headers.items())

    async def aclose(self) -> None:
        """Close the connections to the portal and to the hosts that it redirects to."""
        async with AsyncExitStack() as stack:
            stack.push_async_callback(self.portal_transport.aclose)
            stack.push_async_callback(self.other_transport.aclose)
