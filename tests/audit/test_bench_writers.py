"""Tests that both sides of `bench/ledger.py` write rows with the same columns and lengths."""

from audit.ledger import tables
from audit.models import Entry
from bench.sides import writers


def test_the_bare_driver_writes_the_same_columns_and_about_as_many_bytes_as_the_ledger(db):
    writers.ours()(1)
    [row] = writers.next_rows(1)
    assert sorted(writers.COLUMNS) == sorted([*tables.COLUMNS, "hash", "body"])
    entry = Entry.objects.get()
    ours = sum(len(str(getattr(entry, name))) for name in writers.COLUMNS)
    theirs = sum(len(str(value)) for value in row)
    assert abs(theirs / ours - 1) < 0.1
