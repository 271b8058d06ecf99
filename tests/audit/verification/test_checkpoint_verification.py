"""The design's tampering (audit.md 5.3), done in the database, and what each is caught by."""

from datetime import timedelta

import pytest
from django.utils import timezone

from audit.models import Checkpoint, CheckRun, Entry
from audit.signing import anchors, keys, signed_note
from audit.verification import runs, verify
from audit.verification.verify import Mode, Result
from tests.audit.signers import (
    Elsewhere,
    Notary,
    cut_off,
    forget_checks,
    relink,
)
from tests.audit.support import sql, triggers_removed, write, write_many

pytestmark = pytest.mark.requirement("R05")
EDIT = "UPDATE audit_entry SET body = replace(body, 'DE-014', 'DE-015') WHERE seq = %s"


@pytest.fixture
def notary(db, monkeypatch):
    """Signed and anchored at 10, 20 and 30 of 35 entries."""
    notary = Notary(monkeypatch)
    for number in range(3):
        write_many(10, subject=f"document:{number}", site="DE-014", detail={"name": "A. Berg"})
        notary.sign()
    write_many(5, subject="document:9", site="DE-014")
    return notary


def check(mode=Mode.INCREMENTAL, **how):
    """As the command does: what was found is kept, and the next check begins there."""
    return runs.run_check(mode, asked_by="system:command", **how)[0]


def test_a_signed_ledger_is_valid(notary):
    verdict = verify.verify_ledger()
    assert (verdict.result, verdict.entries, verdict.unconfirmed) == (Result.INTACT, 35, ())
    assert (verdict.vouched_to, verdict.vouched_by) == (30, ("/anchors",))


def test_an_edited_and_relinked_ledger_has_another_root(notary):
    relink(15, "DE-014", "DE-015")
    verdict = verify.verify_ledger(with_anchors=False)
    assert (verdict.first_bad.seq, verdict.entries) == (11, 10)
    assert verdict.first_bad.why == (
        "one of the entries 11 to 20 was rewritten after signing; "
        "the checkpoint of 20 entries in the database has another root"
    )
    assert verdict.first_bad.expected == Checkpoint.objects.get(size=20).root


def test_the_chain_alone_does_not_reveal_relinking(notary):
    with triggers_removed():
        sql("DELETE FROM audit_receipt")
        sql("DELETE FROM audit_checkpoint")
    relink(15, "DE-014", "DE-015")
    assert verify.verify_ledger(with_anchors=False).intact


def test_anchored_notes_reveal_a_relinked_ledger_without_checkpoints(notary):
    with triggers_removed():
        sql("DELETE FROM audit_receipt")
        sql("DELETE FROM audit_checkpoint")
    relink(15, "DE-014", "DE-015")
    verdict = verify.verify_ledger()
    assert "the note in /anchors has another root" in verdict.first_bad.why
    assert "the note in /anchors is a signed checkpoint of 20 entries" in verdict.problems[1]


@pytest.mark.parametrize("mode", Mode)
def test_anchored_notes_reveal_an_end_removed_with_its_checkpoints(notary, mode):
    check()
    cut_off(12)
    forget_checks()
    assert verify.verify_ledger(mode, with_anchors=False).intact
    bad = verify.verify_ledger(mode).first_bad
    assert (bad.seq, bad.expected, bad.found) == (13, "30 entries", "12 entries")
    assert bad.why.startswith("the end of the trail was removed: the note in /anchors covers")


def test_a_trail_that_was_cut_off_and_went_on_is_another_one(notary):
    check()
    cut_off(12)
    forget_checks()
    write_many(30, subject="document:77")
    assert verify.verify_ledger(with_anchors=False).intact
    assert verify.verify_ledger().first_bad.seq == 11


def test_a_checkpoint_that_replaced_the_one_held_elsewhere_does_not_hide_where_they_differ(notary):
    relink(25, "DE-014", "DE-015")
    cut_off(29)
    write_many(1, subject="document:77")
    notary.sign(anchored=False)
    verdict = verify.verify_ledger()
    assert verdict.first_bad.why.startswith("one of the entries 21 to 30 was rewritten")
    assert (verdict.first_bad.seq, verdict.entries) == (21, 20)


def test_a_cut_that_leaves_the_checkpoints_is_shorter_than_they_say(notary):
    with triggers_removed():
        sql("DELETE FROM audit_entrydetail WHERE entry_id > 28")
        sql("DELETE FROM audit_entry WHERE seq > 28")
    bad = verify.verify_ledger(with_anchors=False).first_bad
    assert (bad.seq, bad.expected, bad.found) == (29, "30 entries", "28 entries")


