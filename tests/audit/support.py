"""Helpers for tests of the ledger: writing entries, removing triggers, and a database role."""

import threading
from contextlib import contextmanager

import pytest
from django.db import connection

from audit.ledger import append, append_only, database_roles, log
from audit.ledger.actors import Actor
from audit.ledger.log import ledger, record

APPLICATION = "siteledger_application"


def write(
    n=0, *, subject="document:1", event="document.archived", actor="system:worker", role="", **facts
):
    """Record one entry in a ledger block of its own."""
    with ledger():
        record(event, subject=subject, n=n, by=Actor(actor, role), **facts)


def write_many(count, *, subject="document:1", **facts):
    """Record entries 0 to count - 1 of a subject in one ledger block."""
    with ledger():
        for n in range(count):
            record("document.archived", subject=subject, n=n, by=Actor("system:worker"), **facts)


@contextmanager
def triggers_removed():
    """Remove the triggers during a block, as the owner of the tables can."""
    check_deferred_constraints()
    append_only.remove_triggers(connection)
    try:
        yield
    finally:
        check_deferred_constraints()
        append_only.install_triggers(connection)


def check_deferred_constraints():
    """Check deferred foreign keys now: PostgreSQL alters no table while they are pending."""
    connection.check_constraints()


def sql(statement, *values):
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return cursor.fetchall() if cursor.description else []


@pytest.fixture
def application_role(transactional_db):
    """Connect as a role with the application's rights only. Yields the settings of the owner.

    The role has its own login, which all connections use that are opened meanwhile. SET ROLE would
    not do, because a session can undo it.
    """
    owner = dict(connection.settings_dict)
    sql(f"CREATE ROLE {APPLICATION} LOGIN PASSWORD 'only for tests'")
    database_roles.grant_rights(connection, APPLICATION)
    _sign_in({"USER": APPLICATION, "PASSWORD": "only for tests"})
    try:
        yield owner
    finally:
        _sign_in({key: owner[key] for key in ("USER", "PASSWORD")})
        sql(f"DROP OWNED BY {APPLICATION}; DROP ROLE {APPLICATION}")


def _sign_in(changes):
    connection.close()
    connection.settings_dict.update(changes)  # threads share it


@pytest.fixture(scope="session", autouse=True)
def forbid_statements_after_the_append():
    """Fail a test if a statement follows the append in its transaction, except for a redaction.

    `tests/conftest.py` imports it. It watches all threads of the main process.
    """
    append_entries, sort_hooks = append.append_entries, log._sort_hooks
    block_of_thread = threading.local()

    def watch_sort_hooks(hooks):
        found = sort_hooks(hooks)
        block_of_thread.has_functions = bool(found[1])  # registered by `run_after_append`
        return found

    def watch_append(pending):
        block = connection.atomic_blocks[-1]
        append_entries(pending)
        if block_of_thread.has_functions:
            return

        def watch(execute, statement, *rest):
            assert block not in connection.atomic_blocks, f"after the append: {statement}"
            connection.execute_wrappers.remove(watch)
            return execute(statement, *rest)

        connection.execute_wrappers.append(watch)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(log, "_sort_hooks", watch_sort_hooks)
        patch.setattr(append, "append_entries", watch_append)
        yield
