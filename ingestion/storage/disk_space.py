"""How much room is left where documents are kept, and where they wait."""

import shutil
from pathlib import Path

from django.conf import settings

from ingestion.storage.archive import FolderArchive, get_archive


def list_folders() -> dict[str, str]:
    """What for: its setting. An archive in S3 is on no disk of ours."""
    archived = {"archive": "ARCHIVE_DIR"} if isinstance(get_archive(), FolderArchive) else {}
    return {**archived, "spool": "SPOOL_DIR"}


def get_free_bytes(setting: str) -> int:
    return _usage(setting).free


def get_free_percent(setting: str) -> int:
    usage = _usage(setting)
    return 100 * usage.free // usage.total


def describe_low_space() -> str:
    """Which folder has less than READY_FREE_MB left, in words; "" when none has. Raises OSError."""
    for setting in list_folders().values():
        if get_free_bytes(setting) < settings.READY_FREE_MB * 1_000_000:
            return f"{setting} has less than {settings.READY_FREE_MB} MB left"
    return ""


def _usage(setting: str) -> "shutil._ntuple_diskusage":
    """Of the disk of that folder, which may not have been made yet."""
    folder = Path(getattr(settings, setting))
    while not folder.exists():
        folder = folder.parent
    return shutil.disk_usage(folder)
