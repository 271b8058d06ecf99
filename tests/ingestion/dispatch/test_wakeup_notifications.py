"""Tests of the notifications that end the wait of an idle cluster, on both databases.

A wait whose notification was lost would last LONG seconds, and its result would be false.
"""

import math
import os
import shutil
import threading
from contextlib import suppress
from datetime import timedelta

import pytest
from django.db import connection, transaction
from django.utils import timezone
from django_q.conf import Conf
from django_q.models import OrmQ

from ingestion.dispatch import wakeup, wakeup_notifications
from ingestion.dispatch.processes import wakeup_broker
from ingestion.dispatch.processes.wakeup_broker import DatabaseBroker, RedisBroker
from ingestion.dispatch.wakeup_notifications import ClusterListener
from tests.ingestion.brokers import redis_server

pytestmark = pytest.mark.django_db(transaction=True)
LONG = 600.0  # seconds


@pytest.fixture
def listen():
    """A function that returns a listener that is open and has received nothing."""
    opened = []

    def listen():
        listener = ClusterListener()
        listener.wait(0)
        assert not listener.wait(0)
        opened.append(listener)
        return listener

    yield listen
    if connection.vendor != "postgresql":
        for listener in opened:
            os.close(listener._listener._file)
        shutil.rmtree(wakeup_notifications._get_folder())


@pytest.fixture
def listener(listen):
    return listen()


@pytest.fixture
def pipes():
    return wakeup_notifications._get_folder()


def in_a_thread(function):
    """Call a function in another thread, with a connection of its own."""

    def run():
        try:
            function()
        finally:
            connection.close()

    thread = threading.Thread(target=run)
    thread.start()
    return thread


def test_a_wakeup_ends_the_wait_of_an_idle_cluster(listener):
    sender = in_a_thread(wakeup.wake_worker)
    assert listener.wait(LONG)
    sender.join()


def test_a_wakeup_through_redis_ends_the_wait_of_a_full_cluster(monkeypatch, settings, listen):
    with redis_server() as url:
        settings.REDIS_URL = url
        monkeypatch.setattr(Conf, "BROKER_CLASS", f"{RedisBroker.__module__}.RedisBroker")
        monkeypatch.setattr(Conf, "ORM", None)
        monkeypatch.setattr(Conf, "REDIS", url)
        monkeypatch.setattr(Conf, "POLL", LONG)
        monkeypatch.setattr(wakeup_broker, "_compute_wait", lambda: math.inf)
        broker = RedisBroker()
        broker._listener = listen()
        sender = in_a_thread(wakeup.wake_worker)
        assert broker.dequeue() is None
        sender.join()
        monkeypatch.setattr(wakeup_broker, "_compute_wait", lambda: 0.0)
        assert broker.dequeue(), "the task is left for when a worker is idle"


def test_a_wakeup_between_two_waits_is_not_lost(listener):
    in_a_thread(wakeup.wake_worker).join()
    OrmQ.objects.count()  # On PostgreSQL, the notification arrives with the answer.
    assert listener.wait(LONG)
    assert not listener.wait(0)


@pytest.mark.only_on("sqlite", reason="both listeners would share the connection of this process")
def test_every_idle_cluster_is_notified(listen):
    one, other = listen(), listen()
    wakeup.wake_worker()
    assert one.wait(LONG)
    assert other.wait(LONG)


def test_clusters_are_notified_after_the_commit_and_not_of_what_was_rolled_back(listener):
    with transaction.atomic():
        wakeup.wake_worker()
        transaction.set_rollback(True)
    assert not listener.wait(0)
    with transaction.atomic():
        wakeup.wake_worker()
    assert listener.wait(LONG)


def test_a_listener_continues_on_a_new_connection_of_django(listener):
    connection.close()
    listener.wait(0)
    sender = in_a_thread(wakeup.wake_worker)
    assert listener.wait(LONG)
    sender.join()


@pytest.mark.only_on("sqlite", reason="pipes are for SQLite")
def test_the_pipe_of_a_cluster_that_ended_is_removed(pipes):
    pipes.mkdir(exist_ok=True)
    ended = pipes / "ended"
    os.mkfifo(ended)
    wakeup.wake_worker()
    assert not ended.exists()


@pytest.mark.only_on("sqlite", reason="pipes are for SQLite")
def test_a_full_pipe_blocks_no_submission(pipes, listener):
    [pipe] = pipes.iterdir()
    file = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
    with suppress(BlockingIOError):
        while True:
            os.write(file, bytes(65_536))
    os.close(file)
    wakeup.wake_worker()
    assert OrmQ.objects.exists()
    assert listener.wait(LONG)


def test_a_failure_to_notify_fails_no_submission_and_no_cluster(listener, monkeypatch):
    def fail():
        raise OSError("no space left on device")

    monkeypatch.setattr(wakeup_notifications, "_is_postgresql", fail)
    wakeup.wake_worker()
    assert OrmQ.objects.count() == 1
    broken = ClusterListener()
    assert not broken.wait(0)
    monkeypatch.undo()
    wakeup.wake_worker()
    assert not broken.wait(0)  # It polls for a while.


def test_workers_only_poll_if_notifications_are_switched_off(settings, listener):
    settings.WAKEUP_NOTIFICATIONS = False
    wakeup.wake_worker()
    assert not listener.wait(0)
    assert DatabaseBroker().dequeue()


def test_one_of_two_clusters_takes_a_wakeup(settings, monkeypatch):
    settings.WAKEUP_NOTIFICATIONS = False
    monkeypatch.setattr(Conf, "POLL", 0)
    wakeup.wake_worker()
    one, other = DatabaseBroker(), DatabaseBroker()
    [(key, payload)] = one.dequeue()
    assert other.dequeue() == []
    assert OrmQ.objects.get().pk == key
    assert payload
    one.acknowledge(key)
    assert not OrmQ.objects.exists()


def test_wakeups_are_taken_in_their_order_also_from_a_host_whose_clock_is_fast():
    for seconds in (1, 0):
        OrmQ.objects.create(
            key=Conf.CLUSTER_NAME,
            payload=f"{seconds}",
            lock=timezone.now() + timedelta(seconds=seconds),
        )
    assert [DatabaseBroker().dequeue()[0][1] for _ in range(2)] == ["1", "0"]
