"""Tests that checkpoints are stored in all anchors, and that failures are reported and retried."""

from datetime import timedelta
from io import StringIO
from types import SimpleNamespace

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
def set_clock_ahead(monkeypatch):
    """Return a function that sets the clock a number of seconds ahead of the start of the test."""
    start = timezone.now()

    def set_ahead(seconds):
        monkeypatch.setattr(timezone, "now", lambda: start + timedelta(seconds=seconds))

    return set_ahead


@pytest.fixture
def bucket_outage(bucket, settings):
    """Make the bucket unavailable until the test calls `bucket_outage.end()`."""
    endpoint = settings.ANCHOR_S3_ENDPOINT
    settings.ANCHOR_S3_ENDPOINT = f"http://127.0.0.1:{free_port()}"

    def end():
        settings.ANCHOR_S3_ENDPOINT = endpoint

    return SimpleNamespace(end=end)


def sign(n=0):
    write(n)
    return checkpoints.sign_all()


def receipts(anchor):
    found = Receipt.objects.filter(anchor=anchor).order_by("checkpoint_id")
    return list(found.values_list("checkpoint_id", flat=True))


def sizes_read_back(**options):
    return sorted(
        signed_note.CheckpointText.parse(
            signed_note.open_note(each.note, keys.read_verifiers())[0]
        ).size
        for each in read_back(**options)
    )


@pytest.mark.requirement("R05")
def test_a_checkpoint_is_stored_in_every_anchor_with_a_receipt(signed, bucket, stamped):
    assert anchors.anchor_due() == []
    assert [receipts(name) for name in ("file", "s3", "rfc3161")] == [[2], [2], [2]]
    assert anchors.list_unanchored() == []
    assert not anchors.is_anchoring_due()
    assert sizes_read_back() == [2, 2]  # a time stamp contains no note


@pytest.mark.requirement("R05")
def test_anchors_keep_the_checkpoint_of_a_deleted_ledger(signed, bucket):
    anchors.anchor_due()
    with triggers_removed():
        for table in ("audit_receipt", "audit_checkpoint", "audit_entrydetail", "audit_entry"):
            sql(f"DELETE FROM {table}")  # noqa: S608 - our own tables
    assert checkpoints.get_latest_checkpoint() is None
    assert sizes_read_back() == [2, 2]
    assert sizes_read_back(after=2) == []


def test_an_anchored_checkpoint_is_not_anchored_again(signed):
    anchors.anchor_due()
    anchors.anchor_all()
    assert anchors.anchor_checkpoint(signed) == []
    assert sizes_read_back() == [2]


def test_a_receipt_cannot_be_deleted(signed):
    anchors.anchor_due()
    with pytest.raises(AppendOnly):
        Receipt.objects.all().delete()


def test_an_unavailable_anchor_is_listed_with_its_error(signed, bucket_outage):
    [error] = anchors.anchor_due()
    [waiting] = anchors.list_unanchored()
    assert (waiting.anchor, waiting.checkpoints, waiting.attempts) == ("s3", 1, 1)
    assert waiting.since == signed.created_at
    assert waiting.error == error
    assert "The anchor s3 lacks 1 checkpoint since" in str(waiting)
    assert "was not stored" in str(waiting)
    assert receipts("file") == [2]


def test_an_unavailable_anchor_is_retried_after_growing_waits(
    signed, bucket_outage, set_clock_ahead
):
    waits = []
    for attempts in range(1, 14):
        set_clock_ahead(attempts * 10_000)
        anchors.anchor_due()
        message = OutboxMessage.objects.get()
        assert message.attempts == attempts
        waits.append((message.due_at - timezone.now()).total_seconds())
        assert not anchors.is_anchoring_due()
        assert anchors.anchor_due() == []
    longest = [5, 10, 20, 40, 80, 160, 320, 640, 900, 900, 900, 900, 900]
    for wait, limit in zip(waits, longest, strict=True):
        assert 0.8 * limit <= wait <= limit, "jitter shortens a wait by 20 % at most"


def test_after_an_outage_the_bucket_receives_only_the_newest_checkpoint(
    signed, bucket_outage, set_clock_ahead
):
    anchors.anchor_due()
    newest = [sign(n) for n in range(1, 4)][-1]
    anchors.anchor_due()
    assert anchors.list_unanchored()[0].checkpoints == 4
    bucket_outage.end()
    set_clock_ahead(60)
    assert anchors.is_anchoring_due()
    assert anchors.anchor_due() == []
    assert receipts("s3") == [newest.size]
    assert receipts("file") == [2, 3, 4, 5]
    assert anchors.list_unanchored() == []
    assert not OutboxMessage.objects.exists()


def test_anchoring_on_request_does_not_wait_for_the_next_attempt(signed, bucket_outage):
    anchors.anchor_due()
    bucket_outage.end()
    assert anchors.anchor_all() == []
    assert receipts("s3") == [2]


def test_a_receipt_missing_after_a_crash_is_written_by_the_next_attempt(
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


def test_two_hosts_that_anchor_a_checkpoint_write_one_receipt(signed):
    proof = ("file", "/somewhere", "")
    anchors._record_receipt((signed.size, *proof))
    anchors._record_receipt((signed.size, *proof))
    assert receipts("file") == [2]


# --- the command --------------------------------------------------------------------------------


def run():
    out, err = StringIO(), StringIO()
    call_command("checkpoint", stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


def test_the_command_signs_anchors_and_prints_size_head_and_root(key):
    write()
    out, _ = run()
    last = checkpoints.get_latest_checkpoint()
    assert out == f"{last.size} {last.head} {last.root}\n"
    assert receipts("file") == [last.size]
    assert run()[0] == out


def test_the_command_fails_without_a_key(db, bucket_outage):
    with pytest.raises(CommandError, match="no key"):
        run()


def test_the_command_fails_if_an_anchor_is_unavailable(key, bucket_outage):
    with pytest.raises(CommandError, match="not anchored everywhere"):
        run()
    assert receipts("file") == [1]


@pytest.mark.requirement("R05")
def test_the_command_does_not_sign_a_broken_ledger(signed):
    with triggers_removed():
        sql("DELETE FROM audit_entry WHERE seq > 1")
    with pytest.raises(CommandError, match="the last of them is missing"):
        run()
