"""Tests of the rights of the application's role on PostgreSQL, with a real login."""
# ruff: noqa: S608 - attacks are built from constants

import os
import subprocess
import sys
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import DatabaseError, IntegrityError, connection

from audit.ledger import append_only, database_roles
from audit.ledger.triggers import TABLES
from audit.verification.verify import verify_ledger
from tests.audit.support import APPLICATION, application_role, sql, write, write_many

__all__ = ["application_role"]

COLUMN = {
    "audit_entry": "actor",
    "audit_entrydetail": "detail",
    "audit_checkpoint": "note",
    "audit_receipt": "place",
    "audit_checkrun": "result",
    "audit_auditreview": "outcome",
}
REFUSED = r"must be owner|permission denied"
needs_roles = pytest.mark.only_on("postgresql", reason="SQLite has no roles")


def owner_url(owner, name):
    return f"postgres://{owner['USER']}@{owner['HOST']}:{owner['PORT']}/{name}"


@needs_roles
@pytest.mark.requirement("R01")
def test_the_application_adds_to_the_ledger_and_verifies_it(application_role):
    write(0, detail={"name": "A. Berg"})
    write_many(20, subject="document:2")
    verdict = verify_ledger()
    assert (verdict.intact, verdict.entries) == (True, 21)


@needs_roles
@pytest.mark.requirement("R01")
@pytest.mark.parametrize(
    "attack",
    [
        "UPDATE {table} SET {column} = {column}",
        "DELETE FROM {table}",
        "WITH deleted AS (DELETE FROM {table} RETURNING 1) SELECT 1",
        "TRUNCATE {table} CASCADE",
        "ALTER TABLE {table} DISABLE TRIGGER ALL",
        "DROP TRIGGER {table}_append_only ON {table}",
        "DROP TABLE {table} CASCADE",
        "CREATE TRIGGER mine BEFORE INSERT ON {table} EXECUTE FUNCTION audit_refuse()",
    ],
)
def test_the_application_cannot_change_the_ledger(application_role, attack):
    write(detail={"name": "A. Berg"})
    assert set(COLUMN) == set(TABLES)
    for table, column in COLUMN.items():
        with pytest.raises(DatabaseError, match=REFUSED):
            sql(attack.format(table=table, column=column))
    assert verify_ledger().intact


@needs_roles
@pytest.mark.parametrize(
    "attack",
    [
        "CREATE OR REPLACE FUNCTION audit_link() RETURNS trigger LANGUAGE sql AS ''",
        "ALTER FUNCTION audit_refuse() RENAME TO audit_allow",
        "SET session_replication_role = replica",
        "CREATE TABLE audit_entry_of_mine (n int)",
        "SET ROLE {owner}",
    ],
)
def test_the_application_cannot_remove_the_triggers(application_role, attack):
    with pytest.raises(DatabaseError, match=REFUSED):
        sql(attack.format(owner=application_role["USER"]))
    assert append_only.find_missing_triggers(connection) == []


@needs_roles
def test_an_entry_that_does_not_extend_the_chain_is_refused_to_the_application(application_role):
    write()
    columns = sql(
        "SELECT string_agg(attname, ', ') FROM pg_attribute"
        " WHERE attrelid = 'audit_entry'::regclass AND attnum > 1"
    )[0][0]
    with pytest.raises(IntegrityError, match="does not extend"):
        sql(f"INSERT INTO audit_entry (seq, {columns}) SELECT 9, {columns} FROM audit_entry")


def test_a_single_role_is_a_warning(transactional_db, request):
    messages = database_roles.check_application_role(["default"])
    if connection.vendor != "postgresql":
        assert messages == []
        return
    assert [message.id for message in messages] == ["audit.W001"]
    request.getfixturevalue("application_role")
    assert database_roles.check_application_role(["default"]) == []


@needs_roles
def test_migrate_runs_as_the_owner_and_grants_the_application_its_rights(
    application_role, settings
):
    settings.DATABASE_OWNER = application_role
    with database_roles.connect_as_owner("default"):
        sql("CREATE TABLE new_table (n int)")
        sql(f"GRANT UPDATE ON audit_entry TO {APPLICATION}")
    assert [message.id for message in database_roles.check_application_role(["default"])] == [
        "audit.W001"
    ]
    call_command("migrate", verbosity=0)
    assert database_roles.check_application_role(["default"]) == []
    sql("INSERT INTO new_table VALUES (1)")
    assert sql("SELECT current_user") == [(APPLICATION,)]
    with database_roles.connect_as_owner("default"):
        sql("DROP TABLE new_table")


@needs_roles
def test_a_dry_run_prints_the_grants(application_role):
    out = StringIO()
    call_command("grant_roles", "--dry-run", stdout=out)
    ledger = ", ".join(f'"{table}"' for table in sorted(TABLES))
    assert f'GRANT SELECT, INSERT ON {ledger} TO "{APPLICATION}"' in out.getvalue()


@needs_roles
def test_only_the_owner_can_grant_the_rights(application_role, settings):
    with pytest.raises(CommandError, match="DATABASE_OWNER_URL is not set"):
        call_command("grant_roles")
    settings.DATABASE_OWNER = application_role
    out = StringIO()
    call_command("grant_roles", stdout=out)
    assert f"{APPLICATION} may read the ledger and add to it" in out.getvalue()


def test_grant_roles_is_refused_on_sqlite(db):
    if connection.vendor == "sqlite":
        with pytest.raises(CommandError, match="no roles"):
            call_command("grant_roles")


def test_an_owner_url_of_another_database_is_an_error(settings):
    settings.DATABASE_OWNER = settings.DATABASES["default"] | {"NAME": "another"}
    assert [message.id for message in database_roles.check_owner_url()] == ["audit.E002"]
    settings.DATABASE_OWNER = settings.DATABASES["default"]
    assert database_roles.check_owner_url() == []
    settings.DATABASE_OWNER = {}
    assert database_roles.check_owner_url() == []


@needs_roles
@pytest.mark.slow
def test_two_roles_can_set_up_a_new_database(application_role, settings):
    owner, name = application_role, "siteledger_by_two_roles"
    environment = os.environ | {
        "DJANGO_SETTINGS_MODULE": "tests.settings",
        "DATABASE_URL": owner_url({**owner, "USER": f"{APPLICATION}:x"}, name),
        "DATABASE_OWNER_URL": owner_url(owner, name),
        "AUDIT_KEY_FILE": str(settings.AUDIT_KEY_FILE),
        "ANCHOR_DIR": str(settings.ANCHOR_DIR),
    }
    checked = ["check", "--database", "default", "--fail-level", "WARNING"]
    settings.DATABASE_OWNER = owner
    with database_roles.connect_as_owner("default"):
        sql(f"CREATE DATABASE {name}")
    try:
        for command in (["migrate"], ["audit_keys", "create"], checked):
            manage = [sys.executable, str(settings.BASE_DIR / "manage.py"), *command]
            subprocess.run(manage, env=environment, check=True, capture_output=True)
    finally:
        with database_roles.connect_as_owner("default"):
            sql(f"DROP DATABASE {name}")
