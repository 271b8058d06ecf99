"""Verifies the whole ledger after tests that use the database.

Without the slow tests, this is done after one test in eight, and only on SQLite: it took a tenth of
the time of all tests, and most tests of a file write the same entries.
"""

from zlib import crc32

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
        is_sample = crc32(request.node.nodeid.encode()) % 8 == 0 and connection.vendor == "sqlite"
        if "not slow" in request.config.option.markexpr and not is_sample:
            return
        # Without entries and checkpoints there is nothing to contradict, but the triggers.
        if Entry.objects.exists() or Checkpoint.objects.exists():
            result = verify.verify_ledger()
            assert result.intact, result
        else:
            assert not list(append_only.find_missing_triggers(connection))
    else:
        yield
