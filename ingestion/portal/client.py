"""The downloader: httpx2 behind the core's fetch port.

Streams to a spool file while the bytes are hashed and counted, in a thread: nothing blocks the
loop. Each request has httpx2's own timeouts, which name the fault, and one total timeout around
it, which a portal that drips a byte a second cannot outlive.
"""

import asyncio
import email.utils
import hashlib
import ipaddress
import math
import os
import socket
from collections.abc import Mapping
from concurrent.futures import Executor
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2 as httpx

from ingestion.core.errors import (
    BodyTruncated,
    ChecksumMismatch,
    NotServed,
    PortalFailing,
    PortalThrottled,
    PortalUnreachable,
    StorageUnavailable,
    TooLarge,
    TransientError,
)
from ingestion.core.limits import Limits
from ingestion.core.work import Fetched, PortalTerms, WorkItem

BLOCK = 1 << 18  # bytes handed to the disk at a time

HEALING = frozenset({408, 425, 500, 502, 503, 504})  # answers that another try may change


class _SpoolFile:
    """A file that hashes and counts what is written. Used by one thread at a time."""

    def __init__(self, path: Path, max_bytes: int) -> None:
        self._path = path
        self._file = path.open("wb")
        self._digest = hashlib.sha256()
        self._size, self._max_bytes = 0, max_bytes

    def write(self, block: bytes) -> None:
        """Raises TooLarge before the byte too many is written."""
        refuse_size(self._size + len(block), self._max_bytes)
        self._file.write(block)
        self._digest.update(block)
        self._size += len(block)

    def finish(self, announced: str | None) -> Fetched:
        """Raises BodyTruncated unless all announced bytes came."""
        self._file.close()
        if announced is not None and self._size != int(announced):
            raise BodyTruncated(f"{self._size} of {announced} bytes came")
        return Fetched(self._path, self._digest.hexdigest(), self._size)

    def discard(self) -> None:
        self._file.close()
        self._path.unlink(missing_ok=True)


def refuse_size(size: int, max_bytes: int) -> None:
    """Raises TooLarge."""
    if size > max_bytes:
        raise TooLarge(size_mb=math.ceil(size / 1e6), limit_mb=round(max_bytes / 1e6))


class HttpPortals:
    """One client for each portal: limits, connections and faults of one never touch another.

    An async context manager: leaving it closes every connection.
    """

    def __init__(self, folder_of: "FolderOf", limits: Limits, files: Executor) -> None:
        self._folder_of = folder_of
        self._limits = limits
        self._files = files
        self._clients: dict[str, httpx.AsyncClient] = {}

    async def __aenter__(self) -> "HttpPortals":
        return self

    async def __aexit__(self, *exception: object) -> None:
        for client in self._clients.values():
            await client.aclose()

    async def fetch(self, item: WorkItem) -> Fetched:
        """As `core.work.Portal` says."""
        if item.terms is None:
            raise NotServed("an upload has no portal")
        seconds = min(item.terms.timeout_seconds, self._limits.fetch_seconds)
        try:
            async with asyncio.timeout(seconds):
                return await self._get(item, item.terms)
        except TimeoutError as error:
            raise PortalUnreachable(
                f"no answer within {seconds:g} s", seconds=int(seconds)
            ) from error
        except (httpx.RemoteProtocolError, httpx.ReadError) as error:
            raise BodyTruncated(f"the answer broke off: {error}") from error
        except httpx.TransportError as error:
            raise PortalUnreachable(f"{type(error).__name__}: {error}") from error
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise NotServed(f"{type(error).__name__}: {error}") from error
        except OSError as error:
            raise StorageUnavailable(f"the spool refused the bytes: {error}") from error

    async def _get(self, item: WorkItem, terms: PortalTerms) -> Fetched:
        await _refuse_private(item.url, terms)
        async with self._client(terms).stream("GET", item.url) as response:
            _raise_for_status(response)
            announced = response.headers.get("Content-Length", "0")
            refuse_size(int(announced) if announced.isdecimal() else 0, self._limits.max_bytes)
            fetched = await self._spool(item, response)
        if item.expected_sha256 and fetched.sha256 != item.expected_sha256:
            raise ChecksumMismatch(expected=item.expected_sha256, found=fetched.sha256)
        return fetched

    async def _spool(self, item: WorkItem, response: httpx.Response) -> Fetched:
        in_thread = partial(asyncio.get_running_loop().run_in_executor, self._files)
        path = self._folder_of(item) / f"{item.document}.{item.tries}"
        file = await in_thread(_SpoolFile, path, self._limits.max_bytes)
        try:
            async for block in response.aiter_raw(BLOCK):
                await in_thread(file.write, block)
            return await in_thread(file.finish, response.headers.get("Content-Length"))
        except BaseException:
            # Not awaited: this runs on cancellation too, and unlinking a name is quick.
            file.discard()
            raise

    def _client(self, terms: PortalTerms) -> httpx.AsyncClient:
        if terms.key not in self._clients:
            limits = self._limits
            self._clients[terms.key] = httpx.AsyncClient(
                timeout=httpx.Timeout(
                    limits.read_seconds, connect=limits.connect_seconds, pool=None
                ),
                # A slot in flight is a connection: nobody ever waits for the pool.
                limits=httpx.Limits(
                    max_connections=None, max_keepalive_connections=terms.max_in_flight
                ),
                headers={"Accept-Encoding": "identity", "User-Agent": "SiteLedger"},
                follow_redirects=False,
                trust_env=False,  # a proxy variable would carry us past the checks above
            )
        return self._clients[terms.key]


