"""Defines the archive: a write-once store of every received file, by its SHA-256.

`Archive` is the interface. STORAGES["archive"] selects an implementation: the folder
in this module, or S3 with Object Lock (`buckets`). A stored file is not necessarily filed, because
filing is a state of its document. Files of rejected documents are stored here too.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import IO, Protocol, cast, runtime_checkable

from django.conf import settings
from django.core.files.storage import storages

from audit.files import durable
from ingestion.core.errors import StorageUnavailable

INCOMING_PREFIX = ".incoming-"  # of the names of incomplete files
COPY_BYTES = 1 << 20  # copied at a time


@dataclass(frozen=True, slots=True)
class ObjectLock:
    """The lock of an object in a bucket, or a required lock, in which None means "as it is"."""

    until: datetime | None
    is_held: bool | None  # whether S3's legal hold is on, which has no end of its own

    def is_shorter_than(self, wanted: "ObjectLock") -> bool:
        """Return whether this lock ends before the wanted one."""
        return wanted.until is not None and (self.until is None or self.until < wanted.until)

    def is_held_unlike(self, wanted: "ObjectLock") -> bool:
        """Return whether the legal hold differs from the wanted one."""
        return wanted.is_held is not None and self.is_held != wanted.is_held

    def falls_short_of(self, wanted: "ObjectLock") -> bool:
        """Return whether this lock has to be changed for the wanted one."""
        return self.is_shorter_than(wanted) or self.is_held_unlike(wanted)


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file of the archive."""

    name: str
    is_sealed: bool  # whether it cannot be changed
    lock: ObjectLock | None = None  # None: in a folder, whose files are always read-only


class Archive(Protocol):
    """The interface of an archive."""

    def put(self, path: Path, sha256: str) -> None:
        """Store a local file durably. Storing the same bytes again changes nothing.

        Raises StorageUnavailable if it cannot be stored, and if the file no longer has this hash.
        It has then changed on our disk, and the results of reading it are void.
        """
        ...

    def open(self, sha256: str) -> IO[bytes]:
        """Open a file for reading. Raises FileNotFoundError if it does not exist, else OSError."""
        ...

    def has(self, sha256: str) -> bool:
        """Return whether the file exists. Raises OSError if that cannot be found out."""
        ...

    def is_empty(self) -> bool:
        """Return whether the archive has no files. Raises OSError."""
        ...

    def contents(self, part: str) -> Iterator[StoredFile]:
        """Yield the files whose hash begins with these two digits, in any order. Raises OSError."""
        ...


@runtime_checkable
class LockingArchive(Archive, Protocol):
    """An archive that can lock its files, so that nobody deletes them before a day."""

    def apply_lock(self, sha256: str, lock: ObjectLock, *, dry_run: bool = False) -> bool:
        """Give a file this lock, and return whether that changed anything. Raises OSError."""
        ...


class FolderArchive:
    """Stores files as `ab/cd/abcd…` below ARCHIVE_DIR. They are read-only and never replaced."""

    def __init__(self, root: Path | None = None) -> None:
        self._given_root = root

    @property
    def root(self) -> Path:
        """Return the folder of the archive, ARCHIVE_DIR unless another one was given."""
        return self._given_root or Path(settings.ARCHIVE_DIR)

    def path_of(self, sha256: str) -> Path:
        """Return the path of the file with this SHA-256, which may not exist."""
        return self.root / sha256[:2] / sha256[2:4] / sha256

    def open(self, sha256: str) -> IO[bytes]:
        """Open a file for reading. Raises FileNotFoundError if it does not exist, else OSError."""
        return self.path_of(sha256).open("rb")

    def has(self, sha256: str) -> bool:
        """Return whether the file exists."""
        return self.path_of(sha256).exists()

    def is_empty(self) -> bool:
        """Return whether the archive has no files. Those that are being written do not count."""
        files = self.root.glob("??/??/*")
        return all(path.name.startswith(INCOMING_PREFIX) for path in files)

    def contents(self, part: str) -> Iterator[StoredFile]:
        """Yield the files whose hash begins with these two digits. Read-only files are sealed."""
        for path in (self.root / part).glob("*/*"):
            if path.name.startswith(INCOMING_PREFIX):
                continue  # It is being written, or was left by a crash.
            yield StoredFile(path.name, is_sealed=path.stat().st_mode & 0o222 == 0)

    def put(self, path: Path, sha256: str) -> None:
        """Copy a local file into the archive, durably and read-only. Raises StorageUnavailable.

        A file that is there already is compared with its digest and not replaced.
        """
        target = self.path_of(sha256)
        try:
            if target.exists():
                verify_file(path, sha256)
                return
            target.parent.mkdir(parents=True, exist_ok=True)
            self._copy(path, target)
        except OSError as error:
            raise StorageUnavailable(f"the archive refused {sha256}: {error}") from error

    def _copy(self, source: Path, target: Path) -> None:
        descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=INCOMING_PREFIX)
        try:
            with source.open("rb") as incoming, os.fdopen(descriptor, "wb") as out:
                shutil.copyfileobj(incoming, out, COPY_BYTES)
                durable.sync(out)
            # The copy is verified, and not its source, because the copy is what is kept.
            verify_file(Path(name), target.name)
            Path(name).chmod(0o444)
            # The file is durable after the rename and the fsync of the folder. If the process dies
            # before, only a temporary file is left, and the document is fetched again.
            Path(name).rename(target)
            durable.fsync_folder(target.parent)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise


def verify_file(path: Path, sha256: str) -> None:
    """Raise OSError unless the file has this hash."""
    found = durable.hash_file(path).sha256
    if found != sha256:
        raise OSError(f"{path} changed on our disk: its bytes now hash to {found}")


def get_archive() -> Archive:
    """Return the archive that the settings select."""
    return cast("Archive", storages["archive"])


def copy_to(sha256: str, path: Path) -> None:
    """Copy an archived file to a local path, and replace what is there. The copy is not verified.

    Raises FileNotFoundError if the archive does not have the file, else OSError.
    """
    with get_archive().open(sha256) as original, path.open("wb") as local:
        shutil.copyfileobj(original, local, COPY_BYTES)


def open_local(sha256: str, folder: Path) -> Path:
    """Return a local file with the bytes of an archived file: the archive's own, or a copy.

    A copy is in the folder, and is verified. The file must not be changed. Raises
    StorageUnavailable.
    """
    store = get_archive()
    try:
        if isinstance(store, FolderArchive):
            path = store.path_of(sha256)
            if not os.access(path, os.R_OK):
                raise FileNotFoundError(f"{path} cannot be read")
            return path
        copy = folder / sha256
        if not copy.exists():  # an earlier part of the same file has copied it
            with tempfile.NamedTemporaryFile(dir=folder, delete=False) as incoming:
                copy_to(sha256, Path(incoming.name))
            verify_file(Path(incoming.name), sha256)
            Path(incoming.name).rename(copy)
    except OSError as error:
        raise StorageUnavailable(f"the archive lost {sha256}: {error}") from error
    return copy
