"""Tests of the heartbeat of worker hosts."""

from datetime import timedelta

import pytest
from django.utils import timezone

from ingestion.dispatch.processes import host_heartbeat
from ingestion.dispatch.processes.host_heartbeat import HostHeartbeat
from ingestion.models import WorkerHost
from tests.ingestion.hosts import eventually, stop_host, worker_host

pytestmark = pytest.mark.django_db


def set_age(seconds):
    WorkerHost.objects.update(seen_at=timezone.now() - timedelta(seconds=seconds))


def test_a_host_writes_its_heartbeat_once_per_interval(settings):
    now = [0.0]
    heartbeat = HostHeartbeat(clock=lambda: now[0])
    heartbeat.beat(0)
    set_age(100)
    now[0] = settings.HEARTBEAT_SECONDS - 0.1
    heartbeat.beat(0)
    [host] = host_heartbeat.list_hosts()
    assert not host_heartbeat.is_host_alive(host)
    now[0] = settings.HEARTBEAT_SECONDS
    heartbeat.beat(1)
    [host] = host_heartbeat.list_hosts()
    assert host_heartbeat.is_host_alive(host)
    assert (host.at_work, host.workers) == (1, settings.WORKERS)


def test_two_hosts_on_one_machine_have_separate_rows():
    one, other = HostHeartbeat(), HostHeartbeat()
    one.beat(0)
    other.beat(0)
    assert len(host_heartbeat.list_hosts()) == 2
    one.leave()
    assert len(host_heartbeat.list_hosts()) == 1


def test_a_killed_host_is_listed_for_a_day():
    HostHeartbeat().beat(0)
    set_age(host_heartbeat.FORGET_AFTER.total_seconds() - 60)
    assert len(host_heartbeat.list_hosts()) == 1
    set_age(host_heartbeat.FORGET_AFTER.total_seconds() + 60)
    assert host_heartbeat.list_hosts() == []
    HostHeartbeat().beat(0)
    assert WorkerHost.objects.count() == 1


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_a_real_host_is_listed_while_it_runs(settings, tmp_path):
    settings.SPOOL_DIR, settings.ARCHIVE_DIR = tmp_path / "spool", tmp_path / "archive"
    with worker_host(settings) as process:
        [host] = eventually(host_heartbeat.list_hosts)
        assert host_heartbeat.is_host_alive(host)
        assert stop_host(process) == 0
    assert host_heartbeat.get_last_heartbeat_at() is None