class FolderOf:
    """Where an item's bytes are spooled: the folder of its chunk's lease."""

    def __init__(self) -> None:
        self._folders: dict[int, Path] = {}

    def __call__(self, item: WorkItem) -> Path:
        return self._folders[item.chunk]

    def set(self, chunk: int, folder: Path) -> None:
        self._folders[chunk] = folder

    def forget(self, chunk: int) -> None:
        self._folders.pop(chunk, None)


def _raise_for_status(response: httpx.Response) -> None:
    status = response.status_code
    if status == 200:
        if response.headers.get("Content-Encoding", "identity") != "identity":
            raise NotServed("the portal sent an encoding that we did not accept", status=status)
        return
    error: TransientError
    if status == 429:
        error = PortalThrottled("429: the portal asked us to slow down", status=status)
    elif status in HEALING:
        error = PortalFailing(f"{status}: the portal cannot serve just now", status=status)
    else:
        raise NotServed(f"the portal answered {status}", status=status)
    error.retry_after = retry_after(response.headers)
    raise error


def retry_after(headers: Mapping[str, str], *, now: datetime | None = None) -> float | None:
    """Seconds, from either form of the header (RFC 9110, 10.2.3); None when there is none.

    A date is compared with the answer's own Date header where there is one: the portal's clock
    need not be ours.
    """
    value = headers.get("Retry-After", "").strip()
    if value.isdecimal():
        return float(value)
    until = _http_date(value)
    if until is None:
        return None
    since = _http_date(headers.get("Date", "")) or now or datetime.now(UTC)
    return max(0.0, (until - since).total_seconds())


def _http_date(value: str) -> datetime | None:
    with suppress(TypeError, ValueError):
        parsed = email.utils.parsedate_to_datetime(value)
        return parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)
    return None


async def _refuse_private(url: str, terms: PortalTerms) -> None:
    """Every address of the host has to be a public one, unless the portal may be private.

    A portal that points into our own network would read it for whoever wrote the manifest.
    """
    if terms.allow_private_hosts:
        return
    parts = urlsplit(url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    loop = asyncio.get_running_loop()
    try:
        found: list[Any] = await loop.getaddrinfo(parts.hostname, port, type=socket.SOCK_STREAM)
    except socket.gaierror as error:
        raise PortalUnreachable(f"{parts.hostname} has no address: {error}") from error
    for *_, address in found:
        if not ipaddress.ip_address(address[0]).is_global:
            raise NotServed(f"{parts.hostname} is not a public address", status=0)


class Sources:
    """The core's Portal: uploads are in the spool already, everything else is asked for."""

    def __init__(self, portals: HttpPortals, spool_root: Path) -> None:
        self._portals = portals
        self._spool_root = spool_root

    async def fetch(self, item: WorkItem) -> Fetched:
        if item.terms is not None:
            return await self._portals.fetch(item)
        path = self._spool_root / item.spooled
        if not os.access(path, os.R_OK):
            raise StorageUnavailable(f"the spool lost {item.spooled}")
        # Hashed when it was spooled, before it was registered.
        return Fetched(path, item.expected_sha256, item.size)
