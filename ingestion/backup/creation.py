"""Creates backups while work continues.

The order of the steps makes a backup consistent. The first step fixes the moment of the database.
Soon afterwards the spool is copied, because files leave it when they are archived. Then the
database is dumped as it was at that moment. The archive is last: it only grows, so that each file
that the database names is still there.
"""

import shutil
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from io import BytesIO
from itertools import chain
from pathlib import Path
from typing import IO, Any

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS
from django.db.models import Max

from audit.files import durable
from audit.ledger import database_roles, queries
from audit.ledger.actors import Actor
from audit.ledger.chain import BrokenChain
from audit.ledger.log import ledger, record, write_time
from audit.signing import anchors, checkpoints
from audit.signing.keys import KeyProblem
from audit.signing.places.port import AnchorError
from audit.verification import anchor_backup
from ingestion.backup import contents, databases
from ingestion.backup.contents import (
    BackupError,
    BackupFile,
    BackupFileKind,
    BackupFileList,
    BackupManifest,
)
from ingestion.backup.durable_copy import copy_to_file
from ingestion.core.errors import StorageUnavailable
from ingestion.models import Document, DocumentRendition
from ingestion.operations import retention
from ingestion.storage import spool
from ingestion.storage.archive import Archive, FolderArchive, get_archive
from ingestion.storage.archive_verification import PARTS, STORED

MIN_FREE_BYTES_AFTER = 100_000_000  # bytes that stay free on the disk after a backup
MAX_NAMED_FILES = 100  # missing files that the manifest names
Progress = Callable[[int, int], object]
_WANTED = "wanted"  # a file with the digests of the archived files that rows name, one on each line


@dataclass(frozen=True, slots=True)
class CreatedBackup:
    """A finished backup."""

    folder: Path
    manifest: BackupManifest
    sha256: str  # of the file of the manifest, which is recorded in the ledger
    new_files: int  # archived files that were not in the pool before


@dataclass(slots=True)
class _BackupInProgress:
    """A backup while it is created."""

    folder: Path
    listing: BackupFileList
    missing: list[str] = field(default_factory=list)  # at most MAX_NAMED_FILES names
    missing_count: int = 0
    new_files: int = 0

    @property
    def pool(self) -> FolderArchive:
        """Return the archived files of all backups in the target folder."""
        return FolderArchive(self.folder.parent / contents.ARCHIVE_POOL)

    def add_missing(self, name: str) -> None:
        self.missing_count += 1
        if len(self.missing) < MAX_NAMED_FILES:
            self.missing.append(name)

    def add_copy(self, kind: BackupFileKind, name: str, source: IO[bytes]) -> BackupFile:
        """Copy a file into the backup and add it to the list."""
        path = self.folder / kind / name
        item = BackupFile(kind, name, *copy_to_file(source, path))
        self.listing.add(item)
        return item


def create_backup(
    target: Path, *, by: Actor, progress: Progress = lambda _done, _total: None
) -> CreatedBackup:
    """Create a backup in a new folder in `target` and record it in the ledger.

    `progress` is called before the database is copied and while the archive is, with the number of
    finished and of all parts of the archive. What it raises ends the backup, and nothing is left.
    Raises BackupError or OSError if no backup was created.
    """
    began_at = datetime.now(UTC)
    target.mkdir(parents=True, exist_ok=True, mode=0o700)
    with contents.lock_target(target), _unfinished_folder(target) as folder:
        # A broken ledger is copied as it is, because it is evidence.
        with suppress(BrokenChain):
            checkpoints.sign_if_key_exists()
        anchors.anchor_due()
        with closing(BackupFileList(folder)) as listing:
            backup = _BackupInProgress(folder, listing)
            progress(0, len(PARTS))
            facts = _copy_database_and_spool(backup)
            try:
                for name, text in anchor_backup.iter_anchor_files(facts["entries"]):
                    backup.add_copy(BackupFileKind.ANCHORS, name, BytesIO(text.encode()))
            except (AnchorError, KeyProblem) as error:
                raise BackupError(f"The anchors cannot be copied: {error}") from error
            _copy_archive(backup, get_archive(), progress)
            manifest = BackupManifest(
                **facts,
                began_at=write_time(began_at),
                ended_at=write_time(datetime.now(UTC)),
                trail=settings.AUDIT_TRAIL,
                software=settings.SOFTWARE_VERSION,
                files=listing.files,
                bytes=listing.bytes,
                list_sha256=listing.seal(),
                missing=backup.missing,
                missing_count=backup.missing_count,
            )
        sha256 = manifest.write(folder)
        # All files are durable now. With its final name, the folder is a backup. A process that
        # dies before this point leaves none.
        finished = folder.rename(target / folder.name.removeprefix(contents.UNFINISHED_PREFIX))
        durable.fsync_folder(target)
    with ledger():
        record(
            "backup.made",
            subject=f"backup:{finished.name}",
            by=by,
            sha256=sha256,
            detail={
                "place": str(finished),
                "entries": manifest.entries,
                "head": manifest.head,
                "files": manifest.files,
                "missing": manifest.missing_count,
            },
        )
    return CreatedBackup(finished, manifest, sha256, backup.new_files)


