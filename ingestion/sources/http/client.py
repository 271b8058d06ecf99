"""One document's fetch: asked for, checked, written down, and every fault named for the core."""

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Self

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
    WorkItem,
)
from ingestion.sources.http import resume
from ingestion.sources.http.address_policy import Resolve, system_resolver
from ingestion.sources.http.allowed_hosts import parse_address
from ingestion.sources.http.connections import PortalConnection
from ingestion.sources.http.download import BodyDownload
from ingestion.sources.http.partial_file import PartialFile
from ingestion.sources.http.redirects import AnotherToken, send_request, skip_token
from ingestion.sources.http.responses import (
    check_size,
    is_unchanged,
    raise_for_status,
    summarise_response,
)
from ingestion.sources.http.throughput import ThroughputGuard


class HttpPortals:
    """One line to each portal: limits, connections and faults of one never touch another.

    An async context manager: leaving it closes every connection. The caller keeps to
    `max_in_flight` and spends a token for each fetch; `another_token` is asked for the further
    requests that redirects within the portal cost.
    """

    def __init__(
        self,
        folder_of: Callable[[WorkItem], Path],
        limits: Limits,
        files: Executor,
        *,
        resolve: Resolve = system_resolver,
        another_token: AnotherToken = skip_token,
    ) -> None:
        self._folder_of = folder_of
        self._limits = limits
        self._files = files
        self._resolve = resolve
        self._another_token = another_token
        self._lines: dict[PortalTerms, PortalConnection] = {}
        self._begun: set[int] = set()  # documents that were asked for, and did not come yet
        self._opening = asyncio.Lock()  # guards _lines

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        for line in self._lines.values():
            await line.aclose()

    async def fetch(self, item: WorkItem) -> Fetched | NotModified:
        """As `core.work.Portal` says."""
        if item.terms is None:
            raise NotServed("an upload has no portal")
        seconds = min(item.terms.timeout_seconds, self._limits.fetch_seconds)
        with translate_errors(seconds):
            async with asyncio.timeout(seconds) as until:
                return await self._get(item, item.terms, until)

    async def _get(
        self, item: WorkItem, terms: PortalTerms, until: asyncio.Timeout, *, is_last: bool = False
    ) -> Fetched | NotModified:
        line, part = await self._line(terms), await self._part(item)
        ranges = resume.build_range_headers(part.kept, part.size)
        condition = {"If-None-Match": item.filed.etag} if item.filed and not ranges else {}
        async with send_request(
            line, item.url, ranges, condition=condition, another_token=self._another_token
        ) as response:
            if is_unchanged(response):
                return NotModified(summarise_response(response) | {"answer": "304 unchanged"})
            if is_last or not await self._is_worth_another(line, response):
                raise_for_status(response)
                return await self._receive(item, part, response, until)
        await self._another_token(terms.key)
        if response.status_code == 304:
            item = replace(item, filed=None)
        return await self._get(item, terms, until, is_last=True)

    async def _part(self, item: WorkItem) -> PartialFile:
        """With what an earlier try left; the first one has nothing to look for."""
        folder = self._folder_of(item)
        if item.document not in self._begun:
            self._begun.add(item.document)
            return PartialFile(folder, item.document)
        part: PartialFile = await self._in_thread(PartialFile.load, folder, item.document)
        return part

    async def _is_worth_another(self, line: PortalConnection, response: httpx.Response) -> bool:
        """It refused a secret that was changed since; or is unsure what it said is unchanged."""
        if response.status_code == 401:
            return await line.has_news_for(response.request, self._in_thread)
        return response.status_code == 304 and "If-None-Match" in response.request.headers

    async def _receive(
        self, item: WorkItem, part: PartialFile, response: httpx.Response, until: asyncio.Timeout
    ) -> Fetched:
        limits = self._limits
        try:
            start = resume.locate_body(response, part.kept, part.size, item.expected_sha256)
        except BodyTruncated:
            await self._in_thread(part.drop)
            raise
        total = start.kept.total
        check_size(total or 0, limits.max_bytes)
        part.begin(start.kept, start.offset)
        # Read now: afterwards the connection belongs to another request, or to nobody.
        facts = summarise_response(response)
        pace = ThroughputGuard(limits.bytes_per_second, limits.pace_seconds)
        transfer = BodyDownload(part, pace, limits.max_bytes, self._in_thread)
        if start.has_body:
            left = (total or limits.max_bytes) - start.offset
            until.reschedule((until.when() or 0.0) + left / limits.bytes_per_second)
            path, sha256, size = await transfer.run(response)
        else:
            path, sha256, size = await transfer.finish()
        self._begun.discard(item.document)
        # Of another address it would mean nothing.
        etag = (
            resume.get_strong_etag(response.headers)
            if response.url == parse_address(item.url)
            else ""
        )
        return Fetched(path, sha256, size, facts=facts, etag=etag)

    async def _line(self, terms: PortalTerms) -> PortalConnection:
        async with self._opening:
            if terms not in self._lines:
                line = await self._in_thread(
                    PortalConnection.open, terms, self._limits, self._resolve
                )
                self._lines[terms] = line
            return self._lines[terms]

    async def _in_thread(self, work: Callable[..., Any], *args: Any) -> Any:
        """Whatever touches the disk. Raises StorageUnavailable where that refuses."""
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._files, partial(work, *args))
        except OSError as error:
            raise StorageUnavailable(f"the spool refused the bytes: {error}") from error


@contextmanager
def translate_errors(seconds: float) -> Iterator[None]:
    """The faults of the library and the network as the core's; `seconds` is the total timeout."""
    try:
        yield
    except TimeoutError as error:
        raise PortalUnreachable(f"no answer within {seconds:g} s", seconds=int(seconds)) from error
    except (httpx.RemoteProtocolError, httpx.ReadError) as error:
        raise BodyTruncated(f"the answer broke off: {error}") from error
    except (httpx.TransportError, OSError) as error:
        # OSError: TLS alerts after the handshake pass through the library as they are.
        raise PortalUnreachable(f"{type(error).__name__}: {error}") from error
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise NotServed(f"{type(error).__name__}: {error}") from error
