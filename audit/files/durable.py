"""Files that survive a power cut, are hashed as they are written, and are replaced by nothing.

Who makes a file `sync`s it, gives it its name, and then calls `fsync_folder`.
"""

import hashlib
import os
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, NamedTuple


class FileDigest(NamedTuple):
    sha256: str
    size: int  # bytes


def append_durably(path: Path, text: str) -> None:
    """Durable at the end of a file when this returns. One write, so that two hosts never mix."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(descriptor, text.encode())
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    fsync_folder(path.parent)


def write_private_file(path: Path, content: bytes) -> None:
    """A new file that its owner alone can read: whole or not there. Raises FileExistsError."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor, name = tempfile.mkstemp(dir=path.parent)  # mode 0600, says its documentation
    try:
        with os.fdopen(descriptor, "wb") as out:
            out.write(content)
            sync(out)
        os.link(name, path)  # unlike a rename it replaces nothing
    finally:
        Path(name).unlink()
    fsync_folder(path.parent)


def write_chunks(out: IO[bytes], chunks: Iterable[bytes]) -> FileDigest:
    """All of them into an open file."""

    def written() -> Iterator[bytes]:
        for chunk in chunks:
            out.write(chunk)
            yield chunk

    return digest_of_chunks(written())


def digest_of_chunks(chunks: Iterable[bytes]) -> FileDigest:
    digest, size = hashlib.sha256(), 0
    for chunk in chunks:
        digest.update(chunk)
        size += len(chunk)
    return FileDigest(digest.hexdigest(), size)


def digest_of_file(path: Path) -> FileDigest:
    """What lies there. Raises OSError."""
    with path.open("rb") as file:
        return FileDigest(hashlib.file_digest(file, "sha256").hexdigest(), path.stat().st_size)


def sync(out: IO[bytes] | IO[str]) -> None:
    """Make what was written to it durable."""
    out.flush()
    os.fsync(out.fileno())


def fsync_folder(folder: Path) -> None:
    """Make a name in this folder durable: POSIX promises it only after the folder's own fsync."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
