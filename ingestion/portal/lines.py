"""The clients of one portal: limits, connections, certificates and headers are its own.

Two of them: `home` for the portal's own address, with its credentials, and `abroad` for the hosts
that it may send us to, which never see them.
"""

import ssl
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any, Self

import httpcore2 as httpcore
import httpx2 as httpx

from ingestion.core.gate import KEPT_SECONDS
from ingestion.core.limits import Limits
from ingestion.core.work import PortalTerms
from ingestion.portal.credentials import Credentials
from ingestion.portal.guard import GuardedBackend, Resolve, system_resolver
from ingestion.portal.hosts import Hosts

ALWAYS = {
    "User-Agent": "SiteLedger",
    # A compressed answer is a bomb until proven otherwise, and its digest is another one.
    "Accept-Encoding": "identity",
    "Want-Repr-Digest": "sha-256=10",  # RFC 9530, 4
}


InThread = Callable[..., Awaitable[Any]]


class GuardedTransport(httpx.AsyncHTTPTransport):
    """httpx2's transport over a pool whose every connection is opened by our guard.

    `_pool` is private to httpx2: `tests/ingestion/portal/test_guard.py` holds a canary that fails
    when an upgrade no longer sends its requests through it.
    """

    def __init__(self, tls: ssl.SSLContext, connections: int, guard: GuardedBackend) -> None:
        super().__init__(verify=tls, trust_env=False)
        self._pool = httpcore.AsyncConnectionPool(
            ssl_context=tls,
            # A slot in flight is a connection: nobody ever waits for the pool.
            max_connections=connections,
            max_keepalive_connections=connections,
            keepalive_expiry=KEPT_SECONDS,
            network_backend=guard,
        )


@dataclass(slots=True)
class Line:
    """How one portal is asked. An async context manager: leaving it closes every connection."""

    terms: PortalTerms
    hosts: Hosts
    home: httpx.AsyncClient
    abroad: httpx.AsyncClient
    has_secret: bool = False

    @classmethod
    def open(cls, terms: PortalTerms, limits: Limits, resolve: Resolve = system_resolver) -> Self:
        """Reads certificates and secrets from the disk: for a thread. Raises Misconfigured."""
        credentials = Credentials.of(terms.key)

        def client(tls: ssl.SSLContext) -> httpx.AsyncClient:
            guard = GuardedBackend(allow_private=terms.allow_private_hosts, resolve=resolve)
            return httpx.AsyncClient(
                transport=GuardedTransport(tls, terms.max_in_flight, guard),
                headers=ALWAYS,
                timeout=httpx.Timeout(
                    limits.read_seconds, connect=limits.connect_seconds, pool=None
                ),
                cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),  # none is ever kept
                follow_redirects=False,
                trust_env=False,  # a proxy variable would carry us past the guard
            )

        home, abroad = client(credentials.tls()), client(credentials.tls_abroad())
        line = cls(terms, Hosts.of(terms), home, abroad)
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
