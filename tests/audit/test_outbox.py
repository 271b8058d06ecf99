"""Tests of the outbox: deliveries, retries, failures and leases."""

import os
import subprocess
import sys
import threading
from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, connections, transaction
from django.utils import timezone

from audit import outbox
from audit.outbox import (
    ChannelUnavailable,
    DeliveryFailed,
    DeliveryPolicy,
    LeaseExpired,
    MessageKind,
    NothingToDeliver,
    OutboxMessage,
)

RETRY = DeliveryPolicy(
    initial_wait=timedelta(seconds=10), max_wait=timedelta(minutes=1), max_attempts=3
)
PROCESS = """
import os, signal, sys, time, django
from datetime import timedelta
django.setup()
from django.db import connections
connections["default"].settings_dict["NAME"] = sys.argv[1]
from audit import outbox

def deliver(delivery):
    print("delivering", flush=True)
    os.kill(os.getpid(), signal.SIGKILL)

wait = timedelta(seconds=10)
retry = outbox.DeliveryPolicy(wait, wait, max_attempts=3)
outbox.register_kinds(outbox.MessageKind("letter", deliver, retry))
outbox.deliver_due("letter")
"""


@pytest.fixture
def letters(monkeypatch):
    """Deliver the kind "letter" to this list, or call the function `letters.deliver`."""
    monkeypatch.setattr(outbox, "_kinds", {})
    delivered = Letters()
    register(delivered)
    return delivered


class Letters(list):
    deliver = None

    def __call__(self, delivery):
        if self.deliver:
            self.deliver(delivery)
        self.append(delivery.payload["text"])


def register(deliver, retry=RETRY, **options):
    outbox.register_kinds(MessageKind("letter", deliver, retry, **options))


def post(text="hello", **options):
    return outbox.post("letter", {"text": text}, **options)


def fail(_delivery):
    raise DeliveryFailed("The letter box is closed.")


def make_due():
    OutboxMessage.objects.filter(state="waiting").update(due_at=timezone.now())


def expire_leases():
    OutboxMessage.objects.filter(state="claimed").update(
        lease_until=timezone.now() - timedelta(seconds=1)
    )


def test_a_message_is_delivered_once_and_deleted(db, letters):
    post()
    assert outbox.deliver_due("letter").delivered == 1
    assert outbox.deliver_due("letter").delivered == 0
    assert letters == ["hello"]
    assert not OutboxMessage.objects.exists()


def test_a_kind_is_delivered_each_minute_unless_it_has_a_caller_of_its_own(db, letters):
    parcels = []
    outbox.register_kinds(
        MessageKind("parcel", parcels.append, RETRY, is_delivered_each_minute=False),
        MessageKind("freight", None, RETRY),
    )
    for kind in ("parcel", "freight"):
        outbox.post(kind, {})
    post()
    assert outbox.deliver_each_minute().delivered == 1
    assert letters == ["hello"]
    assert parcels == []


def test_a_message_is_rolled_back_with_its_change(db, letters):
    with transaction.atomic():
        post()
        transaction.set_rollback(True)
    assert outbox.deliver_due("letter").delivered == 0


def test_a_kind_that_is_not_registered_is_refused(db, letters):
    with pytest.raises(ValueError, match="no kind of message 'parcel'"):
        outbox.post("parcel", {})


def test_a_message_is_not_delivered_before_it_is_due(db, letters):
    post(due_at=timezone.now() + timedelta(hours=1))
    assert outbox.deliver_due("letter").delivered == 0
    assert outbox.deliver_due("letter", is_requested=True).delivered == 1


def test_a_host_that_cannot_deliver_a_kind_leaves_it_to_others(db, letters):
    register(letters, can_deliver=lambda: False)
    post()
    assert outbox.deliver_due("letter").delivered == 0
    register(letters)
    assert outbox.deliver_due("letter").delivered == 1


# --- the idempotency key ------------------------------------------------------------------------


def test_messages_with_the_same_key_are_shared_until_one_is_claimed(db, letters):
    assert post("1", key="a") == post("2", key="a")
    assert post("3", key="b") != post("4")
    assert OutboxMessage.objects.count() == 3
    claimed = outbox.claim_next(["letter"])
    assert post("5", key="a") != claimed.message


def test_a_kind_can_share_a_claimed_message(db, letters):
    register(letters, shares_claimed=True)
    post("1", key="a")
    claimed = outbox.claim_next(["letter"])
    assert post("2", key="a") == claimed.message


def test_a_shared_message_that_fails_stays_one_of_two(db, letters):
    post("old", key="a")
    claimed = outbox.claim_next(["letter"])
    post("new", key="a")
    outbox.deliver(claimed, fail)
    assert sorted(OutboxMessage.objects.values_list("key", "state")) == [
        ("", "waiting"),
        ("a", "waiting"),
    ]


