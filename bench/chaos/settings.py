"""Makes a run's settings: the defaults, with its own database and folders, and short limits."""

from pathlib import Path

# The time limits are a tenth of the defaults, so that a run takes minutes instead of hours.
LIMITS = {
    "LEASE_SECONDS": "6",
    "HEARTBEAT_SECONDS": "1",
    "WATCHDOG_SECONDS": "4",
    "BREAKER_COOLDOWN_SECONDS": "3",
    "SHIFT_MAX_CHUNKS": "8",
    "CHUNK_SIZE": "20",
    "PARSER_PROCESSES": "1",
    "READY_FREE_MB": "1",
}


def environment(folder: Path, database: str) -> dict[str, str]:
    """Return the environment variables of all programs of a run, and make its folders."""
    disk, temporary = folder / "disk", folder / "t"
    for new_folder in (disk, temporary):
        new_folder.mkdir()
    servers = ("ANCHOR_S3_BUCKET", "ANCHOR_TSA", "NTP_SERVER", "REDIS_URL", "ARCHIVE_S3_BUCKET")
    return {
        **dict.fromkeys((*servers, "SPOOL_S3_BUCKET", "DATABASE_OWNER_URL", "CLAMD"), ""),
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "DATA_DIR": str(folder),
        "TMPDIR": str(temporary),
        "HOME": str(folder),  # gunicorn creates a socket there
        "DATABASE_URL": database,
        "SPOOL_DIR": str(disk / "spool"),
        "ARCHIVE_DIR": str(disk / "archive"),
        "SECRET_KEY": "only for a chaos run",
        "ALLOWED_HOSTS": "127.0.0.1",
        "HTTPS_ONLY": "False",
        "DEBUG": "False",
        "LOG_LEVEL": "WARNING",
        **LIMITS,
    }
