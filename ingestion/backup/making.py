"""Makes a backup while work goes on.

The order is what makes it whole. First the moment of the database; then, soon, the spool, from
which what is archived meanwhile goes; then the database as it was at that moment; then the archive,
which only grows, so that each file that the database names is still there.
"""

import shutil
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from io import BytesIO
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
from ingestion.backup.copying import copy_to_file
from ingestion.core.errors import StorageUnavailable
from ingestion.models import Document
from ingestion.operations import retention
from ingestion.storage import spool
from ingestion.storage.archive import Archive, FolderArchive, get_archive
from ingestion.storage.archive_verification import PARTS, STORED

MIN_FREE_BYTES_AFTER = 100_000_000  # bytes that a disk keeps free
MAX_NAMED_FILES = 100  # missing files that the manifest names
_WANTED = "wanted"  # hashes that the database names, a line each


@dataclass(frozen=True, slots=True)
class CreatedBackup:
    folder: Path
    manifest: BackupManifest
    sha256: str  # of the manifest's file, which is on record
    new: int  # files that were not in the pool


@dataclass(slots=True)
class _BackupInProgress:
    """A backup under way: where, and what there is of it."""

    folder: Path
    listing: BackupFileList
    missing: list[str] = field(default_factory=list)
    missing_count: int = 0
    new: int = 0

    @property
    def pool(self) -> FolderArchive:
        return FolderArchive(self.folder.parent / contents.ARCHIVE_POOL)

    def lacks(self, what: str) -> None:
        self.missing_count += 1
        if len(self.missing) < MAX_NAMED_FILES:
            self.missing.append(what)

    def keep(self, kind: BackupFileKind, name: str, source: IO[bytes]) -> BackupFile:
        path = self.folder / kind / name
        item = BackupFile(kind, name, *copy_to_file(source, path))
        self.listing.add(item)
        return item


def create_backup(target: Path, *, by: Actor) -> CreatedBackup:
    """A backup in a folder of its own in `target`. Raises BackupProblem and OSError."""
    began = datetime.now(UTC)
    target.mkdir(parents=True, exist_ok=True, mode=0o700)
    with contents.lock_target(target), _unfinished(target) as folder:
        with suppress(BrokenChain):  # it is copied as it is, for it is the evidence
            checkpoints.sign_if_key_exists()
        anchors.anchor_due()
        with closing(BackupFileList(folder)) as listing:
            work = _BackupInProgress(folder, listing)
            manifest = _fill(work, began)
        sha256 = manifest.write(folder)
        # All of it is durable. With this name it is a backup; who dies before has made none.
        finished = folder.rename(target / folder.name.removeprefix(contents.UNFINISHED_PREFIX))
        durable.fsync_folder(target)
    made = CreatedBackup(finished, manifest, sha256, work.new)
    _enter(made, by)
    return made


def _fill(work: _BackupInProgress, began: datetime) -> BackupManifest:
    with database_roles.connect_as_owner(DEFAULT_DB_ALIAS), databases.snapshot():
        if waiting := databases.list_unapplied_migrations():
            raise BackupError(
                f"The database is of an older release: {waiting[0]} waits for `migrate`. Make the "
                "backup with that release, which has to bring it back, or after `migrate`."
            )
        told = _of_the_moment()
        _refuse_a_full_disk(work)
        _keep_the_spool(work)
        databases.dump(work.folder / BackupFileKind.DATABASE / databases.get_dump_filename())
    _list_the_database(work)
    _keep_the_anchors(work, told["entries"])
    _keep_the_archive(work, get_archive())
    return _manifest(work, began, told)


@contextmanager
def _unfinished(target: Path) -> Iterator[Path]:
    """A new folder there; what crashes left of others goes. It goes as well when this raises."""
    for leftover in target.glob(f"{contents.UNFINISHED_PREFIX}*"):
        shutil.rmtree(leftover)
    folder = target / f"{contents.UNFINISHED_PREFIX}{datetime.now(UTC):%Y-%m-%dT%H-%M-%S.%fZ}"
    folder.mkdir(mode=0o700)
    try:
        yield folder
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _of_the_moment() -> dict[str, Any]:
    entries, head = queries.last_entry() or (0, "")
    signed = checkpoints.latest_checkpoint()
    return {
        "entries": entries,
        "head": head,
        "signed": signed.size if signed else 0,
        "root": signed.root if signed else "",
        "server": databases.get_server_version(),
        "database": databases.get_vendor(),
        "migrations": databases.list_migrations(),
    }


