"""Dumps the database as it was at one moment, while others write, and restores it.

SQLite is copied by its online backup API, PostgreSQL by `pg_dump` and `pg_restore`. Both copy the
snapshot that the connection of this thread reads, so that rows that are read beside the dump agree
with it.
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
from ingestion.backup.durable_copy import copy_to_file

_PAGES_PER_STEP = 4_000  # pages that SQLite copies before other connections can proceed
_MAX_ERROR_CHARACTERS = 2_000  # of the error output of a program, from its end


def get_vendor() -> str:
    """Return the vendor in Django's terms."""
    return str(connection.vendor)


def get_dump_filename() -> str:
    """Return the name of the dump's file."""
    return "siteledger.sqlite3" if connection.vendor == "sqlite" else "siteledger.dump"


def get_server_version() -> int:
    """Return the major version of the database server; 0 for SQLite."""
    if connection.vendor == "sqlite":
        return 0
    connection.ensure_connection()
    return int(connection.pg_version // 10_000)  # type: ignore[attr-defined] # only PostgreSQL has it


def list_migrations() -> list[str]:
    """Return the migrations of this release in order, such as `audit.0001_...`."""
    return sorted(f"{app}.{name}" for app, name in MigrationLoader(None).disk_migrations or ())


def list_unapplied_migrations() -> list[str]:
    """Return the migrations of this release that the database does not have.

    The database may have migrations of older releases that this release no longer has.
    """
    applied = MigrationLoader(connection).applied_migrations or ()
    return sorted({*list_migrations()}.difference(f"{app}.{name}" for app, name in applied))


@contextmanager
def read_from_snapshot() -> Iterator[None]:
    """Let all reads of this thread see the same moment, without making others wait."""
    postgresql = "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY"
    # `atomic()` uses IMMEDIATE on SQLite, which would keep all others from writing.
    begin = "BEGIN DEFERRED" if connection.vendor == "sqlite" else postgresql
    try:
        with connection.cursor() as cursor:
            cursor.execute(begin)
            # The snapshot is taken by the first query.
            cursor.execute("SELECT count(*) FROM django_migrations")
        yield
    finally:
        connection.close()  # this also rolls back


def estimate_dump_size() -> int:
    """Return how many bytes a dump may need."""
    sqlite = "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()"
    postgresql = "SELECT pg_database_size(current_database())"
    with connection.cursor() as cursor:
        cursor.execute(sqlite if connection.vendor == "sqlite" else postgresql)
        return int(cursor.fetchone()[0])


def dump(target: Path) -> None:
    """Write the database to a new file. Call this inside `read_from_snapshot()`.

    Raises BackupError.
    """
    target.parent.mkdir()
    if connection.vendor == "sqlite":
        with closing(sqlite3.connect(target)) as copy:
            # Because the source is in a transaction, writes of others do not restart the copy.
            connection.connection.backup(copy, pages=_PAGES_PER_STEP)
        return
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_export_snapshot()")
        snapshot_id = cursor.fetchone()[0]
    check_program_version("pg_dump", get_server_version())
    _run("pg_dump", [f"--snapshot={snapshot_id}", "--format=custom", f"--file={target}"])


def is_empty() -> bool:
    """Return whether the database has no tables."""
    return not connection.introspection.table_names()


def check_server_can_load(made_by: int) -> None:
    """Raise BackupError if this host cannot load a dump of a server of version `made_by`."""
    if connection.vendor == "postgresql":
        check_program_version("pg_restore", max(get_server_version(), made_by))


def load(source: Path) -> None:
    """Load a dump into the empty database, completely or not at all. Raises BackupError."""
    if connection.vendor == "sqlite":
        _replace_sqlite(source, Path(connection.settings_dict["NAME"]))
        return
    # The role that restores owns the tables. `database_roles` grants the other rights, and not the
    # dump.
    options = ["--exit-on-error", "--single-transaction", "--no-owner", "--no-privileges"]
    connection.close()
    _run("pg_restore", [*options, str(source)])


def _replace_sqlite(source: Path, target: Path) -> None:
    connection.close()
    for leftover in ("", "-wal", "-shm"):  # the files of the empty database
        target.with_name(f"{target.name}{leftover}").unlink(missing_ok=True)
    part = target.with_name(f"{target.name}.restoring")
    part.unlink(missing_ok=True)
    with source.open("rb") as opened:
        copy_to_file(opened, part)
    part.rename(target)
    durable.fsync_folder(target.parent)


def check_program_version(program: str, min_version: int) -> None:
    """Raise BackupError if a program of PostgreSQL is missing, or older than this version."""
    path = shutil.which(program)
    if path is None:
        raise BackupError(
            f"{program} is not installed: sudo apt-get install postgresql-client-{min_version}."
        )
    done = subprocess.run([path, "--version"], capture_output=True, text=True, check=False)  # noqa: S603 - found on PATH
    found = re.search(r"\) (\d+)", done.stdout)
    if found is None or int(found[1]) < min_version:
        raise BackupError(
            f"{program} is too old ({done.stdout.strip() or done.stderr.strip()}) for PostgreSQL "
            f"{min_version}: sudo apt-get install postgresql-client-{min_version}."
        )


def _run(program: str, options: Sequence[str]) -> None:
    """Run a program of PostgreSQL on the database. Raises BackupError if it fails.

    The password is passed in the environment, because other users can read command lines.
    """
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
        raise BackupError(f"{program} failed: {done.stderr.strip()[-_MAX_ERROR_CHARACTERS:]}")
