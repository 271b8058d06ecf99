"""Copies files for backups, and hashes them meanwhile. This module uses no models."""

from functools import partial
from pathlib import Path
from typing import IO

from audit.files import durable
from audit.files.durable import FileDigest

BLOCK_BYTES = 1 << 20  # bytes in memory at a time


def copy_to_file(source: IO[bytes], target: Path) -> FileDigest:
    """Copy `source` to a new file, which is durable when this returns. Raises OSError."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("xb") as out:
        written = durable.write_chunks(out, iter(partial(source.read, BLOCK_BYTES), b""))
        durable.sync(out)
    durable.fsync_folder(target.parent)
    return written
