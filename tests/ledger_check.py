"""After every scenario the whole ledger is verified: each test is a chain test as well."""

import pytest

from audit.verification import verify

DATABASE = ("transactional_db", "db")


@pytest.fixture(autouse=True)
def _the_ledger_holds(request, settings):
    """Set up after the database, hence torn down before it; and before a test's own settings go."""
    used = [name for name in DATABASE if name in request.fixturenames]
    if used or request.node.get_closest_marker("django_db"):
        for name in used[:1]:
            request.getfixturevalue(name)
        yield
        result = verify.verify_ledger()
        assert result.intact, result
    else:
        yield
