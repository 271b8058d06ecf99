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

from audit.appending import APPEND
from audit.chain import GENESIS

# The event, of the subject entry:SEQ, after which a detail may go.
REDACTED = "ledger.detail_redacted"
TABLES = (
    "audit_entry",
    "audit_entrydetail",
    "audit_checkpoint",
    "audit_receipt",
    "audit_checkrun",
    "audit_auditreview",
)

# --- SQLite: name -> (table, statement, which SQLite keeps verbatim) --------------------------

_REFUSE = """CREATE TRIGGER {table}_no_{verb} BEFORE {verb} ON {table}
BEGIN SELECT RAISE(ABORT, 'the audit trail is append-only: {verb} on {table} refused'); END"""

# INSERT OR REPLACE removes a row without firing DELETE triggers: these stop it.
_SQLITE_LINK = f"""CREATE TRIGGER audit_entry_link BEFORE INSERT ON audit_entry
BEGIN SELECT RAISE(ABORT, 'the audit trail: an entry that does not extend the chain')
WHERE NEW.seq IS NOT COALESCE((SELECT MAX(seq) FROM audit_entry), 0) + 1
OR NEW.prev IS NOT COALESCE((SELECT hash FROM audit_entry ORDER BY seq DESC LIMIT 1), '{GENESIS}');
END"""  # noqa: S608 - built from constants
# What was taken out stays out: with the same salt it would fit its line again.
_SQLITE_ONCE = f"""CREATE TRIGGER audit_entrydetail_once BEFORE INSERT ON audit_entrydetail
BEGIN SELECT RAISE(ABORT, 'the audit trail: this entry has its detail, or had it')
WHERE EXISTS (SELECT 1 FROM audit_entrydetail WHERE entry_id = NEW.entry_id)
OR EXISTS (SELECT 1 FROM audit_entry
WHERE subject = 'entry:' || NEW.entry_id AND event = '{REDACTED}'); END"""  # noqa: S608 - the same
_SQLITE_REDACT = f"""CREATE TRIGGER audit_entrydetail_no_DELETE BEFORE DELETE ON audit_entrydetail
BEGIN SELECT RAISE(ABORT, 'the audit trail: a detail is taken out on record or not at all')
WHERE NOT EXISTS (SELECT 1 FROM audit_entry
WHERE subject = 'entry:' || OLD.entry_id AND event = '{REDACTED}'); END"""  # noqa: S608 - the same
_SQLITE_NEXT = """CREATE TRIGGER audit_checkpoint_next BEFORE INSERT ON audit_checkpoint
BEGIN SELECT RAISE(ABORT, 'the audit trail: a checkpoint that is not the next one of this chain')
WHERE NEW.size <= COALESCE((SELECT MAX(size) FROM audit_checkpoint), 0)
OR NEW.head IS NOT (SELECT hash FROM audit_entry WHERE seq = NEW.size); END"""
_SQLITE_NEW = """CREATE TRIGGER audit_receipt_new BEFORE INSERT ON audit_receipt
BEGIN SELECT RAISE(ABORT, 'the audit trail: this receipt is there')
WHERE EXISTS (SELECT 1 FROM audit_receipt WHERE id = NEW.id OR (checkpoint_id = NEW.checkpoint_id
AND anchor = NEW.anchor AND place = NEW.place)); END"""
# A finding stays; so does the newest check of each kind, from which the next one goes on.
_SQLITE_OUTLIVED = """CREATE TRIGGER audit_checkrun_no_DELETE BEFORE DELETE ON audit_checkrun
BEGIN SELECT RAISE(ABORT, 'the audit trail: this check found something, or is the last of its kind')
WHERE OLD.result <> 'intact' OR NOT EXISTS (SELECT 1 FROM audit_checkrun
WHERE mode = OLD.mode AND result = 'intact' AND id > OLD.id); END"""
_SQLITE_KEPT = """CREATE TRIGGER audit_checkrun_new BEFORE INSERT ON audit_checkrun
BEGIN SELECT RAISE(ABORT, 'the audit trail: this check is on record')
WHERE EXISTS (SELECT 1 FROM audit_checkrun WHERE id = NEW.id); END"""
_SQLITE_REVIEW = """CREATE TRIGGER audit_auditreview_new BEFORE INSERT ON audit_auditreview
BEGIN SELECT RAISE(ABORT, 'the audit trail: this review is there')
WHERE EXISTS (SELECT 1 FROM audit_auditreview WHERE id = NEW.id); END"""

