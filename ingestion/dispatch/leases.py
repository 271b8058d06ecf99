"""Leases of chunks: given by one conditional UPDATE, kept by heartbeats, recovered when silent.

A worker owns a chunk while its lease id stands on the row and the lease has not expired. The id is
made by the worker and written in the claiming UPDATE, so that nobody can adopt another's lease.
"""

import random
import uuid
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from itertools import chain
from typing import Any

from django.conf import settings
from django.db import connection
from django.db.models import Count, F, OuterRef, QuerySet, Subquery
from django.db.models.functions import Now

from audit.ledger.log import ledger
from ingestion.core.ports import WorkItem
from ingestion.core.states import ChunkState
from ingestion.dispatch import fetch_failures
from ingestion.dispatch.clock import database_now
from ingestion.dispatch.work_items import to_do
from ingestion.documents import batches, transitions
from ingestion.models import Batch, Chunk, Document, PortalGate
from ingestion.storage import spool
from sites.models import Site

MOST_AT_ONCE = 8  # chunks that one look takes: another shift may have room too
LONGEST_PAUSE = 30.0  # seconds


@dataclass(frozen=True, slots=True)
class Lease:
    """A chunk in hand, with what there is to do in it."""

    chunk: int
    site: int
    batch: str  # its reference
    urgent: bool
    lease_id: uuid.UUID
    items: tuple[WorkItem, ...]


def take(
    room: int, *, by: str, busy_sites: Collection[int] = (), urgent: bool = False
) -> list[Lease]:
    """At most `room` due chunks, in order of rank, no two of one site and none of a busy one.

    Urgent chunks and others are two queues: neither ever waits for room that the other fills.
    """
    now = database_now()
    full = {*busy_sites, *_full_sites(urgent)}
    picked = list(next_of_each_site(now, full, urgent)[: min(room, MOST_AT_ONCE)])
    return [lease for chunk in picked if (lease := _claim(chunk, by=by, now=now))]


def next_of_each_site(now: datetime, full: Collection[int], urgent: bool) -> "QuerySet[Chunk, int]":
    """The first due chunk of every other site, in order of rank.

    One probe of the index for each site, however many chunks a site has in front of the others.
    """
    due = Chunk.objects.due(now).of_urgency(urgent)
    first = due.filter(site=OuterRef("pk")).values("pk")[:1]
    sites = Site.objects.order_by().exclude(pk__in=full).annotate(first=Subquery(first))
    chunks = Chunk.objects.filter(pk__in=sites.values("first")).order_by("rank", "pk")
    return chunks.values_list("pk", flat=True)


def anything_due() -> bool:
    """Is there a chunk that a shift could take now?"""
    now = database_now()
    return any(
        next_of_each_site(now, _full_sites(of), of).exists() for of in queues_due((True, False))
    )


def queues_due(queues: Iterable[bool]) -> list[bool]:
    """Of the queues (is it the urgent one?) those in which a chunk is due.

    Most looks find nothing: each is one statement, written once, that probes an index.
    """
    asked = tuple(queues)
    with connection.cursor() as cursor:
        cursor.execute(*_due(asked))
        return [urgent for urgent, is_due in zip(asked, cursor.fetchone(), strict=True) if is_due]


@cache
def _due(queues: tuple[bool, ...]) -> tuple[str, tuple[Any, ...]]:
    """A query and its parameters: for each queue if a chunk is due, by the database's clock."""
    due = Chunk.objects.due(Now()).order_by()
    firsts = [due.of_urgency(urgent).values_list("pk")[:1] for urgent in queues]
    written = [first.query.sql_with_params() for first in firsts]
    exist = ", ".join(f"EXISTS({query})" for query, _ in written)
    return f"SELECT {exist}", tuple(chain.from_iterable(terms for _, terms in written))


def _full_sites(urgent: bool) -> set[int]:
    """Sites of which as many chunks run, over all shifts and hosts, as are allowed."""
    running = Chunk.objects.running().of_urgency(urgent).order_by().values_list("site")
    counted = running.annotate(n=Count("pk")).filter(n__gte=settings.SITE_MAX_CHUNKS)
    return {site for site, _ in counted}


def _claim(chunk_id: int, *, by: str, now: datetime) -> Lease | None:
    """None: another worker was faster, its site is full, or its batch is being cancelled."""
    lease_id = uuid.uuid4()
    with ledger():
        if not (_has_room(chunk_id) and _claimed(chunk_id, lease_id, by, now)):
            return None
        chunk = Chunk.objects.select_related("site__portal", "batch").get(pk=chunk_id)
        transitions.requeue_interrupted(chunk)
        batches.begin(chunk.batch_id)
        items = to_do(chunk, now)
    return Lease(chunk_id, chunk.site_id, chunk.batch.reference, chunk.is_urgent, lease_id, items)


def _has_room(chunk_id: int) -> bool:
    """Count the site's running chunks under a lock of the site, so that two claims see each other.

    PostgreSQL alone needs the lock: SQLite has one writer at a time.
    """
    chunk = Chunk.objects.only("site_id", "is_urgent").get(pk=chunk_id)
    Site.objects.select_for_update(no_key=True).filter(pk=chunk.site_id).values_list("pk").get()
    running = Chunk.objects.running().of_urgency(chunk.is_urgent).filter(site=chunk.site_id)
    return bool(running.count() < settings.SITE_MAX_CHUNKS)


