"""Measures the free disk space of the archive and the spool."""

import shutil
from pathlib import Path

from django.conf import settings
from django.utils.translation import gettext as _

from ingestion.storage.archive import FolderArchive, get_archive


def list_folders() -> dict[str, str]:
    """Return the setting of each folder by its purpose. An archive in S3 is not on a local disk."""
    archived = {"archive": "ARCHIVE_DIR"} if isinstance(get_archive(), FolderArchive) else {}
    return {**archived, "spool": "SPOOL_DIR"}


def get_free_bytes(setting: str) -> int:
    """Return the free bytes on the disk of the folder that a setting names. Raises OSError."""
    return _get_usage(setting).free


def get_free_percent(setting: str) -> int:
    """Return the free share of the same disk, in whole percent. Raises OSError."""
    usage = _get_usage(setting)
    return 100 * usage.free // usage.total


def describe_low_space() -> str:
    """Return which folder has less than READY_FREE_MB left, or "". Raises OSError."""
    for setting in list_folders().values():
        if get_free_bytes(setting) < settings.READY_FREE_MB * 1_000_000:
            phrase = _("{folder} has less than {n} MB left")
            return phrase.format(folder=setting, n=settings.READY_FREE_MB)
    return ""


def _get_usage(setting: str) -> "shutil._ntuple_diskusage":
    folder = Path(getattr(settings, setting))
    while not folder.exists():  # It is created when it is first needed.
        folder = folder.parent
    return shutil.disk_usage(folder)
