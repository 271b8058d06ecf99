"""Recovers from workers that died: makes their chunks due again, and removes their spool folders.

Every host does it when it starts and in each tick, and so does `manage.py recover`. Any number of
processes may do it at the same time: a conditional UPDATE frees each chunk, and a folder is removed
once. An operator may release a single chunk if no host runs, and the ledger records that.
"""

from dataclasses import dataclass

from django.db import transaction

from audit.ledger.log import ledger, record, write_time
from ingestion.dispatch import leases, wakeup
from ingestion.documents.transitions import Actor
from ingestion.models import Chunk
from ingestion.storage import spool


@dataclass(frozen=True, slots=True)
class RecoveryResult:
    """Counts what was recovered. It is true if anything was."""

    chunks: int  # of silent workers; their folders were removed too
    folders: int  # left by leases that had ended in another way

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
    """Make the chunks of silent workers due again, and remove folders that belong to no lease."""
    return RecoveryResult(chunks=leases.recover_expired(), folders=_remove_leftover_folders())


def release_lease(chunk: Chunk, *, by: Actor) -> bool:
    """End an expired lease. Returns False if it was renewed or returned meanwhile."""
    with ledger():
        if not leases.recover_expired_chunk(chunk.pk):
            return False
        if chunk.lease_expires_at is None:
            raise ValueError(f"chunk {chunk.pk} has no lease")
        record(
            "chunk.released",
            subject=f"chunk:{chunk.pk}",
            n=chunk.attempts,  # each lease adds one
            site=chunk.site.site_id,
            correlation_id=chunk.batch.reference,
            actor=by.actor,
            role=by.role,
            detail={
                "lease_owner": chunk.lease_owner,
                "expired": write_time(chunk.lease_expires_at),
            },
        )
        transaction.on_commit(wakeup.wake_worker)
    return True


def _remove_leftover_folders() -> int:
    """Remove folders of workers that were killed after their lease had ended in another way.

    A folder is created after its lease, so a listed folder without a lease has no owner.
    """
    existing = set(spool.list_attempts())
    held = Chunk.objects.filter(lease_id__in=existing).values_list("lease_id", flat=True)
    leftovers = existing.difference(held) if existing else set()
    for lease in leftovers:
        spool.drop_attempt(lease)
    return len(leftovers)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
