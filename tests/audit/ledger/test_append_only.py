"""Tests that the database refuses the attacks of section 4 of the design."""
# ruff: noqa: S608 - attacks are built from constants

import pytest
from django.core.checks import Tags, run_checks
from django.core.management import call_command
from django.db import DatabaseError, IntegrityError, connection, models, transaction
from django.db.backends.sqlite3.base import DatabaseWrapper
from django.db.migrations.loader import MigrationLoader

from audit.ledger import append_only, chain
from audit.ledger.triggers import TABLES
from audit.models import (
    AppendOnly,
    AuditReview,
    Checkpoint,
    CheckRun,
    Entry,
    EntryDetail,
    Receipt,
)
from audit.verification import runs, verify
from tests.audit.support import check_deferred_constraints, sql, write, write_many

sqlite_only = pytest.mark.only_on("sqlite", reason="a statement of SQLite")
postgresql_only = pytest.mark.only_on("postgresql", reason="a statement of PostgreSQL")
MODELS = (Entry, EntryDetail, Checkpoint, Receipt, CheckRun, AuditReview)
COLUMNS = (
    "prev, hash, event_id, recorded_at, event, subject, site, doc_id, from_state, to_state, code,"
    " correlation_id, actor, body"
)


CHANGES = [
    ("audit_entry", "actor"),
    ("audit_entrydetail", "detail"),
    ("audit_checkpoint", "note"),
    ("audit_receipt", "place"),
]
KEYS = {
    "audit_entry": "seq",
    "audit_entrydetail": "entry_id",
    "audit_checkpoint": "size",
    "audit_receipt": "id",
}


@pytest.fixture
def written(db):
    write_many(3, detail={"name": "A. Berg"})
    sql(
        "INSERT INTO audit_checkpoint (size, head, root, frontier, note, created_at)"
        " SELECT 3, hash, '', '', '', recorded_at FROM audit_entry WHERE seq = 3"
    )
    sql(
        "INSERT INTO audit_receipt (id, checkpoint_id, anchor, place, proof, anchored_at)"
        " SELECT 1, 3, 'file', '/anchors', '', recorded_at FROM audit_entry WHERE seq = 3"
    )
    runs.run_check(verify.Mode.FULL, asked_by="system:tests")
    sql(
        "INSERT INTO audit_auditreview (id, period_from, period_to, site, filters, findings,"
        " outcome, entries, last_seq, reviewer, printed_name, meaning, signed_at)"
        " SELECT 1, '2026-01-01', '2026-01-31', '', '', 'None.', 'open', 3, 3, 'user:1', 'A. Berg',"
        " 'review', recorded_at FROM audit_entry WHERE seq = 3"
    )


def attempt(statement, *values):
    with transaction.atomic():
        sql(statement, *values)


def attack(statement, *values):
    """Assert that the database refuses a statement and that all rows are unchanged."""
    before = all_rows()
    with pytest.raises(IntegrityError):
        attempt(statement, *values)
    assert all_rows() == before


def all_rows():
    return [list(model.objects.values()) for model in MODELS]


@pytest.mark.requirement("R01")
@pytest.mark.parametrize("table", TABLES)
def test_the_database_refuses_to_delete(written, table):
    attack(f"DELETE FROM {table}")


@pytest.mark.requirement("R01")
@pytest.mark.parametrize(("table", "column"), CHANGES)
def test_the_database_refuses_to_change(written, table, column):
    attack(f"UPDATE {table} SET {column} = 'evil'")


@pytest.mark.requirement("R13")
def test_the_database_refuses_to_change_a_review(written):
    attack("UPDATE audit_auditreview SET outcome = 'nothing_found'")


@postgresql_only
@pytest.mark.parametrize("table", TABLES)
def test_truncate_is_refused(written, table):
    check_deferred_constraints()
    attack(f"TRUNCATE {table} CASCADE")


@postgresql_only
@pytest.mark.parametrize("table", TABLES)
def test_a_delete_inside_a_query_is_refused(written, table):
    attack(f"WITH deleted AS (DELETE FROM {table} RETURNING 1) SELECT count(*) FROM deleted")


@pytest.mark.parametrize(("table", "column"), CHANGES)
def test_an_upsert_is_refused(written, table, column):
    key = KEYS[table]
    attack(
        f"INSERT INTO {table} SELECT * FROM {table} WHERE {key} IN (1, 3)"
        f" ON CONFLICT ({key}) DO UPDATE SET {column} = 'evil'"
    )


