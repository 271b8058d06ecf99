"""An installation for one run: the settings as they are shipped, a database and folders of its own.

It is migrated already where it is SQLite's, from a copy that is made once: to make the tables takes
longer than many a run.
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
ROOT = Path(__file__).parents[1]


def environment(folder: Path) -> Mapping[str, str]:
    """What its processes find in their environment, beside what is in ours. `folder` is empty."""
    shutil.copy(_migrated(), folder / DATABASE)
    return _settings(folder)


@cache
def _migrated() -> Path:
    """A database with all tables and nothing in them, as long as this process lives."""
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
