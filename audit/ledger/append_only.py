"""Triggers that make the database itself refuse to change the ledger.

They stop accidents and attacks through the application. Who owns the tables
can switch them off; that is what the chain and its checkpoints are for. Not
pgtrigger: PostgreSQL only, and any role can switch its triggers off by setting
`pgtrigger.ignore`.
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
    """All that this kind of database has, with their tables."""
    wanted: Mapping[str, tuple[Any, ...]]
    wanted = sqlite.TRIGGERS if vendor == "sqlite" else postgresql.TRIGGERS
    return {name: table for name, (table, *_) in wanted.items()}


def install_triggers(connection: BaseDatabaseWrapper) -> None:
    """Put the guards of all tables that are there in place, also over broken ones."""
    remove_triggers(connection)
    with connection.cursor() as cursor:
        tables = _tables(connection, cursor)
        if connection.vendor == "sqlite":
            wanted = sqlite.TRIGGERS.values()
            _run(cursor, [statement for table, statement in wanted if table in tables])
        else:
            schema = _schema(cursor)
            _run(cursor, [_function(schema, name) for name in postgresql.FUNCTIONS])
            _run(cursor, [_act(schema, *act) for act in postgresql.ACTS])
            if "audit_entrydetail" in tables:
                _run(cursor, [postgresql.APPEND_FUNCTION.format(schema=schema)])
            for name, table in trigger_tables("postgresql").items():
                if table in tables:
                    _run(cursor, _trigger(schema, name))


def remove_triggers(connection: BaseDatabaseWrapper) -> None:
    """Take all guards away: for the reverse migration, and for the flush between tests."""
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            _run(cursor, [f"DROP TRIGGER IF EXISTS {name}" for name in trigger_tables("sqlite")])
            return
        tables = _tables(connection, cursor)
        for name, table in trigger_tables("postgresql").items():
            if table in tables:
                _run(cursor, [f"DROP TRIGGER IF EXISTS {name} ON {table}"])
        _run(cursor, [f"DROP FUNCTION IF EXISTS {name}()" for name in postgresql.FUNCTIONS])
        _run(cursor, [f"DROP FUNCTION IF EXISTS {name}" for name, *_ in postgresql.ACTS])


def missing_triggers(connection: BaseDatabaseWrapper) -> list[str]:
    """Guards that are not there, switched off, or not as we made them. None without the tables."""
    with connection.cursor() as cursor:
        tables = _tables(connection, cursor)
        if connection.vendor == "sqlite":
            cursor.execute("SELECT name, tbl_name, sql FROM sqlite_master WHERE type = 'trigger'")
            wanted: Mapping[str, tuple[Any, ...]] = sqlite.TRIGGERS
            there: Mapping[str, Any] = {name: tuple(rest) for name, *rest in cursor.fetchall()}
        else:
            wanted, there = _wanted_on_postgresql(_schema(cursor)), _there_on_postgresql(cursor)
    guarded = {name: guard for name, guard in wanted.items() if guard[0] in tables}
    return [name for name in guarded if there.get(name) != guarded[name]]


def reinstall_triggers(using: str, **_signal: Any) -> None:
    """The receiver of post_migrate; `migrate audit zero` has left nothing to guard."""
    connection = connections[using]
    if missing_triggers(connection):
        install_triggers(connection)


def check_triggers(databases: Sequence[str] | None, **_options: Any) -> list[checks.CheckMessage]:
    """System check audit.E001, of the databases that a command names (`migrate` does).

    While migrations wait, guards of an older release are none of this one's: then a warning.
    """
    return [
        _message(connections[alias], names)
        for alias in databases or ()
        if (names := missing_triggers(connections[alias]))
    ]


def _message(connection: BaseDatabaseWrapper, names: Sequence[str]) -> checks.CheckMessage:
    which = f"The ledger in database '{connection.alias}' is not guarded as it should be: "
    if _is_older(connection):
        return checks.Warning(
            f"{which}{', '.join(names)}.",
            hint="The migrations that wait put them in place. If this is no upgrade, run "
            "`manage.py verify_audit --full` behind them.",
            id="audit.W002",
        )
    return checks.Error(
        f"{which}{', '.join(names)}.",
        hint="Somebody dropped or changed these triggers. Run `manage.py verify_audit --full`, "
        "find out who and why, then `manage.py migrate --skip-checks` puts them back.",
        id="audit.E001",
    )


def _is_older(connection: BaseDatabaseWrapper) -> bool:
    loader = MigrationLoader(connection)
    return not set(loader.graph.leaf_nodes("audit")) <= loader.applied_migrations.keys()


def _tables(connection: BaseDatabaseWrapper, cursor: Any) -> set[str]:
    """A migration guards what there is by then; later ones bring more."""
    return set(TABLES).intersection(connection.introspection.table_names(cursor))


def _run(cursor: Any, statements: Sequence[str]) -> None:
    for statement in statements:
        cursor.execute(statement)


def _schema(cursor: Any) -> str:
    cursor.execute("SELECT quote_ident(current_schema())")
    return str(cursor.fetchone()[0])


def _function(schema: str, name: str) -> str:
    # A fixed search path: nobody can slip in a table or function of their own.
    source = postgresql.FUNCTIONS[name].format(schema=schema)
    how = "LANGUAGE plpgsql SET search_path = pg_catalog"
    return f"CREATE FUNCTION {schema}.{name}() RETURNS trigger {how} AS $guard${source}$guard$"


def _act(schema: str, name: str, argument: str, statement: str) -> str:
    # plpgsql, for a migration may install it before there is such a table.
    how = "LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog"
    source = f"BEGIN {statement.format(schema=schema)}; END"
    return f"CREATE FUNCTION {schema}.{name}({argument}) RETURNS void {how} AS $act$ {source} $act$"


def _trigger(schema: str, name: str) -> list[str]:
    table, _, clause, function = postgresql.TRIGGERS[name]
    event = clause.format(table=table)
    return [
        f"CREATE TRIGGER {name} {event} EXECUTE FUNCTION {schema}.{function}()",
        # ALWAYS: also under session_replication_role = replica.
        f"ALTER TABLE {table} ENABLE ALWAYS TRIGGER {name}",
    ]


def _wanted_on_postgresql(schema: str) -> dict[str, tuple[str, int, str, str]]:
    return {
        name: (table, kind, "A", postgresql.FUNCTIONS[function].format(schema=schema))
        for name, (table, kind, _, function) in postgresql.TRIGGERS.items()
    } | {"audit_append": ("audit_entrydetail", 0, "", APPEND.format(schema=schema))}


def _there_on_postgresql(cursor: Any) -> dict[str, tuple[str, int, str, str]]:
    cursor.execute(
        """SELECT tgname, relname, tgtype, tgenabled, prosrc FROM pg_trigger
        JOIN pg_class ON pg_class.oid = tgrelid JOIN pg_proc ON pg_proc.oid = tgfoid
        WHERE NOT tgisinternal AND relnamespace = current_schema()::regnamespace
        UNION ALL SELECT proname, 'audit_entrydetail', 0, '', prosrc FROM pg_proc
        WHERE proname = 'audit_append' AND pronamespace = current_schema()::regnamespace"""
    )
    return {name: tuple(rest) for name, *rest in cursor.fetchall()}
