"""Tests of verification without anchors, and of the command `verify_audit`."""
# ruff: noqa: S608 - statements are built from constants

import json
import tracemalloc
from datetime import datetime

import pytest
from django.db import connection

from audit.ledger import append, append_only, chain
from audit.ledger.triggers import postgresql
from audit.models import Entry
from audit.verification import scan, verify
from tests.audit.support import sql, triggers_removed, write, write_many
from tests.commands import run


@pytest.fixture
def written(db):
    write_many(9, site="DE-014", detail={"name": "A. Berg"})


def tamper(statement, *values):
    """Change a table as its owner could, and return the first bad entry that verification finds."""
    with triggers_removed():
        sql(statement, *values)
    return verify.verify_ledger().first_bad


def verify_audit(capsys, *options):
    """Return the exit code and the output of the command."""
    code, _ = run("verify_audit", *options)
    return code, capsys.readouterr().out


def test_an_untouched_ledger_is_intact(written):
    verdict = verify.verify_ledger()
    assert (verdict.intact, verdict.entries) == (True, 9)
    assert verdict.head == Entry.objects.get(seq=9).hash


def test_an_empty_ledger_is_intact(db):
    verdict = verify.verify_ledger()
    assert (verdict.intact, verdict.entries, verdict.head) == (True, 0, chain.GENESIS)


def test_an_edited_line_is_reported(written):
    bad = tamper("UPDATE audit_entry SET body = replace(body, 'DE-014', 'DE-015') WHERE seq = 5")
    assert (bad.seq, bad.why) == (5, "the line was changed: its hash differs")
    assert bad.expected == Entry.objects.get(seq=5).hash


def test_a_removed_entry_is_reported(written):
    tamper("DELETE FROM audit_entrydetail WHERE entry_id = 5")
    bad = tamper("DELETE FROM audit_entry WHERE seq = 5")
    assert (bad.seq, bad.expected, bad.found) == (6, "5", "6")


def test_two_exchanged_lines_are_reported(written):
    five, six = Entry.objects.get(seq=5).body, Entry.objects.get(seq=6).body
    bad = tamper(
        "UPDATE audit_entry SET body = CASE seq WHEN 5 THEN %s ELSE %s END WHERE seq IN (5, 6)",
        six,
        five,
    )
    assert bad.seq == 5


@pytest.mark.parametrize("column", ["event", "subject", "site", "doc_id", "to_state", "actor"])
def test_a_column_that_differs_from_its_line_is_reported(written, column):
    bad = tamper(f"UPDATE audit_entry SET {column} = 'other' WHERE seq = 5")
    assert (bad.seq, bad.why) == (5, f"the column '{column}' differs from the line")
    assert bad.found == "other"


def test_a_changed_time_is_reported(written):
    bad = tamper("UPDATE audit_entry SET recorded_at = '2020-01-01 00:00:00' WHERE seq = 5")
    assert (bad.seq, bad.found) == (5, "2020-01-01T00:00:00.000000Z")


@pytest.mark.only_on("postgresql", reason="SQLite's times are text")
def test_a_time_before_christ_differs_from_its_line(written):
    change = "recorded_at = (recorded_at::text || ' BC')::timestamptz"
    bad = tamper(f"UPDATE audit_entry SET {change} WHERE seq = 5")
    assert (bad.seq, bad.why) == (5, "the column 'recorded_at' differs from the line")


class WholeSeconds(datetime):
    @classmethod
    def now(cls, tz=None):
        return super().now(tz).replace(microsecond=0)


def test_a_time_of_whole_seconds_equals_that_of_its_line(db, monkeypatch):
    # Django omits the fraction of such a time, and databases omit trailing zeros.
    if connection.vendor == "postgresql":
        as_installed = postgresql.APPEND_FUNCTION.format(schema="public")
        whole = as_installed.replace("clock_timestamp()", "date_trunc('second', clock_timestamp())")
        with connection.cursor() as cursor:
            cursor.execute(whole)
    monkeypatch.setattr(append, "datetime", WholeSeconds)
    write()
    append_only.install_triggers(connection)
    assert Entry.objects.get().recorded_at.microsecond == 0
    assert verify.verify_ledger().intact


def test_a_changed_detail_is_reported(written):
    bad = tamper("UPDATE audit_entrydetail SET detail = '{}' WHERE entry_id = 5")
    assert (bad.seq, bad.why) == (5, "its detail was changed")


def test_a_missing_detail_is_reported(written):
    bad = tamper("DELETE FROM audit_entrydetail WHERE entry_id = 5")
    assert (bad.seq, bad.why) == (5, "its detail is missing")


def test_a_detail_that_was_never_recorded_is_reported(db):
    write(0)
    bad = tamper("INSERT INTO audit_entrydetail VALUES (1, 'ab', '{}')")
    assert (bad.seq, bad.why, bad.expected) == (1, "its detail was changed", "")


