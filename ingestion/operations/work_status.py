"""Reports the status of the installation to commands, pages and programs. It only reads."""

import time
from datetime import datetime
from typing import Any

from django.db.models import Count, Min
from django.utils import timezone

from audit import trail_reviews
from audit.ledger import queries
from audit.verification.ledger_status import get_status_figures
from ingestion.documents import portal_sources
from ingestion.documents.stuck_sites import find_stuck_sites
from ingestion.models import Batch, Chunk, Document, PortalLimitState


def is_work_unattended() -> bool:
    """Return whether work is due or orphaned while no shift holds an unexpired lease."""
    now = timezone.now()
    if Chunk.objects.running().filter(lease_expires_at__gt=now).exists():
        return False
    return Chunk.objects.due(now).exists() or Chunk.objects.orphaned(now).exists()


def get_oldest_due_seconds() -> float:
    """Return how long the oldest due chunk has waited for a worker, in seconds. 0: none is due."""
    now = timezone.now()
    since = Chunk.objects.due(now).order_by().aggregate(Min("next_dispatch_at"))
    oldest: datetime | None = since["next_dispatch_at__min"]
    return _seconds_since(oldest)


def get_status() -> dict[str, Any]:
    """Return the figures of `manage.py status`: queues, active work, and the ledger."""
    waiting = Chunk.objects.waiting()
    unsettled = Document.objects.unsettled().filter(chunk__isnull=False)
    oldest = unsettled.aggregate(Min("received_at"))["received_at__min"]
    running = Chunk.objects.running()
    owners = list(running.values_list("lease_owner", flat=True))
    entries, head = queries.get_last_entry() or (0, "")
    review = trail_reviews.compute_review_due()
    return {
        "chunks_waiting": waiting.count(),
        "chunks_running": running.count(),
        "chunks_orphaned": running.filter(lease_expires_at__lt=timezone.now()).count(),
        "documents_unsettled": unsettled.count(),
        "oldest_waiting_seconds": round(_seconds_since(oldest), 1) if oldest else 0,
        "workers": sorted({owner.rsplit(":", 1)[0] for owner in owners}),
        "documents": {
            str(state): n
            for state, n in Document.objects.order_by("state")
            .values_list("state")
            .annotate(Count("pk"))
        },
        "portals_down": [
            f"{row.portal} ({row.breaker}, {_describe_probe(row)})"
            for row in PortalLimitState.objects.down().select_related("portal")
        ],
        "stuck_sites": [str(stuck) for stuck in find_stuck_sites(timezone.now())],
        "portal_use": get_portal_use(),
        "held": Document.objects.held().count(),
        "batches_open": Batch.objects.open().count(),
        "ledger_entries": entries,
        "ledger_head": head,
        **get_status_figures(),
        "ledger_review_due": f"{review.on}" if review.on else "",
        "ledger_review_overdue": review.is_overdue(timezone.now().date()),
    }


def _describe_probe(row: PortalLimitState) -> str:
    if next_probe_at := portal_sources.find_coming_probe(row):
        return f"next probe {next_probe_at:%Y-%m-%d %H:%M:%S} UTC"
    return "next probe with the next document"


def get_portal_use() -> dict[str, float]:
    """Return the used share of the rate limit of each portal that is in use now."""
    now = time.time()
    limit_states = PortalLimitState.objects.filter(tat__gt=now * 1e6).select_related("portal")
    return {limit_state.portal.key: round(limit_state.used(now), 2) for limit_state in limit_states}


def _seconds_since(moment: datetime | None) -> float:
    return (timezone.now() - moment).total_seconds() if moment else 0.0
