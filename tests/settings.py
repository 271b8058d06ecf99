"""Changes the real settings for tests: folders are temporary, and slow parts are off."""

import atexit
import os
import shutil
import tempfile
from pathlib import Path

if "SITELEDGER_TESTS" not in os.environ:  # a worker that a test starts inherits the folder
    os.environ["SITELEDGER_TESTS"] = tempfile.mkdtemp(prefix="siteledger-tests-")
    atexit.register(shutil.rmtree, os.environ["SITELEDGER_TESTS"], ignore_errors=True)
    # Whatever .env says: no test writes where nobody can delete.
    os.environ |= {"ANCHOR_S3_BUCKET": "", "ANCHOR_TSA": "", "NTP_SERVER": ""}

os.environ |= {
    "SECRET_KEY": "only-for-tests",
    "DEBUG": "False",
    "ALLOWED_HOSTS": "localhost,127.0.0.1,testserver",
    "HTTPS_ONLY": "False",
    "OCR_SECOND_ENGINE": "none",
    "DATA_DIR": os.environ["SITELEDGER_TESTS"],
}

from config.settings import *  # noqa: F403
from config.settings import DATA_DIR, DATABASES, STATIC_ROOT, STORAGES

if DATABASES["default"]["ENGINE"].endswith("sqlite3"):
    # A file, because workers are other processes. Tests kill processes, never the power: the
    # fsync of `synchronous=FULL` would only make them slow.
    DATABASES["default"]["TEST"] = {"NAME": str(DATA_DIR / "test.sqlite3")}
    DATABASES["default"]["OPTIONS"]["init_command"] = (
        "PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF;"
    )
Path(STATIC_ROOT).mkdir(exist_ok=True)  # whitenoise warns when it is not there
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
STORAGES["staticfiles"] = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