SQLITE: Mapping[str, tuple[str, str]] = {
    f"{table}_no_{verb}": (table, _REFUSE.format(table=table, verb=verb))
    for table in TABLES
    for verb in ("UPDATE", "DELETE")
} | {
    "audit_entrydetail_no_DELETE": ("audit_entrydetail", _SQLITE_REDACT),
    "audit_checkrun_no_DELETE": ("audit_checkrun", _SQLITE_OUTLIVED),
    "audit_entry_link": ("audit_entry", _SQLITE_LINK),
    "audit_entrydetail_once": ("audit_entrydetail", _SQLITE_ONCE),
    "audit_checkpoint_next": ("audit_checkpoint", _SQLITE_NEXT),
    "audit_receipt_new": ("audit_receipt", _SQLITE_NEW),
    "audit_checkrun_new": ("audit_checkrun", _SQLITE_KEPT),
    "audit_auditreview_new": ("audit_auditreview", _SQLITE_REVIEW),
}

# --- PostgreSQL: name -> (table, what pg_trigger.tgtype says, clause, function) ---------------

# restrict_violation becomes Django's IntegrityError, the class that SQLite's ABORT gives too.
_REFUSAL = """
BEGIN
  RAISE EXCEPTION 'the audit trail is append-only: % on % refused', TG_OP, TG_TABLE_NAME
    USING ERRCODE = 'restrict_violation';
END """
_PG_LINK = """
DECLARE
  tail record;
BEGIN
  SELECT seq, hash INTO tail FROM {schema}.audit_entry ORDER BY seq DESC LIMIT 1;
  IF NEW.seq <> COALESCE(tail.seq, 0) + 1
     OR NEW.prev <> COALESCE(tail.hash, repeat('0', 64))
     OR NEW.hash <> encode(sha256(convert_to(NEW.body, 'UTF8')), 'hex') THEN
    RAISE EXCEPTION 'the audit trail: entry % does not extend the chain', NEW.seq
      USING ERRCODE = 'restrict_violation';
  END IF;
  RETURN NEW;
END """
_PG_NEXT = """
BEGIN
  IF NEW.size <= (SELECT COALESCE(max(size), 0) FROM {schema}.audit_checkpoint)
     OR NEW.head IS DISTINCT FROM (SELECT hash FROM {schema}.audit_entry WHERE seq = NEW.size) THEN
    RAISE EXCEPTION 'the audit trail: checkpoint % is not the next one of this chain', NEW.size
      USING ERRCODE = 'restrict_violation';
  END IF;
  RETURN NEW;
END """
_PG_REDACTED = f"""
BEGIN
  IF NOT EXISTS (SELECT 1 FROM {{schema}}.audit_entry
                 WHERE subject = 'entry:' || OLD.entry_id AND event = '{REDACTED}') THEN
    RAISE EXCEPTION 'the audit trail: a detail is taken out on record or not at all'
      USING ERRCODE = 'restrict_violation';
  END IF;
  RETURN OLD;
END """  # noqa: S608 - the same
# After the insert, which waits for a redaction that is under way: then its entry is seen, unless
# the snapshot is older. Once for all rows of a statement, for the chain's lock is held meanwhile.
# By event_id (a redaction is event 0 of its subject: `chain.event_id`): whatever statistics say,
# the planner looks into a unique index.
_PG_STAYS_OUT = f"""
BEGIN
  IF current_setting('transaction_isolation') <> 'read committed'
     OR EXISTS (SELECT 1 FROM added WHERE '{REDACTED}' =
                (SELECT event FROM {{schema}}.audit_entry WHERE event_id = encode(sha256(convert_to(
                 '{{{{"n":0,"subject":"entry:' || added.entry_id || '"}}}}', 'UTF8')), 'hex'))) THEN
    RAISE EXCEPTION 'the audit trail: this detail was taken out, or it cannot be told'
      USING ERRCODE = 'restrict_violation';
  END IF;
  RETURN NULL;
END """  # noqa: S608 - the same
_PG_OUTLIVED = """
BEGIN
  IF OLD.result <> 'intact' OR NOT EXISTS (SELECT 1 FROM {schema}.audit_checkrun
     WHERE mode = OLD.mode AND result = 'intact' AND id > OLD.id) THEN
    RAISE EXCEPTION 'the audit trail: check % found something, or is the last of its kind', OLD.id
      USING ERRCODE = 'restrict_violation';
  END IF;
  RETURN OLD;
END """
_PG_FUNCTIONS = {
    "audit_refuse": _REFUSAL,
    "audit_link": _PG_LINK,
    "audit_next": _PG_NEXT,
    "audit_redacted": _PG_REDACTED,
    "audit_stays_out": _PG_STAYS_OUT,
    "audit_outlived": _PG_OUTLIVED,
}
# What links entries, as `audit.appending` calls it. It may be there while others append.
_PG_APPEND = f"""CREATE OR REPLACE FUNCTION
{{schema}}.audit_append(trail text, entries text, details text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog AS $act${APPEND}$act$"""
# They run with the rights of the owner of the tables, and meet the triggers like everybody: the
# application's role deletes nothing itself. Name, its one argument, and what it does.
_PG_ACTS = (
    ("audit_redact", "seq bigint", "DELETE FROM {schema}.audit_entrydetail WHERE entry_id = seq"),
    ("audit_forget", "gone bigint[]", "DELETE FROM {schema}.audit_checkrun WHERE id = ANY (gone)"),
)

