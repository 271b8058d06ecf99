"""Implements the connections of the pool in plain asyncio.

The library's own connections use anyio, which creates a cancel scope and a checkpoint for each read
and write. For a small document, that took as much time as the rest of its download. Which addresses
are permitted is decided in `address_policy`.
"""

import asyncio
import socket
import ssl
from collections.abc import Iterable
from typing import Any, cast

import httpcore2 as httpcore

MAX_BUFFERED_BYTES = 1 << 16  # bytes that wait to be read; beyond it, reading is paused

_ASYNCIO_NAMES = {"client_addr": "sockname", "server_addr": "peername"}  # by names of httpcore2


class Network(httpcore.AsyncNetworkBackend):
    """Connects to IP addresses. It never resolves names."""

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - the base class's signature
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> "Stream":
        """Connect to an IP address, and return the stream. `timeout` is in seconds.

        Raises httpcore's ConnectTimeout and ConnectError.
        """
        connecting = asyncio.get_running_loop().create_connection(
            Stream,
            host,
            port,
            flags=socket.AI_NUMERICHOST,
            local_addr=(local_address, 0) if local_address else None,
        )
        try:
            async with asyncio.timeout(timeout):
                _, stream = await connecting
        except TimeoutError as error:
            raise httpcore.ConnectTimeout(f"no connection to {host} in time") from error
        except OSError as error:
            raise httpcore.ConnectError(str(error)) from error
        for option in socket_options or ():
            stream.get_extra_info("socket").setsockopt(*option)
        return stream


class Stream(asyncio.Protocol, httpcore.AsyncNetworkStream):
    """One connection, read and written by one task at a time."""

    _transport: asyncio.Transport

    def __init__(self) -> None:
        self._received = bytearray()
        self._has_ended = False  # no more bytes will be received
        self._fault: Exception | None = None  # the error that ended the connection
        self._is_write_paused = False  # the portal does not read what was written
        self._change: asyncio.Future[None] | None = None  # what the task waits for

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._received += data
        if len(self._received) > MAX_BUFFERED_BYTES:
            self._transport.pause_reading()
        self._wake()

    def eof_received(self) -> None:
        self._has_ended = True
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        self._has_ended, self._fault = True, exc
        self._wake()

    def pause_writing(self) -> None:
        self._is_write_paused = True

    def resume_writing(self) -> None:
        self._is_write_paused = False
        self._wake()

    async def read(
        self,
        max_bytes: int,
        timeout: float | None = None,  # noqa: ASYNC109 - the base class's signature
    ) -> bytes:
        """Return received bytes, or b"" at the end. TLS alerts are raised unchanged."""
        if not self._received and not self._has_ended:
            try:
                await self._wait_for_change(timeout)
            except TimeoutError as error:
                raise httpcore.ReadTimeout("the portal sent nothing in time") from error
        if not self._received and isinstance(self._fault, ssl.SSLError):
            raise self._fault
        if not self._received and self._fault:
            raise httpcore.ReadError(str(self._fault)) from self._fault
        piece = bytes(self._received[:max_bytes])
        del self._received[:max_bytes]
        if len(self._received) <= MAX_BUFFERED_BYTES:
            self._transport.resume_reading()
        return piece

    async def write(
        self,
        buffer: bytes,
        timeout: float | None = None,  # noqa: ASYNC109 - the base class's signature
    ) -> None:
        """Send the bytes, and wait while the transport accepts no more. `timeout` is in seconds.

        Raises httpcore's WriteTimeout and WriteError.
        """
        if not buffer:
            return
        if not self._transport.is_closing():
            self._transport.write(buffer)
        while self._is_write_paused and not self._has_ended:
            try:
                await self._wait_for_change(timeout)
            except TimeoutError as error:
                raise httpcore.WriteTimeout(
                    "the portal did not read the request in time"
                ) from error
        if self._transport.is_closing():
            raise httpcore.WriteError("the portal closed the connection")

    async def aclose(self) -> None:
        """Abort the connection."""
        # Abort: an orderly end would wait for portals that do not close their side.
        self._transport.abort()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109 - the base class's signature
    ) -> "Stream":
        """Begin TLS on the connection, and return this stream. `timeout` is in seconds.

        Raises httpcore's ConnectTimeout and ConnectError, and closes the connection then.
        """
        loop = asyncio.get_running_loop()
        plain_transport = self._transport
        try:
            async with asyncio.timeout(timeout):
                upgraded = await loop.start_tls(
                    plain_transport, self, ssl_context, server_hostname=server_hostname
                )
        except BaseException as error:
            plain_transport.abort()
            if isinstance(error, TimeoutError):
                raise httpcore.ConnectTimeout("no TLS handshake in time") from error
            if isinstance(error, OSError):
                raise httpcore.ConnectError(str(error)) from error
            raise
        self._transport = cast(asyncio.Transport, upgraded)
        return self

    def get_extra_info(self, info: str) -> Any:
        """Return a fact about the connection by its name in httpcore."""
        # An idle connection with bytes to read, or with an end, cannot serve another request.
        if info == "is_readable":
            return self._has_ended or bool(self._received)
        return self._transport.get_extra_info(_ASYNCIO_NAMES.get(info, info))

    async def _wait_for_change(self, seconds: float | None) -> None:
        """Wait until bytes, the end or room to write is reported. Raises TimeoutError."""
        self._change = asyncio.get_running_loop().create_future()
        try:
            async with asyncio.timeout(seconds):
                await self._change
        finally:
            self._change = None

    def _wake(self) -> None:
        if self._change and not self._change.done():
            self._change.set_result(None)
