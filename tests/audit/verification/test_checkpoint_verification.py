"""Tests that verification detects each kind of tampering with the database (audit.md 5.3)."""

from datetime import timedelta

import pytest
from django.utils import timezone

from audit.models import Checkpoint, CheckRun, Entry
from audit.signing import anchors, keys, signed_note
from audit.verification import runs, verify
from audit.verification.verify import Mode, Result
from tests.audit.signers import (
    CheckpointSigner,
    IndependentAnchor,
    delete_check_runs,
    relink,
    remove_entries_after,
)
from tests.audit.support import sql, triggers_removed, write, write_many

pytestmark = pytest.mark.requirement("R05")
EDIT = "UPDATE audit_entry SET body = replace(body, 'DE-014', 'DE-015') WHERE seq = %s"


@pytest.fixture
def signer(db, monkeypatch):
    """Write 35 entries, with signed and anchored checkpoints of 10, 20 and 30 entries."""
    signer = CheckpointSigner(monkeypatch)
    for number in range(3):
        write_many(10, subject=f"document:{number}", site="DE-014", detail={"name": "A. Berg"})
        signer.sign()
    write_many(5, subject="document:9", site="DE-014")
    return signer


def check(mode=Mode.INCREMENTAL, **options):
    """Verify as the command does: the result is stored, and the next check begins at its end."""
    return runs.run_check(mode, asked_by="system:command", **options)[0]


def test_a_signed_ledger_is_valid(signer):
    verdict = verify.verify_ledger()
    assert (verdict.result, verdict.entries, verdict.unconfirmed) == (Result.INTACT, 35, ())
    assert (verdict.vouched_to, verdict.vouched_by) == (30, ("/anchors",))


def test_an_edited_and_relinked_ledger_has_another_root(signer):
    relink(15, "DE-014", "DE-015")
    verdict = verify.verify_ledger(with_anchors=False)
    assert (verdict.first_bad.seq, verdict.entries) == (11, 10)
    assert verdict.first_bad.why == (
        "one of the entries 11 to 20 was rewritten after signing; "
        "the checkpoint of 20 entries in the database has another root"
    )
    assert verdict.first_bad.expected == Checkpoint.objects.get(size=20).root


def test_the_chain_alone_does_not_reveal_relinking(signer):
    with triggers_removed():
        sql("DELETE FROM audit_receipt")
        sql("DELETE FROM audit_checkpoint")
    relink(15, "DE-014", "DE-015")
    assert verify.verify_ledger(with_anchors=False).intact


def test_anchored_notes_reveal_a_relinked_ledger_without_checkpoints(signer):
    with triggers_removed():
        sql("DELETE FROM audit_receipt")
        sql("DELETE FROM audit_checkpoint")
    relink(15, "DE-014", "DE-015")
    verdict = verify.verify_ledger()
    assert "the note in /anchors has another root" in verdict.first_bad.why
    assert "The note in /anchors is a signed checkpoint of 20 entries" in verdict.problems[1]


@pytest.mark.parametrize("mode", Mode)
def test_anchored_notes_reveal_an_end_removed_with_its_checkpoints(signer, mode):
    check()
    remove_entries_after(12)
    delete_check_runs()
    assert verify.verify_ledger(mode, with_anchors=False).intact
    bad = verify.verify_ledger(mode).first_bad
    assert (bad.seq, bad.expected, bad.found) == (13, "30 entries", "12 entries")
    assert bad.why.startswith("the end of the trail was removed: the note in /anchors covers")


def test_new_entries_after_a_removed_end_contradict_the_anchored_notes(signer):
    check()
    remove_entries_after(12)
    delete_check_runs()
    write_many(30, subject="document:77")
    assert verify.verify_ledger(with_anchors=False).intact
    assert verify.verify_ledger().first_bad.seq == 11


def test_a_replaced_checkpoint_does_not_hide_the_first_difference_from_the_anchored_notes(signer):
    relink(25, "DE-014", "DE-015")
    remove_entries_after(29)
    write_many(1, subject="document:77")
    signer.sign(anchored=False)
    verdict = verify.verify_ledger()
    assert verdict.first_bad.why.startswith("one of the entries 21 to 30 was rewritten")
    assert (verdict.first_bad.seq, verdict.entries) == (21, 20)


def test_checkpoints_reveal_that_the_end_was_removed(signer):
    with triggers_removed():
        sql("DELETE FROM audit_entrydetail WHERE entry_id > 28")
        sql("DELETE FROM audit_entry WHERE seq > 28")
    bad = verify.verify_ledger(with_anchors=False).first_bad
    assert (bad.seq, bad.expected, bad.found) == (29, "30 entries", "28 entries")


