"""Claims, renews, returns and recovers the leases of chunks.

A lease is a worker's right to a chunk until a time. The worker creates the id of the lease and
writes it with the conditional UPDATE that claims the chunk, so no two workers share a lease. The id
is the fencing token: every later write names it, and a worker whose lease was recovered writes
nothing. Renewals extend the lease; the chunk of a worker that stops renewing is made due again.

How a shift uses its leases is defined in `dispatch.shift`; when leases are recovered, in
`dispatch.recovery`.
"""

import random
import uuid
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db.models import F, QuerySet

from audit.ledger.log import ledger
from ingestion.core.ports import WorkItem
from ingestion.core.states import ChunkState
from ingestion.dispatch import demand, portal_place_rows
from ingestion.dispatch.clock import read_database_time
from ingestion.dispatch.portal_outages import postpone_if_portal_down
from ingestion.dispatch.work_items import list_work_items
from ingestion.documents import batches, transitions
from ingestion.models import Batch, Chunk, Document
from ingestion.storage import spool
from sites.models import Site

MAX_CHUNKS_PER_CLAIM = 8  # so that other shifts receive chunks too
RECOVERY_DELAY_BASE_SECONDS = 0.5  # doubled with each lost worker
MAX_RECOVERY_DELAY_SECONDS = 30.0  # until the chunk of a lost worker is due again


@dataclass(frozen=True, slots=True)
class Lease:
    """Describes a claimed chunk and the documents that are due in it."""

    chunk: int  # primary key
    site: int  # primary key
    batch: str  # reference
    urgent: bool  # the chunk came from the queue of urgent chunks
    lease_id: uuid.UUID  # the fencing token
    items: tuple[WorkItem, ...]
    log_facts: Mapping[str, Any]  # what lines of the log about the chunk say


def claim_due_chunks(
    max_chunks: int, *, by: str, busy_sites: Collection[int] = (), urgent: bool = False
) -> list[Lease]:
    """Claim at most `max_chunks` due chunks, in the order of their rank.

    No two chunks are of one site, and none is of a site in `busy_sites` (primary keys) or of a site
    of which SITE_MAX_CHUNKS chunks run. `by` identifies the worker in `lease_owner`. Urgent chunks
    and others are two queues: neither waits for room that the other one fills.

    Returns fewer leases than there are due chunks if other workers claim some of them meanwhile.
    """
    now = read_database_time()
    excluded = {*busy_sites, *demand.find_sites_at_limit(urgent)}
    due = demand.find_next_chunk_of_each_site(now, excluded, urgent)
    chunks = list(due[: min(max_chunks, MAX_CHUNKS_PER_CLAIM)])
    return [lease for chunk in chunks if (lease := _claim_chunk(chunk, by=by, now=now))]


def _claim_chunk(chunk_id: int, *, by: str, now: datetime) -> Lease | None:
    """Claim one chunk, and move its batch to IN_PROGRESS.

    Returns None if another worker claimed it, if its site is at its limit, or if its batch is being
    cancelled.
    """
    lease_id = uuid.uuid4()
    with ledger():
        # The site is locked, so that two claims see each other's running chunks. Only PostgreSQL
        # needs the lock: SQLite has one writer at a time.
        wanted = Chunk.objects.only("site_id", "is_urgent").get(pk=chunk_id)
        Site.objects.select_for_update(no_key=True).filter(pk=wanted.site_id).values_list(
            "pk"
        ).get()
        running = Chunk.objects.running().of_urgency(wanted.is_urgent).filter(site=wanted.site_id)
        if running.count() >= settings.SITE_MAX_CHUNKS:
            return None
        due = Chunk.objects.waiting().filter(pk=chunk_id, next_dispatch_at__lte=now)
        # A subquery and not a join: a join would move the condition on the chunk's own state into
        # the subquery, where PostgreSQL does not look again after waiting for another UPDATE.
        claimed = due.exclude(batch__in=Batch.objects.being_cancelled()).update(
            state=ChunkState.RUNNING,
            lease_id=lease_id,
            lease_owner=by,
            lease_expires_at=now + timedelta(seconds=settings.LEASE_SECONDS),
            attempts=F("attempts") + 1,
        )
        if not claimed:
            return None
        chunk = Chunk.objects.select_related("site__portal", "site__study", "batch").get(
            pk=chunk_id
        )
        if chunk.attempts > 1:  # Otherwise no worker had it before.
            transitions.requeue_interrupted_documents(chunk)
        batches.begin_batch(chunk.batch_id)
        items = list_work_items(chunk, now)
    packets = {item.packet for item in items}
    return Lease(
        chunk_id,
        chunk.site_id,
        chunk.batch.reference,
        chunk.is_urgent,
        lease_id,
        items,
        {**chunk.log_facts(), "packet": packets.pop() if len(packets) == 1 else ""},
    )


