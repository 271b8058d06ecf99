"""Tests of the runs of verification: their rows, their entries, their retention and their requests.

The ledger records a run that a person requested or that found a problem.
"""

import json
from collections import Counter
from datetime import timedelta

import pytest
from django.db import DatabaseError, IntegrityError, transaction
from django.utils import timezone

from audit import job_runs
from audit.ledger import queries
from audit.ledger.actors import Actor
from audit.models import AppendOnly, CheckRun, Entry
from audit.signing import keys
from audit.verification import runs
from audit.verification.verify import Mode
from ingestion.operations import retention
from tests.audit.signers import CheckpointSigner
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
def signer(written, monkeypatch):
    return CheckpointSigner(monkeypatch)


def last_event():
    return queries.find_entries(limit=1)[0]


def verify_audit(capsys, *options):
    code, _ = run("verify_audit", *options)
    return code, capsys.readouterr().out


def test_a_check_by_software_without_a_fault_is_stored_and_not_recorded(written):
    verdict, run = runs.run_check(Mode.FULL, asked_by="system:worker")
    assert (run.result, run.from_seq, run.to_seq) == ("unanchored", 1, 9)
    assert run.findings == list(verdict.unconfirmed)
    assert (run.entries_read, run.vouched_to) == (9, 0)
    assert (run.head, run.asked_by) == (verdict.head, "system:worker")
    assert Entry.objects.count() == 9


@pytest.mark.requirement("R13")
def test_a_check_that_a_person_requested_is_recorded(written):
    _, run = runs.run_check(Mode.FULL, asked_by="user:7")
    entry = last_event()
    assert (entry.event, entry.subject) == ("ledger.verified", f"check:{run.pk}")
    assert (entry.actor, entry.code) == ("user:7", "UNANCHORED")
    assert (entry.detail["mode"], entry.detail["to_seq"]) == ("full", 9)


@pytest.mark.requirement("R05")
def test_a_check_with_a_fault_is_recorded_also_without_a_requester(written):
    with triggers_removed():
        sql(EDIT, 5)
    _, run = runs.run_check(Mode.FULL, asked_by="system:worker")
    assert run.result == "broken"
    assert run.findings[0] == "Entry 5: the column 'site' differs from the line (DE-014 / other)."
    assert last_event().code == "BROKEN"
    assert last_event().detail["findings"] == run.findings


@pytest.mark.requirement("R01")
def test_a_stored_check_cannot_be_changed(written):
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
    """Store more checks of each kind than are kept. The full checks are the oldest rows."""
    rows = [("full", "broken"), *[("full", "intact")] * (runs.FULL_CHECKS_KEPT + 2)]
    rows += [(mode, "intact") for mode in ("incremental", "rolling") for _ in range(3)]
    rows += [("rolling", "unanchored")] * 2 + [("incremental", "broken")]
    return [make_check_run(mode, result) for mode, result in rows]


def make_check_run(mode, result, began_at=LONG_AGO):
    facts = {"seconds": 1, "from_seq": 1, "to_seq": 9, "head": "", "asked_by": "system:worker"}
    return CheckRun.objects.create(began_at=began_at, mode=mode, result=result, **facts)


def kinds():
    return Counter(CheckRun.objects.values_list("mode", "result"))


def test_old_checks_without_findings_are_deleted_except_those_that_others_need(checks):
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


def test_checks_are_kept_for_the_retention_time(checks):
    assert runs.remove_old_runs(LONG_AGO) == 0


def test_pruning_also_deletes_old_checks(checks, settings, tmp_path):
    settings.SPOOL_DIR = tmp_path
    make_check_run("incremental", "intact", NOW)
    retention.prune()
    assert kinds()["incremental", "intact"] == 1
    settings.RETENTION_DAYS = 0  # rows are kept for ever
    make_check_run("incremental", "intact")
    make_check_run("incremental", "intact")
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


@pytest.mark.only_on("postgresql", reason="SQLite has no roles")
def test_the_application_role_can_delete_old_checks(application_role, checks):
    assert runs.remove_old_runs(NOW) == 7


def test_a_ledger_that_accepts_no_entries_is_still_verified(written, settings):
    with triggers_removed():
        sql(EDIT, 5)
    settings.AUDIT_TRAIL = "another"  # the ledger accepts no entry of this trail
    verdict, run = runs.run_check(Mode.FULL, asked_by="system:worker")
    assert verdict.first_bad.seq == 5
    assert CheckRun.objects.get().pk == run.pk
    assert Entry.objects.count() == 9


