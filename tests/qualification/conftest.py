from tests.ledger_check import _the_ledger_holds  # noqa: F401 - an autouse fixture