def _refuse_a_full_disk(work: _BackupInProgress) -> None:
    """Raises BackupProblem. On the way it notes what the database names."""
    needed = databases.estimate_dump_size() + sum(
        size for _, _, size in retention.list_needed_uploads()
    )
    named = Document.objects.filter(state__in=STORED).exclude(sha256="").order_by()
    rows = named.values_list("sha256").annotate(Max("size"))
    with (work.folder / _WANTED).open("w") as out:
        for sha256, size in rows.iterator():
            out.write(f"{sha256}\n")
            needed += 0 if work.pool.has(sha256) else size or 0
    free = shutil.disk_usage(work.folder).free
    if free < needed + MIN_FREE_BYTES_AFTER:
        raise BackupError(
            f"The disk of {work.folder.parent} has {free / 1e6:,.0f} MB free, and the backup takes "
            f"{needed / 1e6:,.0f} MB. Make room, or name another disk. Nothing was copied."
        )


def _keep_the_spool(work: _BackupInProgress) -> None:
    """What was received and is not archived. What was archived a moment ago is in the archive."""
    for key, sha256, _ in retention.list_needed_uploads():
        try:
            upload = _upload(key, sha256, work.folder)
        except FileNotFoundError:
            work.lacks(f"spool/{key}")
            continue
        with upload:
            if work.keep(BackupFileKind.SPOOL, key, upload).sha256 != sha256:
                work.lacks(f"spool/{key}")


def _upload(key: str, sha256: str, folder: Path) -> IO[bytes]:
    """Raises FileNotFoundError, and OSError."""
    try:
        path = spool.open_local(key, folder)
        upload = path.open("rb")
    except (StorageUnavailable, FileNotFoundError):
        return get_archive().open(sha256)
    if path.parent == folder:  # a copy, which goes with its reader
        path.unlink()
    return upload


def _list_the_database(work: _BackupInProgress) -> None:
    path = work.folder / BackupFileKind.DATABASE / databases.get_dump_filename()
    with path.open("rb") as written_out:
        durable.sync(written_out)
    durable.fsync_folder(path.parent)
    work.listing.add(BackupFile(BackupFileKind.DATABASE, path.name, *durable.digest_of_file(path)))


def _keep_the_anchors(work: _BackupInProgress, entries: int) -> None:
    try:
        for name, text in anchor_backup.anchor_files(entries):
            work.keep(BackupFileKind.ANCHORS, name, BytesIO(text.encode()))
    except (AnchorError, KeyProblem) as error:
        raise BackupError(f"The anchors cannot be copied: {error}") from error


def _keep_the_archive(work: _BackupInProgress, store: Archive) -> None:
    """Into the pool, what is not there yet; the list has all that is there then."""
    for part in PARTS:
        for stored in store.contents(part):
            if not work.pool.has(stored.name):
                _add_to_pool(work, store, stored.name)
        for kept in work.pool.contents(part):
            size = work.pool.path_of(kept.name).stat().st_size
            work.listing.add(BackupFile(BackupFileKind.ARCHIVE, kept.name, kept.name, size))
    wanted = work.folder / _WANTED
    with wanted.open() as lines:
        for sha256 in map(str.strip, lines):
            if not work.pool.has(sha256):
                work.lacks(f"archive/{sha256}")
    wanted.unlink()


def _add_to_pool(work: _BackupInProgress, store: Archive, sha256: str) -> None:
    """Unless its bytes are no longer those of its name: the database says whether that matters."""
    part, target = work.folder / "incoming", work.pool.path_of(sha256)
    with store.open(sha256) as source:
        found = copy_to_file(source, part)
    if found.sha256 != sha256:
        part.unlink()
        return
    part.chmod(0o444)
    target.parent.mkdir(parents=True, exist_ok=True)
    part.rename(target)
    durable.fsync_folder(target.parent)
    work.new += 1


def _manifest(work: _BackupInProgress, began: datetime, told: dict[str, Any]) -> BackupManifest:
    return BackupManifest(
        **told,
        began_at=write_time(began),
        ended_at=write_time(datetime.now(UTC)),
        trail=settings.AUDIT_TRAIL,
        software=settings.SOFTWARE_VERSION,
        files=work.listing.files,
        bytes=work.listing.bytes,
        list_sha256=work.listing.seal(),
        missing=work.missing,
        missing_count=work.missing_count,
    )


def _enter(made: CreatedBackup, by: Actor) -> None:
    manifest = made.manifest
    with ledger():
        record(
            "backup.made",
            subject=f"backup:{made.folder.name}",
            by=by,
            sha256=made.sha256,
            detail={
                "place": str(made.folder),
                "entries": manifest.entries,
                "head": manifest.head,
                "files": manifest.files,
                "missing": manifest.missing_count,
            },
        )
