"""Tests of the scan of the ledger: the times of entries, memory use, and breaks of the chain."""

import random
import tracemalloc
from datetime import UTC, datetime, timedelta

import pytest

from audit.ledger import append
from audit.ledger.keyset import iter_pages
from audit.models import Entry
from audit.verification import scan, verify
from audit.verification.scan import EntryTimes
from tests.audit.signers import CheckpointSigner, relink
from tests.audit.support import sql, triggers_removed, write, write_many

NOON = datetime(2026, 8, 14, 12, tzinfo=UTC)


def make_entry_times(*seconds, delay=0):
    """Return times of entries recorded these seconds after noon, each `delay` after its event."""
    times = EntryTimes()
    for seq, after in enumerate(seconds, start=1):
        recorded = NOON + timedelta(seconds=after)
        occurred = recorded - timedelta(seconds=delay)
        times.add([seq], [recorded.isoformat()], [occurred.isoformat()])
    return times


def test_increasing_times_are_not_reported():
    times = make_entry_times(0, 0, 1, 2, delay=4)
    assert list(times.notices()) == []


@pytest.mark.requirement("R10")
def test_a_backdated_entry_is_reported_and_is_no_fault():
    (notice,) = make_entry_times(0, 1, 1 - 86_400, 2).notices()
    assert notice == (
        "The database's clock was set back: entry 3 is dated 86,400.000 seconds before its "
        "predecessor."
    )


@pytest.mark.requirement("R10")
def test_a_ledger_whose_clock_was_corrected_is_intact(db, monkeypatch):
    tail = append._locked_tail

    def an_hour_ahead():
        *last, now = tail()
        return *last, now + timedelta(hours=1)

    with monkeypatch.context() as patched:
        patched.setattr(append, "_locked_tail", an_hour_ahead)
        write_many(append.MAX_LINKED_ON_SERVER + 1)
    write(99)
    verdict = verify.verify_ledger()
    assert verdict.intact
    assert any(notice.startswith("The database's clock was set back") for notice in verdict.notices)


def test_entries_recorded_late_are_counted(db):
    write(0, occurred_at=datetime.now(UTC) - timedelta(seconds=6))
    write(1)
    write(2, occurred_at=datetime.now(UTC) - timedelta(days=1))
    verdict = verify.verify_ledger()
    assert verdict.intact
    (notice,) = verdict.notices
    assert notice == (
        "2 entries were recorded more than 5 seconds after their events. The first of them is "
        "entry 1."
    )


@pytest.mark.slow
def test_checkpoints_and_notes_take_no_more_memory_for_a_longer_ledger(db, monkeypatch):
    def peak():
        tracemalloc.start()
        assert verify.verify_ledger().intact
        _, highest = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return highest

    signer = CheckpointSigner(monkeypatch)
    monkeypatch.setattr(scan, "ENTRIES_PER_COMPARISON", 100)
    write_many(300)
    signer.sign()
    first = peak()
    write_many(2700, subject="document:2")
    signer.sign()
    assert peak() < 1.5 * first


TAMPERINGS = [
    "UPDATE audit_entry SET body = replace(body, 'DE-014', 'DE-015') WHERE seq = %s",
    "UPDATE audit_entry SET hash = substr(hash, 2) || substr(hash, 1, 1) WHERE seq = %s",
    "UPDATE audit_entry SET site = 'other' WHERE seq = %s",
    "UPDATE audit_entry SET to_state = 'other' WHERE seq = %s",
    "UPDATE audit_entry SET recorded_at = '2020-01-01 00:00:00' WHERE seq = %s",
    "UPDATE audit_entrydetail SET detail = '{}' WHERE entry_id = %s",
    "DELETE FROM audit_entrydetail WHERE entry_id = %s",
]


@pytest.mark.sampled(4)
@pytest.mark.requirement("R05")
@pytest.mark.parametrize("seed", range(12))
def test_the_first_break_does_not_depend_on_the_number_of_entries_read_at_once(
    db, monkeypatch, seed
):
    signer, rng = CheckpointSigner(monkeypatch), random.Random(seed)
    for number in range(2):
        write_many(8, subject=f"document:{number}", site="DE-014", detail={"name": "A. Berg"})
        signer.sign(anchored=False)
    assert verify.verify_ledger(with_anchors=False).intact
    with triggers_removed():
        for seq in rng.sample(range(1, 17), 3):
            sql(rng.choice(TAMPERINGS), seq)
    relink(rng.randrange(9, 17), "DE-014", "DE-016")
    found = []
    for page, chunk in ((1, 1), (7, 5), (16, 3), (250, 250)):
        monkeypatch.setattr(scan, "ENTRIES_PER_PAGE", page)
        monkeypatch.setattr(scan, "ENTRIES_PER_COMPARISON", chunk)
        verdict = verify.verify_ledger(with_anchors=False)
        found.append((verdict.first_bad, verdict.problems, verdict.entries, verdict.head))
    assert found[0][0] is not None
    assert found == [found[0]] * 4


COPY_OF_THE_LAST = """INSERT INTO audit_entry (seq, prev, hash, event_id, recorded_at, event,
    subject, site, doc_id, from_state, to_state, code, correlation_id, actor, body)
    SELECT %s, 'none', hash, 'none', recorded_at, event, subject, site, doc_id, from_state,
    to_state, code, correlation_id, actor, body FROM audit_entry WHERE seq = 3"""


@pytest.mark.requirement("R05")
@pytest.mark.parametrize("seq", [0, -1, -(2**63)])
def test_an_entry_before_the_first_is_reported(db, seq):
    write_many(3)
    with triggers_removed():
        sql(COPY_OF_THE_LAST, seq)
    bad = verify.verify_ledger().first_bad
    assert (bad.seq, bad.why) == (seq, "the numbers have a gap")


@pytest.mark.requirement("R05")
def test_an_entry_far_beyond_the_last_is_reported_without_reading_the_gap(db):
    write_many(3)
    with triggers_removed():
        sql(COPY_OF_THE_LAST, 2**62)
    assert verify.verify_ledger().first_bad.seq == 2**62


@pytest.mark.requirement("R05")
def test_entries_missing_between_pages_are_reported(db, monkeypatch):
    monkeypatch.setattr(scan, "ENTRIES_PER_PAGE", 2)
    write_many(9)
    with triggers_removed():
        sql("DELETE FROM audit_entry WHERE seq BETWEEN 3 AND 6")
    verdict = verify.verify_ledger()
    assert (verdict.first_bad.seq, verdict.first_bad.expected, verdict.entries) == (7, "3", 2)


@pytest.mark.parametrize("last", range(5))
def test_pages_contain_each_entry_once_in_order(db, last):
    write_many(5)
    found = iter_pages(Entry.objects.values_list("seq", "event_id"), "seq", last, 2)
    assert [[seq for seq, _ in page] for page in found] == [
        list(range(at, min(at + 2, 6))) for at in range(last + 1, 6, 2)
    ]
