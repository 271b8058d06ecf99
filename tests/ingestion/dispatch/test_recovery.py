"""Tests of recovery from dead workers, renewal of leases, connections, and schedules."""

import asyncio
import dataclasses
import threading
import traceback
import uuid

import pytest
from django.core.management import call_command
from django.db import OperationalError, connection, connections
from django_q.models import OrmQ, Schedule

from ingestion import tasks
from ingestion.core.errors import LeaseLost
from ingestion.core.portal_queues import PortalQueues
from ingestion.core.retry import RetryRules
from ingestion.core.states import ChunkState
from ingestion.dispatch import leases, recovery, schedules
from ingestion.dispatch.completion_polls import CompletionPolls
from ingestion.dispatch.database_thread import DatabaseThread
from ingestion.dispatch.processes import worker_host, worker_presence
from ingestion.dispatch.shift import Shift
from ingestion.models import Chunk
from ingestion.sources.document_source import LeaseFolders
from ingestion.storage import spool
from tests.factories import make_batch, make_leased

pytestmark = [pytest.mark.django_db(transaction=True)]


def test_folders_without_a_lease_are_removed_and_others_are_kept():
    _, held = make_leased()
    mine, leftover = spool.get_attempt_folder(held), spool.get_attempt_folder(uuid.uuid4())
    (leftover / "1.part").write_bytes(b"half a document")
    result = recovery.recover_orphans()
    assert (result.chunks, result.folders) == (0, 1)
    assert mine.exists()
    assert not leftover.exists()


def test_the_first_tick_of_a_host_revives_the_chunk_of_a_silent_worker_and_wakes_a_worker():
    """Recovery comes before the search for due chunks, so no submission is needed for it."""
    chunk, lease = make_leased()
    spool.get_attempt_folder(lease)
    Chunk.objects.filter(pk=chunk.pk).update(lease_expires_at="2026-01-01T00:00Z")
    OrmQ.objects.all().delete()  # the wakeup of the submission
    assert worker_host.run_tick(CompletionPolls()) == ""
    chunk.refresh_from_db()
    assert (chunk.state, chunk.losses) == (ChunkState.WAITING, 1)
    assert OrmQ.objects.count() == 1
    [revived] = leases.claim_due_chunks(1, by="here:1:1")
    assert revived.chunk == chunk.pk


def test_recover_prints_what_it_did(capsys):
    chunk, lease = make_leased()
    spool.get_attempt_folder(lease)
    Chunk.objects.filter(pk=chunk.pk).update(lease_expires_at="2026-01-01T00:00Z")
    for _ in range(3):
        spool.get_attempt_folder(uuid.uuid4())
    call_command("recover")
    call_command("recover")
    first, second = capsys.readouterr().out.splitlines()
    assert first == (
        "Made 1 chunk of silent workers due again and removed 3 spool folders that nobody holds."
    )
    assert second.startswith("Nothing to recover")
    chunk.refresh_from_db()
    assert chunk.state == ChunkState.WAITING


@pytest.mark.slow
def test_a_worker_that_cannot_renew_its_leases_stops_before_they_expire(
    settings,
):
    """The database hangs, which means that it neither answers nor fails."""
    settings.LEASE_SECONDS, settings.HEARTBEAT_SECONDS = 4, 1
    make_batch()
    answers = threading.Event()

    async def renew_against_a_database_that_hangs():
        async with DatabaseThread() as database:
            shift = Shift(database, PortalQueues(4), LeaseFolders())
            assert await shift._claim_due_chunks()
            hanging = asyncio.create_task(database(answers.wait, 30))
            with pytest.raises(LeaseLost):
                await shift._renew_leases()
            answers.set()
            await hanging

    asyncio.run(renew_against_a_database_that_hangs())
    assert leases.recover_expired() == 0


@pytest.mark.only_on("postgresql", reason="SQLite has no server")
def test_a_connection_that_the_server_dropped_is_not_used_again():
    """django-q2 replaces dropped connections of its own thread only."""

    def drop_connection():
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_terminate_backend(pg_backend_pid())")

    async def query_after_drop():
        async with DatabaseThread() as database:
            with pytest.raises(OperationalError):
                await database(drop_connection)
            return await database(Chunk.objects.count)

    assert asyncio.run(query_after_drop()) == 0


def test_a_task_closes_its_connections():
    def task():
        tasks.purge_wakeups()
        open_ones.extend(each for each in connections.all() if each.connection is not None)

    open_ones = []
    worker = threading.Thread(target=task)
    worker.start()
    worker.join()
    assert open_ones == []


def test_a_failed_shift_names_its_chunks(settings, monkeypatch):
    settings.INGEST_LIMITS = dataclasses.replace(
        settings.INGEST_LIMITS, retry=RetryRules(deadline_seconds=0)
    )
    chunk = make_batch().chunks.get()

    def broken(*_, **__):
        message = "a bug of ours"
        raise ValueError(message)

    monkeypatch.setattr(leases, "return_chunk", broken)
    with pytest.raises(ExceptionGroup) as failed:
        tasks.work_shift()
    assert f"It had in hand: chunk {chunk.pk}" in "".join(traceback.format_exception(failed.value))


def test_schedules_are_installed_once_and_former_ones_are_removed():
    Schedule.objects.create(name=f"{schedules.PREFIX}a former task", func="removed")
    other = Schedule.objects.create(name="of another application", func="theirs")
    for _ in range(2):
        schedules.install_schedules()
    ours = Schedule.objects.filter(name__startswith=schedules.PREFIX)
    assert ours.count() == len(schedules.SCHEDULES)
    assert Schedule.objects.filter(pk=other.pk).exists()


def test_a_second_installation_keeps_the_time_of_the_next_run():
    schedules.install_schedules()
    first = Schedule.objects.order_by("pk").values_list("name", "next_run").first()
    schedules.install_schedules()
    assert Schedule.objects.order_by("pk").values_list("name", "next_run").first() == first


@pytest.mark.parametrize("name", sorted(schedules.SCHEDULES))
def test_every_scheduled_task_can_be_run(name):
    function, _ = schedules.SCHEDULES[name]
    module, _, task = function.rpartition(".")
    assert module == "ingestion.tasks"
    getattr(tasks, task)()


def test_a_worker_is_marked_busy_until_the_end_of_its_shift(tmp_path, monkeypatch):
    monkeypatch.setattr(worker_presence, "_folder", tmp_path)
    with worker_presence.mark_busy():
        [first] = worker_presence.read_busy_workers(tmp_path)
        worker_presence.record_heartbeat()
        [second] = worker_presence.read_busy_workers(tmp_path)
        assert worker_presence.get_current_owner() == second.owner
    assert (first.began_at, first.owner) == (second.began_at, second.owner)
    assert first.seen_at <= second.seen_at
    assert worker_presence.read_busy_workers(tmp_path) == []
    assert worker_presence.get_current_owner() != second.owner  # the next shift has another name
