"""Tests of failures of the broker and the database during work, and of several hosts."""

import subprocess
import threading
from pathlib import Path

import pytest
import redis
from django.core.management import call_command
from django.db import connection, connections
from django_q.models import OrmQ
from django_q.tasks import async_task

from audit.ledger.actors import Actor
from ingestion.intake import manifest, registration
from ingestion.intake.submission import Submission
from ingestion.models import Batch, BatchSource, Document
from tests.ingestion.brokers import redis_server
from tests.ingestion.hosts import PATIENT, eventually, find, worker_host
from tests.ingestion.whole_batches import (
    assert_filed_once,
    assert_outcomes,
    has_settled_documents,
    is_completed,
    slow_portal,
)

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.hosts,
]


@pytest.mark.slow
def test_an_emptied_queue_does_not_stop_the_work(one_site, submit, settings):
    """It is emptied before the first wakeup is taken, and again during the work."""
    with slow_portal(one_site, submit, per_second=4.0) as batch:
        assert OrmQ.objects.all().delete()[0]
        with worker_host(settings):
            eventually(lambda: has_settled_documents(batch))
            OrmQ.objects.all().delete()
            eventually(lambda: is_completed(batch))
    assert_outcomes(one_site, batch)
    assert_filed_once()


@pytest.mark.slow
def test_wakeups_that_redis_loses_are_sent_again(one_site, submit, settings):
    with (
        redis_server() as url,
        slow_portal(one_site, submit, per_second=4.0) as batch,
        worker_host(settings, REDIS_URL=url),
        redis.Redis.from_url(url) as server,
    ):
        eventually(lambda: has_settled_documents(batch))
        server.flushall()
        eventually(lambda: is_completed(batch))
    assert_outcomes(one_site, batch)
    assert_filed_once()


@pytest.mark.slow
def test_repeated_wakeups_do_not_lease_a_chunk_twice(one_site, submit, settings):
    with slow_portal(one_site, submit, per_second=4.0) as batch:
        for _ in range(20):
            async_task("ingestion.tasks.work_shift", ack_failure=True)
        with worker_host(settings, WORKERS="2"):
            eventually(lambda: is_completed(batch))
    assert batch.chunks.get().attempts == 1
    assert_outcomes(one_site, batch)
    assert_filed_once()


@pytest.mark.slow
def test_a_host_works_on_no_more_chunks_than_its_workers_have_room_for(one_site, submit, settings):
    """The settings reach the workers, and all other chunks wait, though their site permits them."""
    settings.CHUNK_SIZE, max_running = 2, 0
    with (
        slow_portal(one_site, submit, per_second=2.0) as batch,
        worker_host(settings, WORKERS="2", SHIFT_MAX_CHUNKS="1", SITE_MAX_CHUNKS="8"),
    ):
        assert batch.chunks.count() > 4

        def is_completed_meanwhile():
            nonlocal max_running
            max_running = max(max_running, batch.chunks.running().count())
            return is_completed(batch)

        eventually(is_completed_meanwhile)
    assert max_running == 2
    assert_outcomes(one_site, batch)
    assert_filed_once()


@pytest.mark.slow  # test_several_hosts.py tests the same with buckets, in every run
def test_two_hosts_work_on_one_batch(one_site, submit, settings):
    settings.CHUNK_SIZE = 2
    with (
        slow_portal(one_site, submit, per_second=4.0) as batch,
        worker_host(settings, SHIFT_MAX_CHUNKS="1"),
        worker_host(settings, SHIFT_MAX_CHUNKS="1"),
    ):
        eventually(lambda: is_completed(batch))
    assert not batch.chunks.exclude(attempts=1).exists()
    assert_outcomes(one_site, batch)
    assert_filed_once()


@pytest.fixture
def restart_postgresql():
    """A function that restarts the PostgreSQL server of the tests, which ends all connections."""
    with connection.cursor() as cursor:
        cursor.execute("SHOW data_directory")
        folder = Path(cursor.fetchone()[0])
    program = max(Path("/usr/lib/postgresql").glob("*/bin/pg_ctl"))
    command = [str(program), "-D", str(folder), "-w", "-m", "fast", "restart"]
    if folder.owner() == "postgres":
        command = ["/usr/sbin/runuser", "-u", "postgres", "--", *command]

    def restart():
        connection.close()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd="/")

    return restart


@pytest.mark.slow
@pytest.mark.only_on("postgresql", reason="SQLite has no server")
def test_a_shift_survives_a_restart_of_the_database(one_site, submit, settings, restart_postgresql):
    with (
        slow_portal(one_site, submit, per_second=2.0) as batch,
        worker_host(settings, **PATIENT) as host,
    ):
        eventually(lambda: has_settled_documents(batch))
        [worker] = find(host, "worker")
        restart_postgresql()
        eventually(lambda: is_completed(batch))
        assert find(host, "worker") == {worker}  # the shift itself has reconnected
    assert_outcomes(one_site, batch)
    assert_filed_once()


def test_twenty_concurrent_submissions_with_one_key_create_one_batch(one_site):
    call_command("load_sites", str(one_site.sites), verbosity=0)
    lines = manifest.read_manifest(one_site.manifest.read_text())
    submission = Submission(
        BatchSource.MANIFEST, Actor("system:tests", "ops"), idempotency_key="a packet"
    )
    batch_ids, start = [], threading.Barrier(20)

    def submit():
        start.wait()
        try:
            batch_ids.append(registration.register_manifest(lines, submission).pk)
        finally:
            connections.close_all()

    threads = [threading.Thread(target=submit) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert len(batch_ids) == 20
    assert set(batch_ids) == {Batch.objects.get().pk}
    assert Document.objects.count() == one_site.documents
