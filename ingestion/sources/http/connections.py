"""The connections to one portal: limits, certificates and headers are its own.

Two of them: `home` for the portal's own address, with its credentials, and `abroad` for the hosts
that it may send us to, which never see them.
"""

import ssl
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any, Self

import httpcore2 as httpcore
import httpx2 as httpx

from ingestion.core.errors import Misconfigured
from ingestion.core.limits import Limits
from ingestion.core.portal_limits import KEEP_ALIVE_SECONDS
from ingestion.core.ports import PortalTerms
from ingestion.sources.http.address_policy import GuardedBackend, Resolve, system_resolver
from ingestion.sources.http.allowed_hosts import AllowedHosts
from ingestion.sources.http.credentials import Credentials
from sites.portal_origin import origin_of

DEFAULT_HEADERS = {
    "Accept": "*/*",
    "Connection": "keep-alive",
    "User-Agent": "SiteLedger",
    # A compressed answer is a bomb until proven otherwise, and its digest is another one.
    "Accept-Encoding": "identity",
    "Want-Repr-Digest": "sha-256=10",  # RFC 9530, 4
}


InThread = Callable[..., Awaitable[Any]]


class GuardedTransport(httpx.AsyncHTTPTransport):
    """httpx2's transport over a pool whose every connection is opened by our guard.

    There is no client around it: that one would follow redirects, keep cookies, and ask the
    environment for proxies and passwords, which is all not wanted here and costs each request.
    `_pool` is private to httpx2: `tests/ingestion/sources/http/test_guard.py` holds a canary that
    fails when an upgrade no longer sends its requests through it.
    """

    def __init__(
        self, tls: ssl.SSLContext, connections: int, guard: GuardedBackend, timeout: httpx.Timeout
    ) -> None:
        super().__init__(verify=tls, trust_env=False)
        self.headers = httpx.Headers(DEFAULT_HEADERS)  # of every request
        self._extensions = {"timeout": timeout.as_dict()}
        self._pool = httpcore.AsyncConnectionPool(
            ssl_context=tls,
            # A slot in flight is a connection: nobody ever waits for the pool.
            max_connections=connections,
            max_keepalive_connections=connections,
            keepalive_expiry=KEEP_ALIVE_SECONDS,
            network_backend=guard,
        )

    async def ask(self, method: str, url: httpx.URL, headers: Mapping[str, str]) -> httpx.Response:
        """The answer, its body unread; whoever asked closes it."""
        own = [(name.encode(), value.encode()) for name, value in headers.items()]
        request = httpx.Request(
            method, url, headers=[*self.headers.raw, *own], extensions=self._extensions
        )
        response = await self.handle_async_request(request)
        response.request = request
        return response


def _refuse_unapproved(terms: PortalTerms) -> None:
    """Raises Misconfigured where the base address has another origin than the approved one."""
    if origin_of(terms.base_url) != terms.approved_origin:
        raise Misconfigured(
            f"the address {terms.base_url} of portal {terms.key} is not approved: a second person "
            "has to approve it (/approvals/)"
        )


@dataclass(slots=True)
class PortalConnection:
    """How one portal is asked. An async context manager: leaving it closes every connection."""

    terms: PortalTerms
    hosts: AllowedHosts
    home: GuardedTransport
    abroad: GuardedTransport
    has_secret: bool = False

    @classmethod
    def open(cls, terms: PortalTerms, limits: Limits, resolve: Resolve = system_resolver) -> Self:
        """Reads certificates and secrets from the disk: for a thread. Raises Misconfigured.

        Nothing is asked, and no secret is sent, where no second person has approved the origin.
        """
        _refuse_unapproved(terms)
        credentials = Credentials.of(terms.key)

        timeout = httpx.Timeout(limits.read_seconds, connect=limits.connect_seconds, pool=None)

        def transport(tls: ssl.SSLContext) -> GuardedTransport:
            guard = GuardedBackend(allow_private=terms.allow_private_hosts, resolve=resolve)
            return GuardedTransport(tls, terms.max_in_flight, guard, timeout)

        home, abroad = transport(credentials.tls()), transport(credentials.tls_abroad())
        line = cls(terms, AllowedHosts.of(terms), home, abroad)
        line._show(credentials.secret)
        return line

    async def has_news_for(self, refused: httpx.Request, in_thread: InThread) -> bool:
        """After a 401: is the secret another one than the request showed? Then it is shown now.

        Compared with the request and not with the line, which another one may have renewed.
        """
        if not self.hosts.is_home(refused.url):
            return False  # nobody else sees it
        secret = (await in_thread(Credentials.of, self.terms.key)).secret
        self._show(secret)
        return bool(secret) and secret != refused.headers.get(self.terms.secret_header)

    def _show(self, secret: str) -> None:
        if secret:
            self.home.headers[self.terms.secret_header] = secret
            self.has_secret = True

    async def aclose(self) -> None:
        async with AsyncExitStack() as stack:
            stack.push_async_callback(self.home.aclose)
            stack.push_async_callback(self.abroad.aclose)
