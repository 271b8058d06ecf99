"""Tests of starting, stopping and killing real worker hosts."""

import datetime
import os
import signal
import time

import pytest
from django.utils import timezone
from django_q.conf import Conf
from django_q.models import OrmQ

from ingestion.dispatch import schedules
from ingestion.models import Chunk
from samples.portal import SamplePortal, read_limits
from tests.ingestion.hosts import descendants, eventually, is_running, worker_host
from tests.ingestion.whole_batches import (
    assert_filed_once,
    assert_outcomes,
    has_settled_documents,
    is_completed,
    slow_portal,
)
from tests.marks import slower

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.storm,
]


@pytest.mark.slow
def test_a_host_finishes_a_batch_and_leaves_no_processes(one_site, submit, settings):
    with SamplePortal(one_site.directory, read_limits(one_site.sites), faults=0.2) as portal:
        batch = submit(one_site, portal)
        with worker_host(settings) as host:
            eventually(lambda: is_completed(batch))
            family = descendants(host.pid)
            host.send_signal(signal.SIGTERM)
            assert host.wait(60) == 0
    assert_outcomes(one_site, batch)
    eventually(lambda: not [pid for pid in family if is_running(pid)])


@pytest.mark.slow
@pytest.mark.parametrize("stop", [signal.SIGTERM, slower(signal.SIGINT)], ids=["SIGTERM", "Ctrl-C"])
def test_a_stopped_host_returns_its_chunks(one_site, submit, settings, stop):
    with slow_portal(one_site, submit, per_second=2.0) as batch:
        with worker_host(settings) as host:
            eventually(lambda: has_settled_documents(batch))
            host.send_signal(stop)
            assert host.wait(60) == 0
        assert not Chunk.objects.exclude(lease_id=None).exists()
        assert batch.documents.unsettled().exists()
        assert not batch.documents.filter(state="VALIDATING").exists()
        with worker_host(settings):
            eventually(lambda: is_completed(batch))
    assert_outcomes(one_site, batch)
    assert_filed_once()


@pytest.mark.slow
def test_the_work_of_a_killed_cluster_is_neither_lost_nor_repeated(one_site, submit, settings):
    with slow_portal(one_site, submit, per_second=4.0) as batch, worker_host(settings) as host:
        eventually(lambda: has_settled_documents(batch))
        for pid in descendants(host.pid) - {host.pid}:
            os.kill(pid, signal.SIGKILL)
        eventually(lambda: is_completed(batch))
    assert_outcomes(one_site, batch)
    assert_filed_once()


@pytest.mark.slow
def test_a_sigterm_to_every_process_drains_too(one_site, submit, settings):
    with slow_portal(one_site, submit, per_second=2.0) as batch:
        with worker_host(settings) as host:
            eventually(lambda: has_settled_documents(batch))
            family = descendants(host.pid)
            for pid in family:
                os.kill(pid, signal.SIGTERM)
            host.wait(60)
        assert not Chunk.objects.exclude(lease_id=None).exists()
        eventually(lambda: not [pid for pid in family if is_running(pid)])
        with worker_host(settings):
            eventually(lambda: is_completed(batch))
    assert_outcomes(one_site, batch)
    assert_filed_once()


@pytest.mark.slow
def test_a_second_signal_ends_the_host_at_once_without_loss(one_site, submit, settings):
    with slow_portal(one_site, submit, per_second=2.0) as batch:
        with worker_host(settings) as host:
            eventually(lambda: has_settled_documents(batch))
            family = descendants(host.pid)
            host.send_signal(signal.SIGTERM)
            time.sleep(0.3)  # signal(7): two pending signals of one kind are delivered once
            host.send_signal(signal.SIGTERM)
            assert host.wait(60) in {0, 1}  # 0: it had drained before the second signal
        eventually(lambda: not [pid for pid in family if is_running(pid)])
        with worker_host(settings):
            eventually(lambda: is_completed(batch))
    assert_outcomes(one_site, batch)
    assert_filed_once()


@pytest.mark.slow  # django-q2 looks for scheduled tasks every 30 seconds
def test_a_host_runs_scheduled_housekeeping(settings):
    # This wakeup was taken half an hour ago by a cluster that died.
    until = timezone.now() + datetime.timedelta(seconds=Conf.RETRY, minutes=-30)
    stale = OrmQ.objects.create(key=Conf.CLUSTER_NAME, payload="a wakeup", lock=until)
    schedules.install_schedules()
    with worker_host(settings):
        eventually(lambda: not OrmQ.objects.filter(pk=stale.pk).exists())
