"""Tests of the asyncio connections below the HTTP client."""

import asyncio
import socket
from contextlib import asynccontextmanager

import httpcore2 as httpcore
import pytest

from ingestion.sources.http.sockets import MAX_BUFFERED_BYTES, Network

NO_DELAY = (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


@asynccontextmanager
async def connected(serve):
    """Yield our end of a connection. `serve` receives the other end."""
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    stream = await Network().connect_tcp("127.0.0.1", port, 5.0, "127.0.0.1", [NO_DELAY])
    yield stream
    await stream.aclose()
    server.close()


async def test_bytes_that_arrive_faster_than_they_are_read_are_not_lost():
    sent = bytes(range(256)) * 40_000

    async def serve(reader, writer):
        writer.write(sent)
        await writer.drain()
        writer.close()

    received, buffered = bytearray(), []
    async with connected(serve) as stream:
        while piece := await stream.read(1 << 14, 5.0):
            received += piece
            buffered.append(len(stream._received))
            await asyncio.sleep(0)
        assert stream.get_extra_info("is_readable")
    assert received == sent
    assert max(buffered) <= MAX_BUFFERED_BYTES + (1 << 18)  # plus one read of the event loop


async def test_a_portal_that_does_not_read_the_request_is_a_timeout():
    is_over = asyncio.Event()

    async def serve(reader, writer):
        await is_over.wait()
        writer.close()

    async with connected(serve) as stream:
        with pytest.raises(httpcore.WriteTimeout):
            await stream.write(b"x" * 50_000_000, 0.05)
        is_over.set()


async def test_writing_to_a_closed_connection_is_an_error():
    async def serve(reader, writer):
        writer.close()

    async with connected(serve) as stream:
        assert await stream.read(100, 5.0) == b""
        with pytest.raises(httpcore.WriteError):
            await stream.write(b"GET")


async def test_names_are_not_resolved():
    with pytest.raises(httpcore.ConnectError):
        await Network().connect_tcp("localhost", 9, 5.0)
