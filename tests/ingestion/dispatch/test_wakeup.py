"""Tests of both wakeup transports, with the database and a real Redis server."""

from datetime import timedelta

import pytest
from django.utils import timezone
from django_q.brokers import get_broker
from django_q.conf import Conf
from django_q.models import OrmQ

from ingestion import tasks
from ingestion.dispatch import wakeup
from tests.factories import make_batch
from tests.ingestion.brokers import redis_server

pytestmark = [pytest.mark.django_db(transaction=True)]
LONG_AGO = timedelta(minutes=30)


@pytest.fixture(params=["database", "redis"])
def transport(request, settings, monkeypatch):
    if request.param == "database":
        yield
        return
    with redis_server() as url:
        settings.REDIS_URL = url
        monkeypatch.setattr(Conf, "BROKER_CLASS", None)
        monkeypatch.setattr(Conf, "ORM", None)
        monkeypatch.setattr(Conf, "REDIS", url)
        yield


def test_a_wakeup_is_pending_until_a_cluster_takes_it(transport):
    assert wakeup.find_pending_wakeup() == ""
    wakeup.wake_worker()
    assert wakeup.find_pending_wakeup()
    assert get_broker().dequeue()
    assert wakeup.find_pending_wakeup() == ""


def test_the_oldest_wakeup_keeps_its_name_until_it_is_taken(transport):
    wakeup.wake_worker()
    first = wakeup.find_pending_wakeup()
    wakeup.wake_worker()
    assert wakeup.find_pending_wakeup() == first
    get_broker().dequeue()  # the database returns either of them
    get_broker().dequeue()
    assert wakeup.find_pending_wakeup() == ""
    wakeup.wake_worker()
    assert wakeup.find_pending_wakeup() not in {"", first}


def test_an_unreachable_broker_fails_no_submission_and_no_host(settings, monkeypatch):
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    monkeypatch.setattr(Conf, "BROKER_CLASS", None)
    monkeypatch.setattr(Conf, "ORM", None)
    monkeypatch.setattr(Conf, "REDIS", settings.REDIS_URL)
    assert make_batch().chunks.exists()
    assert wakeup.find_pending_wakeup() == ""


def test_old_wakeups_are_purged_also_if_a_dead_cluster_took_them():
    now, retry = timezone.now(), timedelta(seconds=Conf.RETRY)
    for lock in (now - LONG_AGO, now, now + retry - LONG_AGO, now + retry):
        OrmQ.objects.create(key=Conf.CLUSTER_NAME, payload="", lock=lock)
    OrmQ.objects.create(key="another cluster's", payload="", lock=now - LONG_AGO)
    tasks.purge_wakeups()
    kept = set(OrmQ.objects.filter(key=Conf.CLUSTER_NAME).values_list("lock", flat=True))
    assert kept == {now, now + retry}
    assert OrmQ.objects.count() == 3
