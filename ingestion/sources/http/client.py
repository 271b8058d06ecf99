"""Fetches documents from HTTP portals: request, checks, bytes on disk, and the core's errors."""

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Self

import anyio.lowlevel
import httpx2 as httpx

from ingestion.core.errors import (
    BodyTruncated,
    NotServed,
    PortalUnreachable,
    StorageUnavailable,
)
from ingestion.core.limits import Limits
from ingestion.core.ports import (
    Fetched,
    NotModified,
    PortalTerms,
    WaitForSlot,
    WorkItem,
)
from ingestion.sources.address_policy import Resolve, resolve_host
from ingestion.sources.http import resume
from ingestion.sources.http.allowed_hosts import parse_address
from ingestion.sources.http.connections import PortalConnection
from ingestion.sources.http.download import BodyDownload
from ingestion.sources.http.partial_file import PartialFile
from ingestion.sources.http.redirects import send_request, skip_wait
from ingestion.sources.http.responses import (
    check_size,
    is_unchanged,
    raise_for_status,
    summarise_response,
)
from ingestion.sources.http.throughput import ThroughputGuard


async def load_backend() -> None:
    """Import what the connection pool imports with the first request of a process.

    It takes 20 ms. If it ran with the first request, that would reach the portal too late after its
    slot.
    """
    await anyio.lowlevel.checkpoint()


class HttpPortals:
    """Fetches from any number of portals. Their limits, connections and errors are independent.

    An async context manager, which closes every connection at its end. The caller respects
    `max_in_flight` and reserves a slot for each fetch. `wait_for_slot` is awaited before each
    further request of a fetch, for example for a redirect within the portal.
    """

    def __init__(
        self,
        folder_of: Callable[[WorkItem], Path],
        limits: Limits,
        files: Executor,
        *,
        resolve: Resolve = resolve_host,
        wait_for_slot: WaitForSlot = skip_wait,
    ) -> None:
        self._folder_of = folder_of
        self._limits = limits
        self._files = files
        self._resolve = resolve
        self._wait_for_slot = wait_for_slot
        self._connections: dict[PortalTerms, PortalConnection] = {}
        self._opening = asyncio.Lock()  # guards _connections
        self._requested: set[int] = set()  # documents whose first request did not complete

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        for connection in self._connections.values():
            await connection.aclose()

    async def prepare(self, terms: PortalTerms) -> None:
        """Prepare the connection to a portal, without a request.

        The first connection of a process takes a while: modules, certificates and secrets are read.
        A request has to follow its slot at once, so this is done before slots are reserved.
        """
        # The first fetch raises any error again, and then it concerns one document alone.
        with suppress(Exception):
            async with asyncio.timeout(self._total_seconds(terms)):
                await self._connection(terms)
                await load_backend()

    async def fetch(self, item: WorkItem) -> Fetched | NotModified:
        """Implement `core.ports.DocumentFetcher.fetch`."""
        if item.terms is None:
            raise NotServed("an upload has no portal")
        seconds = self._total_seconds(item.terms)
        with translate_errors(seconds):
            async with asyncio.timeout(seconds) as total_timeout:
                return await self._request(item, item.terms, total_timeout)

    def _total_seconds(self, terms: PortalTerms) -> float:
        return min(terms.timeout_seconds, self._limits.fetch_seconds)

    async def _request(
        self,
        item: WorkItem,
        terms: PortalTerms,
        total_timeout: asyncio.Timeout,
        *,
        is_last: bool = False,
    ) -> Fetched | NotModified:
        """Request the document, and once more if the response allows a better request."""
        connection, part = await self._connection(terms), await self._part(item)
        ranges = resume.build_range_headers(part.state, part.size)
        condition = {"If-None-Match": item.filed.etag} if item.filed and not ranges else {}
        async with send_request(
            connection, item.url, ranges, condition=condition, wait_for_slot=self._wait_for_slot
        ) as response:
            if is_unchanged(response):
                return NotModified(summarise_response(response) | {"answer": "304 unchanged"})
            has_new_credentials = response.status_code == 401 and (
                await connection.reload_credentials(response.request, self._in_thread)
            )
            # The portal answered 304, but did not name the ETag that was sent.
            is_uncertain = (
                response.status_code == 304 and "If-None-Match" in response.request.headers
            )
            if is_last or not (has_new_credentials or is_uncertain):
                raise_for_status(response)
                return await self._receive(item, part, response, total_timeout)
        await self._wait_for_slot(terms.key)
        if is_uncertain:
            item = replace(item, filed=None)
        return await self._request(item, terms, total_timeout, is_last=True)

    async def _part(self, item: WorkItem) -> PartialFile:
        """Return the file for the bytes, with those of an earlier request if there was one."""
        folder = self._folder_of(item)
        if item.document not in self._requested:
            self._requested.add(item.document)
            return PartialFile(folder, item.document)
        part: PartialFile = await self._in_thread(PartialFile.load, folder, item.document)
        return part

    async def _receive(
        self,
        item: WorkItem,
        part: PartialFile,
        response: httpx.Response,
        total_timeout: asyncio.Timeout,
    ) -> Fetched:
        limits = self._limits
        try:
            start = resume.locate_body(response, part.state, part.size, item.expected_sha256)
        except BodyTruncated:
            await self._in_thread(part.drop)
            raise
        total = start.state.total
        check_size(total or 0, limits.max_bytes)
        part.begin(start.state, start.offset)
        # Before the body is read: afterwards the connection may serve another request.
        facts = summarise_response(response)
        throughput = ThroughputGuard(limits.bytes_per_second, limits.pace_seconds)
        download = BodyDownload(part, throughput, limits.max_bytes, self._in_thread)
        if start.has_body:
            left = (total or limits.max_bytes) - start.offset
            extra_seconds = left / limits.bytes_per_second
            total_timeout.reschedule((total_timeout.when() or 0.0) + extra_seconds)
            path, sha256, size = await download.run(response)
        else:
            path, sha256, size = await download.finish()
        self._requested.discard(item.document)
        # The ETag of another address, after a redirect, says nothing about this one.
        is_own_address = response.url == parse_address(item.url)
        etag = resume.get_strong_etag(response.headers) if is_own_address else ""
        return Fetched(path, sha256, size, facts=facts, etag=etag)

    async def _connection(self, terms: PortalTerms) -> PortalConnection:
        async with self._opening:
            if terms not in self._connections:
                self._connections[terms] = await self._in_thread(
                    PortalConnection.open, terms, self._limits, self._resolve
                )
            return self._connections[terms]

    async def _in_thread(self, work: Callable[..., Any], *args: Any) -> Any:
        """Run `work` in a thread for files. Raises StorageUnavailable if the disk fails."""
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._files, partial(work, *args))
        except OSError as error:
            raise StorageUnavailable(f"the spool did not store the bytes: {error}") from error


@contextmanager
def translate_errors(seconds: float) -> Iterator[None]:
    """Raise errors of the network and of httpx2 as those of the core.

    `seconds` is the total timeout, for the message.
    """
    try:
        yield
    except TimeoutError as error:
        raise PortalUnreachable(f"no answer within {seconds:g} s", seconds=int(seconds)) from error
    except (httpx.RemoteProtocolError, httpx.ReadError) as error:
        raise BodyTruncated(f"the response ended early: {error}") from error
    except (httpx.TransportError, OSError) as error:
        # OSError: the library does not translate TLS alerts after the handshake.
        raise PortalUnreachable(f"{type(error).__name__}: {error}") from error
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise NotServed(f"{type(error).__name__}: {error}") from error
