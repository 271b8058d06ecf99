"""Tests of failures during work: of the broker's queue, of the database, of hosts."""

import subprocess
import threading
from pathlib import Path

import pytest
import redis
from django.core.management import call_command
from django.db import connection, connections
from django_q.models import OrmQ
from django_q.tasks import async_task

from ingestion.intake import manifest, registration
from ingestion.intake.submission import Submission
from ingestion.models import Batch, BatchSource, Document
from tests.ingestion.brokers import redis_server
from tests.ingestion.hosts import eventually, find, worker_host
from tests.ingestion.scenes import (
    each_was_filed_once,
    everything_is_as_expected,
    is_completed,
    slow_portal,
    some_are_settled,
)

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.hosts,
]


@pytest.mark.slow
def test_a_queue_that_is_emptied_in_the_middle_costs_nothing(one_site, submit, settings):
    """Emptied before the first wakeup is taken, and again during the work."""
    with slow_portal(one_site, submit, per_second=4.0) as batch:
        assert OrmQ.objects.all().delete()[0]
        with worker_host(settings):
            eventually(lambda: some_are_settled(batch))
            OrmQ.objects.all().delete()
            eventually(lambda: is_completed(batch))
    everything_is_as_expected(one_site, batch)
    each_was_filed_once()


def test_wakeups_that_redis_loses_are_sent_again(one_site, submit, settings):
    with (
        redis_server() as url,
        slow_portal(one_site, submit, per_second=4.0) as batch,
        worker_host(settings, REDIS_URL=url),
        redis.Redis.from_url(url) as server,
    ):
        eventually(lambda: some_are_settled(batch))
        server.flushall()
        eventually(lambda: is_completed(batch))
    everything_is_as_expected(one_site, batch)
    each_was_filed_once()


@pytest.mark.slow
def test_doubled_wakeups_find_the_chunks_leased(one_site, submit, settings):
    with slow_portal(one_site, submit, per_second=4.0) as batch:
        for _ in range(20):
            async_task("ingestion.tasks.work_shift", ack_failure=True)
        with worker_host(settings, WORKERS="2"):
            eventually(lambda: is_completed(batch))
    assert batch.chunks.get().attempts == 1
    everything_is_as_expected(one_site, batch)
    each_was_filed_once()


@pytest.mark.slow  # with buckets of their own they do so in every run
def test_two_hosts_share_a_database(one_site, submit, settings):
    settings.CHUNK_SIZE = 2
    with (
        slow_portal(one_site, submit, per_second=4.0) as batch,
        worker_host(settings, SHIFT_MAX_CHUNKS="1"),
        worker_host(settings, SHIFT_MAX_CHUNKS="1"),
    ):
        eventually(lambda: is_completed(batch))
    assert not batch.chunks.exclude(attempts=1).exists()
    everything_is_as_expected(one_site, batch)
    each_was_filed_once()


@pytest.fixture
def restart_postgresql():
    """A function that stops the server of these tests for a moment, with all its connections."""
    if connection.vendor != "postgresql":
        pytest.skip("PostgreSQL's own: scripts/with-postgresql runs it")
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


def test_a_restart_of_the_database_loses_nothing_and_rejects_no_document(
    one_site, submit, settings, restart_postgresql
):
    patient = {"LEASE_SECONDS": "20", "HEARTBEAT_SECONDS": "2", "WATCHDOG_SECONDS": "30"}
    with (
        slow_portal(one_site, submit, per_second=2.0) as batch,
        worker_host(settings, **patient) as host,
    ):
        eventually(lambda: some_are_settled(batch))
        [worker] = find(host, "worker")
        restart_postgresql()
        eventually(lambda: is_completed(batch))
        assert find(host, "worker") == {worker}  # it is the shift itself that got over it
    everything_is_as_expected(one_site, batch)
    each_was_filed_once()


def test_twenty_equal_submissions_at_once_make_one_batch(one_site):
    call_command("load_sites", str(one_site.sites), verbosity=0)
    lines = manifest.read_manifest(one_site.manifest.read_text())
    submission = Submission(BatchSource.MANIFEST, "system:tests", "ops", idempotency_key="a packet")
    answers, start = [], threading.Barrier(20)

    def submit():
        start.wait()
        try:
            answers.append(registration.register_manifest(lines, submission).pk)
        finally:
            connections.close_all()

    threads = [threading.Thread(target=submit) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert len(answers) == 20
    assert set(answers) == {Batch.objects.get().pk}
    assert Document.objects.count() == one_site.documents