# Per statement, so that TRUNCATE, upserts and deletes of zero rows are refused as well.
_STATEMENT = "BEFORE UPDATE OR DELETE OR TRUNCATE ON {table} FOR EACH STATEMENT"
_BUT_DELETE = "BEFORE UPDATE OR TRUNCATE ON {table} FOR EACH STATEMENT"
_BEFORE_INSERT = "BEFORE INSERT ON {table} FOR EACH ROW"
_AFTER_INSERT = "AFTER INSERT ON {table} REFERENCING NEW TABLE AS added FOR EACH STATEMENT"
_BEFORE_DELETE = "BEFORE DELETE ON {table} FOR EACH ROW"
POSTGRESQL = {
    f"{table}_append_only": (table, 58, _STATEMENT, "audit_refuse") for table in TABLES
} | {
    "audit_entrydetail_append_only": ("audit_entrydetail", 50, _BUT_DELETE, "audit_refuse"),
    "audit_entrydetail_on_record": ("audit_entrydetail", 11, _BEFORE_DELETE, "audit_redacted"),
    "audit_entrydetail_stays_out": ("audit_entrydetail", 4, _AFTER_INSERT, "audit_stays_out"),
    "audit_checkrun_append_only": ("audit_checkrun", 50, _BUT_DELETE, "audit_refuse"),
    "audit_checkrun_outlived": ("audit_checkrun", 11, _BEFORE_DELETE, "audit_outlived"),
    "audit_entry_link": ("audit_entry", 7, _BEFORE_INSERT, "audit_link"),
    "audit_checkpoint_next": ("audit_checkpoint", 7, _BEFORE_INSERT, "audit_next"),
}


