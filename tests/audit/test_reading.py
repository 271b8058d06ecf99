"""What the times of entries say, and that a pass takes no more memory for a longer trail."""

import tracemalloc
from datetime import UTC, datetime, timedelta

import pytest

from audit import anchors, keys, reading, verify
from audit.reading import Times
from tests.audit.signing import Notary
from tests.audit.support import write, write_many

NOON = datetime(2026, 8, 14, 12, tzinfo=UTC)


def seen(*seconds, happened=0):
    """Times of entries recorded so many seconds after noon, each just after it happened."""
    times = Times()
    for seq, after in enumerate(seconds, start=1):
        recorded = NOON + timedelta(seconds=after)
        occurred = recorded - timedelta(seconds=happened)
        times.see(seq, recorded.isoformat(), occurred.isoformat())
    return times


def test_times_that_go_forward_are_not_worth_a_word():
    times = seen(0, 0, 1, 2, happened=4)
    assert (list(times.problems()), list(times.notices())) == ([], [])


@pytest.mark.requirement("R10")
def test_an_entry_that_is_dated_back_is_a_problem():
    said = "Dated before the entry before it: 1 entry, the first of them 3, by up to 86,400.000"
    (problem,) = seen(0, 1, 1 - 86_400, 2).problems()
    assert problem == f"{said} seconds."


def test_a_clock_that_was_set_back_a_little_is_told_and_breaks_nothing():
    times = seen(0, 1, 0.5, 2)
    assert list(times.problems()) == []
    assert next(times.notices()).startswith("The database's clock was set back: 1 entry")


def test_what_was_entered_late_is_counted(db):
    write(0, occurred_at=datetime.now(UTC) - timedelta(seconds=6))
    write(1)
    write(2, occurred_at=datetime.now(UTC) - timedelta(days=1))
    verdict = verify.verify()
    assert verdict.intact
    said = "Entered more than 5 seconds after it happened: 2 entries, the first of them 1."
    assert verdict.notices == (said,)


def test_checkpoints_and_notes_take_no_more_memory_for_a_longer_ledger(db, monkeypatch):
    def peak():
        tracemalloc.start()
        assert verify.verify().intact
        _, highest = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return highest

    notary = Notary()
    monkeypatch.setattr(keys, "verifiers", notary.verifiers)
    monkeypatch.setattr(anchors, "read_back", notary.read_back)
    monkeypatch.setattr(reading, "CHUNK", 100)
    write_many(300)
    notary.sign()
    first = peak()
    write_many(2700, subject="document:2")
    notary.sign()
    assert peak() < 1.5 * first
