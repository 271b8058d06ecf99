"""Where a batch and the whole installation stand: read-only answers for commands and pages."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, Min, Q
from django.utils import timezone

from audit import history
from ingestion.core.states import SETTLED, BatchState, ChunkState, DocumentState
from ingestion.models import Batch, Chunk, Document, PortalGate


@dataclass(frozen=True, slots=True)
class Progress:
    """`settled` of `total` documents are out of the machine's hands."""

    batch: str
    state: BatchState
    total: int
    states: dict[str, int]
    codes: dict[str, int]
    seconds: float  # since it was submitted, until it was finished

    @property
    def settled(self) -> int:
        return sum(n for name, n in self.states.items() if DocumentState(name) in SETTLED)

    @property
    def is_final(self) -> bool:
        return self.state.is_final

    def as_json(self) -> dict[str, Any]:
        """The object that `ingest_manifest --json` prints; scripts rely on it."""
        return {
            "batch": self.batch,
            "status": str(self.state),
            "documents": self.total,
            "states": self.states,
            "codes": self.codes,
            "seconds": round(self.seconds, 3),
        }


def progress(batch: Batch) -> Progress:
    batch.refresh_from_db()
    states = {str(state): n for state, n in sorted(batch.counts().items())}
    codes = dict(
        batch.documents.exclude(code="").order_by("code").values_list("code").annotate(Count("pk"))
    )
    until = batch.finished_at or timezone.now()
    return Progress(
        batch=batch.reference,
        state=BatchState(batch.state),
        total=sum(states.values()),
        states=states,
        codes=codes,
        seconds=(until - batch.created_at).total_seconds(),
    )


def until_final(
    batch: Batch, *, poll_seconds: float = 0.5, sleep: Callable[[float], None] = time.sleep
) -> Iterator[Progress]:
    """Look at the row until the batch is final. Only looks: it can never touch the work."""
    while True:
        now = progress(batch)
        yield now
        if now.is_final:
            return
        sleep(poll_seconds)


def a_worker_is_alive() -> bool:
    """Some shift holds an unexpired lease."""
    return Chunk.objects.filter(
        state=ChunkState.RUNNING, lease_expires_at__gt=timezone.now()
    ).exists()


def status() -> dict[str, Any]:
    """Queue depth, what is in flight, and how long the oldest has waited."""
    waiting = Chunk.objects.filter(state=ChunkState.WAITING)
    unsettled = Document.objects.unsettled().filter(chunk__isnull=False)
    oldest = unsettled.aggregate(Min("received_at"))["received_at__min"]
    running = Chunk.objects.filter(state=ChunkState.RUNNING)
    entries, head = history.head() or (0, "")
    gates, now = PortalGate.objects.select_related("portal"), time.time() * 1e6
    return {
        "chunks_waiting": waiting.count(),
        "chunks_running": running.count(),
        "chunks_orphaned": running.filter(lease_expires_at__lt=timezone.now()).count(),
        "documents_unsettled": unsettled.count(),
        "oldest_waiting_seconds": round(_age(oldest).total_seconds(), 1) if oldest else 0,
        "workers": sorted({owner.rsplit(":", 1)[0] for owner in _owners(running)}),
        "documents": {
            str(state): n
            for state, n in Document.objects.order_by("state")
            .values_list("state")
            .annotate(Count("pk"))
        },
        "held": Document.objects.filter(state=DocumentState.HELD).count(),
        "batches_open": Batch.objects.filter(
            ~Q(state__in=[state for state in BatchState if state.is_final])
        ).count(),
        "portals_not_answering": {
            gate.portal.key: f"asked again at {gate.next_probe_at:%H:%M:%S} UTC"
            for gate in gates.shut()
        },
        "portals_at_their_limit": sorted(
            gate.portal.key for gate in gates.filter(tat__gt=now).exclude(pk__in=gates.shut())
        ),
        "ledger_entries": entries,
        "ledger_head": head,
    }


def _owners(running: Any) -> list[str]:
    return list(running.values_list("lease_owner", flat=True))


def _age(since: datetime) -> timedelta:
    return timezone.now() - since
