"""Tests of ledger blocks: changes and their entries are saved together or not at all."""

import contextlib
import threading
from datetime import UTC, datetime, timedelta, timezone

import orjson
import pytest
from django.db import DatabaseError, IntegrityError, connection, transaction
from django.utils.timezone import override
from hypothesis import given
from hypothesis import strategies as st

from audit.ledger import append, chain, queries
from audit.ledger.actors import Actor
from audit.ledger.chain import NotCanonical
from audit.ledger.log import (
    LedgerError,
    ledger,
    record,
    write_time,
)
from audit.models import Entry
from audit.verification.verify import verify_ledger
from sites.models import Study
from tests.audit.support import sql, write, write_many

WORKER = Actor("system:worker")


def move(n=0, to="ARCHIVED", **facts):
    record("document.moved", subject="document:1", n=n, by=WORKER, to_state=to, **facts)


def create_study():
    Study.objects.create(protocol_number="ABC-1")
    record("study.created", subject="study:1", n=0, by=Actor("user:1"))


class SimulatedFailure(Exception):
    pass


def fail_after(*steps):
    """Take the steps in a ledger block that then fails."""
    with ledger():
        for step in steps:
            step()
        raise SimulatedFailure


@pytest.mark.requirement("R01")
def test_a_change_and_its_entry_are_saved_together(db):
    with ledger():
        create_study()
    assert (Study.objects.count(), Entry.objects.count()) == (1, 1)


@pytest.mark.requirement("R01")
def test_a_failure_leaves_neither_the_change_nor_its_entry(db):
    with pytest.raises(SimulatedFailure):
        fail_after(create_study)
    write()
    assert (Study.objects.count(), Entry.objects.count()) == (0, 1)


def test_a_failure_leaves_neither_without_an_outer_test_transaction(transactional_db):
    with pytest.raises(SimulatedFailure):
        fail_after(create_study)
    write()
    assert (Study.objects.count(), Entry.objects.count()) == (0, 1)


def test_an_entry_is_rolled_back_with_its_savepoint(db):
    with ledger():
        move(0, "VALIDATING")
        with contextlib.suppress(SimulatedFailure), transaction.atomic():
            move(1, "ARCHIVED")
            raise SimulatedFailure
        move(1, "REJECTED")
    assert [entry.to_state for entry in queries.list_entries("document:1")] == [
        "VALIDATING",
        "REJECTED",
    ]


def test_an_inner_block_joins_the_outer_one(db):
    with ledger():
        with ledger():
            move(0)
        assert not Entry.objects.exists()
        move(1)
    assert [entry.seq for entry in queries.list_entries("document:1")] == [1, 2]


def test_a_suppressed_failure_of_an_inner_block_saves_nothing(db):
    def suppress_a_failure():
        with ledger():
            move(0)
            with contextlib.suppress(SimulatedFailure):
                fail_after(create_study)

    with pytest.raises(LedgerError, match="nothing is saved"):
        suppress_a_failure()
    assert (Study.objects.count(), Entry.objects.count()) == (0, 0)


def test_nothing_is_recorded_outside_a_ledger_block(db):
    with pytest.raises(LedgerError, match="outside"):
        move()


def test_a_thread_does_not_record_into_the_block_of_another(db):
    refused = []

    def record_in_thread():
        try:
            move()
        except LedgerError as error:
            refused.append(error)

    with ledger():
        thread = threading.Thread(target=record_in_thread)
        thread.start()
        thread.join()
    assert len(refused) == 1


def test_a_ledger_block_inside_a_foreign_transaction_is_refused(transactional_db):
    with transaction.atomic(), pytest.raises(RuntimeError, match="durable"), ledger():
        pass


def test_entries_are_appended_after_all_other_statements(transactional_db, monkeypatch):
    statements, append_entries = [], append.append_entries

    def watch(execute, statement, *rest):
        statements.append(statement)
        return execute(statement, *rest)

    def watch_append(*arguments, **options):
        statements.append("append")
        append_entries(*arguments, **options)

    monkeypatch.setattr(append, "append_entries", watch_append)
    with connection.execute_wrapper(watch), ledger():
        move()
        Study.objects.create(protocol_number="ABC-1")
    after = statements[statements.index("append") :]
    assert all("clinical_sites" not in statement for statement in after)
    assert any("clinical_sites" in statement for statement in statements)


def test_other_on_commit_hooks_still_run(transactional_db):
    calls = []
    with ledger():
        move()
        transaction.on_commit(lambda: calls.append("committed"))
    assert calls == ["committed"]


def test_a_task_that_is_delivered_twice_raises_and_changes_nothing(db):
    def archive():
        with ledger():
            Study.objects.create(protocol_number=f"ABC-{Study.objects.count()}")
            record("document.archived", subject="document:17", n=3, by=WORKER)

    archive()
    with pytest.raises(IntegrityError):
        archive()
    assert (Study.objects.count(), Entry.objects.count()) == (1, 1)


def test_the_first_entry_follows_genesis_and_each_other_entry_its_predecessor(db):
    write_many(3)
    entries = queries.list_entries("document:1")
    assert [entry.prev for entry in entries] == [chain.GENESIS, entries[0].hash, entries[1].hash]


def test_a_rolled_back_append_leaves_no_gap(db):
    write(0)
    with pytest.raises(IntegrityError):
        write(0)
    write(1)
    assert queries.get_last_entry()[0] == 2


