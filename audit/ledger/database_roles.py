"""Two roles of a PostgreSQL database: the owner of the tables migrates, the application works.

Whoever owns a table can switch its triggers off. So the application's role (DATABASE_URL) owns
none, and may only read the ledger and add to it; the owner's (DATABASE_OWNER_URL) is used by
`migrate` alone. Without the second one there is one role, and a warning (audit.W001).
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
CHANGE_ROWS = (
    "SELECT, INSERT, UPDATE, DELETE"  # of rows: nobody needs TRUNCATE, REFERENCES or TRIGGER
)
_WHERE = ("USER", "PASSWORD", "HOST", "PORT")


@contextmanager
def connect_as_owner(alias: str) -> Iterator[None]:
    """This thread's connection is the owner's meanwhile, where there is one."""
    connection = connections[alias]
    application = connection.settings_dict
    owner = {key: settings.DATABASE_OWNER[key] for key in _WHERE if settings.DATABASE_OWNER}
    connection.close()
    connection.settings_dict = application | owner
    try:
        yield
    finally:
        connection.close()
        connection.settings_dict = application


def grant_statements(connection: BaseDatabaseWrapper, role: str) -> list[str]:
    """Statements that give a role what the application needs, and take all else away."""
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
    """At once: work goes on meanwhile. Raises ProgrammingError for whoever owns no tables."""
    statements = grant_statements(connection, role)
    with transaction.atomic(using=connection.alias), connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


def application_role(alias: str) -> str:
    """The role of DATABASE_URL."""
    return str(connections.settings[alias]["USER"])


def excess_rights(connection: BaseDatabaseWrapper) -> list[str]:
    """What the application's role may do to the ledger beyond reading and adding."""
    if connection.vendor != "postgresql":
        return []
    with connection.cursor() as cursor:
        there = set(connection.introspection.table_names(cursor)).intersection(TABLES)
        cursor.execute(
            """SELECT action || ' ' || name FROM unnest(%s::text[]) AS name,
            unnest(ARRAY['UPDATE', 'DELETE', 'TRUNCATE']) AS action, pg_roles
            WHERE rolname = coalesce(nullif(%s, ''), current_user)
            AND has_table_privilege(rolname, name, action) ORDER BY 1""",
            [sorted(there), application_role(connection.alias)],
        )
        return [row[0] for row in cursor.fetchall()]


def check_application_role(
    databases: Sequence[str] | None, **_options: Any
) -> list[checks.CheckMessage]:
    """System check audit.W001, of the databases that a command names (`migrate` does)."""
    return [
        checks.Warning(
            f"The application's role in database '{alias}' may change the ledger: "
            f"{', '.join(actions)}.",
            hint="The triggers refuse it, but their owner can switch them off. Let another role "
            "own the tables: DATABASE_OWNER_URL, see docs/operations.md, 'Two roles'.",
            id="audit.W001",
        )
        for alias in databases or ()
        if (actions := excess_rights(connections[alias]))
    ]


def check_owner_url(**_options: Any) -> list[checks.CheckMessage]:
    """System check audit.E002: the owner's URL leads to the application's database."""
    owner, database = settings.DATABASE_OWNER, settings.DATABASES["default"]
    same = ("ENGINE", "NAME")
    if not owner or [owner[key] for key in same] == [database[key] for key in same]:
        return []
    return [
        checks.Error(
            "DATABASE_OWNER_URL names another database than DATABASE_URL.",
            hint="Give the same PostgreSQL database, with the role that owns its tables.",
            id="audit.E002",
        )
    ]
