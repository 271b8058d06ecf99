"""Checks are kept, told to the ledger where a person asked or something is wrong, and asked for."""

import json
from collections import Counter
from datetime import timedelta

import pytest
from django.db import DatabaseError, IntegrityError, transaction
from django.utils import timezone

from audit import anchors, history, jobs, keys, runs
from audit.models import AppendOnly, CheckRun, Entry
from audit.verify import Mode
from ingestion.operations import retention
from tests.audit.signing import Notary
from tests.audit.support import application_role, guards_down, sql, write, write_many
from tests.commands import run

__all__ = ["application_role"]

NOW = timezone.now()
LONG_AGO = NOW - timedelta(days=400)
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
    return history.find(limit=1)[0]


def verify_audit(capsys, *options):
    code, _ = run("verify_audit", *options)
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


@pytest.fixture
def checks(db):
    """Of each kind more than are kept; the last full one is the oldest row but for one finding."""
    rows = [("full", "broken"), *[("full", "intact")] * (runs.FULL_KEPT + 2)]
    rows += [(mode, "intact") for mode in ("incremental", "rolling") for _ in range(3)]
    rows += [("rolling", "unanchored"), ("incremental", "broken")]
    return [a_check(mode, result) for mode, result in rows]


def a_check(mode, result, began_at=LONG_AGO):
    facts = {"seconds": 1, "from_seq": 1, "to_seq": 9, "head": "", "asked_by": "system:worker"}
    return CheckRun.objects.create(began_at=began_at, mode=mode, result=result, **facts)


def kinds():
    return Counter(CheckRun.objects.values_list("mode", "result"))


def test_checks_that_found_nothing_go_in_time_and_what_others_need_stays(checks):
    assert runs.forget(NOW) == 2 + 2 + 2
    assert kinds() == {
        ("full", "intact"): runs.FULL_KEPT,
        ("full", "broken"): 1,
        ("rolling", "intact"): 1,
        ("rolling", "unanchored"): 1,
        ("incremental", "intact"): 1,
        ("incremental", "broken"): 1,
    }
    newest = max(check.pk for check in checks if (check.mode, check.result) == ("full", "intact"))
    assert CheckRun.objects.filter(pk=newest).exists()
    assert runs.forget(NOW) == 0


def test_checks_stay_until_their_time(checks):
    assert runs.forget(LONG_AGO) == 0


def test_pruning_takes_old_checks_along(checks, settings, tmp_path):
    settings.SPOOL_DIR = tmp_path
    a_check("incremental", "intact", NOW)
    retention.prune()
    assert kinds()["incremental", "intact"] == 1
    settings.RETENTION_DAYS = 0  # for ever
    a_check("incremental", "intact")
    a_check("incremental", "intact")
    retention.prune()
    assert kinds()["incremental", "intact"] == 3


@pytest.mark.requirement("R04")
@pytest.mark.parametrize("kind", [("full", "broken"), ("rolling", "unanchored")])
def test_the_database_lets_no_finding_go(checks, kind):
    for row in checks:
        if (row.mode, row.result) == kind:
            with pytest.raises(IntegrityError, match="found something"), transaction.atomic():
                sql("DELETE FROM audit_checkrun WHERE id = %s", row.pk)


@pytest.mark.requirement("R04")
def test_the_database_keeps_the_last_check_of_each_kind(checks):
    for mode in ("full", "incremental", "rolling"):
        last = CheckRun.objects.filter(mode=mode, result="intact").first()
        with pytest.raises(IntegrityError, match="last of its kind"), transaction.atomic():
            sql("DELETE FROM audit_checkrun WHERE id = %s", last.pk)


def test_the_role_of_the_application_removes_checks_by_the_same_door(application_role, checks):
    assert runs.forget(NOW) == 6


def test_a_ledger_that_takes_no_entry_any_more_still_gets_its_verdict(written, settings):
    with guards_down():
        sql(EDIT, 5)
    settings.AUDIT_TRAIL = "another"  # as if the tail could not be read
    verdict, run = runs.check(Mode.FULL, asked_by="system:worker")
    assert verdict.first_bad.seq == 5
    assert CheckRun.objects.get().pk == run.pk
    assert Entry.objects.count() == 9


@pytest.mark.requirement("R05")
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