@contextmanager
def _unfinished_folder(target: Path) -> Iterator[Path]:
    """Create a folder for a new backup, and delete it again if an exception is raised.

    Folders that earlier crashes left are deleted first.
    """
    for leftover in target.glob(f"{contents.UNFINISHED_PREFIX}*"):
        shutil.rmtree(leftover)
    folder = target / f"{contents.UNFINISHED_PREFIX}{datetime.now(UTC):%Y-%m-%dT%H-%M-%S.%fZ}"
    folder.mkdir(mode=0o700)
    try:
        yield folder
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _copy_database_and_spool(backup: _BackupInProgress) -> dict[str, Any]:
    """Copy the spool and the database as they were at one moment; return the facts about it.

    The facts are those of the manifest. Raises BackupError if migrations have not been applied, or
    the disk has not enough space.
    """
    dump = backup.folder / BackupFileKind.DATABASE / databases.get_dump_filename()
    with database_roles.connect_as_owner(DEFAULT_DB_ALIAS), databases.read_from_snapshot():
        if unapplied := databases.list_unapplied_migrations():
            raise BackupError(
                f"The database belongs to an older release: the migration {unapplied[0]} has not "
                "been applied. Create the backup with that release, which must then restore it, "
                "or run `migrate` first."
            )
        facts = _read_snapshot_facts()
        _check_free_space(backup)
        for key, sha256, _size in retention.list_needed_uploads():
            try:
                upload = _open_upload(key, sha256, backup.folder)
            except FileNotFoundError:
                backup.add_missing(f"spool/{key}")
                continue
            with upload:
                if backup.add_copy(BackupFileKind.SPOOL, key, upload).sha256 != sha256:
                    backup.add_missing(f"spool/{key}")
        databases.dump(dump)
    with dump.open("rb") as written:
        durable.sync(written)
    durable.fsync_folder(dump.parent)
    digest = durable.hash_file(dump)
    backup.listing.add(BackupFile(BackupFileKind.DATABASE, dump.name, *digest))
    return facts


def _read_snapshot_facts() -> dict[str, Any]:
    """Return the fields of the manifest that describe the database in the snapshot."""
    entries, head = queries.get_last_entry() or (0, "")
    checkpoint = checkpoints.get_latest_checkpoint()
    return {
        "entries": entries,
        "head": head,
        "signed": checkpoint.size if checkpoint else 0,
        "root": checkpoint.root if checkpoint else "",
        "server": databases.get_server_version(),
        "database": databases.get_vendor(),
        "migrations": databases.list_migrations(),
    }


def _check_free_space(backup: _BackupInProgress) -> None:
    """Raise BackupError if the disk has not enough space for the backup.

    The digests of the archived files that rows name are written to a file on the way.
    """
    needed = databases.estimate_dump_size() + sum(
        size for _, _, size in retention.list_needed_uploads()
    )
    named = Document.objects.filter(state__in=STORED).exclude(sha256="").order_by()
    tables = [
        rows.values_list("sha256").annotate(Max("size"))
        for rows in (named, DocumentRendition.objects.order_by())
    ]
    with (backup.folder / _WANTED).open("w") as out:
        for sha256, size in chain.from_iterable(rows.iterator() for rows in tables):
            out.write(f"{sha256}\n")
            needed += 0 if backup.pool.has(sha256) else size or 0
    free = shutil.disk_usage(backup.folder).free
    if free < needed + MIN_FREE_BYTES_AFTER:
        raise BackupError(
            f"The disk of {backup.folder.parent} has {free / 1e6:,.0f} MB free, but the backup "
            f"needs {needed / 1e6:,.0f} MB. Free some space, or name another disk. Nothing was "
            "copied."
        )


def _open_upload(key: str, sha256: str, folder: Path) -> IO[bytes]:
    """Open a file of the spool, or the archived file if it was archived a moment ago.

    Raises FileNotFoundError if it is in neither of them, and OSError.
    """
    try:
        path = spool.open_local(key, folder)
        upload = path.open("rb")
    except (StorageUnavailable, FileNotFoundError):
        return get_archive().open(sha256)
    if path.parent == folder:
        # The spool made a temporary copy. Without its name, it is deleted when it is closed.
        path.unlink()
    return upload


def _copy_archive(backup: _BackupInProgress, store: Archive, progress: Progress) -> None:
    """Copy archived files that the pool does not have, and list all files of the pool."""
    for done, part in enumerate(PARTS):
        for stored in store.contents(part):
            progress(done, len(PARTS))
            if not backup.pool.has(stored.name):
                _add_to_pool(backup, store, stored.name)
        for pooled in backup.pool.contents(part):
            size = backup.pool.path_of(pooled.name).stat().st_size
            backup.listing.add(BackupFile(BackupFileKind.ARCHIVE, pooled.name, pooled.name, size))
    progress(len(PARTS), len(PARTS))
    wanted = backup.folder / _WANTED
    with wanted.open() as lines:
        for sha256 in map(str.strip, lines):
            if not backup.pool.has(sha256):
                backup.add_missing(f"archive/{sha256}")
    wanted.unlink()


def _add_to_pool(backup: _BackupInProgress, store: Archive, sha256: str) -> None:
    """Copy one archived file into the pool, unless its content does not match its digest.

    A file that does not match is reported as missing only if a row names it.
    """
    part, target = backup.folder / "incoming", backup.pool.path_of(sha256)
    with store.open(sha256) as source:
        found = copy_to_file(source, part)
    if found.sha256 != sha256:
        part.unlink()
        return
    part.chmod(0o444)
    target.parent.mkdir(parents=True, exist_ok=True)
    part.rename(target)
    durable.fsync_folder(target.parent)
    backup.new_files += 1