def test_a_check_finds_a_trail_that_became_shorter_since_the_last_check(notary):
    check()
    with triggers_removed():
        sql("DELETE FROM audit_entry WHERE seq > 33")
    said = check(with_anchors=False).problems[0]
    assert said.endswith("entry 35 is missing.")
    assert check(with_anchors=False).problems[0] == said  # it is not forgotten


def test_a_rewritten_end_is_not_what_the_last_check_came_to(notary):
    check()
    relink(33, "DE-014", "DE-015")
    assert check().problems[0].endswith("entry 35 has another hash.")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("note = replace(note, '20', '21')", "the signature of siteledger does not hold"),
        ("note = 'nothing'", "not a signed note"),
        ("root = 'ab'", "was changed: it differs from its note"),
        ("frontier = ''", "was changed: it differs from its note"),
        ("head = 'ab'", "was changed: it differs from its note"),
    ],
)
def test_an_edited_checkpoint_is_not_what_was_signed(notary, change, said):
    with triggers_removed():
        sql(f"UPDATE audit_checkpoint SET {change} WHERE size = 20")  # noqa: S608 - constants
    verdict = verify.verify_ledger(with_anchors=False)
    assert verdict.first_bad is None
    assert [said in problem for problem in verdict.problems] == [True]
    assert "the checkpoint of 20 entries in the database" in verdict.problems[0]


def test_a_checkpoint_that_a_stranger_signed_is_not_believed(notary, monkeypatch):
    monkeypatch.setattr(keys, "verifiers", Notary().verifiers)
    problems = verify.verify_ledger(with_anchors=False).problems
    assert len(problems) == 3
    assert "none of the given keys signed it" in problems[0]


def test_a_note_that_is_missing_from_its_anchor_is_reported(notary):
    del notary.place[30]
    problems = verify.verify_ledger().problems
    assert "The checkpoint of 30 entries was stored in a write-once place" in problems[0]


def test_an_unreadable_anchor_is_reported_and_is_no_fault(notary, monkeypatch):
    def closed(_after):
        raise OSError("no route to host")

    monkeypatch.setattr(notary.elsewhere, "read_back", closed)
    verdict = verify.verify_ledger()
    assert verdict.intact
    assert verdict.result == Result.UNANCHORED
    assert verdict.unanchored[0] == "The anchor /anchors could not be read: no route to host"


def test_a_place_that_cannot_be_read_hides_no_other(notary, monkeypatch):
    other = Elsewhere()
    other.address = "/other"
    other.notes.update(notary.place)
    monkeypatch.setattr(anchors, "configured_anchors", lambda: [other, notary.elsewhere])
    del notary.place[30]
    monkeypatch.setattr(other, "read_back", lambda _after: 1 / 0)
    verdict = verify.verify_ledger()
    assert "/other could not be read" in verdict.unanchored[0]
    assert (verdict.vouched_to, verdict.vouched_by) == (20, ("/anchors",))


def test_entries_that_wait_too_long_for_an_anchor_are_told(notary, monkeypatch):
    soon = timezone.now() + timedelta(minutes=59)
    monkeypatch.setattr(timezone, "now", lambda: soon)
    assert verify.verify_ledger().result == Result.INTACT
    late = timezone.now() + timedelta(minutes=2)
    monkeypatch.setattr(timezone, "now", lambda: late)
    verdict = verify.verify_ledger()
    assert verdict.result == Result.UNANCHORED
    assert verdict.unanchored[0].startswith("No independent anchor vouches for entry 31,")
    notary.sign(anchored=False)
    assert verify.verify_ledger().unanchored == verdict.unanchored


def test_one_that_is_anchored_stands_for_those_before_it(notary, monkeypatch):
    notary.sign(anchored=False)
    write_many(1, subject="document:10")
    notary.sign()
    late = timezone.now() + timedelta(hours=2)
    monkeypatch.setattr(timezone, "now", lambda: late)
    assert verify.verify_ledger().unconfirmed == ()


def test_an_incremental_check_reads_from_the_last_checkpoint_that_was_checked(notary):
    assert check().from_seq == 1
    assert check().from_seq == 31
    write_many(5, subject="document:10")
    verdict = check()
    assert (verdict.from_seq, verdict.entries) == (31, 40)


def test_an_incremental_check_finds_a_change_in_the_tail_at_once(notary):
    check()
    with triggers_removed():
        sql(EDIT, 34)
    assert check().first_bad.seq == 34
    assert check().first_bad.seq == 34  # and again, until somebody has looked


