"""Checkpoints are brought out of our reach; who does not take them is told, and asked again."""

from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from audit.models import AppendOnly, OutboxMessage, Receipt
from audit.signing import (
    anchors,
    checkpoints,
    keys,
    signed_note,
)
from tests.audit.buckets import free_port
from tests.audit.signers import read_back
from tests.audit.support import sql, triggers_removed, write


@pytest.fixture
def signed(key):
    return sign()


@pytest.fixture
def later(monkeypatch):
    """`later(seconds)` moves the clock on."""
    start = timezone.now()

    def move(seconds):
        monkeypatch.setattr(timezone, "now", lambda: start + timedelta(seconds=seconds))

    return move


@pytest.fixture
def bucket_away(bucket, settings):
    """Nobody listens where the bucket should be. Call it, and it is back."""
    there = settings.ANCHOR_S3_ENDPOINT
    settings.ANCHOR_S3_ENDPOINT = f"http://127.0.0.1:{free_port()}"

    def is_back():
        settings.ANCHOR_S3_ENDPOINT = there

    return is_back


def sign(n=0):
    write(n)
    return checkpoints.sign_all()


def receipts(anchor):
    held = Receipt.objects.filter(anchor=anchor).order_by("checkpoint_id")
    return list(held.values_list("checkpoint_id", flat=True))


def sizes_read_back(**how):
    return sorted(
        signed_note.CheckpointText.parse(signed_note.open_note(held.note, keys.verifiers())[0]).size
        for held in read_back(**how)
    )


@pytest.mark.requirement("R05")
def test_a_checkpoint_reaches_every_anchor_and_each_gives_a_receipt(signed, bucket, stamped):
    assert anchors.anchor_due() == []
    assert [receipts(name) for name in ("file", "s3", "rfc3161")] == [[2], [2], [2]]
    assert anchors.list_unanchored() == []
    assert not anchors.is_anchoring_due()
    assert sizes_read_back() == [2, 2]  # a token holds no note


@pytest.mark.requirement("R05")
def test_an_end_that_was_cut_off_with_its_checkpoints_is_still_held_elsewhere(signed, bucket):
    anchors.anchor_due()
    with triggers_removed():
        for table in ("audit_receipt", "audit_checkpoint", "audit_entrydetail", "audit_entry"):
            sql(f"DELETE FROM {table}")  # noqa: S608 - our own tables
    assert checkpoints.latest_checkpoint() is None
    assert sizes_read_back() == [2, 2]
    assert sizes_read_back(after=2) == []


def test_what_is_anchored_is_not_brought_again(signed):
    anchors.anchor_due()
    anchors.anchor_all()
    assert anchors.anchor_checkpoint(signed) == []
    assert sizes_read_back() == [2]


def test_a_receipt_is_written_once(signed):
    anchors.anchor_due()
    with pytest.raises(AppendOnly):
        Receipt.objects.all().delete()


def test_an_anchor_that_is_away_is_told_in_plain_words(signed, bucket_away):
    [error] = anchors.anchor_due()
    [waiting] = anchors.list_unanchored()
    assert (waiting.anchor, waiting.checkpoints, waiting.attempts) == ("s3", 1, 1)
    assert waiting.since == signed.created_at
    assert waiting.error == error
    assert "s3: 1 since" in str(waiting)
    assert "was not taken" in str(waiting)
    assert receipts("file") == [2]


def test_an_anchor_that_is_away_is_tried_with_growing_waits(signed, bucket_away, later):
    waits = []
    for attempts in range(1, 14):
        later(attempts * 10_000)
        anchors.anchor_due()
        message = OutboxMessage.objects.get()
        assert message.attempts == attempts
        waits.append((message.due_at - timezone.now()).total_seconds())
        assert not anchors.is_anchoring_due()
        assert anchors.anchor_due() == []
    longest = [5, 10, 20, 40, 80, 160, 320, 640, 900, 900, 900, 900, 900]
    for wait, limit in zip(waits, longest, strict=True):
        assert 0.8 * limit <= wait <= limit, "jitter shortens a wait by 20 % at most"


def test_what_waited_in_an_outage_is_answered_for_by_the_newest(signed, bucket_away, later):
    anchors.anchor_due()
    newest = [sign(n) for n in range(1, 4)][-1]
    anchors.anchor_due()
    assert anchors.list_unanchored()[0].checkpoints == 4
    bucket_away()
    later(60)
    assert anchors.is_anchoring_due()
    assert anchors.anchor_due() == []
    assert receipts("s3") == [newest.size]
    assert receipts("file") == [2, 3, 4, 5]
    assert anchors.list_unanchored() == []
    assert not OutboxMessage.objects.exists()


def test_somebody_who_asks_for_it_does_not_wait(signed, bucket_away):
    anchors.anchor_due()
    bucket_away()
    assert anchors.anchor_all() == []
    assert receipts("s3") == [2]


def test_a_receipt_that_a_dead_host_could_not_write_is_written_by_the_next(
    signed, bucket, monkeypatch
):
    def die(*_arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(anchors, "_record_receipt", die)
    with pytest.raises(KeyboardInterrupt):
        anchors.anchor_all()
    monkeypatch.undo()
    assert anchors.anchor_all() == []
    assert receipts("s3") == [2]


def test_two_hosts_that_anchor_at_once_leave_one_receipt(signed):
    taken = ("file", "/somewhere", "")
    anchors._record_receipt((signed.size, *taken))
    anchors._record_receipt((signed.size, *taken))
    assert receipts("file") == [2]


# --- the command --------------------------------------------------------------------------------


def run():
    out, err = StringIO(), StringIO()
    call_command("checkpoint", stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


def test_the_command_signs_and_anchors_and_prints_three_words(key):
    write()
    out, _ = run()
    last = checkpoints.latest_checkpoint()
    assert out == f"{last.size} {last.head} {last.root}\n"
    assert receipts("file") == [last.size]
    assert run()[0] == out


def test_the_command_says_when_it_could_not(db, bucket_away):
    with pytest.raises(CommandError, match="no key"):
        run()


def test_the_command_fails_when_an_anchor_is_away(key, bucket_away):
    with pytest.raises(CommandError, match="not anchored everywhere"):
        run()
    assert receipts("file") == [1]


@pytest.mark.requirement("R05")
def test_the_command_does_not_sign_a_broken_ledger(signed):
    with triggers_removed():
        sql("DELETE FROM audit_entry WHERE seq > 1")
    with pytest.raises(CommandError, match="the last of them is gone"):
        run()