def install(connection: BaseDatabaseWrapper) -> None:
    """Put the guards of all tables that are there in place, also over broken ones."""
    remove(connection)
    with connection.cursor() as cursor:
        tables = _tables(connection, cursor)
        if connection.vendor == "sqlite":
            _run(cursor, [statement for table, statement in SQLITE.values() if table in tables])
        else:
            schema = _schema(cursor)
            _run(cursor, [_function(schema, name) for name in _PG_FUNCTIONS])
            _run(cursor, [_act(schema, *act) for act in _PG_ACTS])
            if "audit_entrydetail" in tables:
                _run(cursor, [_PG_APPEND.format(schema=schema)])
            for name, (table, *_) in POSTGRESQL.items():
                if table in tables:
                    _run(cursor, _trigger(schema, name))


def remove(connection: BaseDatabaseWrapper) -> None:
    """Take all guards away: for the reverse migration, and for the flush between tests."""
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            _run(cursor, [f"DROP TRIGGER IF EXISTS {name}" for name in SQLITE])
            return
        tables = _tables(connection, cursor)
        for name, (table, *_) in POSTGRESQL.items():
            if table in tables:
                _run(cursor, [f"DROP TRIGGER IF EXISTS {name} ON {table}"])
        _run(cursor, [f"DROP FUNCTION IF EXISTS {name}()" for name in _PG_FUNCTIONS])
        _run(cursor, [f"DROP FUNCTION IF EXISTS {name}" for name, *_ in _PG_ACTS])


def missing(connection: BaseDatabaseWrapper) -> list[str]:
    """Guards that are not there, switched off, or not as we made them. None without the tables."""
    with connection.cursor() as cursor:
        tables = _tables(connection, cursor)
        if connection.vendor == "sqlite":
            cursor.execute("SELECT name, tbl_name, sql FROM sqlite_master WHERE type = 'trigger'")
            wanted: Mapping[str, tuple[Any, ...]] = SQLITE
            there: Mapping[str, Any] = {name: tuple(rest) for name, *rest in cursor.fetchall()}
        else:
            wanted, there = _wanted_on_postgresql(_schema(cursor)), _there_on_postgresql(cursor)
    guarded = {name: guard for name, guard in wanted.items() if guard[0] in tables}
    return [name for name in guarded if there.get(name) != guarded[name]]


def reinstall(using: str, **_signal: Any) -> None:
    """The receiver of post_migrate; `migrate audit zero` has left nothing to guard."""
    connection = connections[using]
    if missing(connection):
        install(connection)


def check(databases: Sequence[str] | None, **_options: Any) -> list[checks.CheckMessage]:
    """System check audit.E001, of the databases that a command names (`migrate` does).

    While migrations wait, guards of an older release are none of this one's: then a warning.
    """
    return [
        _message(connections[alias], names)
        for alias in databases or ()
        if (names := missing(connections[alias]))
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
    source = _PG_FUNCTIONS[name].format(schema=schema)
    how = "LANGUAGE plpgsql SET search_path = pg_catalog"
    return f"CREATE FUNCTION {schema}.{name}() RETURNS trigger {how} AS $guard${source}$guard$"


def _act(schema: str, name: str, argument: str, statement: str) -> str:
    # plpgsql, for a migration may install it before there is such a table.
    how = "LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog"
    source = f"BEGIN {statement.format(schema=schema)}; END"
    return f"CREATE FUNCTION {schema}.{name}({argument}) RETURNS void {how} AS $act$ {source} $act$"


def _trigger(schema: str, name: str) -> list[str]:
    table, _, clause, function = POSTGRESQL[name]
    event = clause.format(table=table)
    return [
        f"CREATE TRIGGER {name} {event} EXECUTE FUNCTION {schema}.{function}()",
        # ALWAYS: also under session_replication_role = replica.
        f"ALTER TABLE {table} ENABLE ALWAYS TRIGGER {name}",
    ]


def _wanted_on_postgresql(schema: str) -> dict[str, tuple[str, int, str, str]]:
    return {
        name: (table, kind, "A", _PG_FUNCTIONS[function].format(schema=schema))
        for name, (table, kind, _, function) in POSTGRESQL.items()
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