def test_a_check_finds_a_trail_that_became_shorter_since_the_last_check(signer):
    check()
    with triggers_removed():
        sql("DELETE FROM audit_entry WHERE seq > 33")
    problem = check(with_anchors=False).problems[0]
    assert problem.endswith("entry 35 is missing.")
    assert check(with_anchors=False).problems[0] == problem, "later checks report it again"


def test_a_rewritten_end_contradicts_the_last_check(signer):
    check()
    relink(33, "DE-014", "DE-015")
    assert check().problems[0].endswith("entry 35 has another hash.")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("note = replace(note, '20', '21')", "the signature of siteledger is not valid"),
        ("note = 'nothing'", "not a signed note"),
        ("root = 'ab'", "was changed: it differs from its note"),
        ("frontier = ''", "was changed: it differs from its note"),
        ("head = 'ab'", "was changed: it differs from its note"),
    ],
)
def test_an_edited_checkpoint_contradicts_its_signed_note(signer, change, message):
    with triggers_removed():
        sql(f"UPDATE audit_checkpoint SET {change} WHERE size = 20")  # noqa: S608 - constants
    verdict = verify.verify_ledger(with_anchors=False)
    assert verdict.first_bad is None
    assert [message in problem for problem in verdict.problems] == [True]
    assert "the checkpoint of 20 entries in the database" in verdict.problems[0].lower()


def test_a_checkpoint_with_the_signature_of_an_unknown_key_is_not_trusted(signer, monkeypatch):
    monkeypatch.setattr(keys, "read_verifiers", CheckpointSigner().verifiers)
    problems = verify.verify_ledger(with_anchors=False).problems
    assert len(problems) == 3
    assert "none of the given keys signed it" in problems[0]


def test_a_note_that_is_missing_from_its_anchor_is_reported(signer):
    del signer.anchored_notes[30]
    problems = verify.verify_ledger().problems
    assert "The checkpoint of 30 entries was stored in a write-once place" in problems[0]


def test_an_unreadable_anchor_is_reported_and_is_no_fault(signer, monkeypatch):
    def closed(_after):
        raise OSError("no route to host")

    monkeypatch.setattr(signer.independent_anchor, "read_back", closed)
    verdict = verify.verify_ledger()
    assert verdict.intact
    assert verdict.result == Result.UNANCHORED
    assert verdict.unanchored[0] == "The anchor /anchors could not be read: no route to host"


def test_an_unreadable_anchor_does_not_hide_another_anchor(signer, monkeypatch):
    other = IndependentAnchor()
    other.address = "/other"
    other.notes.update(signer.anchored_notes)
    monkeypatch.setattr(
        anchors, "list_configured_anchors", lambda: [other, signer.independent_anchor]
    )
    del signer.anchored_notes[30]
    monkeypatch.setattr(other, "read_back", lambda _after: 1 / 0)
    verdict = verify.verify_ledger()
    assert "/other could not be read" in verdict.unanchored[0]
    assert (verdict.vouched_to, verdict.vouched_by) == (20, ("/anchors",))


def test_entries_that_wait_too_long_for_an_anchor_are_reported(signer, monkeypatch):
    within_limit = timezone.now() + timedelta(minutes=59)
    monkeypatch.setattr(timezone, "now", lambda: within_limit)
    assert verify.verify_ledger().result == Result.INTACT
    beyond_limit = timezone.now() + timedelta(minutes=2)
    monkeypatch.setattr(timezone, "now", lambda: beyond_limit)
    verdict = verify.verify_ledger()
    assert verdict.result == Result.UNANCHORED
    assert verdict.unanchored[0].startswith("No independent anchor vouches for entry 31,")
    signer.sign(anchored=False)
    assert verify.verify_ledger().unanchored == verdict.unanchored


def test_an_anchored_checkpoint_confirms_the_entries_of_older_checkpoints(signer, monkeypatch):
    signer.sign(anchored=False)
    write_many(1, subject="document:10")
    signer.sign()
    beyond_limit = timezone.now() + timedelta(hours=2)
    monkeypatch.setattr(timezone, "now", lambda: beyond_limit)
    assert verify.verify_ledger().unconfirmed == ()


def test_an_incremental_check_reads_from_the_last_checkpoint_that_was_checked(signer):
    assert check().from_seq == 1
    assert check().from_seq == 31
    write_many(5, subject="document:10")
    verdict = check()
    assert (verdict.from_seq, verdict.entries) == (31, 40)


