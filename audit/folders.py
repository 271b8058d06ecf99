"""Files that survive a power cut, and are never replaced by accident."""

import os
import tempfile
from pathlib import Path


def append(path: Path, text: str) -> None:
    """Durable at the end of a file when this returns. One write, so that two hosts never mix."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(descriptor, text.encode())
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    fsync_folder(path.parent)


def write_secret(path: Path, content: bytes) -> None:
    """A new file that its owner alone can read: whole or not there. Raises FileExistsError."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor, name = tempfile.mkstemp(dir=path.parent)  # mode 0600, says its documentation
    try:
        with os.fdopen(descriptor, "wb") as out:
            out.write(content)
            out.flush()
            os.fsync(out.fileno())
        os.link(name, path)  # unlike a rename it replaces nothing
    finally:
        Path(name).unlink()
    fsync_folder(path.parent)


def fsync_folder(folder: Path) -> None:
    """Make a name in this folder durable: POSIX promises it only after the folder's own fsync."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
