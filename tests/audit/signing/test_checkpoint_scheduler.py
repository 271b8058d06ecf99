"""Tests that a host signs and anchors beside its work, and that no slow server delays its work."""

import logging
import threading

import pytest

from audit.ledger.actors import Actor
from audit.models import OutboxMessage, Receipt
from audit.signing import (
    anchors,
    checkpoints,
    clock,
    key_rotation,
    keys,
)
from audit.signing.checkpoint_scheduler import (
    CLOCK_CHECK_SECONDS,
    POLL_SECONDS,
    RETRY_SECONDS,
    THREAD_NAME,
    CheckpointScheduler,
)
from audit.signing.places.port import AnchorError
from audit.verification.ledger_status import get_status_figures
from tests.audit.buckets import free_port
from tests.audit.support import sql, triggers_removed, write


class FakeTime:
    """A monotonic clock in seconds, which tests set."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock_of_host(transactional_db, settings):
    """Return the clock of a host whose ledger has a key and one anchored checkpoint.

    The threads of the scheduler use their own connections, so the test needs committed rows.
    """
    settings.AUDIT_CHECKPOINT_ENTRIES = 1
    key_rotation.create_key(by=Actor.software("test", "operations"))
    checkpoints.sign_all()
    anchors.anchor_all()
    return FakeTime()


@pytest.fixture
def scheduler(clock_of_host):
    scheduler = CheckpointScheduler(clock_of_host)
    scheduler.run_if_due()  # compares the clocks
    scheduler._wait_for_thread()
    return scheduler


def receipts():
    return set(Receipt.objects.values_list("checkpoint_id", "anchor"))


def test_a_poll_without_new_entries_takes_one_query(scheduler, django_assert_num_queries):
    with django_assert_num_queries(1):
        scheduler.run_if_due()


def test_due_entries_are_signed_at_once_and_anchored_in_a_thread(scheduler):
    write()
    scheduler.run_if_due()
    assert checkpoints.get_latest_checkpoint().size == 2
    scheduler._wait_for_thread()
    assert (2, "file") in receipts()


def test_an_anchor_that_does_not_respond_delays_no_signature(scheduler, monkeypatch):
    requested, may_respond = threading.Event(), threading.Event()

    def hang(_self, _origin, _size, _note):
        requested.set()
        may_respond.wait()
        raise AnchorError("too late")

    monkeypatch.setattr("audit.signing.places.folder.FolderAnchor.put", hang)
    write(0)
    scheduler.run_if_due()
    assert requested.wait(20)
    write(1)
    scheduler.run_if_due()  # returns although the anchor has not responded
    assert not may_respond.is_set()
    assert checkpoints.get_latest_checkpoint().size == 3
    assert [thread.name for thread in threading.enumerate()].count(THREAD_NAME) == 1
    may_respond.set()
    scheduler._wait_for_thread()


def test_a_failed_anchoring_is_retried(scheduler, clock_of_host, settings):
    settings.ANCHOR_S3_BUCKET, settings.ANCHOR_S3_ENDPOINT = "worm", f"http://[::1]:{free_port()}"
    write()
    scheduler.run_if_due()
    scheduler._wait_for_thread()
    assert anchors.list_unanchored()[0].attempts == 1
    OutboxMessage.objects.update(due_at="2026-01-01T00:00:00Z")
    clock_of_host.now += POLL_SECONDS
    scheduler.run_if_due()
    scheduler._wait_for_thread()
    assert anchors.list_unanchored()[0].attempts == 2


@pytest.mark.requirement("R05")
def test_a_broken_ledger_is_not_signed_and_is_logged_once_a_minute(
    scheduler, clock_of_host, caplog
):
    write(0)
    write(1)
    caplog.clear()  # each entry is a line of the log
    with triggers_removed():
        sql("UPDATE audit_entry SET body = replace(body, 'worker', 'forger') WHERE seq = 2")
    for _ in range(3):
        scheduler.run_if_due()
    assert [record.levelno for record in caplog.records] == [logging.ERROR]
    assert "broken at entry 2" in caplog.text
    clock_of_host.now += RETRY_SECONDS
    scheduler.run_if_due()
    assert len(caplog.records) == 2
    assert checkpoints.get_latest_checkpoint().size == 1


def test_a_host_without_a_key_signs_nothing_and_logs_nothing(scheduler, caplog):
    keys.get_private_file().unlink()
    write()
    caplog.clear()
    scheduler.run_if_due()
    scheduler.close()
    assert checkpoints.get_latest_checkpoint().size == 1
    assert caplog.records == []


def test_a_host_without_a_key_leaves_anchoring_to_other_hosts(clock_of_host):
    write()
    checkpoints.sign_all()
    keys.get_private_file().unlink()
    scheduler = CheckpointScheduler(clock_of_host)
    scheduler.run_if_due()
    scheduler._wait_for_thread()
    assert (2, "file") not in receipts()


def test_a_host_signs_and_anchors_the_remaining_entries_when_it_stops(scheduler, settings):
    settings.AUDIT_CHECKPOINT_ENTRIES = 1_000
    write()
    scheduler.run_if_due()
    assert checkpoints.get_latest_checkpoint().size == 1
    scheduler.close()
    assert checkpoints.get_latest_checkpoint().size == 2
    assert (2, "file") in receipts()


def test_the_next_host_signs_and_anchors_the_entries_of_a_killed_host(clock_of_host):
    write()
    checkpoints.sign_all()
    write(1)
    # The scheduler of the killed host was not closed.
    scheduler = CheckpointScheduler(clock_of_host)
    scheduler.run_if_due()
    scheduler._wait_for_thread()
    assert checkpoints.get_latest_checkpoint().size == 3
    assert {(2, "file"), (3, "file")} <= receipts()


@pytest.mark.requirement("R10")
def test_clocks_are_compared_at_the_start_and_every_day(clock_of_host, monkeypatch):
    compared = []
    monkeypatch.setattr(clock, "check_clocks", lambda: compared.append(clock_of_host.now))
    scheduler = CheckpointScheduler(clock_of_host)
    for _ in range(3):
        scheduler.run_if_due()
        scheduler._wait_for_thread()
        clock_of_host.now += CLOCK_CHECK_SECONDS / 2
    assert compared == [0.0, CLOCK_CHECK_SECONDS]


def test_an_unexpected_exception_in_the_thread_is_logged_and_anchoring_is_retried(
    clock_of_host, monkeypatch, caplog
):
    def fail():
        raise ZeroDivisionError

    monkeypatch.setattr(anchors, "anchor_due", fail)
    scheduler = CheckpointScheduler(clock_of_host)
    for _ in range(2):
        scheduler.run_if_due()
        scheduler._wait_for_thread()
        clock_of_host.now += POLL_SECONDS
    assert [record.exc_info[0] for record in caplog.records] == [ZeroDivisionError] * 2


# --- the figures of the ledger's status ---------------------------------------------------------


def test_a_signed_and_anchored_ledger_has_no_problems(scheduler):
    assert get_status_figures() == {
        "ledger_signed": 1,
        "ledger_unsigned": 0,
        "ledger_problems": [],
        "unanchored": [],
        "clocks_apart": [],
    }


def test_a_ledger_without_a_key_has_that_problem(db):
    write()
    figures = get_status_figures()
    assert (figures["ledger_signed"], figures["ledger_unsigned"]) == (0, 1)
    assert figures["ledger_problems"] == ["there is no key: nothing is signed"]


@pytest.mark.requirement("R05")
def test_a_removed_end_is_a_problem(scheduler):
    with triggers_removed():
        sql("DELETE FROM audit_entrydetail")
        sql("DELETE FROM audit_entry")
    assert "1 entry was signed, and it is missing" in get_status_figures()["ledger_problems"][0]


def test_an_invalid_line_in_the_file_of_public_keys_is_a_problem(scheduler):
    keys.get_public_file().write_text("?\n")
    assert "line 1 is not a key" in get_status_figures()["ledger_problems"][0]
