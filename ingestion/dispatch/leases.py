"""Leases of chunks: given by one conditional UPDATE, kept by heartbeats, recovered when silent.

A worker owns a chunk while its lease id stands on the row and the lease has not expired. The id is
made by the worker and written in the claiming UPDATE, so that nobody can adopt another's lease.
"""

import os
import socket
import time
import uuid
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.db import connection
from django.db.models import F
from django.utils import timezone

from audit.log import ledger, record
from ingestion import filing, retrying, spool
from ingestion.core.states import BatchState, ChunkState, check_move
from ingestion.core.work import PortalTerms, WorkItem
from ingestion.models import Batch, Chunk, Document, PortalGate
from sites.models import Portal


@dataclass(frozen=True, slots=True)
class Lease:
    """A chunk in hand, with what there is to do in it."""

    chunk: int
    site: int
    lease_id: uuid.UUID
    items: tuple[WorkItem, ...]


def database_now() -> datetime:
    """One clock for all hosts: the database's. With SQLite there is only this host's."""
    if connection.vendor != "postgresql":
        return timezone.now()
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        now: datetime = cursor.fetchone()[0]
        return now


def owner() -> str:
    """This process and moment, so that no later process with the same number is taken for it."""
    return f"{socket.gethostname()}:{os.getpid()}:{time.time_ns()}"


def take(room: int, *, by: str, busy_sites: Collection[int] = ()) -> list[Lease]:
    """At most `room` due chunks, in order of rank, no two of one site and none of a busy one."""
    now = database_now()
    due = Chunk.objects.due(now).exclude(site__in=busy_sites)
    first_of_site: dict[int, int] = {}
    for chunk, site in due.values_list("pk", "site_id")[: room * 50]:
        first_of_site.setdefault(site, chunk)
    picked = list(first_of_site.values())[:room]
    return [lease for chunk in picked if (lease := _claim(chunk, by=by, now=now))]


def _claim(chunk_id: int, *, by: str, now: datetime) -> Lease | None:
    """None: another worker was faster."""
    lease_id = uuid.uuid4()
    with ledger():
        claimed = Chunk.objects.filter(
            pk=chunk_id, state=ChunkState.WAITING, next_dispatch_at__lte=now
        ).update(
            state=ChunkState.RUNNING,
            lease_id=lease_id,
            lease_owner=by,
            lease_expires_at=now + timedelta(seconds=settings.LEASE_SECONDS),
            attempts=F("attempts") + 1,
        )
        if not claimed:
            return None
        chunk = Chunk.objects.select_related("site__portal", "batch").get(pk=chunk_id)
        filing.requeue_interrupted(chunk)
        _begin(chunk.batch_id)
        items = tuple(_item(each, chunk.site.portal, now) for each in _to_do(chunk, now))
    return Lease(chunk_id, chunk.site_id, lease_id, items)


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
        chunk, now = Chunk.objects.get(pk=chunk_id), database_now()
        not_before = _postpone(chunk, now)
        finished = not chunk.documents.unsettled().exists()
        due_at = now if finished else max(not_before, _next_dispatch(chunk, now))
        _release(chunk_id, ChunkState.DONE if finished else ChunkState.WAITING, due_at)
        if finished:
            complete_if_settled(chunk.batch_id)
    spool.drop_attempt(lease_id)


def _postpone(chunk: Chunk, now: datetime) -> datetime:
    """When its portal may be asked: at its next probe if it is down, else now."""
    gate = PortalGate.objects.shut().filter(portal__sites=chunk.site_id).first()
    if gate is None:
        return now
    patience = settings.INGEST_LIMITS.deadline_seconds
    return retrying.postpone(chunk, now, until=gate.next_probe_at, patience=patience)


def _next_dispatch(chunk: Chunk, now: datetime) -> datetime:
    rows = chunk.documents.unsettled().values_list("next_attempt_at", flat=True)
    return min(next_attempt_at or now for next_attempt_at in rows)


def recover() -> int:
    """Make the chunks of silent workers due again. Answers how many there were."""
    now = database_now()
    recovered = 0
    for chunk_id, lease_id in Chunk.objects.orphaned(now).values_list("pk", "lease_id"):
        freed = Chunk.objects.filter(
            pk=chunk_id, lease_id=lease_id, lease_expires_at__lt=now
        ).update(**_FREE, state=ChunkState.WAITING, next_dispatch_at=now)
        if freed and lease_id:
            recovered += 1
            spool.drop_attempt(lease_id)
    return recovered


_FREE = {"lease_id": None, "lease_owner": "", "lease_expires_at": None}


def _release(chunk_id: int, state: ChunkState, due_at: datetime) -> None:
    Chunk.objects.filter(pk=chunk_id).update(**_FREE, state=state, next_dispatch_at=due_at)


def _to_do(chunk: Chunk, now: datetime) -> Iterable[Document]:
    """Suspects last: they may kill the worker before it comes to the others."""
    return chunk.documents.due(now).select_related("site").order_by("attempts", "pk")


def _item(document: Document, portal: Portal, now: datetime) -> WorkItem:
    return WorkItem(
        document=document.pk,
        chunk=document.chunk_id or 0,
        site_id=document.site.site_id,
        doc_id=document.doc_id,
        url=document.url,
        terms=portal_terms(portal) if document.url else None,
        spooled=document.spooled,
        expected_sha256=document.expected_sha256,
        size=document.size or 0,
        tries=document.fetch_tries,
        is_suspect=document.attempts > 0,  # whoever was let go in good order was not charged
        deadline=_deadline(document, now),
    )


def _deadline(document: Document, now: datetime) -> float | None:
    """In this process's monotonic seconds."""
    if document.failing_since is None:
        return None
    gone = (now - document.failing_since).total_seconds()
    return time.monotonic() + settings.INGEST_LIMITS.deadline_seconds - gone


def portal_terms(portal: Portal) -> PortalTerms:
    return PortalTerms(
        key=portal.key,
        portal=portal.pk,
        base_url=portal.base_url,
        rate_per_second=portal.rate_per_second,
        burst=portal.burst,
        max_in_flight=portal.max_in_flight,
        timeout_seconds=portal.timeout_seconds,
        allow_http=portal.allow_http,
        allow_private_hosts=portal.allow_private_hosts,
        allowed_hosts=tuple(portal.allowed_hosts.split()),
        secret_header=portal.secret_header,
    )


def _begin(batch_id: int) -> None:
    batch = Batch.objects.select_for_update().get(pk=batch_id)
    if batch.state == BatchState.QUEUED:
        _move(batch, BatchState.IN_PROGRESS, started_at=timezone.now())


def complete_if_settled(batch_id: int) -> None:
    """COMPLETED when its last document is settled. Inside ledger().

    The batch's row is locked before the count, so that of two last chunks one sees the other.
    """
    batch = Batch.objects.select_for_update().get(pk=batch_id)
    if batch.state == BatchState.IN_PROGRESS and not batch.documents.unsettled().exists():
        _move(batch, BatchState.COMPLETED, finished_at=timezone.now())


def _move(batch: Batch, state: BatchState, **columns: datetime) -> None:
    old = BatchState(batch.state)
    check_move(old, state)
    Batch.objects.filter(pk=batch.pk, state=old).update(
        state=state, transitions=F("transitions") + 1, **columns
    )
    record(
        f"batch.{state.name.lower()}",
        subject=batch.subject,
        n=batch.transitions + 1,
        from_state=old,
        to_state=state,
        correlation_id=batch.reference,
        actor=filing.WORKER,
        role="worker",
        detail={str(name).lower(): n for name, n in batch.counts().items()},
    )
