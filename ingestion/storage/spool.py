"""Where bytes wait before they are archived.

`uploads/` holds what people sent, durable and hashed before it is registered; it stays until its
document is settled. It is a port like the archive, which STORAGES["spool"] fills: a folder here, or
S3 (`buckets`) where what one host took in is read by another. `attempts/<lease>/` holds
what a shift fetches, always on its own host, and goes when the lease ends.
"""

import os
import shutil
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol, cast

from django.conf import settings
from django.core.files.storage import storages

from audit.files import durable
from audit.files.durable import FileDigest
from ingestion.core.errors import StorageUnavailable


@dataclass(frozen=True, slots=True)
class SpooledFile:
    key: str  # below the spool's root
    sha256: str
    size: int  # bytes


class Spool(Protocol):
    """Uploads by their key, `uploads/<uuid>`. Nobody ever writes to what is kept."""

    def keep(self, key: str, chunks: Iterable[bytes]) -> FileDigest:
        """Durable, with its SHA-256 and size; or not there at all. Raises OSError."""
        ...

    def copy(self, key: str, other: str) -> None:
        """Raises OSError."""
        ...

    def local(self, key: str, folder: Path) -> Path:
        """A file of this host with its bytes, in that folder if need be. Raises OSError."""
        ...

    def drop(self, key: str) -> None:
        """Idempotent."""
        ...

    def before(self, moment: datetime) -> Iterator[str]:
        """Those that are older. Raises OSError."""
        ...


class FolderSpool:
    """Below SPOOL_DIR."""

    def keep(self, key: str, chunks: Iterable[bytes]) -> FileDigest:
        target = get_path(key)
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            with target.open("xb") as out:
                written = durable.write_chunks(out, chunks)
                durable.sync(out)
            durable.fsync_folder(target.parent)
        except BaseException:
            target.unlink(missing_ok=True)
            raise
        return written

    def copy(self, key: str, other: str) -> None:
        get_path(other).hardlink_to(get_path(key))
        durable.fsync_folder(get_path(other).parent)

    def local(self, key: str, folder: Path) -> Path:
        path = get_path(key)
        if not os.access(path, os.R_OK):
            raise FileNotFoundError(f"{path} cannot be read")
        return path

    def drop(self, key: str) -> None:
        get_path(key).unlink(missing_ok=True)

    def before(self, moment: datetime) -> Iterator[str]:
        root = get_path("uploads")
        for path in root.iterdir() if root.is_dir() else ():
            if path.stat().st_mtime < moment.timestamp():
                yield f"uploads/{path.name}"


def store_upload(chunks: Iterable[bytes]) -> SpooledFile:
    """Write an upload down for good, hashing it on the way. Raises OSError."""
    key = f"uploads/{uuid.uuid4()}"
    return SpooledFile(key, *_spool().keep(key, chunks))


def copy_upload(kept: SpooledFile) -> SpooledFile:
    """The same bytes under a key of their own, so that each may be dropped. Raises OSError."""
    key = f"uploads/{uuid.uuid4()}"
    _spool().copy(kept.key, key)
    return SpooledFile(key, kept.sha256, kept.size)


def restore_upload(key: str, chunks: Iterable[bytes]) -> None:
    """An upload from a backup, under the key that it had. Raises OSError."""
    _spool().keep(key, chunks)


def open_local(key: str, folder: Path) -> Path:
    """Its bytes in a file of this host: the spool's own, or a copy in `folder`.

    Raises StorageUnavailable.
    """
    try:
        return _spool().local(key, folder)
    except OSError as error:
        raise StorageUnavailable(f"the spool lost {key}: {error}") from error


def drop_upload(key: str) -> None:
    """Idempotent: its document is settled, or was never registered."""
    _spool().drop(key)


def list_uploads_before(moment: datetime) -> Iterator[str]:
    """Keys of uploads that nobody has touched since. Raises OSError."""
    return _spool().before(moment)


def _spool() -> Spool:
    return cast("Spool", storages["spool"])


def get_path(key: str) -> Path:
    """Below SPOOL_DIR: an upload where they are in the folder, and what is this host's alone."""
    return Path(settings.SPOOL_DIR) / key


def get_attempt_folder(lease: uuid.UUID) -> Path:
    """Where one lease of a chunk puts what it fetches."""
    folder = get_path(f"attempts/{lease}")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def list_attempts() -> list[uuid.UUID]:
    """Leases that have a folder here."""
    root = get_path("attempts")
    return [uuid.UUID(folder.name) for folder in root.iterdir()] if root.is_dir() else []


def drop_attempt(lease: uuid.UUID) -> None:
    shutil.rmtree(get_path(f"attempts/{lease}"), ignore_errors=True)
