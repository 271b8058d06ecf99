"""Tests of the status of the ledger and of the current verdict, from the rows of the database."""

from datetime import timedelta

import pytest
from django.utils import timezone

from audit.ledger import queries
from audit.models import CheckRun
from audit.signing import anchors, checkpoints
from audit.verification.ledger_status import get_current_verdict, get_ledger_status
from audit.verification.verify import NOT_READ_BACK
from tests.audit.signers import IndependentAnchor
from tests.audit.support import sql, triggers_removed, write_many

NOTE = "siteledger\n3\nabcd\n\n\u2014 siteledger AAAA\n\u2014 siteledger-2027 BBBB\n"


def checkpoint(*places):
    sql(
        "INSERT INTO audit_checkpoint (size, head, root, frontier, note, created_at)"
        " SELECT 3, hash, 'abcd', '', %s, recorded_at FROM audit_entry WHERE seq = 3",
        NOTE,
    )
    for place in places:
        sql(
            "INSERT INTO audit_receipt (checkpoint_id, anchor, place, proof, anchored_at)"
            " SELECT 3, 'file', %s, '', recorded_at FROM audit_entry WHERE seq = 3",
            place,
        )


def test_the_status_of_an_empty_ledger_has_no_entries(db):
    now = get_ledger_status()
    assert (now.entries, now.head, now.signed, now.unsigned) == (0, "", None, 0)


def test_without_a_checkpoint_all_entries_are_unsigned(db):
    write_many(5)
    now = get_ledger_status()
    assert (now.entries, now.head) == queries.get_last_entry()
    assert now.unsigned == 5


def test_the_last_checkpoint_has_its_keys_and_its_anchors(db, django_assert_num_queries):
    write_many(5)
    checkpoint("/anchors", "/elsewhere")
    with django_assert_num_queries(3):
        now = get_ledger_status()
    assert now.signed.size == 3
    assert now.signed.keys == ["siteledger", "siteledger-2027"]
    assert {held.place for held in now.signed.held} == {"/anchors", "/elsewhere"}
    assert now.unsigned == 2


# --- the verdict on pages, in metrics and in alarms -----------------------------------------------

HOURS_AGO, DAYS_AGO = timezone.now() - timedelta(hours=1), timezone.now() - timedelta(days=3)


@pytest.fixture
def independent_anchor(db, monkeypatch):
    """Configure an independent anchor."""
    monkeypatch.setattr(anchors, "list_configured_anchors", lambda: [IndependentAnchor()])


def make_check_run(mode, result, *, vouched_to=None, at=HOURS_AGO, findings=()):
    facts = {"seconds": 1, "from_seq": 1, "to_seq": 9, "head": "", "asked_by": "system:worker"}
    facts |= {"vouched_to": vouched_to, "findings": list(findings)}
    return CheckRun.objects.create(began_at=at, mode=mode, result=result, **facts)


def test_a_ledger_that_was_never_checked_has_no_verdict(db):
    assert (get_current_verdict().result, get_current_verdict().exit_code) == (None, 2)


def test_a_check_of_all_entries_and_anchors_determines_the_verdict(independent_anchor):
    make_check_run("full", "intact", vouched_to=9)
    now = get_current_verdict()
    assert (now.result, now.exit_code, now.vouched_to, now.reasons) == ("intact", 0, 9, ())


def test_a_forged_check_is_not_trusted_without_an_independent_anchor(db):
    make_check_run("full", "intact", vouched_to=9)
    now = get_current_verdict()
    assert (now.exit_code, now.vouched_to) == (3, 0)
    assert now.reasons[0].startswith("No independent anchor vouches for the ledger.")


def test_a_check_after_a_batch_does_not_worsen_the_verdict(independent_anchor):
    make_check_run("full", "intact", vouched_to=9)
    make_check_run("incremental", "unanchored", findings=[NOT_READ_BACK])
    assert get_current_verdict().exit_code == 0


def test_a_partial_check_that_reads_the_anchors_renews_the_verdict(independent_anchor):
    make_check_run("full", "intact", vouched_to=9, at=DAYS_AGO)
    assert get_current_verdict().exit_code == 3
    make_check_run("rolling", "unanchored", vouched_to=12)
    assert (get_current_verdict().exit_code, get_current_verdict().vouched_to) == (0, 12)


def test_anchors_that_no_longer_confirm_the_ledger_worsen_the_verdict(independent_anchor):
    make_check_run("full", "intact", vouched_to=9)
    make_check_run(
        "rolling", "unanchored", vouched_to=0, findings=["The anchor could not be read."]
    )
    now = get_current_verdict()
    assert (now.exit_code, now.vouched_to) == (3, 0)
    assert now.reasons == ["The anchor could not be read."]


def test_a_full_check_that_is_too_old_confirms_nothing(independent_anchor):
    make_check_run("full", "intact", vouched_to=9, at=timezone.now() - timedelta(days=9))
    make_check_run("rolling", "unanchored", vouched_to=9)
    assert get_current_verdict().exit_code == 3
    assert "All entries were last read at" in get_current_verdict().reasons[0]


def test_an_intact_result_of_an_older_release_is_not_intact(independent_anchor):
    check = make_check_run("full", "intact")
    now = get_current_verdict()
    assert now.exit_code == 3
    assert "have not been read back yet" in now.reasons[0]
    assert check.verdict == "unanchored"


def test_a_fault_remains_the_verdict_until_a_check_finds_none(independent_anchor):
    make_check_run("full", "intact", vouched_to=9)
    make_check_run("incremental", "broken", findings=["Entry 5: the line was changed."])
    assert (get_current_verdict().exit_code, get_current_verdict().reasons[0]) == (
        1,
        "Entry 5: the line was changed.",
    )
    make_check_run("full", "intact", vouched_to=9)
    assert get_current_verdict().exit_code == 0


def test_a_removed_signed_end_is_a_fault_before_any_check(key):
    write_many(5)
    checkpoints.sign_all()
    with triggers_removed():
        sql("DELETE FROM audit_entry WHERE seq > 3")
    assert get_current_verdict().exit_code == 1


def test_the_verdict_takes_five_queries(db, django_assert_num_queries):
    write_many(5)
    checkpoint()
    make_check_run("full", "intact", vouched_to=9)
    with django_assert_num_queries(5):
        get_current_verdict()