def _claimed(chunk_id: int, lease_id: uuid.UUID, by: str, now: datetime) -> bool:
    """The one conditional UPDATE that makes it ours."""
    due = Chunk.objects.waiting().filter(pk=chunk_id, next_dispatch_at__lte=now)
    # As a subquery and not as a join: a join would move the condition on the chunk's own state
    # into the subquery, where PostgreSQL does not look again after waiting for another's UPDATE.
    claimed = due.exclude(batch__in=Batch.objects.being_cancelled()).update(
        state=ChunkState.RUNNING,
        lease_id=lease_id,
        lease_owner=by,
        lease_expires_at=now + timedelta(seconds=settings.LEASE_SECONDS),
        attempts=F("attempts") + 1,
    )
    return claimed == 1


def being_cancelled(leases: Iterable[uuid.UUID]) -> set[int]:
    """Which of these chunks belong to a batch that somebody cancelled."""
    held = Chunk.objects.filter(lease_id__in=set(leases))
    cancelled = held.filter(batch__in=Batch.objects.being_cancelled())
    return set(cancelled.values_list("pk", flat=True))


def beat(leases: Iterable[uuid.UUID]) -> set[uuid.UUID]:
    """Extend them all. Answers those that are still ours."""
    wanted = set(leases)
    expires = database_now() + timedelta(seconds=settings.LEASE_SECONDS)
    Chunk.objects.filter(lease_id__in=wanted).update(lease_expires_at=expires)
    held = Chunk.objects.filter(lease_id__in=wanted).values_list("lease_id", flat=True)
    return {lease for lease in held if lease}


def close(chunk_id: int, lease_id: uuid.UUID, *, untouched: Collection[int] = ()) -> None:
    """Let the chunk go: DONE when all its documents are settled, else due when the next one is.

    `untouched` documents were taken up and not begun: their attempt is not charged.
    """
    with ledger():
        if not Chunk.objects.lock_if_held(lease_id, pk=chunk_id):
            return  # recovered already: whoever has it now goes on
        Document.objects.filter(pk__in=untouched, attempts__gt=0).update(attempts=F("attempts") - 1)
        chunk, now = Chunk.objects.select_related("batch").get(pk=chunk_id), database_now()
        not_before = now if chunk.batch.is_being_cancelled else _postpone(chunk, now)
        finished = batches.close_chunk(chunk)
        due_at = now if finished else max(not_before, _next_dispatch(chunk, now))
        _release(chunk_id, ChunkState.DONE if finished else ChunkState.WAITING, due_at)
        if finished:
            batches.end_if_settled(chunk.batch_id)
    spool.drop_attempt(lease_id)


def _postpone(chunk: Chunk, now: datetime) -> datetime:
    """When its portal may be asked: at its next probe if it is down, else now."""
    gate = PortalGate.objects.shut().filter(portal__sites=chunk.site_id).first()
    if gate is None:
        return now
    patience = settings.INGEST_LIMITS.deadline_seconds
    return fetch_failures.postpone(chunk, now, until=gate.next_probe_at, patience=patience)


def _next_dispatch(chunk: Chunk, now: datetime) -> datetime:
    rows = chunk.documents.unsettled().values_list("next_attempt_at", flat=True)
    return min(next_attempt_at or now for next_attempt_at in rows)


def recover() -> int:
    """Make the chunks of silent workers due again. Answers how many there were."""
    now = database_now()
    return _make_due(Chunk.objects.orphaned(now), now)


def recover_from(owner: str) -> int:
    """The same for one whose process is known to be dead: it will not come back to its leases."""
    return _make_due(Chunk.objects.running().filter(lease_owner=owner), database_now())


def recover_one(chunk_id: int) -> bool:
    """The same for one chunk, if its worker is silent."""
    now = database_now()
    return _make_due(Chunk.objects.orphaned(now).filter(pk=chunk_id), now) == 1


def _make_due(lost: "QuerySet[Chunk]", now: datetime) -> int:
    recovered = 0
    for chunk_id, lease_id, losses in lost.values_list("pk", "lease_id", "losses"):
        due_at = now + timedelta(seconds=_pause(losses))
        freed = lost.filter(pk=chunk_id, lease_id=lease_id).update(
            **_FREE, state=ChunkState.WAITING, next_dispatch_at=due_at, losses=losses + 1
        )
        if freed and lease_id:
            recovered += 1
            spool.drop_attempt(lease_id)
    return recovered


def _pause(losses: int) -> float:
    """Before a chunk whose workers fell silent one after the other is given to the next.

    None after the first one: that is how a killed process looks. Then growing, and with full
    jitter: what fell together does not come back together.
    """
    if not losses:
        return 0.0
    return random.uniform(0.0, min(LONGEST_PAUSE, 0.5 * 2 ** min(losses, 16)))


_FREE = {"lease_id": None, "lease_owner": "", "lease_expires_at": None}


def _release(chunk_id: int, state: ChunkState, due_at: datetime) -> None:
    Chunk.objects.filter(pk=chunk_id).update(
        **_FREE, state=state, next_dispatch_at=due_at, losses=0
    )