@pytest.mark.django_db(transaction=True)
def test_no_process_claims_a_message_while_a_transaction_shares_it(letters):
    """Otherwise the message could be delivered before the change that it is about is committed."""
    post(key="a")
    if connection.vendor == "sqlite":
        # Its transactions take the write lock when they begin, so no other process can write.
        assert connection.settings_dict["OPTIONS"]["transaction_mode"] == "IMMEDIATE"
        return
    found = []

    def claim():
        try:
            found.append(outbox.claim_next(["letter"]))
        finally:
            connections.close_all()

    with transaction.atomic():
        post(key="a")
        other = threading.Thread(target=claim)
        other.start()
        other.join()
        assert found == [None]
    assert outbox.claim_next(["letter"])


# --- failures -----------------------------------------------------------------------------------


def test_waits_double_up_to_the_maximum_and_jitter_shortens_them():
    longest, shortest = lambda _low, high: high, lambda low, _high: low
    seconds = [RETRY.draw_wait(n, longest).total_seconds() for n in (1, 2, 3, 4, 99)]
    assert seconds == [10, 20, 40, 60, 60]
    assert RETRY.draw_wait(99, shortest) == timedelta(seconds=48)


def test_a_failing_handler_backs_off_and_ends_as_a_dead_letter(db, letters):
    letters.deliver = fail
    message = post()
    for attempts in (1, 2, 3):
        assert outbox.deliver_due("letter").errors == ["The letter box is closed."]
        assert outbox.deliver_due("letter").errors == [], "not before the wait is over"
        message.refresh_from_db()
        assert (message.attempts, message.error) == (attempts, "The letter box is closed.")
        make_due()
    assert message.state == "dead"
    assert message.dead_at
    assert outbox.deliver_due("letter", is_requested=True).errors == []


def test_a_message_that_another_process_has_just_failed_to_deliver_is_not_tried_again(db, letters):
    """The other process runs while the first message is delivered, after both were listed."""
    tried = []

    def deliver(delivery):
        tried.append(delivery.payload["text"])
        if delivery.payload["text"] == "second":
            raise DeliveryFailed("The letter box is closed.")
        outbox.deliver_due("letter")

    letters.deliver = deliver
    post("first")
    post("second")
    outbox.deliver_due("letter")
    assert tried == ["first", "second"]
    assert OutboxMessage.objects.get().attempts == 1


def test_an_exception_of_a_handler_is_stored_and_does_not_stop_other_messages(db, letters):
    def break_down(delivery):
        if delivery.payload["text"] == "1":
            raise ZeroDivisionError("division by zero")

    letters.deliver = break_down
    post("1"), post("2")
    assert outbox.deliver_due("letter").errors == ["ZeroDivisionError: division by zero"]
    assert letters == ["2"]


def test_a_channel_that_is_unavailable_is_tried_once_in_a_call(db, letters):
    def refuse(_delivery):
        raise ChannelUnavailable("The post office is closed.")

    letters.deliver = refuse
    for text in "123":
        post(text)
    assert outbox.deliver_due("letter").errors == ["The post office is closed."]
    letters.deliver = None
    assert outbox.deliver_due("letter").delivered == 2


def test_an_outdated_message_is_deleted_and_not_counted(db, letters):
    def is_outdated(_delivery):
        raise NothingToDeliver

    letters.deliver = is_outdated
    post()
    assert outbox.deliver_due("letter") == outbox.DeliveryResult()
    assert not OutboxMessage.objects.exists()


def test_a_message_beyond_its_lifetime_is_given_up(db, letters):
    minute = timedelta(minutes=1)
    register(letters, DeliveryPolicy(minute, minute, lifetime=minute))
    post()
    OutboxMessage.objects.update(expires_at=timezone.now())
    assert outbox.deliver_due("letter").delivered == 0
    assert OutboxMessage.objects.get().state == "dead"


def test_a_message_beyond_its_lifetime_is_tried_once_if_its_kind_permits_it(db, letters):
    minute = timedelta(minutes=1)
    register(letters, DeliveryPolicy(minute, minute, lifetime=minute, tries_outdated=True))
    letters.deliver = fail
    post()
    OutboxMessage.objects.update(expires_at=timezone.now())
    assert outbox.deliver_due("letter").errors == ["The letter box is closed."]
    assert OutboxMessage.objects.get().state == "dead"


# --- leases -------------------------------------------------------------------------------------


def test_a_message_of_a_killed_process_is_delivered_by_another_after_its_lease(
    transactional_db, letters
):
    post()
    killed = subprocess.run(
        [sys.executable, "-c", PROCESS, str(connection.settings_dict["NAME"])],
        check=False,
        env=os.environ | {"DJANGO_SETTINGS_MODULE": "tests.settings"},
        capture_output=True,
        text=True,
    )
    assert killed.stdout == "delivering\n", killed.stderr
    assert OutboxMessage.objects.get().state == "claimed"
    assert outbox.deliver_due("letter").delivered == 0, "the process may still be alive"
    expire_leases()
    assert outbox.deliver_due("letter").delivered == 1


