"""The database of a storm, and what happens to it."""

import os
import pwd
import shutil
import sqlite3
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from bench.process import free_port

BINARIES = "*/bin"  # below Debian's /usr/lib/postgresql


class Server(Protocol):
    name: str
    url: str
    most_ahead: int  # seconds by which the hosts' clocks may jump

    def strike(self) -> Callable[[], None]:
        """What to call a few seconds later."""
        ...

    def stop(self) -> None: ...


class Sqlite:
    """Struck by somebody who takes the write lock and keeps it."""

    name = "SQLite"
    # Its clock is the hosts'. Set back by more than `audit.reading.CLOCK_STEP`, 2 s, it makes
    # verification fail: `nobody's clock is set back by so much` (docs/chaos.md).
    most_ahead = 2

    def __init__(self, folder: Path) -> None:
        self._file = folder / "siteledger.sqlite3"
        self.url = f"sqlite:///{self._file}"

    def strike(self) -> Callable[[], None]:
        holder = sqlite3.connect(
            self._file, timeout=60, isolation_level=None, check_same_thread=False
        )
        holder.execute("BEGIN IMMEDIATE")
        return holder.close

    def stop(self) -> None:
        """There is no server."""


class Postgresql:
    """Struck by `pg_ctl restart -m immediate`: no goodbye to anybody, and a recovery."""

    name = "PostgreSQL"
    most_ahead = 60  # what is put off by a wrong clock is waited for, so that it is not long

    def __init__(self) -> None:
        """Raises FileNotFoundError where Debian's postgresql is not installed."""
        found = sorted(Path("/usr/lib/postgresql").glob(BINARIES))
        if not found:
            raise FileNotFoundError("PostgreSQL is not installed: sudo apt-get install postgresql")
        self._binaries = found[-1]
        self._home = Path(tempfile.mkdtemp(prefix="chaos-pg-"))
        # The server refuses to run as root.
        self._before = [] if os.geteuid() else ["runuser", "-u", "postgres", "--"]
        if self._before:
            owner = pwd.getpwnam("postgres")
            os.chown(self._home, owner.pw_uid, owner.pw_gid)
        port = free_port()
        self.url = f"postgres://siteledger@127.0.0.1:{port}/siteledger"
        data = self._home / "data"
        self._run("initdb", "-D", data, "-U", "siteledger", "-A", "trust", "-E", "UTF8", "-N")
        options = f"-h 127.0.0.1 -p {port} -k {self._home} -c max_connections=100"
        self._control("start", "-o", options)
        self._run("createdb", "-h", self._home, "-p", str(port), "-U", "siteledger", "siteledger")

    def strike(self) -> Callable[[], None]:
        self._control("restart", "-m", "immediate")
        return lambda: None

    def stop(self) -> None:
        self._control("stop", "-m", "immediate")
        shutil.rmtree(self._home, ignore_errors=True)

    def _control(self, *arguments: str) -> None:
        data, log = self._home / "data", self._home / "log"
        self._run("pg_ctl", "-D", data, "-w", "-l", log, *arguments)

    def _run(self, program: str, *arguments: str | Path) -> None:
        command = [*self._before, str(self._binaries / program), *map(str, arguments)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=self._home)
