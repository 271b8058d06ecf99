"""Tests that wakeups go to the first host with an idle worker, and that idle hosts can end."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import timedelta

import pytest
from django.utils import timezone
from django_q.conf import Conf
from django_q.models import OrmQ

from audit.verification import verify
from ingestion.core.capacity import YIELD_SECONDS
from ingestion.dispatch import wakeup
from ingestion.dispatch.processes import host_heartbeat, worker_presence
from ingestion.dispatch.processes.wakeup_broker import DatabaseBroker
from ingestion.models import Chunk, WorkerHost
from samples.portal import SamplePortal
from sites.models import Portal
from tests.factories import put_on_record
from tests.ingestion.dispatch.conftest import only
from tests.ingestion.hosts import PATIENT, eventually, find, start_host, stop_host
from tests.ingestion.whole_batches import assert_filed_once, assert_outcomes, is_completed

pytestmark = pytest.mark.django_db(transaction=True)
HOSTS = 4
SMALL_BATCHES, MAX_SMALL_BATCHES = 4, 20


@pytest.fixture
def broker_of(settings, monkeypatch, tmp_path):
    """A function that lets this process be the cluster of a host, and returns its broker."""
    settings.WAKEUP_NOTIFICATIONS = False
    monkeypatch.setattr(Conf, "POLL", 0)
    monkeypatch.setattr(worker_presence, "_folder", tmp_path)

    def broker_of(name):
        monkeypatch.setattr(host_heartbeat, "_own_name", name)
        return DatabaseBroker()

    return broker_of


def make_hosts(*at_work):
    for number, busy in enumerate(at_work):
        WorkerHost.objects.create(
            name=f"h{number}", host="h", workers=1, at_work=busy, software="1"
        )


def test_a_later_host_leaves_a_wakeup_to_the_first_one(broker_of):
    make_hosts(0, 0)
    wakeup.wake_worker()
    assert broker_of("h1").dequeue() == []
    assert broker_of("h0").dequeue()


def test_a_later_host_takes_a_wakeup_at_once_if_the_first_one_is_full(broker_of):
    make_hosts(1, 0)
    wakeup.wake_worker()
    assert broker_of("h1").dequeue()


def test_a_later_host_takes_a_wakeup_that_the_first_one_leaves(broker_of):
    make_hosts(0, 0)
    wakeup.wake_worker()
    OrmQ.objects.update(lock=timezone.now() - timedelta(seconds=YIELD_SECONDS))
    assert broker_of("h1").dequeue()


def test_a_full_cluster_takes_nothing(broker_of):
    make_hosts(1, 0)
    wakeup.wake_worker()
    with worker_presence.mark_busy():
        assert broker_of("h0").dequeue() == []
        OrmQ.objects.update(lock=timezone.now() - timedelta(hours=1))
        assert broker_of("h0").dequeue() == []
    assert broker_of("h0").dequeue()


def test_a_cluster_without_a_host_takes_every_wakeup(broker_of):
    make_hosts(0, 0)
    wakeup.wake_worker()
    assert broker_of("").dequeue()


def test_a_silent_host_is_not_waited_for(broker_of, settings):
    make_hosts(0, 0)
    silence = host_heartbeat.MAX_MISSED_HEARTBEATS * settings.HEARTBEAT_SECONDS
    WorkerHost.objects.filter(name="h0").update(
        seen_at=timezone.now() - timedelta(seconds=silence + 1)
    )
    wakeup.wake_worker()
    assert broker_of("h1").dequeue()


def owners_of_running_chunks():
    owners = Chunk.objects.running().values_list("lease_owner", flat=True)
    return {int(owner.split(":")[1]) for owner in owners}


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_four_hosts_share_concentrate_and_release_work_without_losing_a_lease(
    two_sites, submit, settings, broker
):
    """A large batch is shared, small ones stay on one host, and idle hosts end afterwards."""
    terms = {
        **PATIENT, **broker, "SHIFT_MAX_CHUNKS": "2", "PARSER_PROCESSES": "1",
        "SCALE_IN_SECONDS": "120", "SITE_MAX_CHUNKS": "4",
    }  # fmt: skip
    put_on_record()
    with SamplePortal(two_sites.directory, {}, faults=0) as portal, ExitStack() as stack:
        hosts = start_hosts(settings, stack, terms)
        workers = [find(host, "worker") for host in hosts]
        settings.CHUNK_SIZE = 1
        large = submit(two_sites, portal)
        Portal.objects.update(rate_per_second=1, burst=1)
        eventually(lambda: all(owners_of_running_chunks() & pids for pids in workers))
        Portal.objects.update(rate_per_second=100, burst=10)
        eventually(lambda: is_completed(large))

        settings.CHUNK_SIZE = 50
        few = only(two_sites, *(each.doc_id for each in two_sites.expectations[:3]))
        assert submit_until_one_host_takes_all(lambda: submit(few, portal), workers[0])

        assert [host.wait(300) for host in hosts[1:]] == [0] * (HOSTS - 1)
        assert hosts[0].poll() is None
    assert not Chunk.objects.exclude(attempts=1).exists()
    assert_outcomes(two_sites, large)
    assert_filed_once()
    assert verify.verify_ledger().intact


def submit_until_one_host_takes_all(submit_batch, workers):
    """Submit small batches until the workers of one host took several in a row.

    Returns False if they never do. On a busy machine, a host may be too slow for some batches.
    A batch is submitted when all workers are idle: a worker that is still ending the shift of the
    batch before counts as busy, so that the next host takes the new batch, which is right.
    """
    in_a_row = 0
    for _ in range(MAX_SMALL_BATCHES):
        eventually(lambda: not WorkerHost.objects.filter(at_work__gt=0).exists())
        batch = submit_batch()
        Portal.objects.update(rate_per_second=1, burst=1)
        pids = find_workers_until_completed(batch)
        in_a_row = in_a_row + 1 if pids and pids <= workers else 0
        if in_a_row == SMALL_BATCHES:
            return True
    return False


def start_hosts(settings, stack, terms):
    """Start hosts at the same time, and return them in the order in which they take wakeups."""
    with ThreadPoolExecutor(HOSTS) as pool:
        started = [
            pool.submit(start_host, settings, arguments=["--leave-when-idle"], **terms)
            for _ in range(HOSTS)
        ]
    hosts = {}
    for future in started:
        host = future.result()
        stack.callback(stop_host, host)
        hosts[host.pid] = host
    eventually(lambda: WorkerHost.objects.count() == HOSTS)
    for host in hosts.values():
        eventually(lambda host=host: find(host, "pusher"))
    names = WorkerHost.objects.order_by("pk").values_list("name", flat=True)
    return [hosts[int(name.split(":")[1])] for name in names]


def find_workers_until_completed(batch):
    """Wait until a batch has ended. Returns the workers that were seen with its chunks."""
    seen = set()

    def has_ended():
        seen.update(owners_of_running_chunks())
        return is_completed(batch)

    eventually(has_ended)
    return seen
