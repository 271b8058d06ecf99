"""Separates two roles of a PostgreSQL database: the owner of the tables, and the application.

The owner of a table can switch its triggers off. So the application's role (DATABASE_URL) owns no
tables, and may only read the ledger and add to it. The role of the owner (DATABASE_OWNER_URL) is
used by `migrate` only. Without DATABASE_OWNER_URL there is one role, and a warning (audit.W001).
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from django.conf import settings
from django.core import checks
from django.db import connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper

from audit.ledger.triggers import TABLES

READ_AND_ADD = "SELECT, INSERT"
# The application needs no TRUNCATE, REFERENCES and TRIGGER.
CHANGE_ROWS = "SELECT, INSERT, UPDATE, DELETE"
_LOGIN_SETTINGS = ("USER", "PASSWORD", "HOST", "PORT")


@contextmanager
def connect_as_owner(alias: str) -> Iterator[None]:
    """Use the owner's login for this thread's connection inside, if there is one."""
    connection = connections[alias]
    application = connection.settings_dict
    owner = {
        key: settings.DATABASE_OWNER[key] for key in _LOGIN_SETTINGS if settings.DATABASE_OWNER
    }
    connection.close()
    connection.settings_dict = application | owner
    try:
        yield
    finally:
        connection.close()
        connection.settings_dict = application


def grant_statements(connection: BaseDatabaseWrapper, role: str) -> list[str]:
    """Return statements that grant a role what the application needs, and revoke all else."""
    quoted = connection.ops.quote_name
    with connection.cursor() as cursor:
        tables = set(connection.introspection.table_names(cursor))
        cursor.execute("SELECT current_schema()")
        schema = quoted(cursor.fetchone()[0])
    name, ledger = quoted(role), tables.intersection(TABLES)
    statements = [f"GRANT USAGE ON SCHEMA {schema} TO {name}"]
    for rights, some in ((READ_AND_ADD, ledger), (CHANGE_ROWS, tables - ledger)):
        if some:
            listed = ", ".join(map(quoted, sorted(some)))
            statements.append(f"REVOKE ALL ON {listed} FROM {name}")
            statements.append(f"GRANT {rights} ON {listed} TO {name}")
    return statements


def grant_rights(connection: BaseDatabaseWrapper, role: str) -> None:
    """Grant these rights in one transaction, so that the application can go on working.

    Raises ProgrammingError if the connected role does not own the tables.
    """
    statements = grant_statements(connection, role)
    with transaction.atomic(using=connection.alias), connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


def get_application_role(alias: str) -> str:
    """Return the role of DATABASE_URL."""
    return str(connections.settings[alias]["USER"])


def find_excess_rights(connection: BaseDatabaseWrapper) -> list[str]:
    """Return what the application's role may do to the ledger beyond reading and adding.

    Each item is an action and a table, for example "UPDATE audit_entry".
    """
    if connection.vendor != "postgresql":
        return []
    with connection.cursor() as cursor:
        existing = set(connection.introspection.table_names(cursor)).intersection(TABLES)
        cursor.execute(
            """SELECT action || ' ' || name FROM unnest(%s::text[]) AS name,
            unnest(ARRAY['UPDATE', 'DELETE', 'TRUNCATE']) AS action, pg_roles
            WHERE rolname = coalesce(nullif(%s, ''), current_user)
            AND has_table_privilege(rolname, name, action) ORDER BY 1""",
            [sorted(existing), get_application_role(connection.alias)],
        )
        return [row[0] for row in cursor.fetchall()]


def check_application_role(
    databases: Sequence[str] | None, **_options: Any
) -> list[checks.CheckMessage]:
    """Run the system check audit.W001 on the databases that a command names, as `migrate` does."""
    return [
        checks.Warning(
            f"The application's role in database '{alias}' may change the ledger: "
            f"{', '.join(actions)}.",
            hint="The triggers refuse it, but their owner can switch them off. Let another role "
            "own the tables: set DATABASE_OWNER_URL. See docs/operations.md, 'Two roles'.",
            id="audit.W001",
        )
        for alias in databases or ()
        if (actions := find_excess_rights(connections[alias]))
    ]


def check_owner_url(**_options: Any) -> list[checks.CheckMessage]:
    """Run the system check audit.E002: DATABASE_OWNER_URL must name the application's database."""
    owner, database = settings.DATABASE_OWNER, settings.DATABASES["default"]
    same = ("ENGINE", "NAME")
    if not owner or [owner[key] for key in same] == [database[key] for key in same]:
        return []
    return [
        checks.Error(
            "DATABASE_OWNER_URL names another database than DATABASE_URL.",
            hint="Set it to the same PostgreSQL database, with the role that owns its tables.",
            id="audit.E002",
        )
    ]
