"""Selects the source of each document: the spool, the archive, or the client of its portal.

Uploads are in the spool. A part of a file is read from the archived file.

Each kind of source implements the core's port `DocumentFetcher` and is registered in
`SOURCE_KINDS` under the schemes of the addresses that it serves. To add a kind, write its client in
a package beside `ingestion.sources.http`, register it here, and add its scheme to
`sites.portal_origin`.
"""

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Protocol, Self

from ingestion.core.errors import NotServed
from ingestion.core.limits import Limits
from ingestion.core.ports import (
    DocumentFetcher,
    Fetched,
    NotModified,
    PortalTerms,
    WaitForSlot,
    WorkItem,
)
from ingestion.sources.approved_origin import require_approved_origin
from ingestion.sources.http.client import HttpPortals

FolderOf = Callable[[WorkItem], Path]


class PortalClient(DocumentFetcher, Protocol):
    """Fetches the documents of all portals of one kind.

    `DocumentSource` calls `fetch` only for portals whose address a second person approved. A client
    that connects to hosts of portals keeps to `sources.address_policy`.
    """

    async def prepare(self, terms: PortalTerms) -> None:
        """Do what the first request to a portal needs, without a request. Raises no error."""
        ...


class SourceKind(Protocol):
    """Creates the client of all portals of one kind. It is opened and closed with the shift.

    `folder_of` returns where the bytes of an item belong, and `files` runs all work on files.
    `wait_for_slot` is awaited before each request beyond the first one of a fetch, so that it
    counts against the rate of the portal.
    """

    def __call__(
        self, folder_of: FolderOf, limits: Limits, files: Executor, *, wait_for_slot: WaitForSlot
    ) -> AbstractAsyncContextManager[PortalClient]: ...


SOURCE_KINDS: Mapping[tuple[str, ...], SourceKind] = {("https", "http"): HttpPortals}


class LeaseFolders:
    """Folders for the bytes of work items: one folder for each lease of a chunk."""

    def __init__(self) -> None:
        self._folders: dict[int, Path] = {}

    def __call__(self, item: WorkItem) -> Path:
        return self._folders[item.chunk]

    def set(self, chunk: int, folder: Path) -> None:
        """Remember the folder of a leased chunk."""
        self._folders[chunk] = folder

    def forget(self, chunk: int) -> None:
        """Forget the folder of a chunk, if it is known."""
        self._folders.pop(chunk, None)


class DocumentSource:
    """Implements the core's port `DocumentFetcher` for uploads and for documents of portals.

    It is an async context manager, which opens and closes the clients of all kinds of portals.

    `open_upload(key, folder)` returns the path of an upload's file. It may copy the file into the
    folder, for example from S3. `open_archived(sha256, folder)` does the same for a file of the
    archive. `keep(document, fetched)` keeps the bytes from a portal until the document is decided.
    All of them run in `files`, because they block.
    """

    def __init__(  # noqa: PLR0913 - the places of the bytes of one shift
        self,
        folder_of: FolderOf,
        limits: Limits,
        files: Executor,
        *,
        open_upload: Callable[[str, Path], Path],
        open_archived: Callable[[str, Path], Path],
        keep: Callable[[int, Fetched], None],
        wait_for_slot: WaitForSlot,
    ) -> None:
        self._folder_of = folder_of
        self._limits = limits
        self._files = files
        self._open_upload = open_upload
        self._open_archived = open_archived
        self._keep = keep
        self._wait_for_slot = wait_for_slot
        self._clients: dict[str, PortalClient] = {}  # by scheme
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        for schemes, kind in SOURCE_KINDS.items():
            client = await self._stack.enter_async_context(
                kind(self._folder_of, self._limits, self._files, wait_for_slot=self._wait_for_slot)
            )
            self._clients |= dict.fromkeys(schemes, client)
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self._stack.aclose()

    async def prepare(self, terms: PortalTerms | None) -> None:
        """Prepare requests to a portal, before its queue reserves slots. None: an upload."""
        if terms and (client := self._clients.get(_scheme_of(terms))):
            await client.prepare(terms)

    async def fetch(self, item: WorkItem) -> Fetched | NotModified:
        """Fetch a document from its portal, or open its uploaded file.

        Raises NotServed if no client serves the scheme of its address, and the client's errors.
        """
        if item.kept is not None:
            return item.kept
        if item.terms is not None:
            scheme = _scheme_of(item.terms)
            if client := self._clients.get(scheme):
                require_approved_origin(item.terms)
                fetched = await client.fetch(item)
                if isinstance(fetched, Fetched):
                    if item.terms.is_mirror:  # its ETag is not one of the portal
                        facts = {**fetched.facts, "mirror": item.terms.key}
                        fetched = replace(fetched, etag="", facts=facts)
                    loop = asyncio.get_running_loop()
                    await loop.run_in_executor(self._files, self._keep, item.document, fetched)
                return fetched
            raise NotServed(f"SiteLedger has no client for {scheme} addresses")
        loop, folder = asyncio.get_running_loop(), self._folder_of(item)
        # A part that is checked again after a correction has a copy of its file in the spool.
        open_file = self._open_upload if item.spooled else self._open_archived
        key = item.spooled or item.expected_sha256
        path = await loop.run_in_executor(self._files, open_file, key, folder)
        # The digest was computed before the document was registered.
        return Fetched(path, item.expected_sha256, item.size)


def _scheme_of(terms: PortalTerms) -> str:
    return terms.base_url.partition(":")[0].lower()
