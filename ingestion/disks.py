"""How much room is left where documents are kept, and where they wait."""

import shutil
from pathlib import Path

from django.conf import settings

FOLDERS = {"archive": "ARCHIVE_DIR", "spool": "SPOOL_DIR"}  # what for: its setting


def free_bytes(setting: str) -> int:
    return _usage(setting).free


def free_percent(setting: str) -> int:
    usage = _usage(setting)
    return 100 * usage.free // usage.total


def low() -> str:
    """Which folder has less than READY_FREE_MB left, in words; "" when none has. Raises OSError."""
    for setting in FOLDERS.values():
        if free_bytes(setting) < settings.READY_FREE_MB * 1_000_000:
            return f"{setting} has less than {settings.READY_FREE_MB} MB left"
    return ""


def _usage(setting: str) -> "shutil._ntuple_diskusage":
    """Of the disk of that folder, which may not have been made yet."""
    folder = Path(getattr(settings, setting))
    while not folder.exists():
        folder = folder.parent
    return shutil.disk_usage(folder)