def test_it_does_not_begin_at_a_checkpoint_that_was_changed(notary):
    check()
    with triggers_removed():
        turned = "substr(frontier, 65) || substr(frontier, 1, 64)"
        sql(f"UPDATE audit_checkpoint SET frontier = {turned} WHERE size = 30")  # noqa: S608
    verdict = check()
    assert verdict.from_seq == 1
    assert "was changed" in verdict.problems[0]


def test_a_change_in_old_entries_is_found_by_the_rolling_check_within_its_cycle(notary):
    check(Mode.FULL)
    with triggers_removed():
        sql(EDIT, 15)
    assert check().intact
    nights = [check(Mode.ROLLING).first_bad for _ in range(7)]
    assert 15 in [bad.seq for bad in nights if bad]


def test_rolling_checks_come_round_to_every_entry(notary):
    check(Mode.FULL)
    again = [check(Mode.ROLLING).again for _ in range(4)]
    assert again == [(1, 10), (11, 20), (21, 30), (1, 10)]


def test_a_rolling_check_reads_the_tail_as_well(notary):
    check(Mode.FULL)
    with triggers_removed():
        sql(EDIT, 33)
    assert check(Mode.ROLLING).first_bad.seq == 33


def test_since_the_anchor_believes_nothing_that_only_the_database_says(notary):
    check(Mode.FULL)
    notary.sign(anchored=False)
    write_many(2, subject="document:10")
    check()
    assert check().from_seq == 36
    assert check(Mode.SINCE_ANCHOR).from_seq == 31


def test_after_a_break_the_next_check_begins_before_it(notary):
    check(Mode.FULL)
    with triggers_removed():
        sql(EDIT, 15)
    assert check(Mode.FULL).first_bad.seq == 15
    assert CheckRun.objects.latest("pk").to_seq == 14
    assert check().first_bad.seq == 15


def test_a_detail_that_was_taken_out_on_record_is_not_missing(notary):
    write(subject="entry:15", event="ledger.detail_redacted", actor="user:1")
    with triggers_removed():
        sql("DELETE FROM audit_entrydetail WHERE entry_id = 15")
    assert verify.verify_ledger(with_anchors=False).intact
    with triggers_removed():
        sql("DELETE FROM audit_entrydetail WHERE entry_id = 16")
    bad = verify.verify_ledger(with_anchors=False).first_bad
    assert (bad.seq, bad.why) == (16, "its detail is missing")


def test_an_invalid_note_in_an_anchor_is_reported_once(notary):
    notary.place[31] = "somebody wrote this"
    verdict = verify.verify_ledger()
    assert verdict.first_bad is None
    assert len(verdict.problems) == 1
    assert verdict.problems[0].startswith("the note in /anchors cannot be trusted")


def test_a_checkpoint_of_another_trail_is_not_trusted(notary):
    text = signed_note.CheckpointText("another", 20, b"r" * 32).text
    notary.place[31] = signed_note.sign_note(text, [notary.signer])
    assert verify.verify_ledger().problems[0].endswith("it belongs to another trail, another.")


def test_it_begins_before_what_a_place_has_otherwise(notary):
    check()
    cut_off(12)
    write_many(13, subject="document:77")
    notary.sign()
    write_many(13, subject="document:78")
    notary.sign(anchored=False)
    head = Entry.objects.get(seq=38).hash
    with triggers_removed():
        sql("UPDATE audit_checkrun SET to_seq = 38, head = %s", head)
    verdict = check()
    assert verdict.from_seq == 26
    assert verdict.first_bad.why.startswith("one of the entries 26 to 30 was rewritten")


def test_the_entry_that_it_begins_after_is_read_as_well(notary):
    check()
    with triggers_removed():
        sql(EDIT, 30)
    assert check().first_bad.seq == 30


def test_entries_that_are_gone_from_the_end_of_a_part_are_missed(notary):
    check(Mode.FULL)
    with triggers_removed():
        sql("DELETE FROM audit_entrydetail WHERE entry_id IN (9, 10)")
        sql("DELETE FROM audit_entry WHERE seq IN (9, 10)")
    verdict = check(Mode.ROLLING)
    assert verdict.again == (1, 10)
    assert (verdict.first_bad.seq, verdict.first_bad.why) == (9, "entries were removed")
    assert (verdict.first_bad.expected, verdict.first_bad.found) == ("up to 10", "up to 8")
