"""Checks are kept, told to the ledger where a person asked or something is wrong, and asked for."""

import json
from collections import Counter
from datetime import timedelta

import pytest
from django.db import DatabaseError, IntegrityError, transaction
from django.utils import timezone

from audit import background_jobs
from audit.ledger import queries
from audit.models import AppendOnly, CheckRun, Entry
from audit.signing import keys
from audit.verification import runs
from audit.verification.verify import Mode
from ingestion.operations import retention
from tests.audit.signers import Notary
from tests.audit.support import application_role, sql, triggers_removed, write, write_many
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
    return Notary(monkeypatch)


def last_event():
    return queries.find_entries(limit=1)[0]


def verify_audit(capsys, *options):
    code, _ = run("verify_audit", *options)
    return code, capsys.readouterr().out


def test_a_check_by_itself_is_kept_and_needs_no_entry(written):
    verdict, run = runs.run_check(Mode.FULL, asked_by="system:worker")
    assert (run.result, run.from_seq, run.to_seq) == ("unanchored", 1, 9)
    assert run.findings == list(verdict.unconfirmed)
    assert (run.entries_read, run.vouched_to) == (9, 0)
    assert (run.head, run.asked_by) == (verdict.head, "system:worker")
    assert Entry.objects.count() == 9


@pytest.mark.requirement("R13")
def test_a_check_that_a_person_asked_for_is_entered(written):
    _, run = runs.run_check(Mode.FULL, asked_by="user:7")
    entry = last_event()
    assert (entry.event, entry.subject) == ("ledger.verified", f"check:{run.pk}")
    assert (entry.actor, entry.code) == ("user:7", "UNANCHORED")
    assert (entry.detail["mode"], entry.detail["to_seq"]) == ("full", 9)


@pytest.mark.requirement("R05")
def test_a_check_that_found_something_is_entered_whoever_asked(written):
    with triggers_removed():
        sql(EDIT, 5)
    _, run = runs.run_check(Mode.FULL, asked_by="system:worker")
    assert run.result == "broken"
    assert run.findings[0] == "Entry 5: the column 'site' differs from the line (DE-014 / other)."
    assert last_event().code == "BROKEN"
    assert last_event().detail["findings"] == run.findings


@pytest.mark.requirement("R01")
def test_a_check_is_not_changed_afterwards(written):
    _, run = runs.run_check(Mode.FULL, asked_by="system:worker")
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
    rows = [("full", "broken"), *[("full", "intact")] * (runs.FULL_CHECKS_KEPT + 2)]
    rows += [(mode, "intact") for mode in ("incremental", "rolling") for _ in range(3)]
    rows += [("rolling", "unanchored")] * 2 + [("incremental", "broken")]
    return [a_check(mode, result) for mode, result in rows]


def a_check(mode, result, began_at=LONG_AGO):
    facts = {"seconds": 1, "from_seq": 1, "to_seq": 9, "head": "", "asked_by": "system:worker"}
    return CheckRun.objects.create(began_at=began_at, mode=mode, result=result, **facts)


def kinds():
    return Counter(CheckRun.objects.values_list("mode", "result"))


def test_checks_that_found_nothing_go_in_time_and_what_others_need_stays(checks):
    assert runs.remove_old_runs(NOW) == 2 + 2 + 2 + 1
    assert kinds() == {
        ("full", "intact"): runs.FULL_CHECKS_KEPT,
        ("full", "broken"): 1,
        ("rolling", "intact"): 1,
        ("rolling", "unanchored"): 1,
        ("incremental", "intact"): 1,
        ("incremental", "broken"): 1,
    }
    newest = max(check.pk for check in checks if (check.mode, check.result) == ("full", "intact"))
    assert CheckRun.objects.filter(pk=newest).exists()
    assert runs.remove_old_runs(NOW) == 0


def test_checks_stay_until_their_time(checks):
    assert runs.remove_old_runs(LONG_AGO) == 0


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
@pytest.mark.parametrize("kind", [("full", "broken"), ("incremental", "broken")])
def test_the_database_refuses_to_delete_a_check_with_findings(checks, kind):
    for row in checks:
        if (row.mode, row.result) == kind:
            with pytest.raises(IntegrityError, match="found something"), transaction.atomic():
                sql("DELETE FROM audit_checkrun WHERE id = %s", row.pk)


@pytest.mark.requirement("R04")
def test_the_database_keeps_the_last_check_of_each_kind(checks):
    kinds = [("full", "intact"), ("incremental", "intact"), ("rolling", "intact")]
    for mode, result in [*kinds, ("rolling", "unanchored")]:
        last = CheckRun.objects.filter(mode=mode, result=result).first()
        with pytest.raises(IntegrityError, match="last of its kind"), transaction.atomic():
            sql("DELETE FROM audit_checkrun WHERE id = %s", last.pk)


def test_the_role_of_the_application_removes_checks_by_the_same_door(application_role, checks):
    assert runs.remove_old_runs(NOW) == 7


