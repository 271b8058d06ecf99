"""Checks are kept, told to the ledger where a person asked or something is wrong, and asked for."""

import json

import pytest
from django.core.management import CommandError, call_command
from django.db import DatabaseError, transaction

from audit import anchors, history, jobs, keys, runs
from audit.models import AppendOnly, CheckRun, Entry
from audit.verify import Mode
from tests.audit.signing import Notary
from tests.audit.support import guards_down, sql, write, write_many

EDIT = "UPDATE audit_entry SET site = 'other' WHERE seq = %s"


@pytest.fixture
def written(db):
    write_many(9, site="DE-014")


@pytest.fixture
def notary(written, monkeypatch):
    notary = Notary()
    monkeypatch.setattr(keys, "verifiers", notary.verifiers)
    monkeypatch.setattr(anchors, "read_back", notary.read_back)
    return notary


def last_event():
    return history.latest(limit=1)[0]


def verify_audit(capsys, *options):
    try:
        call_command("verify_audit", *options)
        code = 0
    except SystemExit as stop:
        code = stop.code
    except CommandError as error:
        code = error.returncode
    return code, capsys.readouterr().out


def test_a_check_by_itself_is_kept_and_needs_no_entry(written):
    verdict, run = runs.check(Mode.FULL, asked_by="system:worker")
    assert (run.result, run.from_seq, run.to_seq, run.findings) == ("intact", 1, 9, [])
    assert (run.head, run.asked_by) == (verdict.head, "system:worker")
    assert Entry.objects.count() == 9


@pytest.mark.requirement("R13")
def test_a_check_that_a_person_asked_for_is_entered(written):
    _, run = runs.check(Mode.FULL, asked_by="user:7")
    entry = last_event()
    assert (entry.event, entry.subject) == ("ledger.verified", f"check:{run.pk}")
    assert (entry.actor, entry.code) == ("user:7", "INTACT")
    assert (entry.detail["mode"], entry.detail["to_seq"]) == ("full", 9)


@pytest.mark.requirement("R05")
def test_a_check_that_found_something_is_entered_whoever_asked(written):
    with guards_down():
        sql(EDIT, 5)
    _, run = runs.check(Mode.FULL, asked_by="system:worker")
    assert run.result == "broken"
    assert run.findings == ["Entry 5: the column 'site' differs from the line (DE-014 / other)."]
    assert last_event().code == "BROKEN"
    assert last_event().detail["findings"] == run.findings


@pytest.mark.requirement("R01")
def test_a_check_is_not_changed_afterwards(written):
    _, run = runs.check(Mode.FULL, asked_by="system:worker")
    with pytest.raises(AppendOnly):
        run.save()
    with pytest.raises(AppendOnly):
        run.delete()
    with pytest.raises(AppendOnly):
        CheckRun.objects.update(result="intact")
    for attack in ("UPDATE audit_checkrun SET result = 'intact'", "DELETE FROM audit_checkrun"):
        with pytest.raises(DatabaseError), transaction.atomic():
            sql(attack)


def test_a_ledger_that_takes_no_entry_any_more_still_gets_its_verdict(written, settings):
    with guards_down():
        sql(EDIT, 5)
    settings.AUDIT_TRAIL = "another"  # as if the tail could not be read
    verdict, run = runs.check(Mode.FULL, asked_by="system:worker")
    assert verdict.first_bad.seq == 5
    assert CheckRun.objects.get().pk == run.pk
    assert Entry.objects.count() == 9


def test_the_button_and_the_night_ask_by_jobs(written):
    job = runs.check_now("user:7")
    assert jobs.work_next()
    job.refresh_from_db()
    run = CheckRun.objects.get(pk=job.result["run"])
    assert (job.state, job.result["result"], run.asked_by) == ("done", "intact", "user:7")
    runs.nightly()
    assert jobs.work_next()
    assert CheckRun.objects.first().mode == "rolling"


def test_the_command_says_when_checkpoints_are_held_nowhere_else(notary, capsys):
    notary.sign(anchored=False, at="2026-01-01 00:00:00+00:00")
    code, out = verify_audit(capsys, "--json")
    assert code == 3
    assert json.loads(out)["unanchored"][0].startswith("1 checkpoint is held nowhere else")
    code, out = verify_audit(capsys)
    assert code == 3
    assert "The chain is intact: 9 entries" in out


def test_the_command_begins_where_it_ended_and_reads_all_when_asked(notary, capsys):
    notary.sign()
    verify_audit(capsys)
    write(subject="document:2")
    assert json.loads(verify_audit(capsys, "--json")[1])["from_seq"] == 10
    assert "checked from entry 10 on" in verify_audit(capsys)[1]
    assert json.loads(verify_audit(capsys, "--json", "--full")[1])["from_seq"] == 1
    assert json.loads(verify_audit(capsys, "--json", "--since-anchor")[1])["from_seq"] == 10


@pytest.mark.requirement("R05")
def test_the_command_names_what_was_cut_off_in_plain_words(notary, capsys):
    notary.sign()
    with guards_down():
        sql("DELETE FROM audit_entry WHERE seq > 8")
    code, out = verify_audit(capsys, "--full")
    assert code == 1
    assert "BROKEN at entry 9: the end of the trail was cut off" in out
    assert "expected: 9 entries\n  found:    8 entries" in out


def test_keys_that_cannot_be_read_mean_that_nothing_was_checked(notary, capsys, monkeypatch):
    notary.sign()

    def unreadable():
        raise OSError("permission denied")

    monkeypatch.setattr(keys, "verifiers", unreadable)
    code, out = verify_audit(capsys, "--json")
    assert code == 2
    assert "public keys" in json.loads(out)["error"]
