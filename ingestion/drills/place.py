"""An installation for one drill: its own database and folders, and nobody outside is asked."""

import os
import subprocess
import sys
from pathlib import Path

from django.conf import settings

FOLDERS = ("ARCHIVE_DIR", "SPOOL_DIR", "PREVIEW_DIR", "ANCHOR_DIR", "EXPORT_DIR", "STATIC_ROOT")
# Empty: none. Buckets, servers and people that the environment may name.
OUTSIDE = (
    "ALERT_EMAILS", "ALERT_WEBHOOK", "ALERT_WEBHOOK_SECRET_FILE", "ANCHOR_S3_BUCKET", "ANCHOR_TSA",
    "ARCHIVE_S3_BUCKET", "CLAMD", "DATABASE_OWNER_URL", "DOCUMENT_TYPES_FILE", "NTP_SERVER",
    "PORTAL_SECRETS_DIR", "REDIS_URL", "SITE_URL", "SPOOL_S3_BUCKET",
)  # fmt: skip


class DrillFailed(Exception):
    """What was promised did not hold; the message says what, and by how much."""


def environment(folder: Path) -> dict[str, str]:
    """What every program of the drill is started with."""
    temporary = folder / "tmp"
    temporary.mkdir(parents=True, exist_ok=True)
    return {
        **os.environ,
        **{name: str(folder / name.lower()) for name in FOLDERS},
        **dict.fromkeys(OUTSIDE, ""),
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "DATA_DIR": str(folder),
        "DATABASE_URL": f"sqlite:///{database(folder)}",
        "AUDIT_KEY_FILE": str(folder / "keys" / "audit.pem"),
        "TMPDIR": str(temporary),
        "DEBUG": "True",
        "LOG_LEVEL": "ERROR",
    }


def database(folder: Path) -> Path:
    return folder / "siteledger.sqlite3"


def manage(folder: Path, *arguments: str, **changes: str) -> "subprocess.Popen[str]":
    """Start `manage.py` there."""
    command = [sys.executable, str(settings.BASE_DIR / "manage.py"), *arguments]
    return subprocess.Popen(  # noqa: S603 - ourselves
        command, env=environment(folder) | changes, stdout=subprocess.PIPE, text=True
    )


def refuse_another(folder: Path) -> None:
    """Raises DrillFailed unless this process works there, and nowhere else."""
    name = settings.DATABASES["default"]["NAME"]
    if Path(name) != database(folder) or Path(settings.DATA_DIR) != folder:
        raise DrillFailed(f"a drill works in {folder} alone, and not on {name}; nothing was done")
