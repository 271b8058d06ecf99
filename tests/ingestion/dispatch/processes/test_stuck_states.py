"""Tests that no single SIGKILL stops a cluster for good, as it can with plain django-q2.

Each test causes one of the states in which django-q2 hangs without a message, on a real host. The
work continues, and no process or file is left when the host is stopped. The tests run with both
databases and both brokers. Redis loses the wakeup that a killed process had taken.
"""

import os
import signal
import time
from contextlib import contextmanager

import pytest
from django.core.files.base import ContentFile
from django.db import connection
from django_q.models import Failure, OrmQ
from django_q.tasks import async_task

from ingestion.dispatch.processes.process_session import remove_orphaned_folders
from ingestion.intake import registration
from ingestion.models import Chunk
from tests.factories import make_site, make_user
from tests.ingestion.hosts import (
    descendants,
    eventually,
    find,
    folders_of,
    is_running,
    kill,
    stop_host,
    worker_host,
)
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


@pytest.fixture
def upload(one_site):
    """A function that uploads one document, which is read quickly, and returns its batch."""
    expected = one_site.expectations[0]
    content = (one_site.files / expected.site_id / f"{expected.doc_id}.pdf").read_bytes()
    site, user = make_site("1001"), make_user()

    def upload():
        file = registration.UploadedDocument("cv.pdf", "cv", "Ada", ContentFile(content, "cv.pdf"))
        return registration.register_upload(site=site, user=user, files=[file]).batch

    return upload


def stop_and_check_traces(host, settings):
    family = descendants(host.pid)
    code = stop_host(host)
    eventually(lambda: not [pid for pid in family if is_running(pid)])
    assert not folders_of(host)
    assert not Chunk.objects.exclude(lease_id=None).exists()
    assert not [path for path in settings.SPOOL_DIR.rglob("*") if path.is_file()]
    return code == 0


def is_idle(host):
    """Return whether all processes run and no worker has a task."""
    busy = [file for folder in folders_of(host) for file in (folder / "at-work").glob("*")]
    return find(host, "pusher") and find(host, "worker") and not busy


@contextmanager
def idle_host(settings, upload, *before, **broker):
    """A host that finished a batch and waits for more, so that its processes hold their locks."""
    with worker_host(settings, *before, **broker) as host:
        batch = upload()
        eventually(lambda: is_completed(batch))
        eventually(lambda: is_idle(host))
        yield host


@contextmanager
def busy_host(corpus, submit, settings, *, per_second=4.0, **broker):
    with (
        slow_portal(corpus, submit, per_second=per_second) as batch,
        worker_host(settings, **broker) as host,
    ):
        eventually(lambda: has_settled_documents(batch))
        yield host, batch
        eventually(lambda: is_completed(batch))
        assert stop_and_check_traces(host, settings)
    assert_outcomes(corpus, batch)
    assert_filed_once()


@pytest.mark.slow
@pytest.mark.parametrize("role", ["worker", "sentinel", "cluster", "monitor", "pusher", "all"])
def test_an_idle_host_continues_after_one_of_its_processes_is_killed(
    role, broker, upload, settings
):
    with idle_host(settings, upload, **broker) as host:
        kill(host, role)
        batch = upload()
        eventually(lambda: is_completed(batch))
        assert stop_and_check_traces(host, settings)


@pytest.mark.slow
def test_the_task_of_a_killed_worker_is_a_failed_task_with_its_batch(few, submit, broker, settings):
    with busy_host(few, submit, settings, per_second=1.0, **broker) as (host, batch):
        kill(host, "worker")
        failure = eventually(Failure.objects.first)
        assert f"while it worked on {batch.reference}." in failure.result
    assert Failure.objects.count() == 1


@pytest.mark.slow
def test_a_host_started_with_nohup_leaves_no_orphans(upload, settings):
    """Processes under nohup ignore SIGHUP, which is sent to them when their parent dies."""
    with idle_host(settings, upload, "nohup") as host:
        kill(host, "cluster")
        batch = upload()
        eventually(lambda: is_completed(batch))
        assert stop_and_check_traces(host, settings)


