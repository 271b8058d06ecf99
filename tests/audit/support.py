"""What tests of the ledger share: entries to write, guards to take down, the flush of tests."""

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
    """One entry in a ledger block of its own."""
    with ledger():
        record(event, subject=subject, n=n, by=Actor(actor, role), **facts)


def write_many(count, *, subject="document:1", **facts):
    """Entries 0 to count - 1 of a subject, in one ledger block."""
    with ledger():
        for n in range(count):
            record("document.archived", subject=subject, n=n, by=Actor("system:worker"), **facts)


@contextmanager
def guards_down():
    """What the owner of the tables can do, and the application cannot."""
    settle()
    append_only.remove_triggers(connection)
    try:
        yield
    finally:
        settle()
        append_only.install_triggers(connection)


def settle():
    """Have deferred foreign keys checked now: PostgreSQL alters no table while they wait."""
    connection.check_constraints()


def sql(statement, *values):
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return cursor.fetchall() if cursor.description else []


@pytest.fixture
def application_role(transactional_db):
    """Everything is done by a role with no more rights than it is given. Yields its owner's name.

    A login of its own, on every connection that is opened meanwhile; not SET ROLE, which a session
    can take back.
    """
    if connection.vendor != "postgresql":
        pytest.skip("SQLite has no roles")
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


@pytest.fixture(autouse=True)
def nothing_follows_the_append(monkeypatch):
    """Whatever a test does: while the chain's lock is held, nothing else is done but a redaction.

    To be imported by `tests/conftest.py`. In the main process; in all of its threads.
    """
    extend = append.append_entries

    sort_hooks, here = log._sorted_out, threading.local()

    def sort_and_note(hooks):
        found = sort_hooks(hooks)
        here.acts = bool(found[1])  # registered by `run_after_append`
        return found

    def extend_and_watch(pending):
        block = connection.atomic_blocks[-1]
        extend(pending)
        if here.acts:
            return

        def watch(execute, statement, *rest):
            assert block not in connection.atomic_blocks, f"after the append: {statement}"
            connection.execute_wrappers.remove(watch)
            return execute(statement, *rest)

        connection.execute_wrappers.append(watch)

    monkeypatch.setattr(log, "_sorted_out", sort_and_note)
    monkeypatch.setattr(append, "append_entries", extend_and_watch)
