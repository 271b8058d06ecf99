"""Restores a backup into an empty installation, and verifies the result.

Nothing is written before every file of the backup was read and found to be unchanged. The database
is restored last: a process that dies earlier leaves an installation that does not work.

Work that was in progress continues by itself. Its leases have expired by then, so that the first
worker host makes the work due again and wakes workers for it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

from django.conf import settings
from django.core.files.storage import storages
from django.db import DEFAULT_DB_ALIAS, Error, connections
from django.utils import timezone

from audit.ledger import database_roles, queries
from audit.ledger.actors import Actor
from audit.ledger.log import ledger, record, write_time
from audit.verification import anchor_backup, runs
from audit.verification.checkpoint_verification import CannotVerify
from audit.verification.start import Mode
from ingestion.backup import contents, databases
from ingestion.backup.contents import BackupError, BackupFile, BackupFileKind, BackupManifest
from ingestion.backup.creation import MIN_FREE_BYTES_AFTER
from ingestion.backup.durable_copy import BLOCK_BYTES, copy_to_file
from ingestion.core.errors import StorageUnavailable
from ingestion.storage import archive_verification, disk_space, spool
from ingestion.storage.archive import FolderArchive, get_archive
from ingestion.storage.archive_verification import PARTS

_MAX_CLOCK_SKEW = timedelta(days=1)  # by which the clock of a bucket may be ahead of ours


@dataclass(slots=True)
class RestoreResult:
    """Counts the restored entries and files, and lists the problems that were found."""

    folder: Path
    manifest: BackupManifest
    entries: int = 0  # in the restored ledger, before the restoration is recorded
    lost: int = 0  # entries that the anchors cover and the backup does not have
    files: int = 0  # in the archive
    findings: list[str] = field(default_factory=list)  # problems
    notes: list[str] = field(default_factory=list)  # information that is no problem


def inspect_backup(place: Path) -> tuple[Path, BackupManifest]:
    """Verify every file of a backup without writing; return its folder and manifest.

    Raises BackupError if a file is missing or was changed.
    """
    folder = contents.find_backup(place)
    manifest = BackupManifest.read(folder)
    contents.verify_files(folder, manifest)
    return folder, manifest


def restore_backup(place: Path, *, by: Actor) -> RestoreResult:
    """Restore a backup into an empty installation, verify the result and record it.

    Raises BackupError, OSError or StorageUnavailable if the backup was not restored. The
    installation does not work then.
    """
    folder = contents.find_backup(place)
    manifest = BackupManifest.read(folder)
    with database_roles.connect_as_owner(DEFAULT_DB_ALIAS):
        if obstacles := [*_find_mismatches(manifest), *_find_obstacles(manifest)]:
            raise BackupError(" ".join([*obstacles, "Nothing was written."]))
        databases.check_server_can_load(manifest.server)
    contents.verify_files(folder, manifest)
    restored = RestoreResult(folder, manifest)
    for item in contents.read_file_list(folder):
        _restore_file(item, folder, restored)
    with database_roles.connect_as_owner(DEFAULT_DB_ALIAS):
        databases.load(folder / BackupFileKind.DATABASE / databases.get_dump_filename())
        if settings.DATABASE_OWNER:
            database_roles.grant_rights(
                connections[DEFAULT_DB_ALIAS], database_roles.get_application_role(DEFAULT_DB_ALIAS)
            )
    # Everything is restored now. The verification comes next, and its result is recorded.
    restored.entries, head = queries.get_last_entry() or (0, "")
    if (restored.entries, head) != (manifest.entries, manifest.head):
        restored.findings.append("The ledger does not end as the manifest says.")
    if manifest.missing_count:
        restored.findings.append(
            f"{manifest.missing_count:,} files were missing when the backup was created: "
            f"{', '.join(manifest.missing[:5])}."
        )
    restored.findings += _verify_ledger(restored, by.name)
    restored.findings += _verify_archive(restored, by.name)
    with ledger():
        record(
            "backup.restored",
            subject=f"backup:{folder.name}",
            by=by,
            detail={
                "made_at": manifest.began_at,
                "restored_at": write_time(datetime.now(UTC)),
                "entries": restored.entries,
                "head": manifest.head,
                "lost": restored.lost,
                "findings": restored.findings,
            },
        )
    return restored


def _find_mismatches(manifest: BackupManifest) -> Iterator[str]:
    """Yield a sentence for each way in which the backup does not fit this installation."""
    vendor = databases.get_vendor()
    if manifest.database != vendor:
        yield f"The backup is of {manifest.database}, but DATABASE_URL names {vendor}."
        return
    if manifest.trail != settings.AUDIT_TRAIL:
        yield f"The backup is of the ledger {manifest.trail!r}, but AUDIT_TRAIL names another one."
    if list(manifest.migrations) != databases.list_migrations():
        yield (
            f"The backup was made by another release ({manifest.software}), whose database differs "
            f"from that of this one ({settings.SOFTWARE_VERSION}). Restore it with that release, "
            "then upgrade."
        )
    if databases.get_server_version() < manifest.server:
        yield f"The backup is of PostgreSQL {manifest.server}, but the server here is older."


def _find_obstacles(manifest: BackupManifest) -> Iterator[str]:
    """Yield a sentence for each part of the installation that is not empty or is too small."""
    if not databases.is_empty():
        yield (
            "The database that DATABASE_URL names has tables. A backup can only be restored into "
            "an empty database."
        )
    if any(True for part in PARTS for _ in get_archive().contents(part)):
        yield f"{_name_place('archive', 'ARCHIVE')} is not empty. Move its content away."
    if any(True for _ in spool.list_uploads_before(timezone.now() + _MAX_CLOCK_SKEW)):
        yield f"{_name_place('spool', 'SPOOL')} is not empty. Move its content away."
    if isinstance(get_archive(), FolderArchive):
        free = disk_space.get_free_bytes("ARCHIVE_DIR")
        if free < manifest.bytes + MIN_FREE_BYTES_AFTER:
            yield (
                f"The disk of ARCHIVE_DIR has {free / 1e6:,.0f} MB free, but the backup needs "
                f"{manifest.bytes / 1e6:,.0f} MB."
            )


def _name_place(store: str, name: str) -> str:
    """Return the setting that says where a store is, with its value."""
    bucket = getattr(storages[store], "name", "")
    folder = getattr(settings, f"{name}_DIR")
    return f"{name}_S3_BUCKET={bucket}" if bucket else f"{name}_DIR={folder}"


def _restore_file(item: BackupFile, folder: Path, restored: RestoreResult) -> None:
    """Copy one file of the archive, the spool or the anchors to its place."""
    source = item.path_in(folder)
    if item.kind is BackupFileKind.ARCHIVE:
        get_archive().put(source, item.sha256)
    elif item.kind is BackupFileKind.SPOOL:
        with source.open("rb") as opened:
            if item.name.startswith("uploads/"):
                spool.restore_upload(item.name, iter(partial(opened.read, BLOCK_BYTES), b""))
            else:
                copy_to_file(opened, spool.get_path(item.name))
    elif item.kind is BackupFileKind.ANCHORS and not anchor_backup.restore_anchor_file(
        item.name, source.read_text()
    ):
        restored.notes.append(
            f"ANCHOR_DIR already has a file {item.name}. It was not replaced, because it may "
            "contain newer checkpoints."
        )


def _verify_ledger(restored: RestoreResult, actor: str) -> Iterator[str]:
    """Verify the ledger as `verify_audit --full` does, and yield the problems in sentences."""
    try:
        known, unreachable = anchor_backup.find_largest_anchored_elsewhere()
        verdict, run = runs.run_check(Mode.FULL, asked_by=actor)
    except (CannotVerify, Error) as error:
        yield f"The ledger could not be checked: {str(error).strip()}"
        return
    restored.lost = max(0, known - restored.entries)
    if restored.lost:
        yield (
            f"THE ANCHORS COVER {restored.lost:,} ENTRIES THAT THIS BACKUP DOES NOT HAVE: they "
            f"were signed up to entry {known:,}, and the backup ends with entry "
            f"{restored.entries:,}. "
            "Restore a newer backup if there is one. See docs/operations.md, 'Entries after the "
            "backup'."
        )
    if unreachable:
        yield f"{unreachable} It is not known whether the backup has all entries that were signed."
    if not verdict.intact:
        yield f"The ledger is not intact: {run.findings[0]}"
    restored.notes += verdict.unanchored


def _verify_archive(restored: RestoreResult, actor: str) -> Sequence[str]:
    """Verify the archive as `verify_archive` does, and return the problems in sentences."""
    try:
        result = archive_verification.verify_parts(asked_by=actor)
    except (StorageUnavailable, OSError, Error) as error:
        return [f"The archive could not be checked: {error}."]
    restored.files = result.files
    faults = {fault: count for fault, count in result.counts.items() if count and fault.is_damage}
    return [f"{count:,} files of the archive are {fault}." for fault, count in faults.items()]
