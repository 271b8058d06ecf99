"""Tests of worker hosts as real processes: started, stopped and killed."""

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
from tests.ingestion.scenes import (
    each_was_filed_once,
    everything_is_as_expected,
    is_completed,
    slow_portal,
    some_are_settled,
)
from tests.marks import slower

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.storm,
]


@pytest.mark.slow
def test_a_host_works_what_is_due_and_leaves_nothing_when_it_is_stopped(one_site, submit, settings):
    with SamplePortal(one_site.directory, read_limits(one_site.sites), faults=0.2) as portal:
        batch = submit(one_site, portal)
        with worker_host(settings) as host:
            eventually(lambda: is_completed(batch))
            family = descendants(host.pid)
            host.send_signal(signal.SIGTERM)
            assert host.wait(60) == 0
    everything_is_as_expected(one_site, batch)
    eventually(lambda: not [pid for pid in family if is_running(pid)])


@pytest.mark.parametrize("stop", [signal.SIGTERM, slower(signal.SIGINT)], ids=["SIGTERM", "Ctrl-C"])
def test_a_host_that_is_stopped_in_the_middle_gives_back_what_it_had(
    one_site, submit, settings, stop
):
    with slow_portal(one_site, submit, per_second=2.0) as batch:
        with worker_host(settings) as host:
            eventually(lambda: some_are_settled(batch))
            host.send_signal(stop)
            assert host.wait(60) == 0
        assert not Chunk.objects.exclude(lease_id=None).exists()
        assert batch.documents.unsettled().exists()
        assert not batch.documents.filter(state="VALIDATING").exists()
        with worker_host(settings):
            eventually(lambda: is_completed(batch))
    everything_is_as_expected(one_site, batch)
    each_was_filed_once()


def test_a_cluster_that_is_killed_in_the_middle_loses_and_doubles_nothing(
    one_site, submit, settings
):
    with slow_portal(one_site, submit, per_second=4.0) as batch, worker_host(settings) as host:
        eventually(lambda: some_are_settled(batch))
        for pid in descendants(host.pid) - {host.pid}:
            os.kill(pid, signal.SIGKILL)
        eventually(lambda: is_completed(batch))
    everything_is_as_expected(one_site, batch)
    each_was_filed_once()


@pytest.mark.slow
def test_a_sigterm_to_every_process_at_once_is_a_clean_drain_too(one_site, submit, settings):
    with slow_portal(one_site, submit, per_second=2.0) as batch:
        with worker_host(settings) as host:
            eventually(lambda: some_are_settled(batch))
            family = descendants(host.pid)
            for pid in family:
                os.kill(pid, signal.SIGTERM)
            host.wait(60)
        assert not Chunk.objects.exclude(lease_id=None).exists()
        eventually(lambda: not [pid for pid in family if is_running(pid)])
        with worker_host(settings):
            eventually(lambda: is_completed(batch))
    everything_is_as_expected(one_site, batch)
    each_was_filed_once()


@pytest.mark.slow
def test_a_second_signal_ends_at_once_and_loses_nothing(one_site, submit, settings):
    with slow_portal(one_site, submit, per_second=2.0) as batch:
        with worker_host(settings) as host:
            eventually(lambda: some_are_settled(batch))
            family = descendants(host.pid)
            host.send_signal(signal.SIGTERM)
            time.sleep(0.3)  # two that are pending at once are one: signal(7)
            host.send_signal(signal.SIGTERM)
            assert host.wait(60) in {0, 1}  # 0: it had drained before the second one came
        eventually(lambda: not [pid for pid in family if is_running(pid)])
        with worker_host(settings):
            eventually(lambda: is_completed(batch))
    everything_is_as_expected(one_site, batch)
    each_was_filed_once()


@pytest.mark.slow  # django-q2 looks every 30 seconds
def test_housekeeping_is_done_by_whoever_runs(settings):
    # A cluster that died had taken it half an hour ago.
    until = timezone.now() + datetime.timedelta(seconds=Conf.RETRY, minutes=-30)
    stale = OrmQ.objects.create(key=Conf.CLUSTER_NAME, payload="a wakeup", lock=until)
    schedules.install_schedules()
    with worker_host(settings):
        eventually(lambda: not OrmQ.objects.filter(pk=stale.pk).exists())
