"""Finds out whether chunks are due, and whether they need another worker than the running shifts.

A running shift searches for due chunks several times a second while it has room. So another worker
is only woken if no running shift has room, or if a chunk has been due for so long that the running
shifts do not claim it (`core.capacity`). Urgent chunks and others are two queues with separate
room.
"""

import time
from collections.abc import Collection, Iterable
from datetime import datetime, timedelta
from functools import cache
from itertools import chain
from typing import Any

from django.conf import settings
from django.db import connection
from django.db.models import Count, Min, OuterRef, QuerySet, Subquery
from django.db.models.functions import Now

from ingestion.core.capacity import MAX_CLAIM_SECONDS, RunningShift
from ingestion.dispatch.clock import read_database_time
from ingestion.models import Chunk
from sites.models import Site

QUEUES = (True, False)  # urgent chunks, and all others


def find_batch_without_worker() -> str:
    """Return the batch of the first chunk that could be claimed now and that no running shift will.

    Returns its reference, or "" if there is no such chunk.
    """
    now = read_database_time()
    patience = timedelta(seconds=MAX_CLAIM_SECONDS)
    for urgent in find_due_queues(QUEUES):
        due_before = now - patience if has_running_shift_room(urgent, now) else now
        chunks = find_next_chunk_of_each_site(due_before, find_sites_at_limit(urgent), urgent)
        if batch := chunks.values_list("batch__reference", flat=True).first():
            return str(batch)
    return ""


def is_served_by_running_shifts() -> bool:
    """Return whether running shifts have room for what has just become due.

    It costs one query if no shift runs, so that a worker is woken at once.
    """
    now = read_database_time()
    if not Chunk.objects.running().filter(lease_expires_at__gt=now).exists():
        return False
    return all(has_running_shift_room(urgent, now) for urgent in find_due_queues(QUEUES))


def has_running_shift_room(urgent: bool, now: datetime) -> bool:
    """Return whether any shift that holds a lease will claim another chunk of the queue."""
    return any(
        shift.has_room(settings.SHIFT_MAX_CHUNKS, settings.SHIFT_SECONDS)
        for shift in _list_running_shifts(urgent, now)
    )


def _list_running_shifts(urgent: bool, now: datetime) -> list[RunningShift]:
    """Return the shifts that hold leases, with the number of their chunks in one queue."""
    rows = Chunk.objects.running().filter(lease_expires_at__gt=now).order_by()
    chunks: dict[str, int] = {}
    for owner, is_urgent, count in rows.values_list("lease_owner", "is_urgent").annotate(
        Count("pk")
    ):
        chunks[owner] = chunks.get(owner, 0) + (count if is_urgent == urgent else 0)
    return [RunningShift(_age_of_shift(owner), held) for owner, held in chunks.items()]


def _age_of_shift(owner: str) -> float:
    """Return the seconds since a shift began, from the name that `worker_presence` gave it."""
    began_at = owner.rpartition(":")[2]
    return time.time() - int(began_at) / 1e9 if began_at.isdecimal() else 0.0


def get_oldest_claimable_seconds() -> float:
    """Return for how long the oldest chunk has been due that a worker could claim; 0: none is due.

    A chunk of a site that has reached SITE_MAX_CHUNKS waits for its own site, and not for a worker.
    """
    now = read_database_time()
    oldest = [
        Chunk.objects.filter(
            pk__in=find_next_chunk_of_each_site(now, find_sites_at_limit(urgent), urgent)
        )
        .order_by()
        .aggregate(oldest=Min("next_dispatch_at"))["oldest"]
        for urgent in find_due_queues(QUEUES)
    ]
    return max((max(0.0, (now - since).total_seconds()) for since in oldest if since), default=0.0)


def find_next_chunk_of_each_site(
    now: datetime, excluded: Collection[int], urgent: bool
) -> "QuerySet[Chunk, int]":
    """Return the first due chunk of every site that is not excluded, in order of rank.

    The query probes the index once for each site, however many chunks wait there.
    """
    due = Chunk.objects.due(now).of_urgency(urgent)
    first = due.filter(site=OuterRef("pk")).values("pk")[:1]
    sites = Site.objects.order_by().exclude(pk__in=excluded).annotate(first=Subquery(first))
    chunks = Chunk.objects.filter(pk__in=sites.values("first")).order_by("rank", "pk")
    return chunks.values_list("pk", flat=True)


def find_due_queues(queues: Iterable[bool]) -> list[bool]:
    """Return which of the queues (True is the urgent one) have a due chunk.

    Most calls find none. Each call is one statement, which probes an index and whose text is built
    once.
    """
    asked = tuple(queues)
    with connection.cursor() as cursor:
        cursor.execute(*_due_queues_query(asked))
        return [urgent for urgent, is_due in zip(asked, cursor.fetchone(), strict=True) if is_due]


@cache
def _due_queues_query(queues: tuple[bool, ...]) -> tuple[str, tuple[Any, ...]]:
    """Return SQL and parameters of a query that tells for each queue whether a chunk is due."""
    due = Chunk.objects.due(Now()).order_by()
    firsts = [due.of_urgency(urgent).values_list("pk")[:1] for urgent in queues]
    queries = [first.query.sql_with_params() for first in firsts]
    exist = ", ".join(f"EXISTS({query})" for query, _ in queries)
    return f"SELECT {exist}", tuple(chain.from_iterable(parameters for _, parameters in queries))


def find_sites_at_limit(urgent: bool) -> set[int]:
    """Return the sites of which SITE_MAX_CHUNKS chunks run, over all shifts and hosts."""
    running = Chunk.objects.running().of_urgency(urgent).order_by().values_list("site")
    counted = running.annotate(n=Count("pk")).filter(n__gte=settings.SITE_MAX_CHUNKS)
    return {site for site, _ in counted}
