"""Verifies the whole ledger after every test that uses the database.

On PostgreSQL this is a slower proof: the same tests verify the same ledgers on SQLite, and
tests/audit verifies ledgers on both databases.
"""

import pytest
from django.db import connection

from audit.ledger import append_only
from audit.models import Checkpoint, Entry
from audit.verification import verify

DATABASE = ("transactional_db", "db")


@pytest.fixture(autouse=True)
def _the_ledger_holds(request, settings):
    """Verify the ledger while the database and the settings of the test still exist."""
    used = [name for name in DATABASE if name in request.fixturenames]
    if used or request.node.get_closest_marker("django_db"):
        for name in used[:1]:
            request.getfixturevalue(name)
        yield
        if connection.vendor == "postgresql" and "not slow" in request.config.option.markexpr:
            return
        # Without entries and checkpoints there is nothing to contradict, but the triggers.
        if Entry.objects.exists() or Checkpoint.objects.exists():
            result = verify.verify_ledger()
            assert result.intact, result
        else:
            assert not list(append_only.missing_triggers(connection))
    else:
        yield