def test_a_line_has_every_field_and_columns_repeat_it(db):
    write(site="DE-014", doc_id="CV-7", to_state="ARCHIVED", rules="3", detail={"name": "A. Berg"})
    entry = Entry.objects.get()
    fields = orjson.loads(entry.body)
    assert fields.keys() == chain.FIELDS
    assert (entry.site, entry.doc_id, entry.to_state) == ("DE-014", "CV-7", "ARCHIVED")
    assert "Berg" not in entry.body


def test_recorded_values_are_read_unchanged(db):
    occurred_at = datetime(2026, 8, 14, 11, 31, tzinfo=timezone(timedelta(hours=2)))
    write(
        code="EXPIRED_DOCUMENT",
        role="QA",
        occurred_at=occurred_at,
        detail={"why": "expired in May"},
    )
    [entry] = queries.list_entries("document:1")
    assert (entry.code, entry.role) == ("EXPIRED_DOCUMENT", "QA")
    assert entry.detail == {"why": "expired in May"}
    assert entry.occurred_at == occurred_at


@pytest.mark.parametrize("count", [3, append.MAX_LINKED_ON_SERVER + 3], ids=["few", "many"])
def test_values_that_resemble_parts_of_a_line_are_stored_unchanged(db, count):
    values = {"subject": ',"prev":"",', "doc_id": ',"seq":0,"', "code": '\\,"recorded_at":"",\\'}
    with ledger():
        for n in range(count):
            detail = {"why": 'a\tb\n\\, "prev":""'} if n % 2 else None
            record("document.moved", n=n, by=WORKER, detail=detail, **values)
    entries = queries.list_entries(values["subject"])
    found = {(entry.subject, entry.doc_id, entry.code) for entry in entries}
    assert found == {(*values.values(),)}
    details = [entry.detail for entry in entries]
    assert details == [{"why": 'a\tb\n\\, "prev":""'} if n % 2 else None for n in range(count)]
    assert verify_ledger().intact


def test_equal_details_have_different_commitments(db):
    write(0, detail={"name": "A. Berg"})
    write(1, detail={"name": "A. Berg"})
    commits = {
        orjson.loads(body)["detail_commit"] for body in Entry.objects.values_list("body", flat=True)
    }
    assert len(commits) == 2


def test_text_is_normalized_before_it_is_stored(db):
    write(detail={"name": "Jose\u0301", "others": ["Zoe\u0308"]})
    [entry] = queries.list_entries("document:1")
    assert entry.detail == {"name": "Jos\u00e9", "others": ["Zo\u00eb"]}


def test_a_value_that_no_line_can_contain_is_refused_by_record(db):
    with ledger(), pytest.raises(NotCanonical, match="doc_id"):
        move(doc_id="CV\x00")


def test_a_time_without_a_zone_is_refused(db):
    with ledger(), pytest.raises(ValueError, match="zone"):
        move(occurred_at=datetime(2026, 8, 14))  # noqa: DTZ001 - a time without a zone is tested


@given(st.datetimes(timezones=st.just(UTC)))
def test_a_written_time_is_read_back_the_same_and_sorts_as_text(moment):
    assert datetime.fromisoformat(write_time(moment)) == moment
    assert len(write_time(moment)) == len("2026-08-14T09:31:07.123456Z")


def test_times_are_recorded_in_utc_whatever_zone_the_process_and_the_caller_have(db):
    local = timezone(timedelta(hours=-7))
    with override("Asia/Kathmandu"), ledger():
        move(occurred_at=datetime(2026, 8, 13, 20, 15, tzinfo=local))
    line = orjson.loads(Entry.objects.get().body)
    assert line["occurred_at"] == "2026-08-14T03:15:00.000000Z"
    recorded = datetime.fromisoformat(line["recorded_at"])
    assert line["recorded_at"].endswith("Z")
    assert abs(datetime.now(UTC) - recorded) < timedelta(minutes=10)


def test_recorded_times_do_not_run_backwards(db):
    for n in range(5):
        write(n)
    times = [entry.recorded_at for entry in queries.list_entries("document:1")]
    assert times == sorted(times)


def test_a_ledger_refuses_entries_of_another_trail(db, settings):
    write(0)
    settings.AUDIT_TRAIL = "another"
    with pytest.raises(LedgerError, match="siteledger"):
        write(1)


@pytest.mark.only_on("postgresql", reason="SQLite has one writer at a time and no such snapshots")
def test_a_transaction_with_an_older_snapshot_cannot_append(transactional_db):
    def append_to_an_old_snapshot():
        with ledger():
            sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            move()

    with pytest.raises(LedgerError, match="READ COMMITTED"):
        append_to_an_old_snapshot()
    assert not Entry.objects.exists()


@pytest.mark.only_on("postgresql", reason="SQLite's own timeout applies")
def test_the_wait_for_the_lock_is_limited(transactional_db, monkeypatch):
    monkeypatch.setattr("audit.ledger.append_postgresql.LOCK_TIMEOUT", "50ms")
    other = connection.copy()
    with other.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s)", [0x51_7E_1ED6])
    with pytest.raises(DatabaseError, match="lock timeout"):
        write()
    other.close()
    write()
    assert verify_ledger().intact
