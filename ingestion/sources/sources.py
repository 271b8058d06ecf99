"""Where documents come from: uploads are in the spool already, everything else is asked for."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from pathlib import Path

from ingestion.core.ports import (
    Fetched,
    Portal,
    Unchanged,
    WorkItem,
)


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


class Sources:
    """The core's Portal. `local` answers the file of an upload, and may copy it into a folder."""

    def __init__(
        self,
        portals: Portal,
        folders: Callable[[WorkItem], Path],
        files: Executor,
        local: Callable[[str, Path], Path],
    ) -> None:
        self._portals = portals
        self._folders = folders
        self._files = files
        self._local = local

    async def fetch(self, item: WorkItem) -> Fetched | Unchanged:
        if item.terms is not None:
            return await self._portals.fetch(item)
        loop, folder = asyncio.get_running_loop(), self._folders(item)
        path = await loop.run_in_executor(self._files, self._local, item.spooled, folder)
        # Hashed when it was spooled, before it was registered.
        return Fetched(path, item.expected_sha256, item.size)
