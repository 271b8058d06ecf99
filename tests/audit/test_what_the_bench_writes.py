"""What `bench/ledger.py` relies on: both sides write rows of the same columns and length."""

from audit.ledger import tables
from audit.models import Entry
from bench import writers


def test_the_bare_driver_writes_as_many_columns_and_bytes_as_the_ledger(db):
    writers.ours()(1)
    [row] = writers.next_rows(1)
    assert sorted(writers.COLUMNS) == sorted([*tables.COLUMNS, "hash", "body"])
    entry = Entry.objects.get()
    ours = sum(len(str(getattr(entry, name))) for name in writers.COLUMNS)
    theirs = sum(len(str(value)) for value in row)
    assert abs(theirs / ours - 1) < 0.1