def test_a_message_that_kills_its_processes_is_given_up(db, letters):
    post()
    for _ in range(RETRY.max_attempts):
        assert outbox.claim_next(["letter"])
        expire_leases()
        outbox.release_expired(["letter"], timezone.now())
    message = OutboxMessage.objects.get()
    assert message.state == "dead"
    assert message.error == "Each process that delivered this message died."


def test_a_process_that_lost_its_lease_changes_nothing(db, letters):
    post()
    slow = outbox.claim_next(["letter"])
    expire_leases()
    outbox.release_expired(["letter"], timezone.now())
    fast = outbox.claim_next(["letter"])
    for act in (slow.extend, slow.complete):
        with pytest.raises(LeaseExpired):
            act()
    outbox.deliver(slow, fail)
    assert not OutboxMessage.objects.get().error
    fast.extend()
    fast.complete()


def test_changes_that_a_handler_saves_with_its_message_are_rolled_back_without_a_lease(db, letters):
    def complete_without_lease(delivery):
        expire_leases()
        outbox.release_expired(["letter"], timezone.now())
        with transaction.atomic():
            post("a record of the delivery", due_at=timezone.now() + timedelta(hours=1))
            delivery.complete()

    letters.deliver = complete_without_lease
    post()
    assert outbox.deliver_due("letter") == outbox.DeliveryResult()
    assert OutboxMessage.objects.get().payload["text"] == "hello"


@pytest.mark.django_db(transaction=True)
def test_several_processes_never_deliver_the_same_message(letters):
    for number in range(40):
        post(str(number))
    start = threading.Barrier(4)

    def work():
        try:
            start.wait()
            outbox.deliver_due("letter")
        finally:
            connections.close_all()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(letters, key=int) == [str(number) for number in range(40)]


def test_messages_with_an_ordering_key_are_delivered_one_at_a_time_and_in_order(db, letters):
    first, _second = post("1", ordering_key="a"), post("2", ordering_key="a")
    post("other", ordering_key="b")
    letters.deliver = lambda delivery: delivery.payload["text"] == "1" and fail(delivery)
    outbox.deliver_due("letter")
    assert letters == ["other"], "the second waits for the first"
    claimed = outbox.claim_next(["letter"])
    assert claimed is None, "the first waits for its next attempt"
    make_due()
    claimed = outbox.claim_next(["letter"])
    assert claimed.message == first
    assert outbox.claim_next(["letter"]) is None
    letters.deliver = None
    outbox.deliver(claimed)
    outbox.deliver_due("letter")
    assert letters == ["other", "1", "2"]


def test_a_dead_message_does_not_delay_later_messages_of_its_ordering_key(db, letters):
    dead, _next = post("1", ordering_key="a"), post("2", ordering_key="a")
    OutboxMessage.objects.filter(pk=dead.pk).update(state="dead")
    outbox.deliver_due("letter")
    assert letters == ["2"]


# --- the command --------------------------------------------------------------------------------


@pytest.fixture
def dead(db, letters):
    letters.deliver = fail
    message = post()
    for _ in range(RETRY.max_attempts):
        outbox.deliver_due("letter", is_requested=True)
    letters.deliver = None
    message.refresh_from_db()
    assert message.state == "dead"
    return message


def run(*arguments):
    out = StringIO()
    call_command("outbox", *arguments, stdout=out)
    return out.getvalue()


def test_a_dead_letter_is_shown_and_can_be_retried(dead, letters):
    assert f"{dead.pk} letter" in run()
    assert "3 attempts. The letter box is closed." in run()
    assert "1 message waits again." in run("--retry", str(dead.pk))
    assert outbox.deliver_due("letter").delivered == 1
    assert "0 messages given up." in run()


def test_all_dead_letters_of_a_kind_are_retried_together(dead, letters):
    with pytest.raises(CommandError, match="No message of the kind parcel was given up"):
        run("--retry-kind", "parcel")
    assert "1 message waits again." in run("--retry-kind", "letter")


def test_a_message_that_is_not_dead_cannot_be_retried(db, letters):
    message = post()
    with pytest.raises(CommandError, match=f"Not given up: {message.pk}"):
        run("--retry", str(message.pk))


def test_the_command_counts_waiting_messages(db, letters):
    post(), post()
    assert "letter: 2 waiting, 0 being delivered, 0 given up" in run()


def test_old_dead_letters_are_removed(dead):
    assert outbox.prune_dead(timezone.now() - timedelta(days=1)) == 0
    assert outbox.prune_dead(timezone.now() + timedelta(days=1)) == 1
