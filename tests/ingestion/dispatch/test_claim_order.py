"""Tests of the order in which chunks are claimed, and of the cost of searching for them."""

import threading
from datetime import timedelta

import pytest
from django.db import connection, connections
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from ingestion.dispatch import demand, leases
from ingestion.dispatch.clock import read_database_time
from ingestion.models import Batch, Chunk
from tests.factories import make_batch, make_site

pytestmark = pytest.mark.django_db
BACKLOG_CHUNKS = 4_000


def claim(room=1, **options):
    return leases.claim_due_chunks(room, by="here:1:1", **options)


@pytest.fixture
def backlog():
    """One site with thousands of chunks that rank before those of other sites."""
    batch = make_batch(make_site("busy"))
    site = batch.chunks.get().site
    Chunk.objects.bulk_create(
        (
            Chunk(batch=batch, site=site, rank=number / BACKLOG_CHUNKS)
            for number in range(BACKLOG_CHUNKS)
        ),
        batch_size=2000,
    )
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    return site


def test_the_backlog_of_one_site_does_not_hide_other_sites(backlog, settings):
    settings.SITE_MAX_CHUNKS = 1
    [running] = claim()
    assert running.site == backlog.pk
    other = make_site("small")
    Chunk.objects.create(batch=Batch.objects.get(), site=other, rank=1e9)
    [lease] = claim()
    assert lease.site == other.pk


def plan(query):
    sql, parameters = query.sql_with_params()
    explain = "EXPLAIN QUERY PLAN" if connection.vendor == "sqlite" else "EXPLAIN"
    with connection.cursor() as cursor:
        cursor.execute(f"{explain} {sql}", parameters)
        return "\n".join(str(row[-1]) for row in cursor.fetchall())


def test_the_next_chunks_are_found_by_an_index(backlog):
    for number in range(30):
        make_site(f"other-{number}")
    found = demand.find_next_chunk_of_each_site(timezone.now(), {backlog.pk}, urgent=False)[:8]
    query_plan = plan(found.query)
    assert "chunks_due" in query_plan
    assert "Seq Scan on ingestion_chunk" not in query_plan
    assert "AUTOMATIC" not in query_plan  # SQLite builds such an index if ours is unsuitable
    # Only the few chunks that were found are sorted.
    sorts = query_plan.count("USE TEMP B-TREE FOR ORDER BY")
    assert sorts == (1 if connection.vendor == "sqlite" else 0)


def test_orphaned_chunks_are_found_by_an_index(backlog):
    [lease] = claim()
    query_plan = plan(Chunk.objects.orphaned(timezone.now()).query)
    assert "chunks_leased" in query_plan
    assert lease.site == backlog.pk


def test_the_number_of_queries_does_not_depend_on_the_backlog(backlog):
    busy = [backlog.pk]
    with CaptureQueriesContext(connection) as before:
        assert claim(busy_sites=busy) == []
    Chunk.objects.filter(rank__lt=0.9).delete()
    with CaptureQueriesContext(connection) as after:
        assert claim(busy_sites=busy) == []
    assert len(before) == len(after) <= 4


def test_searching_both_queues_is_one_statement_that_probes_an_index(backlog):
    with CaptureQueriesContext(connection) as queries:
        assert demand.find_due_queues([True, False]) == [False]
    [query] = queries
    with connection.cursor() as cursor:
        explain = "EXPLAIN QUERY PLAN" if connection.vendor == "sqlite" else "EXPLAIN"
        cursor.execute(f"{explain} {query['sql'].replace('%', '%%')}", ())
        query_plan = "\n".join(str(row[-1]) for row in cursor.fetchall())
    # PostgreSQL finds the first row of a queue with many due chunks without the index.
    assert query_plan.count("chunks_waiting") == (2 if connection.vendor == "sqlite" else 1)


def test_due_chunks_are_found_by_the_clock_of_the_database(backlog):
    soon = read_database_time() + timedelta(seconds=60)
    Chunk.objects.update(next_dispatch_at=soon)
    assert demand.find_due_queues([False]) == []
    Chunk.objects.update(next_dispatch_at=soon - timedelta(seconds=61))
    assert demand.find_due_queues([False]) == [False]


def test_a_site_has_a_limited_number_of_running_chunks_over_all_hosts(settings):
    settings.CHUNK_SIZE, settings.SITE_MAX_CHUNKS = 1, 2
    make_batch(documents=5)
    taken = [leases.claim_due_chunks(5, by=f"host-{number}:1:1") for number in range(4)]
    assert [len(leased) for leased in taken] == [1, 1, 0, 0]


def test_a_claim_leaves_chunks_to_other_workers():
    for _ in range(12):
        make_batch()
    assert len(claim(room=100)) == leases.MAX_CHUNKS_PER_CLAIM


def test_an_urgent_chunk_has_room_beside_the_other_chunks_of_its_site(settings):
    settings.CHUNK_SIZE = settings.SITE_MAX_CHUNKS = 1
    site = make_site()
    make_batch(site, documents=3)
    assert claim()
    assert not claim()
    upload = make_batch(site, priority=2)
    [lease] = claim(urgent=True)
    assert Chunk.objects.get(pk=lease.chunk).batch == upload


def test_an_urgent_packet_ranks_before_the_backlog_of_its_site(settings):
    settings.CHUNK_SIZE = 1
    site = make_site()
    large = make_batch(site, documents=100, priority=5)
    small = make_batch(site, priority=2)
    assert small.chunks.get().rank < large.chunks.order_by("rank")[1].rank


@pytest.mark.django_db(transaction=True)
def test_concurrent_hosts_respect_the_limit_of_a_site_and_claim_each_chunk_once(settings):
    settings.CHUNK_SIZE, settings.SITE_MAX_CHUNKS = 1, 3
    for _ in range(3):
        make_batch(documents=8)
    start, taken = threading.Barrier(6), []

    def host(number):
        start.wait(120)
        try:
            for _ in range(4):
                taken.extend(leases.claim_due_chunks(8, by=f"host-{number}:1:1"))
        finally:
            connections.close_all()

    threads = [threading.Thread(target=host, args=[number]) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert len({lease.chunk for lease in taken}) == len(taken) == 9
    for lease in taken:
        assert sum(1 for other in taken if other.site == lease.site) == 3
