"""A virus scanner that sees every file before we read it: a port, and clamd behind it.

Off by default (decision 18). Where one is set and does not answer, nothing is read and nothing is
refused: the document is held until it does.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, Self
from urllib.parse import urlsplit

from django.conf import settings

from ingestion.core.errors import ScannerUnavailable

FRAME_BYTES = 1 << 18  # bytes of the file that are sent at a time


class VirusScanner(Protocol):
    async def scan(self, path: Path) -> str:
        """What was found, by the scanner's own name for it; "" when nothing was.

        Raises ScannerUnavailable.
        """
        ...


@dataclass(frozen=True, slots=True)
class ClamdScanner:
    """ClamAV's daemon, by the INSTREAM command of clamd(8): it needs no access to our files."""

    host: str  # or, without a port, the path of a Unix socket
    port: int = 0
    seconds: float = 120.0  # one file, in all

    @classmethod
    def at(cls, address: str) -> Self:
        """`unix:/run/clamav/clamd.ctl` or `tcp://host:3310`. Raises ValueError."""
        parts = urlsplit(address)
        if parts.scheme == "unix" and parts.path and not parts.netloc:
            return cls(parts.path)
        if parts.scheme == "tcp" and parts.hostname and parts.port:
            return cls(parts.hostname, parts.port)
        raise ValueError(f"{address!r} is no address of clamd")

    async def scan(self, path: Path) -> str:
        try:
            async with asyncio.timeout(self.seconds), self._connected() as (reader, writer):
                answer = await _answer(path, reader, writer)
        except (OSError, TimeoutError) as error:
            raise ScannerUnavailable(f"clamd: {type(error).__name__} {error}") from error
        found = answer.removeprefix("stream: ")
        if found == "OK":
            return ""
        if found.endswith(" FOUND"):
            return found.removesuffix(" FOUND")
        # It hangs up when a file is longer than its own StreamMaxLength, and mostly says so.
        raise ScannerUnavailable(f"clamd did not scan it: {answer!r}")

    @asynccontextmanager
    async def _connected(
        self,
    ) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
        if self.port:
            reader, writer = await asyncio.open_connection(self.host, self.port)
        else:
            reader, writer = await asyncio.open_unix_connection(self.host)
        try:
            yield reader, writer
        finally:
            writer.transport.abort()


async def _answer(path: Path, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> str:
    answering = asyncio.create_task(reader.readuntil(b"\0"))
    try:
        with suppress(ConnectionError):  # it may have answered before it hung up
            await _instream(path, writer)
        return (await answering).rstrip(b"\0").decode(errors="replace")
    except asyncio.IncompleteReadError as error:
        return error.partial.decode(errors="replace")
    finally:
        answering.cancel()


async def _instream(path: Path, writer: asyncio.StreamWriter) -> None:
    writer.write(b"zINSTREAM\0")
    with path.open("rb") as file:
        while frame := await asyncio.to_thread(file.read, FRAME_BYTES):
            writer.write(len(frame).to_bytes(4, "big") + frame)
            await writer.drain()
    writer.write(bytes(4))
    await writer.drain()


def get_scanner() -> VirusScanner | None:
    """The one that the settings name."""
    return ClamdScanner.at(settings.CLAMD) if settings.CLAMD else None
