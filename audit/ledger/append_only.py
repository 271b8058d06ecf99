"""Installs triggers with which the database itself refuses to change the ledger.

They prevent accidents, and attacks through the application. The owner of the tables can switch them
off; the chain and its checkpoints reveal changes that follow. pgtrigger is not used: it supports
PostgreSQL only, and any role can switch its triggers off by setting `pgtrigger.ignore`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from django.core import checks
from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.loader import MigrationLoader

from audit.ledger.append_postgresql import APPEND
from audit.ledger.triggers import TABLES, postgresql, sqlite


def trigger_tables(vendor: str) -> dict[str, str]:
    """Return the tables of all triggers of this kind of database, by the name of the trigger."""
    wanted: Mapping[str, tuple[Any, ...]]
    wanted = sqlite.TRIGGERS if vendor == "sqlite" else postgresql.TRIGGERS
    return {name: table for name, (table, *_) in wanted.items()}


def install_triggers(connection: BaseDatabaseWrapper) -> None:
    """Install the triggers of all tables that exist, and replace those that were changed."""
    remove_triggers(connection)
    with connection.cursor() as cursor:
        tables = _existing_tables(connection, cursor)
        if connection.vendor == "sqlite":
            wanted = sqlite.TRIGGERS.values()
            _run(cursor, [statement for table, statement in wanted if table in tables])
            return
        schema = _current_schema(cursor)
        for name, function in postgresql.FUNCTIONS.items():
            # The fixed search path prevents that other tables or functions are used instead.
            cursor.execute(
                f"CREATE FUNCTION {schema}.{name}() RETURNS trigger LANGUAGE plpgsql"
                f" SET search_path = pg_catalog AS $guard${function.format(schema=schema)}$guard$"
            )
        for name, argument, statement in postgresql.OWNER_FUNCTIONS:
            # In plpgsql, because a migration may install it before the table exists.
            cursor.execute(
                f"CREATE FUNCTION {schema}.{name}({argument}) RETURNS void LANGUAGE plpgsql"
                " SECURITY DEFINER SET search_path = pg_catalog"
                f" AS $act$ BEGIN {statement.format(schema=schema)}; END $act$"
            )
        if "audit_entrydetail" in tables:
            cursor.execute(postgresql.APPEND_FUNCTION.format(schema=schema))
        for name, (table, _type, clause, function) in postgresql.TRIGGERS.items():
            if table in tables:
                event = clause.format(table=table)
                cursor.execute(
                    f"CREATE TRIGGER {name} {event} EXECUTE FUNCTION {schema}.{function}()"
                )
                # ALWAYS: even if session_replication_role is replica.
                cursor.execute(f"ALTER TABLE {table} ENABLE ALWAYS TRIGGER {name}")


def remove_triggers(connection: BaseDatabaseWrapper) -> None:
    """Remove all triggers: for the reverse migration, and for the flush between tests."""
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            _run(cursor, [f"DROP TRIGGER IF EXISTS {name}" for name in trigger_tables("sqlite")])
            return
        tables = _existing_tables(connection, cursor)
        for name, table in trigger_tables("postgresql").items():
            if table in tables:
                cursor.execute(f"DROP TRIGGER IF EXISTS {name} ON {table}")
        _run(cursor, [f"DROP FUNCTION IF EXISTS {name}()" for name in postgresql.FUNCTIONS])
        functions = [name for name, *_ in postgresql.OWNER_FUNCTIONS]
        _run(cursor, [f"DROP FUNCTION IF EXISTS {name}" for name in functions])


def find_missing_triggers(connection: BaseDatabaseWrapper) -> list[str]:
    """Return the names of triggers that are missing, switched off or changed.

    Tables that do not exist need none.
    """
    with connection.cursor() as cursor:
        tables = _existing_tables(connection, cursor)
        if connection.vendor == "sqlite":
            cursor.execute("SELECT name, tbl_name, sql FROM sqlite_master WHERE type = 'trigger'")
            wanted: Mapping[str, tuple[Any, ...]] = sqlite.TRIGGERS
        else:
            schema = _current_schema(cursor)
            wanted = {
                name: (table, kind, "A", postgresql.FUNCTIONS[function].format(schema=schema))
                for name, (table, kind, _, function) in postgresql.TRIGGERS.items()
            } | {"audit_append": ("audit_entrydetail", 0, "", APPEND.format(schema=schema))}
            cursor.execute(_INSTALLED_ON_POSTGRESQL)
        installed = {name: tuple(rest) for name, *rest in cursor.fetchall()}
    return [
        name
        for name, trigger in wanted.items()
        if trigger[0] in tables and installed.get(name) != trigger
    ]


# Name, table, type, whether it is enabled, and source of each trigger and of the append function.
_INSTALLED_ON_POSTGRESQL = """SELECT tgname, relname, tgtype, tgenabled, prosrc FROM pg_trigger
    JOIN pg_class ON pg_class.oid = tgrelid JOIN pg_proc ON pg_proc.oid = tgfoid
    WHERE NOT tgisinternal AND relnamespace = current_schema()::regnamespace
    UNION ALL SELECT proname, 'audit_entrydetail', 0, '', prosrc FROM pg_proc
    WHERE proname = 'audit_append' AND pronamespace = current_schema()::regnamespace"""


def reinstall_triggers(using: str, **_signal: Any) -> None:
    """Install the triggers again if one is missing. Receives post_migrate."""
    connection = connections[using]
    if find_missing_triggers(connection):
        install_triggers(connection)


def check_triggers(databases: Sequence[str] | None, **_options: Any) -> list[checks.CheckMessage]:
    """Run the system check audit.E001 on the databases that a command names, as `migrate` does.

    While migrations wait, the triggers may be those of an older release. Then it is the warning
    audit.W002.
    """
    messages: list[checks.CheckMessage] = []
    for alias in databases or ():
        names = find_missing_triggers(connections[alias])
        if not names:
            continue
        which = f"The ledger in database '{alias}' is not guarded as it should be: "
        loader = MigrationLoader(connections[alias])
        if set(loader.graph.leaf_nodes("audit")) <= loader.applied_migrations.keys():
            message: checks.CheckMessage = checks.Error(
                f"{which}{', '.join(names)}.",
                hint="These triggers were dropped or changed. Run `manage.py verify_audit --full`,"
                " find out who did it and why, then put them back with"
                " `manage.py migrate --skip-checks`.",
                id="audit.E001",
            )
        else:
            message = checks.Warning(
                f"{which}{', '.join(names)}.",
                hint="The waiting migrations install them. If this is not an upgrade, run "
                "`manage.py verify_audit --full` after the migrations.",
                id="audit.W002",
            )
        messages.append(message)
    return messages


def _existing_tables(connection: BaseDatabaseWrapper, cursor: Any) -> set[str]:
    """Return the ledger's tables that exist. Later migrations add more."""
    return set(TABLES).intersection(connection.introspection.table_names(cursor))


def _run(cursor: Any, statements: Sequence[str]) -> None:
    for statement in statements:
        cursor.execute(statement)


def _current_schema(cursor: Any) -> str:
    cursor.execute("SELECT quote_ident(current_schema())")
    return str(cursor.fetchone()[0])
