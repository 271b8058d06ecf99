"""A host signs and anchors beside its work, and waits for nobody's server."""

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
from audit.verification.ledger_status import status_figures
from tests.audit.buckets import free_port
from tests.audit.support import sql, triggers_removed, write


class FakeTime:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def world(transactional_db, settings):
    """Threads have connections of their own, so nothing here is in a test's transaction."""
    settings.AUDIT_CHECKPOINT_ENTRIES = 1
    key_rotation.create_key(by=Actor.software("test", "operations"))
    checkpoints.sign_all()
    anchors.anchor_all()
    return FakeTime()


@pytest.fixture
def scheduler(world):
    scheduler = CheckpointScheduler(world)
    scheduler.run_if_due()  # the clocks
    scheduler._wait_for_thread()
    return scheduler


def receipts():
    return set(Receipt.objects.values_list("checkpoint_id", "anchor"))


def test_a_look_at_nothing_new_is_one_query(scheduler, django_assert_num_queries):
    with django_assert_num_queries(1):
        scheduler.run_if_due()


def test_what_is_due_is_signed_at_once_and_anchored_beside(scheduler):
    write()
    scheduler.run_if_due()
    assert checkpoints.latest_checkpoint().size == 2
    scheduler._wait_for_thread()
    assert (2, "file") in receipts()


def test_a_server_that_does_not_answer_keeps_nobody_waiting(scheduler, monkeypatch):
    asked, may_answer = threading.Event(), threading.Event()

    def hang(_self, _origin, _size, _note):
        asked.set()
        may_answer.wait()
        raise AnchorError("too late")

    monkeypatch.setattr("audit.signing.places.folder.FolderAnchor.put", hang)
    write(0)
    scheduler.run_if_due()
    assert asked.wait(20)
    write(1)
    scheduler.run_if_due()  # and comes back, while the place has not answered
    assert not may_answer.is_set()
    assert checkpoints.latest_checkpoint().size == 3
    assert [thread.name for thread in threading.enumerate()].count(THREAD_NAME) == 1
    may_answer.set()
    scheduler._wait_for_thread()


def test_what_was_not_taken_is_tried_again(scheduler, world, settings):
    settings.ANCHOR_S3_BUCKET, settings.ANCHOR_S3_ENDPOINT = "worm", f"http://[::1]:{free_port()}"
    write()
    scheduler.run_if_due()
    scheduler._wait_for_thread()
    assert anchors.list_unanchored()[0].attempts == 1
    OutboxMessage.objects.update(due_at="2026-01-01T00:00:00Z")
    world.now += POLL_SECONDS
    scheduler.run_if_due()
    scheduler._wait_for_thread()
    assert anchors.list_unanchored()[0].attempts == 2


@pytest.mark.requirement("R05")
def test_a_broken_ledger_is_not_signed_and_said_so_once_a_minute(scheduler, world, caplog):
    write(0)
    write(1)
    with triggers_removed():
        sql("UPDATE audit_entry SET body = replace(body, 'worker', 'forger') WHERE seq = 2")
    for _ in range(3):
        scheduler.run_if_due()
    assert [record.levelno for record in caplog.records] == [logging.ERROR]
    assert "broken at entry 2" in caplog.text
    world.now += RETRY_SECONDS
    scheduler.run_if_due()
    assert len(caplog.records) == 2
    assert checkpoints.latest_checkpoint().size == 1


def test_a_host_without_a_key_works_and_says_nothing(scheduler, caplog):
    keys.private_file().unlink()
    write()
    scheduler.run_if_due()
    scheduler.close()
    assert checkpoints.latest_checkpoint().size == 1
    assert caplog.records == []


def test_a_host_without_a_key_leaves_the_anchors_to_others(world):
    write()
    checkpoints.sign_all()
    keys.private_file().unlink()
    scheduler = CheckpointScheduler(world)
    scheduler.run_if_due()
    scheduler._wait_for_thread()
    assert (2, "file") not in receipts()


def test_a_host_that_stops_signs_and_anchors_what_is_left(scheduler, settings):
    settings.AUDIT_CHECKPOINT_ENTRIES = 1_000
    write()
    scheduler.run_if_due()
    assert checkpoints.latest_checkpoint().size == 1
    scheduler.close()
    assert checkpoints.latest_checkpoint().size == 2
    assert (2, "file") in receipts()


def test_what_a_killed_host_left_is_signed_and_anchored_by_the_next(world):
    write()
    checkpoints.sign_all()
    write(1)
    scheduler = CheckpointScheduler(world)  # the one before said no goodbye
    scheduler.run_if_due()
    scheduler._wait_for_thread()
    assert checkpoints.latest_checkpoint().size == 3
    assert {(2, "file"), (3, "file")} <= receipts()


@pytest.mark.requirement("R10")
def test_clocks_are_compared_at_the_start_and_every_day(world, monkeypatch):
    compared = []
    monkeypatch.setattr(clock, "check_clocks", lambda: compared.append(world.now))
    scheduler = CheckpointScheduler(world)
    for _ in range(3):
        scheduler.run_if_due()
        scheduler._wait_for_thread()
        world.now += CLOCK_CHECK_SECONDS / 2
    assert compared == [0.0, CLOCK_CHECK_SECONDS]


def test_a_fault_of_ours_in_the_thread_is_told_and_tried_again(world, monkeypatch, caplog):
    def fail():
        raise ZeroDivisionError

    monkeypatch.setattr(anchors, "anchor_due", fail)
    scheduler = CheckpointScheduler(world)
    for _ in range(2):
        scheduler.run_if_due()
        scheduler._wait_for_thread()
        world.now += POLL_SECONDS
    assert [record.exc_info[0] for record in caplog.records] == [ZeroDivisionError] * 2


# --- what is told -------------------------------------------------------------------------------


def test_all_is_well_with_what_is_signed_and_anchored(scheduler):
    assert status_figures() == {
        "ledger_signed": 1,
        "ledger_unsigned": 0,
        "ledger_problems": [],
        "unanchored": [],
        "clocks_apart": [],
    }


def test_a_ledger_without_a_key_says_so(db):
    write()
    told = status_figures()
    assert (told["ledger_signed"], told["ledger_unsigned"]) == (0, 1)
    assert told["ledger_problems"] == ["there is no key: nothing is signed"]


@pytest.mark.requirement("R05")
def test_a_cut_end_is_told(scheduler):
    with triggers_removed():
        sql("DELETE FROM audit_entrydetail")
        sql("DELETE FROM audit_entry")
    assert "the last of them is gone" in status_figures()["ledger_problems"][0]


def test_a_spoiled_file_of_keys_is_told(scheduler):
    keys.public_file().write_text("?\n")
    assert "line 1 is not a key" in status_figures()["ledger_problems"][0]