def find_chunks_being_cancelled(leases: Iterable[uuid.UUID]) -> set[int]:
    """Return which of the leased chunks belong to a batch that is being cancelled."""
    held = Chunk.objects.filter(lease_id__in=set(leases))
    cancelled = held.filter(batch__in=Batch.objects.being_cancelled())
    return set(cancelled.values_list("pk", flat=True))


def renew(leases: Iterable[uuid.UUID]) -> set[uuid.UUID]:
    """Extend the leases to LEASE_SECONDS from now. Returns those that still exist."""
    wanted = set(leases)
    expires = read_database_time() + timedelta(seconds=settings.LEASE_SECONDS)
    Chunk.objects.filter(lease_id__in=wanted).update(lease_expires_at=expires)
    held = Chunk.objects.filter(lease_id__in=wanted).values_list("lease_id", flat=True)
    return {lease for lease in held if lease}


def return_chunk(chunk_id: int, lease_id: uuid.UUID, *, untouched: Collection[int] = ()) -> None:
    """End a lease, and remove its folder in the spool.

    The chunk is DONE if all its documents are settled. Otherwise it waits, and is due again when
    the next of its documents is. `untouched` are primary keys of documents whose attempt was
    counted but not begun: the attempt is taken back. Does nothing if the lease was recovered,
    because another worker continues with the chunk.
    """
    with ledger():
        if not Chunk.objects.lock_if_held(lease_id, pk=chunk_id):
            return
        Document.objects.filter(pk__in=untouched, attempts__gt=0).update(attempts=F("attempts") - 1)
        chunk, now = Chunk.objects.select_related("batch").get(pk=chunk_id), read_database_time()
        is_cancelled = chunk.batch.is_being_cancelled
        not_before = now if is_cancelled else postpone_if_portal_down(chunk, now)
        if batches.close_chunk(chunk):
            _end_lease(chunk_id, ChunkState.DONE, now)
            batches.end_if_settled(chunk.batch_id)
        else:
            rows = chunk.documents.unsettled().values_list("next_attempt_at", flat=True)
            due_at = min(next_attempt_at or now for next_attempt_at in rows)
            _end_lease(chunk_id, ChunkState.WAITING, max(not_before, due_at))
    spool.drop_attempt(lease_id)


_NO_LEASE = {"lease_id": None, "lease_owner": "", "lease_expires_at": None}


def _end_lease(chunk_id: int, state: ChunkState, due_at: datetime) -> None:
    Chunk.objects.filter(pk=chunk_id).update(
        **_NO_LEASE, state=state, next_dispatch_at=due_at, losses=0
    )


def recover_expired() -> int:
    """Make the chunks with expired leases due again. Returns how many there were."""
    now = read_database_time()
    return _make_due(Chunk.objects.orphaned(now), now)


def find_batches_of(owner: str) -> list[str]:
    """Return the references of the batches of which a worker holds chunks, in order."""
    held = Chunk.objects.running().filter(lease_owner=owner).order_by("batch__reference")
    return list(held.values_list("batch__reference", flat=True).distinct())


def recover_leases_of(owner: str) -> int:
    """Make the chunks of a dead worker due again, before their leases expire, and free its places.

    `owner` identifies the worker as `lease_owner` does. Returns how many chunks there were.
    """
    portal_place_rows.drop_claims(owner)
    return _make_due(Chunk.objects.running().filter(lease_owner=owner), read_database_time())


def recover_expired_chunk(chunk_id: int) -> bool:
    """Make one chunk due again. Returns False if its lease has not expired."""
    now = read_database_time()
    return _make_due(Chunk.objects.orphaned(now).filter(pk=chunk_id), now) == 1


def _make_due(lost: "QuerySet[Chunk]", now: datetime) -> int:
    """Free the chunks that still match the query, and remove the folders of their leases.

    Any number of processes may do so at the same time: each chunk is freed by one conditional
    UPDATE. Returns how many chunks this call freed.
    """
    recovered = 0
    for chunk_id, lease_id, losses in lost.values_list("pk", "lease_id", "losses"):
        due_at = now + timedelta(seconds=_draw_recovery_delay(losses))
        freed = lost.filter(pk=chunk_id, lease_id=lease_id).update(
            **_NO_LEASE, state=ChunkState.WAITING, next_dispatch_at=due_at, losses=losses + 1
        )
        if freed and lease_id:
            recovered += 1
            spool.drop_attempt(lease_id)
    return recovered


def _draw_recovery_delay(losses: int) -> float:
    """Return the seconds until a chunk that lost its worker is due again.

    `losses` is the number of workers that it lost in a row before this one. The delay is 0 after
    the first loss, which is probably a killed process. Then it grows exponentially, with full
    jitter, so that chunks that were lost together are not due together.
    """
    if not losses:
        return 0.0
    longest = RECOVERY_DELAY_BASE_SECONDS * 2 ** min(losses, 16)
    return random.uniform(0.0, min(MAX_RECOVERY_DELAY_SECONDS, longest))