def test_an_incremental_check_finds_a_change_in_the_tail_at_once(signer):
    check()
    with triggers_removed():
        sql(EDIT, 34)
    assert check().first_bad.seq == 34
    assert check().first_bad.seq == 34  # each later check reports it again


def test_an_incremental_check_does_not_begin_at_a_changed_checkpoint(signer):
    check()
    with triggers_removed():
        rotated = "substr(frontier, 65) || substr(frontier, 1, 64)"
        sql(f"UPDATE audit_checkpoint SET frontier = {rotated} WHERE size = 30")  # noqa: S608
    verdict = check()
    assert verdict.from_seq == 1
    assert "was changed" in verdict.problems[0]


def test_a_change_in_old_entries_is_found_by_the_rolling_check_within_its_cycle(signer):
    check(Mode.FULL)
    with triggers_removed():
        sql(EDIT, 15)
    assert check().intact
    nights = [check(Mode.ROLLING).first_bad for _ in range(7)]
    assert 15 in [bad.seq for bad in nights if bad]


def test_rolling_checks_cover_every_entry_in_turn(signer):
    check(Mode.FULL)
    ranges = [check(Mode.ROLLING).reread for _ in range(4)]
    assert ranges == [(1, 10), (11, 20), (21, 30), (1, 10)]


def test_a_rolling_check_also_reads_the_newest_entries(signer):
    check(Mode.FULL)
    with triggers_removed():
        sql(EDIT, 33)
    assert check(Mode.ROLLING).first_bad.seq == 33


def test_since_the_anchor_ignores_checkpoints_that_only_the_database_has(signer):
    check(Mode.FULL)
    signer.sign(anchored=False)
    write_many(2, subject="document:10")
    check()
    assert check().from_seq == 36
    assert check(Mode.SINCE_ANCHOR).from_seq == 31


def test_the_next_check_begins_before_a_break(signer):
    check(Mode.FULL)
    with triggers_removed():
        sql(EDIT, 15)
    assert check(Mode.FULL).first_bad.seq == 15
    assert CheckRun.objects.latest("pk").to_seq == 14
    assert check().first_bad.seq == 15


def test_a_detail_with_a_recorded_redaction_is_not_missing(signer):
    write(subject="entry:15", event="ledger.detail_redacted", actor="user:1")
    with triggers_removed():
        sql("DELETE FROM audit_entrydetail WHERE entry_id = 15")
    assert verify.verify_ledger(with_anchors=False).intact
    with triggers_removed():
        sql("DELETE FROM audit_entrydetail WHERE entry_id = 16")
    bad = verify.verify_ledger(with_anchors=False).first_bad
    assert (bad.seq, bad.why) == (16, "its detail is missing")


def test_an_invalid_note_in_an_anchor_is_reported_once(signer):
    signer.anchored_notes[31] = "this is not a note"
    verdict = verify.verify_ledger()
    assert verdict.first_bad is None
    assert len(verdict.problems) == 1
    assert verdict.problems[0].startswith("The note in /anchors cannot be trusted")


def test_a_checkpoint_of_another_trail_is_not_trusted(signer):
    text = signed_note.CheckpointText("another", 20, b"r" * 32).text
    signer.anchored_notes[31] = signed_note.sign_note(text, [signer.signer])
    assert verify.verify_ledger().problems[0].endswith("it belongs to another trail, another.")


def test_a_check_begins_before_the_first_contradiction_with_an_anchor(signer):
    check()
    remove_entries_after(12)
    write_many(13, subject="document:77")
    signer.sign()
    write_many(13, subject="document:78")
    signer.sign(anchored=False)
    head = Entry.objects.get(seq=38).hash
    with triggers_removed():
        sql("UPDATE audit_checkrun SET to_seq = 38, head = %s", head)
    verdict = check()
    assert verdict.from_seq == 26
    assert verdict.first_bad.why.startswith("one of the entries 26 to 30 was rewritten")


def test_the_entry_before_the_start_of_a_check_is_read_as_well(signer):
    check()
    with triggers_removed():
        sql(EDIT, 30)
    assert check().first_bad.seq == 30


def test_entries_removed_from_the_end_of_a_rolling_part_are_reported(signer):
    check(Mode.FULL)
    with triggers_removed():
        sql("DELETE FROM audit_entrydetail WHERE entry_id IN (9, 10)")
        sql("DELETE FROM audit_entry WHERE seq IN (9, 10)")
    verdict = check(Mode.ROLLING)
    assert verdict.reread == (1, 10)
    assert (verdict.first_bad.seq, verdict.first_bad.why) == (9, "entries were removed")
    assert (verdict.first_bad.expected, verdict.first_bad.found) == ("up to 10", "up to 8")
