"""Django's SQLite backend, but fair to writers that want the database at the same time.

SQLite waits for its lock by asking again after pauses that grow: whoever has waited longest asks
most seldom, and of eight writers one may wait for seconds while another has every turn. Here the
one who has waited asks more often. A queue of `flock` tickets is as fair, but slower, and its wait
has no end when a holder hangs (docs/adr/0021).
"""

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from django.db import OperationalError
from django.db.backends.sqlite3 import base

NEW, OLD = 0.002, 0.0002  # seconds between two tries of who has just come, and of who has waited
PATIENCE = 0.03  # seconds, after which one counts as having waited


class DatabaseWrapper(base.DatabaseWrapper):
    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        """Create the database file with mode 0600; SQLite gives the files beside it the same."""
        path = str(conn_params["database"])
        if not path.startswith(("file:", ":memory:")):
            with suppress(OSError):  # it exists, or SQLite says what is wrong
                os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        return super().get_new_connection(conn_params)

    def _start_transaction_under_autocommit(self) -> None:
        """Raises OperationalError ("database is locked") after `timeout` seconds, as SQLite."""
        begun = time.monotonic()
        with self._asking_once():
            while not self._began():
                waited = time.monotonic() - begun
                if waited > self._timeout:
                    raise OperationalError("database is locked")
                time.sleep(NEW if waited < PATIENCE else OLD)

    def _began(self) -> bool:
        # Past Django's cursor: who waits asks often, and takes processor time from who works.
        begin = f"BEGIN {self.transaction_mode or ''}"  # type: ignore[attr-defined] # not in its stubs
        try:
            with self.wrap_database_errors:
                self.connection.execute(begin)
        except OperationalError as error:
            if _is_busy(error.__cause__):
                return False
            raise
        return True

    @contextmanager
    def _asking_once(self) -> Iterator[None]:
        """SQLite does not wait by itself meanwhile."""
        self.connection.execute("PRAGMA busy_timeout = 0")
        try:
            yield
        finally:
            self.connection.execute(f"PRAGMA busy_timeout = {self._timeout * 1000:.0f}")

    @property
    def _timeout(self) -> float:
        """Seconds; 5 is sqlite3's own default."""
        return float(self.settings_dict["OPTIONS"].get("timeout", 5.0))


def _is_busy(error: BaseException | None) -> bool:
    return isinstance(error, sqlite3.OperationalError) and (
        error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY
    )