@postgresql_only
@pytest.mark.parametrize(("table", "column"), CHANGES)
def test_changes_in_the_replica_role_are_refused(written, table, column):
    sql("SET LOCAL session_replication_role = replica")
    attack(f"DELETE FROM {table}")
    attack(f"UPDATE {table} SET {column} = 'evil'")


@sqlite_only
@pytest.mark.parametrize("table", TABLES)
def test_insert_or_replace_by_the_same_row_is_refused(written, table):
    attack(f"INSERT OR REPLACE INTO {table} SELECT * FROM {table}")


@sqlite_only
def test_insert_or_replace_over_an_entry_is_refused(written):
    attack(
        f"INSERT OR REPLACE INTO audit_entry (seq, {COLUMNS}) SELECT seq,"
        f" {COLUMNS.replace('actor', repr('user:99'))} FROM audit_entry WHERE seq = 2"
    )


@pytest.mark.requirement("R05")
@pytest.mark.parametrize(
    ("size", "head"),
    [
        pytest.param("3", "hash", id="signed already"),
        pytest.param("2", "prev", id="older than the last"),
        pytest.param("4", "hash", id="more than there are"),
    ],
)
def test_a_checkpoint_that_is_not_the_next_of_this_chain_is_refused(written, size, head):
    attack(
        "INSERT INTO audit_checkpoint (size, head, root, frontier, note, created_at)"
        f" SELECT {size}, {head}, '', '', '', recorded_at FROM audit_entry WHERE seq = 3"
    )


def test_a_checkpoint_of_another_head_is_refused(written):
    write(3)
    attack(
        "INSERT INTO audit_checkpoint (size, head, root, frontier, note, created_at)"
        " SELECT 4, prev, '', '', '', recorded_at FROM audit_entry WHERE seq = 4"
    )


@sqlite_only
@pytest.mark.parametrize(
    ("number", "place"), [(1, "elsewhere"), (2, "/anchors")], ids=["by number", "by place"]
)
def test_insert_or_replace_over_a_receipt_is_refused(written, number, place):
    attack(
        "INSERT OR REPLACE INTO audit_receipt"
        " (id, checkpoint_id, anchor, place, proof, anchored_at)"
        f" SELECT {number}, 3, 'file', '{place}', '', recorded_at FROM audit_entry WHERE seq = 3"
    )


@sqlite_only
def test_insert_or_replace_over_a_review_is_refused(written):
    attack(
        "INSERT OR REPLACE INTO audit_auditreview SELECT id, period_from, period_to, site, filters,"
        " 'Nothing.', outcome, entries, last_seq, reviewer, printed_name, meaning, signed_at"
        " FROM audit_auditreview"
    )


@sqlite_only
def test_insert_or_replace_over_a_detail_is_refused(written):
    attack("INSERT OR REPLACE INTO audit_entrydetail VALUES (2, '', '{}')")


@pytest.mark.parametrize(
    ("seq", "prev"),
    [
        pytest.param("5", "hash", id="leaves a gap"),
        pytest.param("4", f"'{chain.GENESIS}'", id="starts anew"),
        pytest.param("4", "prev", id="forks"),
        pytest.param("3", "hash", id="takes a number twice"),
    ],
)
def test_an_entry_that_does_not_extend_the_chain_is_refused(written, seq, prev):
    columns = COLUMNS.replace("prev", prev).replace("event_id", "hash")
    attack(
        f"INSERT INTO audit_entry (seq, {COLUMNS}) SELECT {seq}, {columns} FROM audit_entry"
        " WHERE seq = 3"
    )


@postgresql_only
def test_an_entry_whose_hash_is_not_that_of_its_line_is_refused(written):
    columns = COLUMNS.replace("prev, hash", "hash, prev").replace("event_id", "hash")
    attack(
        f"INSERT INTO audit_entry (seq, {COLUMNS}) SELECT 4, {columns} FROM audit_entry"
        " WHERE seq = 3"
    )


@pytest.mark.requirement("R04")
@pytest.mark.parametrize("model", [Entry, EntryDetail, Checkpoint, Receipt])
@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda model: model.objects.first().save(), id="save"),
        pytest.param(lambda model: model.objects.first().delete(), id="delete"),
        pytest.param(lambda model: model.objects.all().delete(), id="delete many"),
        pytest.param(lambda model: model.objects.update(pk=9), id="update"),
        pytest.param(lambda model: model.objects.create(pk=9), id="create"),
        pytest.param(lambda model: model(pk=9).save(), id="save a new one"),
        pytest.param(lambda model: model.objects.get_or_create(pk=9), id="get or create"),
        pytest.param(lambda model: model.objects.bulk_create([model(pk=9)]), id="bulk create"),
        pytest.param(
            lambda model: model.objects.bulk_update([model(pk=1)], ["pk"]), id="bulk update"
        ),
    ],
)
def test_the_orm_refuses_changes_with_an_explanation(written, model, change):
    with pytest.raises(AppendOnly, match="never changed"):
        change(model)


