"""Opens the connections of HTTP clients, only to addresses that `address_policy` permits.

The check is made where the socket is opened, so redirects and reconnections are checked as well.
TLS, SNI and the Host header use the name of the host.
"""

import asyncio
from collections.abc import Iterable, Sequence

import httpcore2 as httpcore

from ingestion.core.errors import OffLimits
from ingestion.sources.address_policy import (
    Resolve,
    check_address,
    check_numeric_host,
    resolve_host,
)
from ingestion.sources.http.sockets import Network


class GuardedBackend(httpcore.AsyncNetworkBackend):
    """Opens the connections of a pool, only to addresses that were checked."""

    def __init__(
        self,
        *,
        allow_private: bool,
        resolve: Resolve = resolve_host,
        network: httpcore.AsyncNetworkBackend | None = None,
    ) -> None:
        self._allow_private = allow_private
        self._resolve = resolve
        self._network = network or Network()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - the base class's signature
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Connect to the first address that answers. Raises OffLimits, which the pool passes on."""
        addresses = await self._resolve_and_check(host, port, timeout)
        share = None if timeout is None else timeout / len(addresses)
        failed: Exception | None = None
        for address in addresses:
            try:
                return await self._network.connect_tcp(
                    address, port, share, local_address, socket_options
                )
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failed = error
        raise failed or httpcore.ConnectError(f"{host} has no address")

    async def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,  # noqa: ASYNC109 - the base class's signature
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Raise OffLimits, because no portal is a Unix socket."""
        raise OffLimits("a portal cannot be a Unix socket")

    async def _resolve_and_check(
        self, host: str, port: int, seconds: float | None
    ) -> Sequence[str]:
        check_numeric_host(host)
        try:
            async with asyncio.timeout(seconds):
                addresses = await self._resolve(host, port)
        except TimeoutError as error:
            raise httpcore.ConnectTimeout(f"{host} was not resolved within the timeout") from error
        except OSError as error:
            raise httpcore.ConnectError(f"{host} has no address: {error}") from error
        for address in addresses:  # If one is not permitted, none is used.
            check_address(address, allow_private=self._allow_private)
        if not addresses:
            raise httpcore.ConnectError(f"{host} has no address")
        return addresses
