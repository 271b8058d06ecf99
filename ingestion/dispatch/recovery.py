"""Recovers from dead workers: makes their chunks due again, and removes their spool folders.

Every host does it in each tick, and so does `manage.py recover`. Any number of processes may do it
at the same time: a conditional UPDATE frees each chunk, and a missing folder is no error. If no
host runs, an operator may release a single chunk, which the ledger records.
"""

import time
from dataclasses import dataclass
from functools import partial

from django.db import transaction

from audit.ledger.actors import Actor
from audit.ledger.log import ledger, record, write_time
from ingestion.dispatch import leases, wakeup
from ingestion.models import Chunk
from ingestion.storage import finished_stages, spool

PRUNE_INTERVAL_SECONDS = 60.0  # between two searches for finished stages that nobody needs
_next_prune_at = [0.0]  # monotonic seconds


@dataclass(frozen=True, slots=True)
class RecoveryResult:
    """Counts recovered chunks and removed folders. It is true if there were any."""

    chunks: int  # of workers without a heartbeat; their folders were removed too
    folders: int  # that no lease had

    def __bool__(self) -> bool:
        return bool(self.chunks or self.folders)

    def __str__(self) -> str:
        if not self:
            return "Nothing to recover: no worker fell silent, and no spool folder was left over."
        return (
            f"Made {_count(self.chunks, 'chunk')} of silent workers due again and removed "
            f"{_count(self.folders, 'spool folder')} that nobody holds."
        )


def recover_orphans() -> RecoveryResult:
    """Make the chunks of silent workers due again, and remove folders that belong to no lease.

    A leftover folder belonged to a worker that was killed after its lease had ended in another way.
    A folder is created after its lease, so a folder that was listed before the leases and has none
    has no owner.
    """
    chunks = leases.recover_expired()
    _prune_finished_stages()
    existing = set(spool.list_attempts())
    held = Chunk.objects.filter(lease_id__in=existing).values_list("lease_id", flat=True)
    leftovers = existing.difference(held) if existing else set()
    for lease in leftovers:
        spool.drop_attempt(lease)
    return RecoveryResult(chunks=chunks, folders=len(leftovers))


def release_lease(chunk: Chunk, *, by: Actor) -> bool:
    """End the expired lease of a chunk, and wake a worker.

    `by` is the operator. Returns False if the lease was renewed or returned meanwhile.
    """
    with ledger():
        if not leases.recover_expired_chunk(chunk.pk):
            return False
        if chunk.lease_expires_at is None:
            raise ValueError(f"chunk {chunk.pk} has no lease")
        record(
            "chunk.released",
            subject=f"chunk:{chunk.pk}",
            by=by,
            site=chunk.site.site_id,
            logged=chunk.log_facts(),
            **chunk.batch.entry_facts(),
            detail={
                "lease_owner": chunk.lease_owner,
                "expired": write_time(chunk.lease_expires_at),
            },
        )
        transaction.on_commit(partial(wakeup.wake_worker, chunk.batch.reference))
    return True


def _prune_finished_stages() -> None:
    """Remove what is left of finished stages, at most once in PRUNE_INTERVAL_SECONDS."""
    if time.monotonic() >= _next_prune_at[0]:
        _next_prune_at[0] = time.monotonic() + PRUNE_INTERVAL_SECONDS
        finished_stages.prune()


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