def test_a_ledger_that_takes_no_entry_any_more_still_gets_its_verdict(written, settings):
    with triggers_removed():
        sql(EDIT, 5)
    settings.AUDIT_TRAIL = "another"  # as if the tail could not be read
    verdict, run = runs.run_check(Mode.FULL, asked_by="system:worker")
    assert verdict.first_bad.seq == 5
    assert CheckRun.objects.get().pk == run.pk
    assert Entry.objects.count() == 9


@pytest.mark.requirement("R05")
def test_the_button_and_the_night_ask_by_jobs(written):
    job = runs.request_check("user:7")
    assert background_jobs.run_next_job()
    job.refresh_from_db()
    run = CheckRun.objects.get(pk=job.result["run"])
    assert (job.state, job.result["result"], run.asked_by) == ("done", "unanchored", "user:7")
    assert run.mode == "full"
    runs.run_nightly_check()
    assert background_jobs.run_next_job()
    assert CheckRun.objects.first().mode == "full"


def test_of_a_long_trail_a_part_is_read_each_night_and_all_of_it_each_week(written, monkeypatch):
    monkeypatch.setattr(runs, "MAX_ENTRIES_CHECKED_NIGHTLY", 8)
    a_check("full", "unanchored", NOW - timedelta(days=7))
    modes = []
    for _ in range(2):
        runs.run_nightly_check()
        assert background_jobs.run_next_job()
        modes.append(CheckRun.objects.first().mode)
    assert modes == ["full", "rolling"]


def test_the_command_says_what_stands_by_its_own_word(notary, capsys):
    notary.sign(anchored=False)
    code, out = verify_audit(capsys, "--json")
    assert code == 3
    assert json.loads(out)["unanchored"][1] == "/anchors holds no checkpoint of this ledger."
    code, out = verify_audit(capsys)
    assert code == 3
    assert "The chain is consistent, but only by this installation's own word: 9 entries" in out


def test_the_command_ends_with_0_when_an_anchor_outside_vouches_for_every_entry(notary, capsys):
    notary.sign()
    write(subject="document:2")
    code, out = verify_audit(capsys, "--full")
    assert code == 0
    assert out.startswith("The chain is intact, and vouched for from outside: 10 entries")
    assert "/anchors holds the checkpoint of 9 entries, as read back just now." in out
    assert "Not anchored yet: 1 newer entry." in out
    assert "Read 10 of 10 entries" in out


@pytest.mark.requirement("R05")
def test_a_check_that_does_not_read_every_entry_says_so_and_on_what_it_relies(notary, capsys):
    notary.sign()
    verify_audit(capsys, "--full")
    write(subject="document:2")
    code, out = verify_audit(capsys)
    first = CheckRun.objects.last()
    assert code == 3
    assert "Read 1 of 10 entries" in out
    assert "Entries 1 to 9 were not read. For them this check relies on the checkpoint" in out
    assert f"the last that read all entries was check {first.pk} of " in out
    answer = json.loads(verify_audit(capsys, "--json", "--since-anchor")[1])
    assert (answer["entries_read"], answer["entries"]) == (1, 10)
    assert answer["relied_on"].startswith("Entries 1 to 9 were not read.")


def test_old_entries_that_were_rewritten_are_not_called_intact_by_a_check_that_skips_them(
    notary, capsys
):
    """An incremental check relies on what it does not read, and may therefore not vouch for it."""
    notary.sign()
    verify_audit(capsys, "--full")
    with triggers_removed():
        sql(EDIT, 5)
    assert verify_audit(capsys)[0] == 3
    assert verify_audit(capsys, "--full")[0] == 1


def test_the_command_begins_where_it_ended_and_reads_all_when_asked(notary, capsys):
    notary.sign()
    verify_audit(capsys)
    write(subject="document:2")
    assert json.loads(verify_audit(capsys, "--json")[1])["from_seq"] == 10
    assert "Entries 1 to 9 were not read." in verify_audit(capsys)[1]
    assert json.loads(verify_audit(capsys, "--json", "--full")[1])["from_seq"] == 1
    assert json.loads(verify_audit(capsys, "--json", "--since-anchor")[1])["from_seq"] == 10


@pytest.mark.requirement("R05")
def test_the_command_names_what_was_cut_off_in_plain_words(notary, capsys):
    notary.sign()
    with triggers_removed():
        sql("DELETE FROM audit_entry WHERE seq > 8")
    code, out = verify_audit(capsys, "--full")
    assert code == 1
    assert "BROKEN at entry 9: the end of the trail was removed" in out
    assert "expected: 9 entries\n  found:    8 entries" in out


def test_keys_that_cannot_be_read_mean_that_nothing_was_checked(notary, capsys, monkeypatch):
    notary.sign()

    def unreadable():
        raise OSError("permission denied")

    monkeypatch.setattr(keys, "verifiers", unreadable)
    code, out = verify_audit(capsys, "--json")
    assert code == 2
    assert "public keys" in json.loads(out)["error"]
