"""The sweep after workers that died: their chunks are due again, their folders go.

At the start of every host and at its every tick, and by `manage.py recover`. Any number may sweep
at once: each chunk is freed by one conditional UPDATE, and a folder can only go once. A person may
release a single one where no host lives, and that is on record.
"""

from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from audit.ledger.log import ledger, record, written
from ingestion.dispatch import leases, wakeup
from ingestion.documents.transitions import By
from ingestion.models import Chunk
from ingestion.storage import spool


@dataclass(frozen=True, slots=True)
class RecoveryResult:
    chunks: int  # of workers that fell silent; their folders go with them
    folders: int  # left over from leases that ended in another way

    def __bool__(self) -> bool:
        return bool(self.chunks or self.folders)

    def __str__(self) -> str:
        if not self:
            return "Nothing to recover: no worker fell silent, and no spool folder was left over."
        return (
            f"Made {_several(self.chunks, 'chunk')} of silent workers due again and removed "
            f"{_several(self.folders, 'spool folder')} that nobody holds."
        )


def recover_orphans() -> RecoveryResult:
    return RecoveryResult(chunks=leases.recover_expired(), folders=_drop_leftovers())


def release_lease(chunk: Chunk, *, by: By) -> bool:
    """Take a lease away that nobody renews. False: it is renewed, or given back, meanwhile."""
    with ledger():
        if not leases.recover_expired_chunk(chunk.pk):
            return False
        record(
            "chunk.released",
            subject=f"chunk:{chunk.pk}",
            n=chunk.attempts,  # each lease is one more
            site=chunk.site.site_id,
            correlation_id=chunk.batch.reference,
            actor=by.actor,
            role=by.role,
            detail={"lease_owner": chunk.lease_owner, "expired": written(_expiry(chunk))},
        )
        transaction.on_commit(wakeup.wake_worker)
    return True


def _expiry(chunk: Chunk) -> datetime:
    if chunk.lease_expires_at is None:
        raise ValueError(f"nobody has a lease of chunk {chunk.pk}")
    return chunk.lease_expires_at


def _drop_leftovers() -> int:
    """Folders of workers that were killed after their lease had ended in some other way.

    A folder is made after its lease, so that what is listed and not held has no owner any more.
    """
    there = set(spool.attempts())
    held = Chunk.objects.filter(lease_id__in=there).values_list("lease_id", flat=True)
    leftovers = there.difference(held) if there else set()
    for lease in leftovers:
        spool.drop_attempt(lease)
    return len(leftovers)


def _several(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
