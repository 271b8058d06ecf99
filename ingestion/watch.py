"""Where a batch and the whole installation stand: read-only answers for commands and pages."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, Min, Q, QuerySet
from django.utils import timezone

from audit import history
from ingestion.core.states import SETTLED, BatchState, ChunkState, DocumentState
from ingestion.models import Batch, Chunk, Document, PortalGate
from sites.models import Site


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

    @property
    def percentage(self) -> int:
        return 100 * self.settled // self.total if self.total else 100

    @property
    def step(self) -> str:
        return self.state.replace("_", " ").lower()

    @property
    def estimated_seconds_remaining(self) -> int | None:
        return None

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


def wait_until_final(batch: Batch, seconds: float) -> Progress:
    """The last look at the batch's row: when it is final, or `seconds` from now."""
    until = time.monotonic() + seconds
    while not (now := progress(batch)).is_final and time.monotonic() < until:
        time.sleep(0.2)
    return now


def work_is_left_lying() -> bool:
    """Something is due or orphaned, and no shift holds an unexpired lease."""
    now = timezone.now()
    if Chunk.objects.filter(state=ChunkState.RUNNING, lease_expires_at__gt=now).exists():
        return False
    return Chunk.objects.due(now).exists() or Chunk.objects.orphaned(now).exists()


def oldest_due_seconds() -> float:
    """For how long the oldest due chunk has been waiting for a worker; 0 when none is due."""
    now = timezone.now()
    since = Chunk.objects.due(now).order_by().aggregate(Min("next_dispatch_at"))
    oldest = since["next_dispatch_at__min"]
    return (now - oldest).total_seconds() if oldest else 0.0


def status() -> dict[str, Any]:
    """Queue depth, what is in flight, and how long the oldest has waited."""
    waiting = Chunk.objects.filter(state=ChunkState.WAITING)
    unsettled = Document.objects.unsettled().filter(chunk__isnull=False)
    oldest = unsettled.aggregate(Min("received_at"))["received_at__min"]
    running = Chunk.objects.filter(state=ChunkState.RUNNING)
    entries, head = history.head() or (0, "")
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
        "portals_down": [
            f"{gate.portal} ({gate.breaker}, next probe {gate.next_probe_at:%Y-%m-%d %H:%M:%S} UTC)"
            for gate in PortalGate.objects.shut().select_related("portal")
        ],
        "portal_use": portal_use(),
        "held": Document.objects.filter(state=DocumentState.HELD).count(),
        "batches_open": Batch.objects.filter(
            ~Q(state__in=[state for state in BatchState if state.is_final])
        ).count(),
        "ledger_entries": entries,
        "ledger_head": head,
    }


def portal_use() -> dict[str, float]:
    """How much of what each portal allows is spent: 1.0 and more is as fast as it may be asked.

    Portals that nobody asks just now are left out.
    """
    now = time.time()
    use = {}
    for gate in PortalGate.objects.filter(tat__gt=now * 1e6).select_related("portal"):
        portal = gate.portal
        spent = (gate.tat / 1e6 - now) * portal.rate_per_second
        use[portal.key] = round(spent / portal.burst, 2)
    return use


def silent(sites: "QuerySet[Site]") -> "QuerySet[Site]":
    """Those whose portal does not answer just now: their documents had better be uploaded."""
    return sites.filter(portal__gate__in=PortalGate.objects.shut())


def _owners(running: Any) -> list[str]:
    return list(running.values_list("lease_owner", flat=True))


def _age(since: datetime) -> timedelta:
    return timezone.now() - since
