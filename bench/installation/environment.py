"""Makes an installation for one run: default settings, with its own database and folders.

A SQLite database is copied from one that is migrated once, because migrating takes longer than many
runs.
"""

import atexit
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path

DATABASE = "bench.sqlite3"
ROOT = Path(__file__).parents[2]


def environment(folder: Path) -> Mapping[str, str]:
    """Return the environment variables for the installation in `folder`, which has to be empty."""
    shutil.copy(_make_migrated_database(), folder / DATABASE)
    return _settings(folder)


@cache
def _make_migrated_database() -> Path:
    """Return an empty migrated database, which is deleted when this process ends."""
    folder = Path(tempfile.mkdtemp(prefix="siteledger-bench-"))
    atexit.register(shutil.rmtree, folder)
    command = [sys.executable, "manage.py", "migrate", "--verbosity", "0", "--skip-checks"]
    subprocess.run(command, cwd=ROOT, env={**os.environ, **_settings(folder)}, check=True)
    return folder / DATABASE


def _settings(folder: Path) -> Mapping[str, str]:
    return {
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "DATA_DIR": str(folder),
        "DATABASE_URL": f"sqlite:///{folder / DATABASE}",
        "SECRET_KEY": "only for a benchmark",
        "ALLOWED_HOSTS": "localhost",
        "LOG_LEVEL": "ERROR",
    }
