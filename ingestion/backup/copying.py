"""Bytes on their way into a backup and out of it: hashed as they go. No Django models."""

import hashlib
import os
from pathlib import Path
from typing import IO, NamedTuple

from ingestion.stores.archive import fsync_folder

BLOCK = 1 << 20  # bytes in memory at a time


class Copied(NamedTuple):
    sha256: str
    size: int  # bytes


def copied(source: IO[bytes], target: Path) -> Copied:
    """All of it into a new file, durable when this returns. Raises OSError."""
    target.parent.mkdir(parents=True, exist_ok=True)
    digest, size = hashlib.sha256(), 0
    with target.open("xb") as out:
        while block := source.read(BLOCK):
            out.write(block)
            digest.update(block)
            size += len(block)
        out.flush()
        os.fsync(out.fileno())
    fsync_folder(target.parent)
    return Copied(digest.hexdigest(), size)


def weighed(path: Path) -> Copied:
    """What lies there. Raises OSError."""
    with path.open("rb") as opened:
        return Copied(hashlib.file_digest(opened, "sha256").hexdigest(), path.stat().st_size)
