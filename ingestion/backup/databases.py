"""The database at one moment, while others write: read, copied into a file, and brought back.

SQLite by its online backup, PostgreSQL by `pg_dump` and `pg_restore`. Both copy from the very
snapshot that this thread's connection reads, so that what is looked up beside is of the copy.
"""

import os
import re
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from django.db import connection
from django.db.migrations.loader import MigrationLoader

from audit.files import durable
from ingestion.backup.contents import BackupError
from ingestion.backup.copying import copy_to_file

_PAGES = 4_000  # of SQLite's, that are copied before others may have a turn
_TOLD = 2_000  # characters of what a program complains of


def get_vendor() -> str:
    """Django's word for it."""
    return str(connection.vendor)


def get_dump_filename() -> str:
    """What the copy is called."""
    return "siteledger.sqlite3" if connection.vendor == "sqlite" else "siteledger.dump"


def get_server_version() -> int:
    """The major version of the database's server; 0 for SQLite."""
    if connection.vendor == "sqlite":
        return 0
    connection.ensure_connection()
    return int(connection.pg_version // 10_000)  # type: ignore[attr-defined] # PostgreSQL's


def list_migrations() -> list[str]:
    """Those of this release, as `audit.0001_...`, in order."""
    return sorted(f"{app}.{name}" for app, name in MigrationLoader(None).disk_migrations or ())


def list_unapplied_migrations() -> list[str]:
    """Migrations of this release that the database does not have. Others it may have, of old."""
    applied = MigrationLoader(connection).applied_migrations or ()
    return sorted({*list_migrations()}.difference(f"{app}.{name}" for app, name in applied))


@contextmanager
def snapshot() -> Iterator[None]:
    """All that this thread reads inside is of one moment. Nobody waits for it."""
    postgresql = "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY"
    # Not `atomic()`: on SQLite that is IMMEDIATE, and would keep all others from writing.
    begin = "BEGIN DEFERRED" if connection.vendor == "sqlite" else postgresql
    try:
        with connection.cursor() as cursor:
            cursor.execute(begin)
            # The moment is that of the first look.
            cursor.execute("SELECT count(*) FROM django_migrations")
        yield
    finally:
        connection.close()  # which rolls back


def estimate_dump_size() -> int:
    """Bytes that a copy may take."""
    sqlite = "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()"
    postgresql = "SELECT pg_database_size(current_database())"
    with connection.cursor() as cursor:
        cursor.execute(sqlite if connection.vendor == "sqlite" else postgresql)
        return int(cursor.fetchone()[0])


def dump(target: Path) -> None:
    """Into a new file. Inside `snapshot()`. Raises BackupProblem."""
    target.parent.mkdir()
    if connection.vendor == "sqlite":
        with closing(sqlite3.connect(target)) as copy:
            # The source is in a transaction: what others write meanwhile does not begin it again.
            connection.connection.backup(copy, pages=_PAGES)
        return
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_export_snapshot()")
        moment = cursor.fetchone()[0]
    check_program_version("pg_dump", get_server_version())
    _run("pg_dump", [f"--snapshot={moment}", "--format=custom", f"--file={target}"])


def is_empty() -> bool:
    return not connection.introspection.table_names()


def check_server_can_load(made_by: int) -> None:
    """Raises BackupProblem where a copy that such a server made could not be brought back."""
    if connection.vendor == "postgresql":
        check_program_version("pg_restore", max(get_server_version(), made_by))


def load(source: Path) -> None:
    """Into the empty database: all of it or nothing. Raises BackupProblem."""
    if connection.vendor == "sqlite":
        _put(source, Path(connection.settings_dict["NAME"]))
        return
    # Whoever brings it back owns it; who else may do what is given by `roles`, not by the dump.
    how = ["--exit-on-error", "--single-transaction", "--no-owner", "--no-privileges"]
    connection.close()
    _run("pg_restore", [*how, str(source)])


def _put(source: Path, target: Path) -> None:
    connection.close()
    for leftover in ("", "-wal", "-shm"):  # of a database without tables
        target.with_name(f"{target.name}{leftover}").unlink(missing_ok=True)
    part = target.with_name(f"{target.name}.restoring")
    part.unlink(missing_ok=True)
    with source.open("rb") as opened:
        copy_to_file(opened, part)
    part.rename(target)
    durable.fsync_folder(target.parent)


def check_program_version(program: str, than: int) -> None:
    """Raises BackupProblem for a program of PostgreSQL that is missing, or older than that."""
    path = shutil.which(program)
    if path is None:
        raise BackupError(
            f"{program} is not installed: sudo apt-get install postgresql-client-{than}."
        )
    said = subprocess.run([path, "--version"], capture_output=True, text=True, check=False)  # noqa: S603 - found on PATH
    found = re.search(r"\) (\d+)", said.stdout)
    if found is None or int(found[1]) < than:
        raise BackupError(
            f"{program} is too old ({said.stdout.strip() or said.stderr.strip()}) for PostgreSQL "
            f"{than}: sudo apt-get install postgresql-client-{than}."
        )


def _run(program: str, options: Sequence[str]) -> None:
    """The password goes through the environment: everybody can read a command line."""
    args, secrets = connection.client.settings_to_cmd_args_env(connection.settings_dict, [])
    done = subprocess.run(  # noqa: S603 - our own arguments
        [
            str(shutil.which(program)),
            "--no-password",
            *args[1:-1],
            f"--dbname={args[-1]}",
            *options,
        ],
        env={**os.environ, **(secrets or {})},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise BackupError(f"{program} failed: {done.stderr.strip()[-_TOLD:]}")
