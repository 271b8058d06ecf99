"""One connection: nothing is lost, nobody waits for ever, and names are not its business."""

import asyncio
import socket
from contextlib import asynccontextmanager

import httpcore2 as httpcore
import pytest

from ingestion.sources.http.sockets import MAX_BUFFERED_BYTES, Network

NO_DELAY = (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


@asynccontextmanager
async def connected(serve):
    """Ours of a connection whose other end `serve` has."""
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    stream = await Network().connect_tcp("127.0.0.1", port, 5.0, "127.0.0.1", [NO_DELAY])
    yield stream
    await stream.aclose()
    server.close()


async def test_what_comes_faster_than_it_is_read_waits_and_is_not_lost():
    sent = bytes(range(256)) * 40_000

    async def serve(reader, writer):
        writer.write(sent)
        await writer.drain()
        writer.close()

    came, held = bytearray(), []
    async with connected(serve) as stream:
        while piece := await stream.read(1 << 14, 5.0):
            came += piece
            held.append(len(stream._came))
            await asyncio.sleep(0)
        assert stream.get_extra_info("is_readable")
    assert came == sent
    assert max(held) <= MAX_BUFFERED_BYTES + (1 << 18)  # and what the loop reads at once


async def test_a_portal_that_does_not_take_what_is_sent_is_a_timeout():
    gone = asyncio.Event()

    async def serve(reader, writer):
        await gone.wait()
        writer.close()

    async with connected(serve) as stream:
        with pytest.raises(httpcore.WriteTimeout):
            await stream.write(b"x" * 50_000_000, 0.05)
        gone.set()


async def test_nothing_is_written_to_a_connection_that_is_closed():
    async def serve(reader, writer):
        writer.close()

    async with connected(serve) as stream:
        assert await stream.read(100, 5.0) == b""
        with pytest.raises(httpcore.WriteError):
            await stream.write(b"GET")


async def test_a_name_is_not_resolved_here():
    with pytest.raises(httpcore.ConnectError):
        await Network().connect_tcp("localhost", 9, 5.0)
