"""The settings as they are shipped, but for the wait for SQLite's lock: SQLite's own."""

from config.settings import *  # noqa: F403
from config.settings import DATABASES

DATABASES["default"]["ENGINE"] = "django.db.backends.sqlite3"
