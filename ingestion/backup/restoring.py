"""Brings a backup back into an empty place, and proves what came back.

Nothing is written before every file of the backup was read and found to be what it was. The
database comes last: whoever dies on the way leaves nothing that works.

What was under way goes on by itself: leases have run out by then, so that the first host takes the
work up again, and it rings for what is due.
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
from ingestion.backup.copying import BLOCK_BYTES, copy_to_file
from ingestion.backup.making import MIN_FREE_BYTES_AFTER
from ingestion.core.errors import StorageUnavailable
from ingestion.storage import archive_verification, disk_space, spool
from ingestion.storage.archive import FolderArchive, get_archive
from ingestion.storage.archive_verification import PARTS

_A_DAY = timedelta(days=1)  # by which the clock of a bucket may be ahead


@dataclass(slots=True)
class RestoreResult:
    """What came back, and what is wrong with it."""

    folder: Path
    manifest: BackupManifest
    entries: int = 0  # of the ledger, before this is entered
    lost: int = 0  # entries that anchors know of and the backup has not
    files: int = 0  # in the archive
    findings: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)  # worth knowing, and nothing wrong


def inspect_backup(place: Path) -> tuple[Path, BackupManifest]:
    """The backup there, whose every file is what it was. Raises BackupProblem. Writes nothing."""
    folder = contents.find_backup(place)
    manifest = BackupManifest.read(folder)
    contents.verify_files(folder, manifest)
    return folder, manifest


def restore_backup(place: Path, *, by: Actor) -> RestoreResult:
    """Raises BackupProblem, OSError and StorageUnavailable: then nothing works yet."""
    folder = contents.find_backup(place)
    manifest = BackupManifest.read(folder)
    with database_roles.connect_as_owner(DEFAULT_DB_ALIAS):
        if refusals := list(_refusals(manifest)):
            raise BackupError(" ".join([*refusals, "Nothing was written."]))
        databases.check_server_can_load(manifest.server)
    contents.verify_files(folder, manifest)
    restored = RestoreResult(folder, manifest)
    for item in contents.read_file_list(folder):
        _bring_back(item, folder, restored)
    with database_roles.connect_as_owner(DEFAULT_DB_ALIAS):
        databases.load(folder / BackupFileKind.DATABASE / databases.get_dump_filename())
        if settings.DATABASE_OWNER:
            database_roles.grant_rights(
                connections[DEFAULT_DB_ALIAS], database_roles.application_role(DEFAULT_DB_ALIAS)
            )
    # All of it is back. What follows says whether it holds, and puts that on record.
    _examine(restored, by.name)
    _enter(restored, by)
    return restored


def _refusals(manifest: BackupManifest) -> Iterator[str]:
    yield from _unlike(manifest)
    if not databases.is_empty():
        yield "The database that DATABASE_URL names has tables: a backup comes into an empty one."
    if any(True for part in PARTS for _ in get_archive().contents(part)):
        yield f"{_place('archive', 'ARCHIVE')} is not empty: move what is there away."
    uploads = spool.list_uploads_before(timezone.now() + _A_DAY)
    if any(True for _ in uploads):
        yield f"{_place('spool', 'SPOOL')} is not empty: move what is there away."
    is_folder = isinstance(get_archive(), FolderArchive)
    if (
        is_folder
        and (room := disk_space.get_free_bytes("ARCHIVE_DIR"))
        < manifest.bytes + MIN_FREE_BYTES_AFTER
    ):
        yield (
            f"The disk of ARCHIVE_DIR has {room / 1e6:,.0f} MB free, and the backup takes "
            f"{manifest.bytes / 1e6:,.0f} MB."
        )


def _place(store: str, name: str) -> str:
    """By the setting that says where it is."""
    bucket = getattr(storages[store], "name", "")
    folder = getattr(settings, f"{name}_DIR")
    return f"{name}_S3_BUCKET={bucket}" if bucket else f"{name}_DIR={folder}"


def _unlike(manifest: BackupManifest) -> Iterator[str]:
    """Where the backup is none of what runs here."""
    here = databases.get_vendor()
    if manifest.database != here:
        yield f"The backup is of {manifest.database}, and DATABASE_URL names {here}."
        return
    if manifest.trail != settings.AUDIT_TRAIL:
        yield f"The backup is of the ledger {manifest.trail!r}, and AUDIT_TRAIL is another one."
    if list(manifest.migrations) != databases.list_migrations():
        yield (
            f"The backup was made by another release ({manifest.software}), whose database differs "
            f"from that of this one ({settings.SOFTWARE_VERSION}). Restore it with that release, "
            "then upgrade."
        )
    if databases.get_server_version() < manifest.server:
        yield f"PostgreSQL here is older than {manifest.server}, of which the backup is."


def _bring_back(item: BackupFile, folder: Path, restored: RestoreResult) -> None:
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
            f"ANCHOR_DIR has its {item.name} already, which stays as it is: it may know more."
        )


def _examine(restored: RestoreResult, actor: str) -> None:
    """Everything, as `verify_audit --full` and `verify_archive` do."""
    restored.entries, head = queries.last_entry() or (0, "")
    manifest = restored.manifest
    if (restored.entries, head) != (manifest.entries, manifest.head):
        restored.findings.append("The ledger does not end as the manifest says.")
    if manifest.missing_count:
        restored.findings.append(
            f"{manifest.missing_count:,} files were missing when the backup was made: "
            f"{', '.join(manifest.missing[:5])}."
        )
    restored.findings += [*_ledger(restored, actor), *_archive(restored, actor)]


def _ledger(restored: RestoreResult, actor: str) -> Iterator[str]:
    try:
        known, unreachable = anchor_backup.largest_anchored_elsewhere()
        verdict, run = runs.run_check(Mode.FULL, asked_by=actor)
    except (CannotVerify, Error) as error:
        yield f"The ledger could not be checked: {str(error).strip()}"
        return
    restored.lost = max(0, known - restored.entries)
    if restored.lost:
        yield (
            f"THE ANCHORS KNOW {restored.lost:,} ENTRIES THAT THIS BACKUP DOES NOT HAVE: they were "
            f"signed up to entry {known:,}, and the backup ends with {restored.entries:,}. Bring "
            "back a newer backup if there is one. See docs/operations.md, 'Entries after the "
            "backup'."
        )
    if unreachable:
        yield f"{unreachable} So nobody knows whether the backup has all that was signed."
    if not verdict.intact:
        yield f"The ledger does not hold: {run.findings[0]}"
    restored.notes += verdict.unanchored


def _archive(restored: RestoreResult, actor: str) -> Sequence[str]:
    try:
        stock = archive_verification.verify_parts(asked_by=actor)
    except (StorageUnavailable, OSError, Error) as error:
        return [f"The archive could not be checked: {error}."]
    restored.files = stock.files
    wrong = {fault: n for fault, n in stock.counts.items() if n and fault.breaks}
    return [f"{n:,} files of the archive are {fault}." for fault, n in wrong.items()]


def _enter(restored: RestoreResult, by: Actor) -> None:
    with ledger():
        record(
            "backup.restored",
            subject=f"backup:{restored.folder.name}",
            by=by,
            detail={
                "made_at": restored.manifest.began_at,
                "restored_at": write_time(datetime.now(UTC)),
                "entries": restored.entries,
                "head": restored.manifest.head,
                "lost": restored.lost,
                "findings": restored.findings,
            },
        )