def test_all_triggers_are_installed_after_the_migrations(db):
    assert append_only.find_missing_triggers(connection) == []
    found = {message.id for message in run_checks(tags=[Tags.database], databases=["default"])}
    assert found <= {"audit.W001"}  # tests/audit/ledger/test_database_roles.py


def test_a_missing_trigger_is_reported_and_migrate_restores_it(db):
    append_only.remove_triggers(connection)
    wanted = append_only.trigger_tables(connection.vendor)
    assert append_only.find_missing_triggers(connection) == list(wanted)
    assert [error.id for error in append_only.check_triggers(["default"])] == ["audit.E001"]
    append_only.reinstall_triggers("default")
    assert append_only.check_triggers(["default"]) == []


def test_migrate_replaces_triggers_of_an_older_release(db):
    append_only.remove_triggers(connection)
    ((_, last),) = MigrationLoader(connection).graph.leaf_nodes("audit")
    sql("DELETE FROM django_migrations WHERE app = 'audit' AND name = %s", last)
    assert [warning.id for warning in append_only.check_triggers(["default"])] == ["audit.W002"]
    assert not append_only.check_triggers(["default"])[0].is_serious()


@postgresql_only
def test_a_disabled_trigger_counts_as_missing(db):
    sql("ALTER TABLE audit_entry DISABLE TRIGGER audit_entry_append_only")
    assert append_only.find_missing_triggers(connection) == ["audit_entry_append_only"]


@postgresql_only
def test_a_changed_trigger_counts_as_missing(db):
    sql(
        "CREATE OR REPLACE FUNCTION audit_link() RETURNS trigger LANGUAGE plpgsql"
        " AS $f$ BEGIN RETURN NEW; END $f$"
    )
    assert append_only.find_missing_triggers(connection) == ["audit_entry_link"]


@postgresql_only
def test_the_append_function_is_checked_like_a_trigger(db):
    sql("DROP FUNCTION audit_append(text, text, text)")
    assert append_only.find_missing_triggers(connection) == ["audit_append"]
    append_only.reinstall_triggers("default")
    assert append_only.find_missing_triggers(connection) == []
    sql(
        "CREATE OR REPLACE FUNCTION audit_append(trail text, entries text, details text)"
        " RETURNS void LANGUAGE plpgsql AS $f$ BEGIN END $f$"
    )
    assert append_only.find_missing_triggers(connection) == ["audit_append"]


@sqlite_only
def test_a_changed_trigger_counts_as_missing_on_sqlite(db):
    sql("DROP TRIGGER audit_entry_link")
    sql("CREATE TRIGGER audit_entry_link BEFORE INSERT ON audit_entry BEGIN SELECT 1; END")
    assert append_only.find_missing_triggers(connection) == ["audit_entry_link"]


@sqlite_only
def test_migrate_restores_the_triggers_after_sqlite_alters_a_column(
    transactional_db,
):
    old = EntryDetail._meta.get_field("salt")
    new = models.CharField(max_length=80)
    new.set_attributes_from_name("salt")
    with connection.schema_editor() as editor:
        editor.alter_field(EntryDetail, old, new)
    assert "audit_entrydetail_no_DELETE" in append_only.find_missing_triggers(connection)
    with connection.schema_editor() as editor:
        editor.alter_field(EntryDetail, new, old)
    call_command("migrate", verbosity=0, skip_checks=True)
    assert append_only.find_missing_triggers(connection) == []


@sqlite_only
def test_sqlite_does_not_alter_a_table_to_which_a_trigger_refers(
    transactional_db,
):
    old = Entry._meta.get_field("event")
    new = models.CharField(max_length=80)
    new.set_attributes_from_name("event")
    refused = pytest.raises(DatabaseError, match="no such table")
    with refused, connection.schema_editor() as editor:
        editor.alter_field(Entry, old, new)
    assert append_only.find_missing_triggers(connection) == []


def test_an_empty_database_needs_no_triggers(db):
    empty = DatabaseWrapper(connection.settings_dict | {"NAME": ":memory:", "OPTIONS": {}})
    assert append_only.find_missing_triggers(empty) == []
    empty.close()
