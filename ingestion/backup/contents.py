"""What a backup is made of, and whether all of it is there and as it was. Plain files."""

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
ARCHIVE_POOL = "archive"  # of DIR, for all backups in it
UNFINISHED_PREFIX = ".unfinished-"  # begins the name of what is being made, or was left by a crash
MANIFEST, FILE_LIST = "manifest.json", "files.ndjson"
MAX_NAMED_FILES = 20  # faults that are named; one is enough to refuse
_NAME = re.compile(r"[\w-][\w.-]*(/[\w-][\w.-]*)*", re.ASCII)  # no way out of the folder


class BackupError(Exception):
    """A backup cannot be made, or not be brought back. The message is for people."""


class BackupFileKind(StrEnum):
    ARCHIVE = "archive"  #: named by its hash, in the pool
    SPOOL = "spool"  #: named by its key
    ANCHORS = "anchors"  #: below ANCHOR_DIR
    DATABASE = "database"


@dataclass(frozen=True, slots=True)
class BackupFile:
    """One file."""

    kind: BackupFileKind
    name: str
    sha256: str
    size: int  # bytes

    @classmethod
    def parse(cls, line: str) -> Self:
        """Raises ValueError for what is none, or leads out of its folder."""
        said = json.loads(line)
        try:
            item = cls(BackupFileKind(said["kind"]), said["name"], said["sha256"], said["size"])
        except (KeyError, TypeError) as error:
            raise ValueError(f"no file: {line!r}") from error
        if not _NAME.fullmatch(item.name):
            raise ValueError(f"not a name: {item.name!r}")
        return item

    def path_in(self, folder: Path) -> Path:
        if self.kind is BackupFileKind.ARCHIVE:
            return folder.parent / ARCHIVE_POOL / self.name[:2] / self.name[2:4] / self.name
        return folder / self.kind / self.name


@dataclass(frozen=True, slots=True)
class BackupManifest:
    """What the whole is. Times in UTC."""

    began_at: str
    ended_at: str
    trail: str
    entries: int  # of the ledger
    head: str  # the hash of the last one; "" before the first
    signed: int  # of so many entries is the newest checkpoint; 0: there is none
    root: str  # of the tree over them
    software: str
    database: str  # Django's word: sqlite or postgresql
    server: int  # its major version; 0 for SQLite
    migrations: Sequence[str]
    files: int
    bytes: int
    list_sha256: str
    missing: Sequence[str]  # what the rows name and was not to be had, some of it
    missing_count: int
    format: str = FORMAT

    def write(self, folder: Path) -> str:
        """Durable when this returns. Answers its SHA-256."""
        text = json.dumps(asdict(self), indent=2, sort_keys=True) + "\n"
        with (folder / MANIFEST).open("x") as out:
            out.write(text)
            durable.sync(out)
        durable.fsync_folder(folder)
        return hashlib.sha256(text.encode()).hexdigest()

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Raises BackupProblem."""
        try:
            said: dict[str, Any] = json.loads((folder / MANIFEST).read_bytes())
            if said.get("format") != FORMAT:
                raise BackupError(
                    f"{folder} is a backup of the format {said.get('format')!r}; this release "
                    f"reads {FORMAT}. Restore it with the release that made it, then upgrade."
                )
            return cls(**said)
        except FileNotFoundError as error:
            raise BackupError(
                f"{folder} has no {MANIFEST}: it was not finished, or is damaged. Name another one."
            ) from error
        except (OSError, ValueError, TypeError, AttributeError) as error:
            raise BackupError(f"{folder / MANIFEST} cannot be read: {error}.") from error


class BackupFileList:
    """`files.ndjson`, as it grows."""

    def __init__(self, folder: Path) -> None:
        self._out = (folder / FILE_LIST).open("x")
        self._digest = hashlib.sha256()
        self.files = self.bytes = 0

    def add(self, item: BackupFile) -> None:
        line = json.dumps(asdict(item), sort_keys=True) + "\n"
        self._out.write(line)
        self._digest.update(line.encode())
        self.files += 1
        self.bytes += item.size

    def seal(self) -> str:
        """Durable when this returns. Answers its SHA-256."""
        durable.sync(self._out)
        return self._digest.hexdigest()

    def close(self) -> None:
        self._out.close()


@contextmanager
def lock_target(target: Path) -> Iterator[None]:
    """Nobody else makes a backup there meanwhile. Raises BackupProblem."""
    with (target / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise BackupError(f"Another backup is being made in {target}.") from error
        yield


def find_backup(place: Path) -> Path:
    """A backup, or the newest one in a folder of several. Raises BackupProblem."""
    if (place / MANIFEST).exists() or (place / FILE_LIST).exists():
        return place
    others = [path for path in place.glob("[0-9]*") if path.is_dir()]
    if not others:
        raise BackupError(f"{place} holds no finished backup.")
    return max(others)


def read_file_list(folder: Path) -> Iterator[BackupFile]:
    """Raises BackupProblem."""
    with (folder / FILE_LIST).open() as lines:
        for number, line in enumerate(lines, start=1):
            try:
                yield BackupFile.parse(line)
            except ValueError as error:
                raise BackupError(f"{folder / FILE_LIST}: line {number}: {error}.") from error


def verify_files(folder: Path, manifest: BackupManifest) -> None:
    """Read every file. Raises BackupProblem unless each is there, and what it was."""
    try:
        is_the_list = durable.digest_of_file(folder / FILE_LIST).sha256 == manifest.list_sha256
    except OSError as error:
        raise BackupError(f"{folder / FILE_LIST} cannot be read: {error.strerror}.") from error
    if not is_the_list:
        raise BackupError(f"{folder / FILE_LIST} was changed: it has another SHA-256.")
    faults = [fault for item in read_file_list(folder) if (fault := _find_fault(item, folder))]
    if faults:
        more = (
            f" And {len(faults) - MAX_NAMED_FILES} more." if len(faults) > MAX_NAMED_FILES else ""
        )
        raise BackupError(" ".join(faults[:MAX_NAMED_FILES]) + more)


def _find_fault(item: BackupFile, folder: Path) -> str:
    path = item.path_in(folder)
    try:
        found = durable.digest_of_file(path)
    except FileNotFoundError:
        return f"{path} is missing."
    except OSError as error:
        return f"{path} cannot be read: {error.strerror}."
    if found == (item.sha256, item.size):
        return ""
    if found.size < item.size:
        return f"{path} was cut: it has {found.size:,} of {item.size:,} bytes."
    return f"{path} was changed: it has another SHA-256."
