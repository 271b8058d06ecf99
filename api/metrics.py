"""`/metrics` for Prometheus, counted from the rows when it is asked.

Nothing is counted in memory: there are several processes, and each is forgotten when it ends.
"""

from collections.abc import Iterable, Iterator
from ipaddress import ip_address
from typing import Any

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.db.models import Count, QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector

from api import problems
from api.auth import Bearer, missing
from api.problems import Problem
from audit.ledger import queries
from audit.verification.ledger_status import current_verdict
from ingestion.core.states import BatchState, ChunkState, DocumentState
from ingestion.dispatch.processes import host_heartbeat
from ingestion.models import Batch, Chunk, Document, PortalLimitState
from ingestion.operations import work_status
from ingestion.storage import disk_space
from sites.models import TokenScope


@login_not_required
@never_cache
@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    try:
        if not (_is_local(request) or Bearer(TokenScope.OPERATE)(request)):
            raise missing()
    except Problem as problem:
        return problems.answer(request, problem)
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Rows())
    return HttpResponse(generate_latest(registry), content_type=CONTENT_TYPE_LATEST)


def _is_local(request: HttpRequest) -> bool:
    """Asked from this very machine. Behind a proxy everybody seems to be, and nobody is."""
    forwarded = {"HTTP_X_FORWARDED_FOR", "HTTP_FORWARDED"} & set(request.META)
    if settings.BEHIND_PROXY or forwarded:
        return False
    try:
        return ip_address(request.META.get("REMOTE_ADDR", "")).is_loopback
    except ValueError:  # a UNIX socket has no address
        return False


class _Rows(Collector):
    def collect(self) -> Iterator[Metric]:
        yield _by_state("documents", "Documents by state.", DocumentState, Document.objects.all())
        yield _by_state("batches", "Batches by state.", BatchState, Batch.objects.all())
        yield _by_state("chunks", "Chunks by state.", ChunkState, Chunk.objects.all())
        yield _held()
        yield _gauge(
            "oldest_due_seconds",
            "How long the oldest due chunk has been waiting for a worker.",
            work_status.get_oldest_due_seconds(),
        )
        yield _gauge(
            "portals_down",
            "Portals that are only probed now and then.",
            PortalLimitState.objects.down().count(),
        )
        entries, _ = queries.last_entry() or (0, "")
        yield CounterMetricFamily(
            "siteledger_ledger_entries", "Entries of the ledger.", value=float(entries)
        )
        verdict = current_verdict()
        yield _gauge(
            "ledger_verdict",
            "The ledger's verdict, as verify_audit's exit code: 0 intact and vouched for from "
            "outside, 1 broken, 2 never checked, 3 consistent by this installation's own word.",
            verdict.exit_code,
        )
        yield _gauge(
            "ledger_vouched_entries",
            "Entries that an independent anchor vouches for, as last read back.",
            verdict.vouched_to,
        )
        yield _free()
        yield _silence()


def _gauge(name: str, said: str, value: float) -> Metric:
    return GaugeMetricFamily(f"siteledger_{name}", said, value=float(value))


def _by_state(name: str, said: str, states: Iterable[str], rows: "QuerySet[Any]") -> Metric:
    counts = dict(rows.order_by().values_list("state").annotate(Count("pk")))
    family = GaugeMetricFamily(f"siteledger_{name}", said, labels=["state"])
    for state in states:
        family.add_metric([str(state)], counts.get(str(state), 0))
    return family


def _held() -> Metric:
    held = Document.objects.held().order_by("code")
    family = GaugeMetricFamily("siteledger_held", "Held documents by code.", labels=["code"])
    for code, count in held.values_list("code").annotate(Count("pk")):
        family.add_metric([code], count)
    return family


def _free() -> Metric:
    said = "Bytes left on the disk of each folder."
    family = GaugeMetricFamily("siteledger_disk_free_bytes", said, labels=["folder"])
    for folder, setting in disk_space.list_folders().items():
        family.add_metric([folder], disk_space.get_free_bytes(setting))
    return family


def _silence() -> Metric:
    """Without a host ever there is no number: an alert on its absence is the right one."""
    said = "How long ago any worker host gave a sign."
    family = GaugeMetricFamily("siteledger_worker_silent_seconds", said)
    if seen := host_heartbeat.last_heartbeat_at():
        family.add_metric([], (timezone.now() - seen).total_seconds())
    return family
