"""Extends Django's SQLite backend with fair waiting for the write lock.

SQLite retries after pauses that grow, so that the writer that has waited longest retries least
often. Of eight writers, one may wait for seconds while another gets the lock every time. This
backend lets a writer that has waited for a while retry more often. A queue of `flock` tickets is as
fair, but slower, and its wait never ends if a holder hangs (docs/adr/0021).
"""

import os
import sqlite3
import time
from contextlib import suppress
from typing import Any

from django.db import OperationalError
from django.db.backends.sqlite3 import base

FIRST_RETRY_SECONDS = 0.002  # between two tries of a new writer
LATER_RETRY_SECONDS = 0.0002  # between two tries of a writer that has waited for a while
SECONDS_UNTIL_LATER = 0.03  # after which a writer has waited for a while


class DatabaseWrapper(base.DatabaseWrapper):
    """Lets a connection that has waited long for the write lock retry more often."""

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        """Create the database file with mode 0600. SQLite uses the same for the files beside it."""
        path = str(conn_params["database"])
        if not path.startswith(("file:", ":memory:")):
            with suppress(OSError):  # the file exists, or SQLite reports the error
                os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        return super().get_new_connection(conn_params)

    def _start_transaction_under_autocommit(self) -> None:
        """Begin a transaction.

        Raises OperationalError ("database is locked") after `timeout` seconds, as SQLite does.
        """
        started = time.monotonic()
        # SQLite must not wait by itself: it fails at once, and the loop below waits.
        self.connection.execute("PRAGMA busy_timeout = 0")
        try:
            while not self._try_to_begin():
                waited = time.monotonic() - started
                if waited > self._timeout:
                    raise OperationalError("database is locked")
                is_new = waited < SECONDS_UNTIL_LATER
                time.sleep(FIRST_RETRY_SECONDS if is_new else LATER_RETRY_SECONDS)
        finally:
            self.connection.execute(f"PRAGMA busy_timeout = {self._timeout * 1000:.0f}")

    def _try_to_begin(self) -> bool:
        """Begin a transaction, and return False if another writer has the lock.

        It does not use Django's cursor: a waiting writer retries often, and the cursor would take
        processor time from the writer that works.
        """
        begin = f"BEGIN {self.transaction_mode or ''}"  # type: ignore[attr-defined] # not in its stubs
        try:
            with self.wrap_database_errors:
                self.connection.execute(begin)
        except OperationalError as error:
            cause = error.__cause__
            if (
                isinstance(cause, sqlite3.OperationalError)
                and cause.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY
            ):
                return False
            raise
        return True

    @property
    def _timeout(self) -> float:
        """Return the timeout in seconds. The default of sqlite3 is 5."""
        return float(self.settings_dict["OPTIONS"].get("timeout", 5.0))
