"""Defines the default settings, except that SQLite itself waits for its lock."""

from config.settings import *  # noqa: F403
from config.settings import DATABASES

DATABASES["default"]["ENGINE"] = "django.db.backends.sqlite3"
