"""Serves `/metrics` for Prometheus, counted from the rows of the database at each scrape.

Nothing is counted in memory, because there are several processes, and a counter in memory would be
lost when its process ends.
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

from api.http.auth import Bearer, report_missing_token
from api.http.problems import Problem, make_problem_response
from audit.ledger import queries
from audit.verification.ledger_status import get_current_verdict
from ingestion.core.states import BatchState, ChunkState, DocumentState
from ingestion.dispatch import demand
from ingestion.dispatch.processes import host_heartbeat
from ingestion.models import Batch, Chunk, Document, PortalLimitState
from ingestion.operations import scaling, work_status
from ingestion.operations.metrics import OWNERS_PERIOD, count_unfiled_by_owner
from ingestion.rules.codes import CODES
from ingestion.storage import disk_space
from sites.models import TokenScope


@login_not_required
@never_cache
@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """Respond to requests from this machine, and to tokens with the scope `operate`."""
    try:
        if not (_is_local(request) or Bearer(TokenScope.OPERATE)(request)):
            raise report_missing_token()
    except Problem as problem:
        return make_problem_response(request, problem)
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_DatabaseCollector())
    return HttpResponse(generate_latest(registry), content_type=CONTENT_TYPE_LATEST)


def _is_local(request: HttpRequest) -> bool:
    """Return whether the request comes from this machine.

    Behind a proxy all requests have a local address, so none counts as local there.
    """
    forwarded = {"HTTP_X_FORWARDED_FOR", "HTTP_FORWARDED"} & set(request.META)
    if settings.BEHIND_PROXY or forwarded:
        return False
    try:
        return ip_address(request.META.get("REMOTE_ADDR", "")).is_loopback
    except ValueError:  # a UNIX socket has no address
        return False


class _DatabaseCollector(Collector):
    def collect(self) -> Iterator[Metric]:
        yield _count_by_state(
            "documents", "Documents by state.", DocumentState, Document.objects.all()
        )
        yield _count_by_state("batches", "Batches by state.", BatchState, Batch.objects.all())
        yield _count_by_state("chunks", "Chunks by state.", ChunkState, Chunk.objects.all())
        yield from _count_by_code()
        yield _gauge(
            "oldest_due_seconds",
            "How long the oldest due chunk has been waiting for a worker.",
            work_status.get_oldest_due_seconds(),
        )
        yield _gauge(
            "backlog_age_seconds",
            "How long the oldest chunk has been due that a worker could claim at once.",
            demand.get_oldest_claimable_seconds(),
        )
        yield from _measure_hosts()
        yield _gauge(
            "portals_down",
            "Portals whose circuit breaker is open, so that they are only probed.",
            PortalLimitState.objects.down().count(),
        )
        entries, _ = queries.get_last_entry() or (0, "")
        yield CounterMetricFamily(
            "siteledger_ledger_entries", "Entries of the ledger.", value=float(entries)
        )
        verdict = get_current_verdict()
        yield _gauge(
            "ledger_verdict",
            "The verdict about the ledger, as the exit code of verify_audit: 0 intact and "
            "confirmed by an independent anchor, 1 broken, 2 never verified, 3 consistent, but "
            "not confirmed independently.",
            verdict.exit_code,
        )
        yield _gauge(
            "ledger_vouched_entries",
            "Entries that an independent anchor confirmed in the last verification.",
            verdict.vouched_to,
        )
        disk_free = GaugeMetricFamily(
            "siteledger_disk_free_bytes",
            "Free bytes on the disk of each folder.",
            labels=["folder"],
        )
        for folder, setting in disk_space.list_folders().items():
            disk_free.add_metric([folder], disk_space.get_free_bytes(setting))
        yield disk_free
        # No sample without a heartbeat: alert on the absence of the metric as well.
        worker_silence = GaugeMetricFamily(
            "siteledger_worker_silent_seconds", "Seconds since the last worker host heartbeat."
        )
        if heartbeat_at := host_heartbeat.get_last_heartbeat_at():
            worker_silence.add_metric([], (timezone.now() - heartbeat_at).total_seconds())
        yield worker_silence


def _measure_hosts() -> Iterator[Metric]:
    loads = host_heartbeat.list_loads()
    yield _gauge("hosts", "Worker hosts with a current heartbeat.", len(loads))
    yield _gauge("workers", "Workers of these hosts.", sum(host.workers for host in loads))
    yield _gauge("busy_workers", "Workers with a task.", sum(host.busy for host in loads))
    yield _gauge(
        "wanted_hosts",
        "Worker hosts that the load needs, for autoscalers such as KEDA.",
        scaling.get_wanted_hosts(),
    )


def _gauge(name: str, help_text: str, value: float) -> Metric:
    return GaugeMetricFamily(f"siteledger_{name}", help_text, value=float(value))


def _count_by_code() -> Iterator[Metric]:
    """Yield the held documents by code, and the documents that were not filed by owner."""
    held = GaugeMetricFamily(
        "siteledger_held",
        "Held documents by code, with the attributes of the code.",
        labels=["code", "category", "severity", "owner", "retryable"],
    )
    held_by_code = Document.objects.held().order_by("code").values_list("code")
    for code, count in held_by_code.annotate(Count("pk")):
        held.add_metric([code, *_label_code(code)], count)
    yield held
    unfiled = GaugeMetricFamily(
        "siteledger_unfiled_documents",
        "Documents that were not filed by the last decision of the last 7 days, by owner.",
        labels=["owner"],
    )
    since = timezone.now() - OWNERS_PERIOD
    for owner, count in count_unfiled_by_owner(Document.objects.all(), since).items():
        unfiled.add_metric([owner], count)
    yield unfiled


def _label_code(code: str) -> list[str]:
    """Return the labels for the attributes of a code. A code without a registration has none."""
    entry = CODES.get(code)
    if entry is None:
        return [""] * 4
    return [entry.category, entry.severity, entry.owner, str(entry.is_retryable).lower()]


def _count_by_state(
    name: str, help_text: str, states: Iterable[str], rows: "QuerySet[Any]"
) -> Metric:
    """Return a gauge with a sample for each state, also for those without rows."""
    counts = dict(rows.order_by().values_list("state").annotate(Count("pk")))
    family = GaugeMetricFamily(f"siteledger_{name}", help_text, labels=["state"])
    for state in states:
        family.add_metric([str(state)], counts.get(str(state), 0))
    return family
