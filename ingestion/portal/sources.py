"""Where documents come from: uploads are in the spool already, everything else is asked for."""

import os
from pathlib import Path

from ingestion.core.errors import StorageUnavailable
from ingestion.core.work import Fetched, Portal, Unchanged, WorkItem


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
    """The core's Portal."""

    def __init__(self, portals: Portal, spool_root: Path) -> None:
        self._portals = portals
        self._spool_root = spool_root

    async def fetch(self, item: WorkItem) -> Fetched | Unchanged:
        if item.terms is not None:
            return await self._portals.fetch(item)
        path = self._spool_root / item.spooled
        if not os.access(path, os.R_OK):
            raise StorageUnavailable(f"the spool lost {item.spooled}")
        # Hashed when it was spooled, before it was registered.
        return Fetched(path, item.expected_sha256, item.size)
