"""Writes files that survive a power cut, are hashed while they are written, and are not replaced.

To create a file durably, write it, call `sync`, give it its name, and then call `fsync_folder`.
"""

import hashlib
import os
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, NamedTuple


class FileDigest(NamedTuple):
    """Describes the digest and the size of a file that was written."""

    sha256: str  # in hex
    size: int  # bytes


def append_durably(path: Path, text: str) -> None:
    """Append text to a file. The text is durable when this returns.

    It is one write, so that the texts of two hosts do not mix.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(descriptor, text.encode())
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    fsync_folder(path.parent)


def write_private_file(path: Path, content: bytes) -> None:
    """Create a file that only its owner can read. It exists with its whole content or not at all.

    Raises FileExistsError.
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor, name = tempfile.mkstemp(dir=path.parent)  # with mode 0600, as documented
    try:
        with os.fdopen(descriptor, "wb") as out:
            out.write(content)
            sync(out)
        os.link(name, path)  # unlike a rename, a link replaces no file
    finally:
        Path(name).unlink()
    fsync_folder(path.parent)


def write_chunks(out: IO[bytes], chunks: Iterable[bytes]) -> FileDigest:
    """Write all chunks to an open file, and return their digest."""

    def iter_written() -> Iterator[bytes]:
        for chunk in chunks:
            out.write(chunk)
            yield chunk

    return hash_chunks(iter_written())


def hash_chunks(chunks: Iterable[bytes]) -> FileDigest:
    """Return the digest of all chunks together."""
    digest, size = hashlib.sha256(), 0
    for chunk in chunks:
        digest.update(chunk)
        size += len(chunk)
    return FileDigest(digest.hexdigest(), size)


def hash_file(path: Path) -> FileDigest:
    """Return the digest of a file. Raises OSError."""
    with path.open("rb") as file:
        return FileDigest(hashlib.file_digest(file, "sha256").hexdigest(), path.stat().st_size)


def sync(out: IO[bytes] | IO[str]) -> None:
    """Make everything durable that was written to the file."""
    out.flush()
    os.fsync(out.fileno())


def fsync_folder(folder: Path) -> None:
    """Make the names in a folder durable.

    POSIX guarantees that only after the folder's own fsync.
    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
