"""The document source: takes uploads from the spool, and other documents from portals."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from pathlib import Path

from ingestion.core.ports import (
    DocumentFetcher,
    Fetched,
    NotModified,
    WorkItem,
)


class LeaseFolders:
    """Folders for the bytes of work items: one folder for each lease of a chunk."""

    def __init__(self) -> None:
        self._folders: dict[int, Path] = {}

    def __call__(self, item: WorkItem) -> Path:
        return self._folders[item.chunk]

    def set(self, chunk: int, folder: Path) -> None:
        self._folders[chunk] = folder

    def forget(self, chunk: int) -> None:
        self._folders.pop(chunk, None)


class DocumentSource:
    """Implements the core's port `DocumentFetcher` for uploads and for documents of portals.

    `open_upload(key, folder)` returns the path of an upload's file. It may copy the file into the
    folder, for example from S3. It runs in `files`, because it blocks.
    """

    def __init__(
        self,
        portals: DocumentFetcher,
        folders: Callable[[WorkItem], Path],
        files: Executor,
        open_upload: Callable[[str, Path], Path],
    ) -> None:
        self._portals = portals
        self._folders = folders
        self._files = files
        self._open_upload = open_upload

    async def fetch(self, item: WorkItem) -> Fetched | NotModified:
        if item.terms is not None:
            return await self._portals.fetch(item)
        loop, folder = asyncio.get_running_loop(), self._folders(item)
        path = await loop.run_in_executor(self._files, self._open_upload, item.spooled, folder)
        # The digest was computed before the upload was registered.
        return Fetched(path, item.expected_sha256, item.size)
