"""Stores received files until they are archived.

`uploads/` has the files that people sent. They are durable and hashed before they are registered,
and stay until their document is settled. `Spool` is the interface. STORAGES["spool"] selects an
implementation: the folder in this module, or S3 (`buckets`), with which one host reads what another
one received. `attempts/<lease>/` has the files that a shift downloads. It is always on the shift's
own host, and is deleted when the lease ends.
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
    """A file of the spool."""

    key: str  # below the spool's root
    sha256: str
    size: int  # bytes


class Spool(Protocol):
    """The interface of a store of uploads by their key, `uploads/<uuid>`. Files never change."""

    def store(self, key: str, chunks: Iterable[bytes]) -> FileDigest:
        """Store a file durably and return its SHA-256 and size. A failure leaves nothing.

        Raises OSError.
        """
        ...

    def copy(self, key: str, other: str) -> None:
        """Store the same bytes under another key. Raises OSError."""
        ...

    def open_local(self, key: str, folder: Path) -> Path:
        """Return a local file with the bytes. A copy is in the folder. Raises OSError."""
        ...

    def drop(self, key: str) -> None:
        """Delete a file, if it exists."""
        ...

    def list_before(self, moment: datetime) -> Iterator[str]:
        """Yield the keys of files that are older. Raises OSError."""
        ...


class FolderSpool:
    """Stores uploads below SPOOL_DIR."""

    def store(self, key: str, chunks: Iterable[bytes]) -> FileDigest:
        """Store an upload in a new file, durably. Returns its SHA-256 and size in bytes."""
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
        """Link the file under another key. Raises OSError."""
        get_path(other).hardlink_to(get_path(key))
        durable.fsync_folder(get_path(other).parent)

    def open_local(self, key: str, folder: Path) -> Path:
        """Return the path of the file itself. Raises FileNotFoundError if it cannot be read."""
        path = get_path(key)
        if not os.access(path, os.R_OK):
            raise FileNotFoundError(f"{path} cannot be read")
        return path

    def drop(self, key: str) -> None:
        """Delete a file, if it exists."""
        get_path(key).unlink(missing_ok=True)

    def list_before(self, moment: datetime) -> Iterator[str]:
        """Yield the keys of the files that were stored before this time."""
        root = get_path("uploads")
        for path in root.iterdir() if root.is_dir() else ():
            if path.stat().st_mtime < moment.timestamp():
                yield f"uploads/{path.name}"


def store_upload(chunks: Iterable[bytes]) -> SpooledFile:
    """Store an upload durably and hash it. Raises OSError."""
    key = f"uploads/{uuid.uuid4()}"
    return SpooledFile(key, *_spool().store(key, chunks))


def copy_upload(upload: SpooledFile) -> SpooledFile:
    """Store the same bytes under another key, so that each can be dropped. Raises OSError."""
    key = f"uploads/{uuid.uuid4()}"
    _spool().copy(upload.key, key)
    return SpooledFile(key, upload.sha256, upload.size)


def restore_upload(key: str, chunks: Iterable[bytes]) -> None:
    """Store an upload from a backup under its former key. Raises OSError."""
    _spool().store(key, chunks)


def open_local(key: str, folder: Path) -> Path:
    """Return a local file with the bytes of an upload: the spool's own, or a copy in `folder`.

    Raises StorageUnavailable.
    """
    try:
        return _spool().open_local(key, folder)
    except OSError as error:
        raise StorageUnavailable(f"the spool lost {key}: {error}") from error


def drop_upload(key: str) -> None:
    """Delete an upload whose document is settled or was never registered, if it exists."""
    _spool().drop(key)


def list_uploads_before(moment: datetime) -> Iterator[str]:
    """Yield the keys of uploads that were written before. Raises OSError."""
    return _spool().list_before(moment)


def _spool() -> Spool:
    return cast("Spool", storages["spool"])


def get_path(key: str) -> Path:
    """Return a path below SPOOL_DIR, for an upload in the folder or a file of this host."""
    return Path(settings.SPOOL_DIR) / key


def get_attempt_folder(lease: uuid.UUID) -> Path:
    """Return the folder for the downloads of one lease. Creates it."""
    folder = get_path(f"attempts/{lease}")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def list_attempts() -> list[uuid.UUID]:
    """Return the leases that have a folder on this host."""
    root = get_path("attempts")
    return [uuid.UUID(folder.name) for folder in root.iterdir()] if root.is_dir() else []


def drop_attempt(lease: uuid.UUID) -> None:
    """Delete the downloads of one lease."""
    shutil.rmtree(get_path(f"attempts/{lease}"), ignore_errors=True)
