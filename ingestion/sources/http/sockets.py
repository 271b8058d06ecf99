"""Connections for the pool, in plain asyncio: no scope, checkpoint or task for a read or a write.

The library's own (over anyio) cost as much for a small document as everything else about it.
Whom we may connect to is not known here (`guard`).
"""

import asyncio
import socket
import ssl
from collections.abc import Iterable
from typing import Any, cast

import httpcore2 as httpcore

MAX_BUFFERED_BYTES = 1 << 16  # bytes that wait to be read; with more, the portal has to wait

_AS_ASYNCIO_NAMES_IT = {"client_addr": "sockname", "server_addr": "peername"}


class Network(httpcore.AsyncNetworkBackend):
    """Connects to addresses, never to names."""

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - the base class's signature
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> "Stream":
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
        self._came = bytearray()
        self._is_over = False  # nothing more comes
        self._fault: Exception | None = None  # what ended it, when it was no proper end
        self._is_full = False  # the portal does not take what we write
        self._waiting: asyncio.Future[None] | None = None  # the task, until something changes

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._came += data
        if len(self._came) > MAX_BUFFERED_BYTES:
            self._transport.pause_reading()
        self._wake()

    def eof_received(self) -> None:
        self._is_over = True
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        self._is_over, self._fault = True, exc
        self._wake()

    def pause_writing(self) -> None:
        self._is_full = True

    def resume_writing(self) -> None:
        self._is_full = False
        self._wake()

    async def read(
        self,
        max_bytes: int,
        timeout: float | None = None,  # noqa: ASYNC109 - the base class's signature
    ) -> bytes:
        """Empty at the end. TLS alerts pass as they are."""
        if not self._came and not self._is_over:
            try:
                await self._change(timeout)
            except TimeoutError as error:
                raise httpcore.ReadTimeout("the portal fell silent") from error
        if not self._came and isinstance(self._fault, ssl.SSLError):
            raise self._fault
        if not self._came and self._fault:
            raise httpcore.ReadError(str(self._fault)) from self._fault
        piece = bytes(self._came[:max_bytes])
        del self._came[:max_bytes]
        if len(self._came) <= MAX_BUFFERED_BYTES:
            self._transport.resume_reading()
        return piece

    async def write(
        self,
        buffer: bytes,
        timeout: float | None = None,  # noqa: ASYNC109 - the base class's signature
    ) -> None:
        if not buffer:
            return
        if not self._transport.is_closing():
            self._transport.write(buffer)
        while self._is_full and not self._is_over:
            try:
                await self._change(timeout)
            except TimeoutError as error:
                raise httpcore.WriteTimeout("the portal does not take the request") from error
        if self._transport.is_closing():
            raise httpcore.WriteError("the portal has hung up")

    async def aclose(self) -> None:
        # At once: a portal that does not take leave properly would keep us waiting.
        self._transport.abort()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109 - the base class's signature
    ) -> "Stream":
        loop = asyncio.get_running_loop()
        wire = self._transport
        try:
            async with asyncio.timeout(timeout):
                upgraded = await loop.start_tls(
                    wire, self, ssl_context, server_hostname=server_hostname
                )
        except BaseException as error:
            wire.abort()
            if isinstance(error, TimeoutError):
                raise httpcore.ConnectTimeout("no TLS in time") from error
            if isinstance(error, OSError):
                raise httpcore.ConnectError(str(error)) from error
            raise
        self._transport = cast(asyncio.Transport, upgraded)
        return self

    def get_extra_info(self, info: str) -> Any:
        if info == "is_readable":  # an idle connection that is will not serve another request
            return self._is_over or bool(self._came)
        return self._transport.get_extra_info(_AS_ASYNCIO_NAMES_IT.get(info, info))

    async def _change(self, seconds: float | None) -> None:
        """Raises TimeoutError."""
        self._waiting = asyncio.get_running_loop().create_future()
        try:
            async with asyncio.timeout(seconds):
                await self._waiting
        finally:
            self._waiting = None

    def _wake(self) -> None:
        if self._waiting and not self._waiting.done():
            self._waiting.set_result(None)
