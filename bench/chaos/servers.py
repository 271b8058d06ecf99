"""Controls the database of a chaos run, and causes the faults that affect it."""

import os
import pwd
import shutil
import sqlite3
import subprocess
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Protocol

from django.db import connection

from bench.installation.process import free_port

_IN_A_TRANSACTION = """SELECT 1 FROM pg_stat_activity
    WHERE xact_start IS NOT NULL AND datname = current_database() AND pid <> pg_backend_pid()"""
BINARIES = "*/bin"  # in Debian's folder /usr/lib/postgresql


class Server(Protocol):
    """Defines the interface of a database whose faults are injected."""

    name: str
    url: str

    def inject_fault(self) -> Callable[[], None]:
        """Cause the fault. Return a function that ends it, to be called a few seconds later."""
        ...

    def is_free(self) -> bool:
        """Return whether no transaction is open that others would have to wait for."""
        ...

    def stop(self) -> None:
        """Stop the database, and delete what it left."""
        ...


class Sqlite:
    """A fault takes the write lock and holds it."""

    name = "SQLite"

    def __init__(self, folder: Path) -> None:
        self._file = folder / "siteledger.sqlite3"
        self.url = f"sqlite:///{self._file}"

    def inject_fault(self) -> Callable[[], None]:
        """Take the write lock. Return the function that releases it."""
        lock_holder = sqlite3.connect(
            self._file, timeout=60, isolation_level=None, check_same_thread=False
        )
        lock_holder.execute("BEGIN IMMEDIATE")
        return lock_holder.close

    def is_free(self) -> bool:
        """Return whether nobody holds the write lock."""
        with closing(sqlite3.connect(self._file, timeout=0.2, isolation_level=None)) as connection:
            try:
                connection.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError:
                return False
        return True

    def stop(self) -> None:
        """Do nothing: there is no server."""


class Postgresql:
    """A fault is `pg_ctl restart -m immediate`: no orderly end of connections, and a recovery."""

    name = "PostgreSQL"

    def __init__(self) -> None:
        """Raise FileNotFoundError if Debian's postgresql is not installed."""
        versions = sorted(Path("/usr/lib/postgresql").glob(BINARIES))
        if not versions:
            raise FileNotFoundError("PostgreSQL is not installed: sudo apt-get install postgresql")
        self._binaries = versions[-1]
        # Not in TMPDIR, to which the user of the server may have no access.
        self._home = Path(tempfile.mkdtemp(prefix="chaos-pg-", dir="/tmp"))
        # The server refuses to run as root.
        self._prefix = [] if os.geteuid() else ["runuser", "-u", "postgres", "--"]
        if self._prefix:
            owner = pwd.getpwnam("postgres")
            os.chown(self._home, owner.pw_uid, owner.pw_gid)
        port = free_port()
        self.url = f"postgres://siteledger@127.0.0.1:{port}/siteledger"
        data = self._home / "data"
        self._run("initdb", "-D", data, "-U", "siteledger", "-A", "trust", "-E", "UTF8", "-N")
        options = f"-h 127.0.0.1 -p {port} -k {self._home} -c max_connections=100"
        self._control("start", "-o", options)
        self._run("createdb", "-h", self._home, "-p", str(port), "-U", "siteledger", "siteledger")

    def inject_fault(self) -> Callable[[], None]:
        """Restart the server without an orderly end. Return a function that does nothing."""
        self._control("restart", "-m", "immediate")
        return lambda: None

    def is_free(self) -> bool:
        """Return whether no other connection is in a transaction."""
        with connection.cursor() as cursor:
            cursor.execute(_IN_A_TRANSACTION)
            return cursor.fetchone() is None

    def stop(self) -> None:
        """Stop the server, and delete its files."""
        self._control("stop", "-m", "immediate")
        shutil.rmtree(self._home, ignore_errors=True)

    def _control(self, *arguments: str) -> None:
        data, log = self._home / "data", self._home / "log"
        self._run("pg_ctl", "-D", data, "-w", "-l", log, *arguments)

    def _run(self, program: str, *arguments: str | Path) -> None:
        command = [*self._prefix, str(self._binaries / program), *map(str, arguments)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=self._home)