@pytest.mark.slow
@pytest.mark.parametrize(
    "role", ["worker", "cluster", "parser", "monitor", "pusher", "sentinel", "all"]
)
def test_a_busy_host_continues_after_one_of_its_processes_is_killed(
    role, broker, one_site, submit, settings
):
    with busy_host(one_site, submit, settings, **broker) as (host, _):
        kill(host, role)


@pytest.mark.slow
@pytest.mark.parametrize("role", ["worker", slower("all")])
def test_the_work_of_a_killed_worker_continues_before_its_leases_expire(
    role, one_site, submit, settings
):
    long = {"LEASE_SECONDS": "3600", "HEARTBEAT_SECONDS": "60", "WORKER_SILENT_SECONDS": "180"}
    with busy_host(one_site, submit, settings, **long) as (host, _):
        kill(host, role)


@pytest.mark.slow
def test_a_worker_that_dies_with_the_lock_of_its_timer_is_replaced(upload, settings):
    with idle_host(settings, upload) as host:
        async_task(
            "tests.ingestion.dispatch.failing_tasks.die_with_the_timers_lock", ack_failure=True
        )
        eventually(lambda: not find(host, "worker"))
        batch = upload()
        eventually(lambda: is_completed(batch))
        assert stop_and_check_traces(host, settings)


@pytest.mark.slow
def test_a_frozen_worker_is_killed_and_its_work_continues(one_site, submit, settings):
    with busy_host(one_site, submit, settings) as (host, _):
        [frozen] = find(host, "worker")
        kill(host, "worker", signal.SIGSTOP)
        eventually(lambda: not is_running(frozen))


@pytest.mark.only_on("postgresql", reason="SQLite has no locks of rows")
@pytest.mark.slow
def test_a_worker_that_froze_in_a_transaction_is_killed(one_site, submit, settings):
    """It holds the locks of its rows, for which the host must not wait for ever."""

    def is_in_transaction():
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1 FROM pg_locks WHERE mode = 'RowExclusiveLock' AND pid <> %s",
                           [own])  # fmt: skip
            return cursor.fetchone() is not None

    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        [own] = cursor.fetchone()
    with busy_host(one_site, submit, settings) as (host, _):
        [frozen] = find(host, "worker")

        def freeze():
            os.kill(frozen, signal.SIGSTOP)
            time.sleep(0.05)  # in which the server ends the statement that it was executing
            if is_in_transaction():
                return True
            os.kill(frozen, signal.SIGCONT)
            return False

        eventually(freeze)
        eventually(lambda: not is_running(frozen))


@pytest.mark.slow
def test_a_killed_monitor_is_replaced(upload, settings):
    """Failures of later tasks are stored, and every wakeup is acknowledged."""
    with idle_host(settings, upload) as host:
        eventually(
            lambda: not OrmQ.objects.exists()
        )  # otherwise one that it was about to acknowledge
        kill(host, "monitor")
        eventually(lambda: find(host, "monitor"))
        async_task("tests.ingestion.dispatch.failing_tasks.fail", ack_failure=True)
        failure = eventually(Failure.objects.first)
        assert "this one fails" in failure.result
        eventually(lambda: not OrmQ.objects.exists())
        assert stop_and_check_traces(host, settings)


def test_a_killed_host_leaves_no_processes_and_its_work_continues(one_site, submit, settings):
    with slow_portal(one_site, submit, per_second=4.0) as batch:
        with worker_host(settings) as host:
            eventually(lambda: has_settled_documents(batch))
            family = descendants(host.pid)
            os.kill(host.pid, signal.SIGKILL)
            host.wait()
            remove_orphaned_folders()
            assert folders_of(host)  # its cluster still drains, and needs it
            eventually(lambda: not [pid for pid in family if is_running(pid)])
        with worker_host(settings) as next_host:
            eventually(lambda: is_completed(batch))
            assert stop_and_check_traces(next_host, settings)
        assert not folders_of(host)
    assert_outcomes(one_site, batch)
    assert_filed_once()


@pytest.mark.slow
def test_workers_end_when_host_and_main_process_are_killed(upload, settings):
    with idle_host(settings, upload) as host:
        family = descendants(host.pid)
        for pid in (host.pid, *find(host, "cluster")):
            os.kill(pid, signal.SIGKILL)
        eventually(lambda: not [pid for pid in family if is_running(pid)])