@pytest.mark.requirement("R05")
def test_requested_and_nightly_checks_run_as_jobs(written):
    job = runs.request_check(Actor("user:7"))
    assert job_runs.run_next_job()
    job.refresh_from_db()
    run = CheckRun.objects.get(pk=job.result["run"])
    assert (job.state, job.result["result"], run.asked_by) == (
        "done",
        "unanchored",
        "user:7",
    )
    assert run.mode == "full"
    runs.run_nightly_check()
    assert job_runs.run_next_job()
    assert CheckRun.objects.first().mode == "full"


def test_a_long_trail_is_read_partly_each_night_and_completely_each_week(written, monkeypatch):
    monkeypatch.setattr(runs, "MAX_ENTRIES_CHECKED_NIGHTLY", 8)
    make_check_run("full", "unanchored", NOW - timedelta(days=7))
    modes = []
    for _ in range(2):
        runs.run_nightly_check()
        assert job_runs.run_next_job()
        modes.append(CheckRun.objects.first().mode)
    assert modes == ["full", "rolling"]


def test_the_command_states_that_nothing_independent_confirms_the_chain(signer, capsys):
    signer.sign(anchored=False)
    code, out = verify_audit(capsys, "--json")
    assert code == 3
    assert json.loads(out)["unanchored"][1] == "/anchors holds no checkpoint of this ledger."
    code, out = verify_audit(capsys)
    assert code == 3
    assert "The chain is consistent, not confirmed by an independent anchor: 9 entries" in out


def test_the_command_exits_with_0_if_an_independent_anchor_confirms_the_signed_entries(
    signer, capsys
):
    signer.sign()
    write(subject="document:2")
    code, out = verify_audit(capsys, "--full")
    assert code == 0
    assert out.startswith("The chain is intact, confirmed by an independent anchor: 10 entries")
    assert "/anchors holds the checkpoint of 9 entries, as read back just now." in out
    assert "Not anchored yet: 1 newer entry." in out
    assert "Read 10 of 10 entries" in out


@pytest.mark.requirement("R05")
def test_an_incremental_check_states_which_entries_it_did_not_read(signer, capsys):
    signer.sign()
    verify_audit(capsys, "--full")
    write(subject="document:2")
    code, out = verify_audit(capsys)
    first = CheckRun.objects.last()
    assert code == 3
    assert "Read 1 of 10 entries" in out
    assert "Entries 1 to 9 were not read. For them, this verification relies on the" in out
    assert f"The last verification that read all entries was number {first.pk} at " in out
    answer = json.loads(verify_audit(capsys, "--json", "--since-anchor")[1])
    assert (answer["entries_read"], answer["entries"]) == (1, 10)
    assert answer["relied_on"].startswith("Entries 1 to 9 were not read.")


def test_a_check_does_not_call_entries_intact_that_it_did_not_read(signer, capsys):
    """An incremental check did not read the old entries, so it must not confirm them."""
    signer.sign()
    verify_audit(capsys, "--full")
    with triggers_removed():
        sql(EDIT, 5)
    assert verify_audit(capsys)[0] == 3
    assert verify_audit(capsys, "--full")[0] == 1


def test_the_command_begins_after_the_last_check_and_reads_all_entries_with_full(signer, capsys):
    signer.sign()
    verify_audit(capsys)
    write(subject="document:2")
    assert json.loads(verify_audit(capsys, "--json")[1])["from_seq"] == 10
    assert "Entries 1 to 9 were not read." in verify_audit(capsys)[1]
    assert json.loads(verify_audit(capsys, "--json", "--full")[1])["from_seq"] == 1
    assert json.loads(verify_audit(capsys, "--json", "--since-anchor")[1])["from_seq"] == 10


@pytest.mark.requirement("R05")
def test_the_command_reports_a_removed_end_in_plain_words(signer, capsys):
    signer.sign()
    with triggers_removed():
        sql("DELETE FROM audit_entry WHERE seq > 8")
    code, out = verify_audit(capsys, "--full")
    assert code == 1
    assert "BROKEN at entry 9: the end of the trail was removed" in out
    assert "expected: 9 entries\n  found:    8 entries" in out


def test_nothing_is_checked_if_the_public_keys_cannot_be_read(signer, capsys, monkeypatch):
    signer.sign()

    def unreadable():
        raise OSError("permission denied")

    monkeypatch.setattr(keys, "read_verifiers", unreadable)
    code, out = verify_audit(capsys, "--json")
    assert code == 2
    assert "public keys" in json.loads(out)["error"]