@pytest.mark.only_on("sqlite", reason="PostgreSQL's columns have types")
@pytest.mark.parametrize("change", ["recorded_at = 'soon'", "body = X'00'", "hash = 7"])
def test_sqlite_columns_with_invalid_values_break_the_chain(written, change):
    assert tamper(f"UPDATE audit_entry SET {change} WHERE seq = 5").seq == 5


def test_a_verdict_counts_the_valid_entries_before_the_first_bad_one(written):
    head = Entry.objects.get(seq=4).hash
    tamper("UPDATE audit_entry SET site = 'other' WHERE seq = 5")
    assert (verify.verify_ledger().entries, verify.verify_ledger().head) == (4, head)


def test_a_missing_trigger_is_a_problem(written, capsys):
    sql("DROP TRIGGER audit_entry_link" + " ON audit_entry" * (connection.vendor == "postgresql"))
    verdict = verify.verify_ledger()
    assert verdict.first_bad is None
    assert not verdict.intact
    assert "audit_entry_link" in verdict.problems[0]
    assert (
        "The chain of 9 entries is intact, but there are other problems:" in verify_audit(capsys)[1]
    )


def test_a_registered_check_adds_its_problems_up_to_a_maximum(written):
    def check(_since):
        return (f"Document {n} is not what its last entry says." for n in range(1000))

    verify.register_check(check)
    try:
        verdict = verify.verify_ledger()
    finally:
        verify._checks.remove(check)
    assert len(verdict.problems) == verify.MAX_PROBLEMS
    assert verdict.problems[-1] == "And 901 more."


def test_memory_use_of_verification_does_not_grow_with_the_ledger(db, monkeypatch):
    def peak():
        tracemalloc.start()
        verify.verify_ledger()
        _, highest = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return highest

    monkeypatch.setattr(scan, "ENTRIES_PER_COMPARISON", 100)
    write_many(300)
    first = peak()
    write_many(2700, subject="document:2")
    assert peak() < 1.5 * first


def test_the_command_states_that_only_this_installation_confirms_the_chain(written, capsys):
    """docs/runbooks.md quotes this output."""
    head = Entry.objects.get(seq=9).hash
    code, out = verify_audit(capsys, "--full")
    assert code == 3
    assert out.startswith(
        "The chain is consistent, not confirmed by an independent anchor: "
        f"9 entries, head {head[:4]}...{head[-4:]}.\nRead 9 of 9 entries in "
    )


def test_the_command_states_the_first_bad_entry_and_what_to_do(written, capsys):
    tamper("UPDATE audit_entry SET site = 'other' WHERE seq = 5")
    code, out = verify_audit(capsys)
    assert code == 1
    assert "BROKEN at entry 5: the column 'site' differs from the line." in out
    assert "expected: DE-014\n  found:    other\nThe 4 entries before it are intact." in out
    assert "Do not repair anything" in out


def test_the_command_prints_json(written, capsys):
    tamper("UPDATE audit_entry SET site = 'other' WHERE seq = 5")
    code, out = verify_audit(capsys, "--json")
    verdict = json.loads(out)
    assert code == 1
    assert (verdict["result"], verdict["exit_code"]) == ("broken", 1)
    assert (verdict["entries"], verdict["first_bad"]["seq"]) == (4, 5)


def test_the_command_exits_with_2_if_it_cannot_verify(db, capsys):
    append_only.remove_triggers(connection)
    sql("ALTER TABLE audit_entry RENAME TO elsewhere")
    code, out = verify_audit(capsys, "--json")
    assert code == 2
    assert (json.loads(out)["result"], json.loads(out)["exit_code"]) == (None, 2)


def rows_read():
    """Return how many rows of entries this transaction has read, by PostgreSQL's own count."""
    [(number,)] = sql(
        """SELECT seq_tup_read + coalesce(idx_tup_fetch, 0) FROM pg_stat_xact_user_tables
        WHERE relname = 'audit_entry'"""
    )
    return number


UNKNOWN, OF_AN_EMPTY_TRAIL = (-1, 0), (0, 1)  # PostgreSQL's statistics: rows and pages


@pytest.mark.only_on("postgresql", reason="PostgreSQL's own count")
@pytest.mark.parametrize("statistics", [UNKNOWN, OF_AN_EMPTY_TRAIL])
def test_no_page_reads_earlier_entries_again_whatever_statistics_postgresql_has(
    db, monkeypatch, statistics
):
    """After a restore, PostgreSQL once read all remaining entries for each page of entries."""
    write_many(2_000)
    change = "UPDATE pg_class SET (reltuples, relpages) = (%s, %s) WHERE relname = %s"
    sql(change, *statistics, "audit_entry")
    monkeypatch.setattr(scan, "ENTRIES_PER_PAGE", 50)
    before = rows_read()
    assert verify.verify_ledger().intact
    assert rows_read() - before < 5 * 2_000


def test_a_gap_longer_than_a_page_is_reported(db, monkeypatch):
    write_many(20)
    monkeypatch.setattr(scan, "ENTRIES_PER_PAGE", 5)
    bad = tamper("DELETE FROM audit_entry WHERE seq BETWEEN 3 AND 16")
    assert (bad.seq, bad.why) == (17, "the numbers have a gap")
