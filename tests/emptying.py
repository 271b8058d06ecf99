"""Between transactional tests all tables are emptied, which the guards rightly refuse.

They are down for that moment only; what a test itself does meets them. What every migration puts in
place stays unless a test changed it: to make permissions and roles anew takes longer than all the
rest.
"""

import pytest
from django.contrib.auth.models import Group, Permission
from django.contrib.contenttypes.models import ContentType
from django.core.management.color import no_style
from django.db import connection
from django.test import TransactionTestCase

from ingestion.dispatch import schedules
from tests.audit.support import guards_down, sql

PUT_IN_PLACE = [
    model._meta.db_table for model in (ContentType, Permission, Group, Group.permissions.through)
]


@pytest.fixture(scope="session", autouse=True)
def guards_down_for_flush():
    """To be imported by `tests/conftest.py`."""
    flush, put_in_place = TransactionTestCase._fixture_teardown, None

    def flush_unguarded(case):
        nonlocal put_in_place
        with guards_down():
            if seen() == put_in_place:
                empty()
            else:
                flush(case)
        put_in_place = put_in_place or seen()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TransactionTestCase, "_fixture_teardown", flush_unguarded)
        yield


def seen():
    """How many rows there are of what is put in place, and which."""
    counts = ", ".join(
        f"(SELECT count(*) FROM {table}), (SELECT sum(id) FROM {table})"  # noqa: S608 - constants
        for table in PUT_IN_PLACE
    )
    return sql(f"SELECT {counts}")


def empty():
    tables = connection.introspection.django_table_names(only_existing=True, include_views=False)
    others = [table for table in tables if table not in PUT_IN_PLACE]
    connection.ops.execute_sql_flush(connection.ops.sql_flush(no_style(), others))
    schedules.install_schedules()  # all of them due
