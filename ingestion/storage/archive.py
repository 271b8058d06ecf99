"""The write-once, content-addressed store: every byte that a site ever sent us, once.

A port (decision 8), which STORAGES["archive"] fills: the folder here, or S3 with Object Lock
(`buckets`). What is stored is not yet filed: filing is a row's state. So rejected and doubtful
documents keep their bytes here too.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import IO, Protocol, cast

from django.conf import settings
from django.core.files.storage import storages

from audit.files import durable
from ingestion.core.errors import StorageUnavailable

INCOMING_PREFIX = ".incoming-"  # begins the name of what is not yet whole


@dataclass(frozen=True, slots=True)
class ObjectLock:
    """What keeps an object in a bucket; and what has to, where None is as it is."""

    until: datetime | None
    is_held: bool | None  # S3's legal hold: for as long as it is on, whatever the time

    def is_shorter_than(self, wanted: "ObjectLock") -> bool:
        return wanted.until is not None and (self.until is None or self.until < wanted.until)

    def is_held_unlike(self, wanted: "ObjectLock") -> bool:
        return wanted.is_held is not None and self.is_held != wanted.is_held

    def falls_short_of(self, wanted: "ObjectLock") -> bool:
        return self.is_shorter_than(wanted) or self.is_held_unlike(wanted)


@dataclass(frozen=True, slots=True)
class StoredFile:
    """What lies in the archive under a name."""

    name: str
    is_sealed: bool  # nobody may write to it
    lock: ObjectLock | None = None  # a folder's files are read-only for good: they have no time


class Archive(Protocol):
    def put(self, path: Path, sha256: str) -> None:
        """Store a local file durably. Storing the same bytes again changes nothing.

        Raises StorageUnavailable, also for a file that no longer has this hash: it changed on our
        disk since it came, and what was read of it says nothing about the document.
        """
        ...

    def open(self, sha256: str) -> IO[bytes]:
        """The bytes, for reading. Raises FileNotFoundError, and OSError."""
        ...

    def has(self, sha256: str) -> bool:
        """Raises OSError: what cannot be asked is not missing."""
        ...

    def is_empty(self) -> bool:
        """Raises OSError."""
        ...

    def contents(self, part: str) -> Iterator[StoredFile]:
        """What lies there that begins with these two digits, in no order. Raises OSError."""
        ...


class FolderArchive:
    """`ab/cd/abcd…` below a root, ARCHIVE_DIR. Files are read-only and never replaced."""

    def __init__(self, root: Path | None = None) -> None:
        self._given_root = root

    @property
    def root(self) -> Path:
        return self._given_root or Path(settings.ARCHIVE_DIR)

    def path_of(self, sha256: str) -> Path:
        return self.root / sha256[:2] / sha256[2:4] / sha256

    def open(self, sha256: str) -> IO[bytes]:
        return self.path_of(sha256).open("rb")

    def has(self, sha256: str) -> bool:
        return self.path_of(sha256).exists()

    def is_empty(self) -> bool:
        files = self.root.glob("??/??/*")
        return all(path.name.startswith(INCOMING_PREFIX) for path in files)

    def contents(self, part: str) -> Iterator[StoredFile]:
        for path in (self.root / part).glob("*/*"):
            if path.name.startswith(INCOMING_PREFIX):
                continue  # being written, or left by a crash
            yield StoredFile(path.name, is_sealed=path.stat().st_mode & 0o222 == 0)

    def put(self, path: Path, sha256: str) -> None:
        target = self.path_of(sha256)
        try:
            if target.exists():
                verify_file(path, sha256)
                return
            target.parent.mkdir(parents=True, exist_ok=True)
            self._write(path, target)
        except OSError as error:
            raise StorageUnavailable(f"the archive refused {sha256}: {error}") from error

    def _write(self, source: Path, target: Path) -> None:
        descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=INCOMING_PREFIX)
        try:
            with source.open("rb") as incoming, os.fdopen(descriptor, "wb") as out:
                shutil.copyfileobj(incoming, out, 1 << 20)
                durable.sync(out)
            # The copy and not its source: what is filed is what was hashed.
            verify_file(Path(name), target.name)
            Path(name).chmod(0o444)
            # The bytes are durable under their name after this rename and the directory's fsync.
            # If we die before, only a temporary file is left, and the document is fetched again.
            Path(name).rename(target)
            durable.fsync_folder(target.parent)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise


def verify_file(path: Path, sha256: str) -> None:
    """Raises OSError unless the file has this hash."""
    found = durable.digest_of_file(path).sha256
    if found != sha256:
        raise OSError(f"{path} changed on our disk: its bytes now hash to {found}")


def get_archive() -> Archive:
    """The archive that the settings name."""
    return cast("Archive", storages["archive"])
