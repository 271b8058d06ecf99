"""Scans every file for viruses before it is read: the interface, and its implementation for clamd.

Scanning is off by default. If a configured scanner does not answer, the document is
held until it does: it is neither read nor rejected.
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

CHUNK_BYTES = 1 << 18  # bytes of the file that are sent at a time
_CLOSED = "it closed the connection, as it does if a file exceeds its StreamMaxLength"


class VirusScanner(Protocol):
    """The interface of a virus scanner."""

    async def scan(self, path: Path) -> str:
        """Return the scanner's name of the virus that it found, or "".

        Raises ScannerUnavailable.
        """
        ...


@dataclass(frozen=True, slots=True)
class ClamdScanner:
    """Uses ClamAV's daemon with INSTREAM of clamd(8), which needs no access to files."""

    host: str  # without a port, the path of a Unix socket
    port: int = 0
    timeout_seconds: float = 120.0  # for one file

    @classmethod
    def at(cls, address: str) -> Self:
        """Parse `unix:/run/clamav/clamd.ctl` or `tcp://host:3310`. Raises ValueError."""
        parts = urlsplit(address)
        if parts.scheme == "unix" and parts.path and not parts.netloc:
            return cls(parts.path)
        if parts.scheme == "tcp" and parts.hostname and parts.port:
            return cls(parts.hostname, parts.port)
        raise ValueError(f"{address!r} is no address of clamd")

    async def scan(self, path: Path) -> str:
        """Return the name of the virus that clamd finds in the file, or "".

        Raises ScannerUnavailable if clamd does not answer within `timeout_seconds`.
        """
        try:
            async with asyncio.timeout(self.timeout_seconds), self._connect() as (reader, writer):
                response = await _send_file(path, reader, writer)
        except (OSError, TimeoutError) as error:
            raise ScannerUnavailable(f"clamd: {type(error).__name__} {error}") from error
        found = response.removeprefix("stream: ")
        if found == "OK":
            return ""
        if found.endswith(" FOUND"):
            return found.removesuffix(" FOUND")
        raise ScannerUnavailable(f"clamd did not scan it: {response or _CLOSED}")

    @asynccontextmanager
    async def _connect(
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


async def _send_file(path: Path, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> str:
    """Send a file with INSTREAM, and return the response."""
    response = asyncio.create_task(reader.readuntil(b"\0"))
    try:
        # clamd may respond and close the connection before it has received the whole file.
        with suppress(ConnectionError), path.open("rb") as file:
            writer.write(b"zINSTREAM\0")
            while chunk := await asyncio.to_thread(file.read, CHUNK_BYTES):
                writer.write(len(chunk).to_bytes(4, "big") + chunk)
                await writer.drain()
            writer.write(bytes(4))
            await writer.drain()
        return (await response).rstrip(b"\0").decode(errors="replace")
    except asyncio.IncompleteReadError as error:
        return error.partial.decode(errors="replace")
    except ConnectionError:  # a response that was not read yet is lost with the connection
        return ""
    finally:
        response.cancel()


def get_scanner() -> VirusScanner | None:
    """Return the scanner that the settings configure, or None."""
    return ClamdScanner.at(settings.CLAMD) if settings.CLAMD else None
