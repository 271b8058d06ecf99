"""Describes and verifies the contents of a backup: its manifest and its list of files."""

import fcntl
import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Self

from audit.files import durable

FORMAT = "siteledger-backup/1"
ARCHIVE_POOL = "archive"  # the folder in DIR with the archived files of all backups
UNFINISHED_PREFIX = ".unfinished-"  # of the name of a folder until its backup is complete
MANIFEST, FILE_LIST = "manifest.json", "files.ndjson"
MAX_NAMED_FAULTS = 20  # faults that an error message lists
_NAME = re.compile(r"[\w-][\w.-]*(/[\w-][\w.-]*)*", re.ASCII)  # relative, and inside the folder


class BackupError(Exception):
    """A backup cannot be created or restored. The message is a sentence for people."""


class BackupFileKind(StrEnum):
    """Lists the kinds of files in a backup."""

    ARCHIVE = "archive"  #: named by its SHA-256 digest, in the pool
    SPOOL = "spool"  #: named by its key
    ANCHORS = "anchors"  #: below ANCHOR_DIR
    DATABASE = "database"


@dataclass(frozen=True, slots=True)
class BackupFile:
    """One file of a backup: a line of `files.ndjson`."""

    kind: BackupFileKind
    name: str
    sha256: str
    size: int  # bytes

    @classmethod
    def parse(cls, line: str) -> Self:
        """Return the file of a line.

        Raises ValueError if the line is invalid, or its name leads out of the folder.
        """
        fields = json.loads(line)
        try:
            item = cls(
                BackupFileKind(fields["kind"]), fields["name"], fields["sha256"], fields["size"]
            )
        except (KeyError, TypeError) as error:
            raise ValueError(f"not a file: {line!r}") from error
        if not _NAME.fullmatch(item.name):
            raise ValueError(f"not a name: {item.name!r}")
        return item

    def path_in(self, folder: Path) -> Path:
        """Return the path of the file, where `folder` is that of the backup."""
        if self.kind is BackupFileKind.ARCHIVE:
            return folder.parent / ARCHIVE_POOL / self.name[:2] / self.name[2:4] / self.name
        return folder / self.kind / self.name


@dataclass(frozen=True, slots=True)
class BackupManifest:
    """The description of a backup. All times are in UTC."""

    began_at: str
    ended_at: str
    trail: str  # the name of the ledger
    entries: int  # the number of its entries
    head: str  # the hash of its last entry; "" if it is empty
    signed: int  # the number of entries in the newest checkpoint; 0 without one
    root: str  # the root of the Merkle tree in that checkpoint
    software: str
    database: str  # the vendor in Django's terms: sqlite or postgresql
    server: int  # the major version of the database server; 0 for SQLite
    migrations: Sequence[str]
    files: int
    bytes: int
    list_sha256: str
    missing: Sequence[str]  # some of the files that rows name and that were not available
    missing_count: int  # the number of all such files
    format: str = FORMAT

    def write(self, folder: Path) -> str:
        """Write the manifest, which is durable when this returns. Returns its SHA-256 digest."""
        text = json.dumps(asdict(self), indent=2, sort_keys=True) + "\n"
        with (folder / MANIFEST).open("x") as out:
            out.write(text)
            durable.sync(out)
        durable.fsync_folder(folder)
        return hashlib.sha256(text.encode()).hexdigest()

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Return the manifest of a backup. Raises BackupError."""
        try:
            fields: dict[str, Any] = json.loads((folder / MANIFEST).read_bytes())
            if fields.get("format") != FORMAT:
                raise BackupError(
                    f"{folder} is a backup in the format {fields.get('format')!r}, but this "
                    f"release reads {FORMAT}. Restore it with the release that made it, then "
                    "upgrade."
                )
            return cls(**fields)
        except FileNotFoundError as error:
            raise BackupError(
                f"{folder} has no {MANIFEST}: the backup was not finished, or is damaged. "
                "Name another backup."
            ) from error
        except (OSError, ValueError, TypeError, AttributeError) as error:
            raise BackupError(f"{folder / MANIFEST} cannot be read: {error}.") from error


class BackupFileList:
    """The file `files.ndjson` while it is written."""

    def __init__(self, folder: Path) -> None:
        self._out = (folder / FILE_LIST).open("x")
        self._digest = hashlib.sha256()
        self.files = self.bytes = 0

    def add(self, item: BackupFile) -> None:
        """Write the line of one file, and count the file with its bytes."""
        line = json.dumps(asdict(item), sort_keys=True) + "\n"
        self._out.write(line)
        self._digest.update(line.encode())
        self.files += 1
        self.bytes += item.size

    def seal(self) -> str:
        """Make the list durable. Returns its SHA-256 digest."""
        durable.sync(self._out)
        return self._digest.hexdigest()

    def close(self) -> None:
        """Close the file."""
        self._out.close()


@contextmanager
def lock_target(target: Path) -> Iterator[None]:
    """Prevent other backups in the same folder. Raises BackupError if one is under way."""
    with (target / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise BackupError(f"Another backup is being created in {target}.") from error
        yield


def find_backup(place: Path) -> Path:
    """Return `place` if it is a backup, or the newest backup in it. Raises BackupError."""
    if (place / MANIFEST).exists() or (place / FILE_LIST).exists():
        return place
    others = [path for path in place.glob("[0-9]*") if path.is_dir()]
    if not others:
        raise BackupError(f"{place} contains no finished backup.")
    return max(others)


def read_file_list(folder: Path) -> Iterator[BackupFile]:
    """Yield the files of a backup. Raises BackupError for a line that is invalid."""
    with (folder / FILE_LIST).open() as lines:
        for number, line in enumerate(lines, start=1):
            try:
                yield BackupFile.parse(line)
            except ValueError as error:
                raise BackupError(f"{folder / FILE_LIST}: line {number}: {error}.") from error


def verify_files(folder: Path, manifest: BackupManifest) -> None:
    """Read every file. Raises BackupError if a file is missing or was changed."""
    try:
        list_sha256 = durable.hash_file(folder / FILE_LIST).sha256
    except OSError as error:
        raise BackupError(f"{folder / FILE_LIST} cannot be read: {error.strerror}.") from error
    if list_sha256 != manifest.list_sha256:
        raise BackupError(f"{folder / FILE_LIST} was changed: its SHA-256 digest differs.")
    faults = [fault for item in read_file_list(folder) if (fault := _find_fault(item, folder))]
    if faults:
        if len(faults) > MAX_NAMED_FAULTS:
            faults[MAX_NAMED_FAULTS:] = [f"And {len(faults) - MAX_NAMED_FAULTS} more."]
        raise BackupError(" ".join(faults))


def _find_fault(item: BackupFile, folder: Path) -> str:
    """Return a sentence about a file that is missing or was changed, or ""."""
    path = item.path_in(folder)
    try:
        found = durable.hash_file(path)
    except FileNotFoundError:
        return f"{path} is missing."
    except OSError as error:
        return f"{path} cannot be read: {error.strerror}."
    if found == (item.sha256, item.size):
        return ""
    if found.size < item.size:
        return f"{path} is truncated: it has {found.size:,} of {item.size:,} bytes."
    return f"{path} was changed: its SHA-256 digest differs."
