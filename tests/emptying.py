"""Empties the tables between transactional tests.

Django's flush empties all tables, which takes PostgreSQL a quarter of a second for each test, and
the guards of the ledger refuse it. Here only the tables that contain rows are emptied, with the
guards off for that moment. The rows that the migrations create stay unless a test changed them:
to create permissions and roles again takes longer than everything else.
"""

from contextlib import contextmanager

import pytest
from django.contrib.auth.models import Group, Permission
from django.contrib.contenttypes.models import ContentType
from django.db import connection, transaction
from django.test import TransactionTestCase
from django.utils import timezone
from django_q.models import Schedule

from ingestion.dispatch import schedules
from tests.audit.support import sql, triggers_removed

FROM_MIGRATIONS = [
    model._meta.db_table for model in (ContentType, Permission, Group, Group.permissions.through)
]


@pytest.fixture(scope="session", autouse=True)
def triggers_removed_for_flush():
    """Replace the flush of transactional tests. To be imported by `tests/conftest.py`."""
    flush, from_migrations = TransactionTestCase._fixture_teardown, None

    def flush_unguarded(case):
        nonlocal from_migrations
        if count_rows_from_migrations() == from_migrations:
            empty_tables()
        else:
            with triggers_removed():
                flush(case)
        from_migrations = from_migrations or count_rows_from_migrations()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TransactionTestCase, "_fixture_teardown", flush_unguarded)
        yield


def count_rows_from_migrations():
    """Return for each table with rows from migrations their number and the sum of their keys."""
    counts = ", ".join(
        f"(SELECT count(*) FROM {table}), (SELECT sum(id) FROM {table})"  # noqa: S608 - constants
        for table in FROM_MIGRATIONS
    )
    return sql(f"SELECT {counts}")


def empty_tables():
    """Delete all rows but those from migrations, and make every schedule due."""
    installed = [
        Schedule(
            name=f"{schedules.PREFIX}{name}",
            func=function,
            schedule_type=Schedule.MINUTES,
            minutes=minutes,
            repeats=-1,
            next_run=timezone.now(),
        )
        for name, (function, minutes) in schedules.SCHEDULES.items()
    ]
    with without_triggers(), transaction.atomic():
        for table in tables_with_rows():
            sql(f"DELETE FROM {connection.ops.quote_name(table)}")  # noqa: S608 - names of tables
        Schedule.objects.bulk_create(installed)


def tables_with_rows():
    tables = connection.introspection.django_table_names(only_existing=True, include_views=False)
    questions = [
        f"SELECT '{table}' WHERE EXISTS (SELECT 1 FROM {connection.ops.quote_name(table)})"  # noqa: S608
        for table in tables
        if table not in FROM_MIGRATIONS
    ]
    return [table for (table,) in sql(" UNION ALL ".join(questions))]


@contextmanager
def without_triggers():
    """Have no guard and no foreign key refuse a deletion."""
    with triggers_removed():
        if connection.vendor == "postgresql":
            sql("SET session_replication_role = replica")
            try:
                yield
            finally:
                sql("SET session_replication_role = DEFAULT")
        else:
            with connection.constraint_checks_disabled():
                yield
