"""Serves the dashboard `/admin/ops/`, which updates itself every ten seconds.

Each number links to the list that it counts. The number of queries does not depend on the number of
documents.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.conf import settings
from django.core.checks import run_checks
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django_q.models import Failure

from audit.signing import anchors
from audit.verification import runs
from audit.verification.ledger_status import get_current_verdict, get_ledger_status
from ingestion.core.states import ChunkState
from ingestion.dispatch.processes import host_heartbeat
from ingestion.models import AlarmRow, Chunk, Document, WorkerHost
from ingestion.operations import (
    alarms,
    metrics,
    stuck,
    throughput,
    work_status,
)
from ingestion.rules.finding_texts import get_short_text, label_attribute_values
from ingestion.storage import disk_space
from web.operations import portals
from web.permissions import VIEW_OPERATIONS
from web.shell import charts
from web.shell.access import READ, SignedIn, restrict_page
from web.shell.charts import AreaChart, ChartSeries, ColumnChart

POLL_MILLISECONDS = 10_000
REASONS_PERIOD = metrics.OWNERS_PERIOD


@dataclass(frozen=True, slots=True)
class WorkerHosts:
    """The worker hosts of the last 24 hours, each with whether it still sends heartbeats."""

    all: Sequence[tuple[WorkerHost, bool]]

    @property
    def alive(self) -> list[WorkerHost]:
        """Return the hosts that still send heartbeats."""
        return [host for host, is_alive in self.all if is_alive]

    @property
    def at_work(self) -> int:
        """Return the number of workers that are busy, on the hosts that are alive."""
        return sum(host.at_work for host in self.alive)

    @property
    def workers(self) -> int:
        """Return the number of workers on the hosts that are alive."""
        return sum(host.workers for host in self.alive)

    @property
    def max_chunks(self) -> int:
        """Return how many chunks all shifts hold at a time, without the urgent chunks."""
        return self.workers * int(settings.SHIFT_MAX_CHUNKS)

    @property
    def last_seen(self) -> datetime | None:
        """Return the time of the last heartbeat of any host, or None."""
        return max((host.seen_at for host, _ in self.all), default=None)


@restrict_page(READ, permission=VIEW_OPERATIONS)
def dashboard(request: SignedIn) -> HttpResponse:
    """Show the dashboard. With `X-Fragment`, return only the part that updates itself."""
    is_fragment = bool(request.headers.get("X-Fragment"))
    now, unsettled = timezone.now(), Document.objects.unsettled().count()
    context = {
        "poll": POLL_MILLISECONDS,
        "now": now,
        **_count_work(now, unsettled),
        "verdict": get_current_verdict(),
        "ledger_status": get_ledger_status(),
        "last_verification": next(iter(runs.list_latest_runs(1)), None),
        "unanchored": anchors.list_unanchored(),
        **_get_portals_and_machines(),
        **_build_charts(now, unsettled),
    }
    if is_fragment:
        return render(request, "ops/_live.html", context)
    # The checks run only for the whole page: settings do not change while it is open.
    checks = run_checks(databases=["default"])
    context["checks"] = [check for check in checks if not check.is_silenced()]
    return render(request, "ops/dashboard.html", context)


def _count_work(now: datetime, unsettled: int) -> dict[str, Any]:
    """Return the numbers of documents, chunks and failures, and the alarms.

    `unsettled` is the number of documents that workers have not finished.
    """
    in_progress = Document.objects.unsettled().filter(chunk__state=ChunkState.RUNNING).count()
    filed, rejected = throughput.count_today(now)
    # An alarm that no worker host has noticed yet has no start.
    alarm_starts = dict(AlarmRow.objects.filter(over_at=None).values_list("key", "began_at"))
    return {
        "waiting": unsettled - in_progress,
        "oldest_due_seconds": work_status.get_oldest_due_seconds(),
        "in_progress": in_progress,
        "running_chunks": Chunk.objects.running().count(),
        "filed": filed,
        "rejected_percent": metrics.compute_percentage(rejected, filed + rejected),
        "stuck": stuck.count_stuck(now),
        "failed_tasks": Failure.objects.filter(success=False).count(),
        "alarms": [(alarm, alarm_starts.get(alarm.key)) for alarm in alarms.find_alarms().alarms],
    }


def _get_portals_and_machines() -> dict[str, Any]:
    portal_lines = portals.list_busy_portals()
    folder_labels = {"archive": _("Archive folder"), "spool": _("Spool folder")}
    return {
        "portals": portal_lines[: portals.MAX_PORTALS_SHOWN],
        "portals_not_shown": max(0, len(portal_lines) - portals.MAX_PORTALS_SHOWN),
        "portals_at_limit": [line for line in portal_lines if line.is_at_limit and line.waiting],
        "hosts": WorkerHosts(
            [(host, host_heartbeat.is_host_alive(host)) for host in host_heartbeat.list_hosts()]
        ),
        "disks": [
            (
                folder_labels[name],
                disk_space.get_free_percent(path),
                disk_space.get_free_bytes(path),
            )
            for name, path in disk_space.list_folders().items()
        ],
    }


def _build_charts(now: datetime, unsettled: int) -> dict[str, Any]:
    hours = throughput.count_by_hour(now)
    filed, rejected = sum(hour.filed for hour in hours), sum(hour.rejected for hour in hours)
    hours_chart = ColumnChart(
        key="hours",
        title=_("Documents per hour, last 24 hours"),
        description=_("Filed: {filed}. Rejected: {rejected}. The table shows each hour.").format(
            filed=f"{filed:,}", rejected=f"{rejected:,}"
        ),
        labels=[f"{hour.began:%H:%M}" for hour in hours],
        series=[
            ChartSeries(_("Filed"), "c1", [hour.filed for hour in hours]),
            ChartSeries(_("Rejected"), "c2", [hour.rejected for hour in hours]),
        ],
    )
    depths = throughput.compute_queue_depth(now, unsettled)
    time_of_maximum, maximum = max(depths, key=lambda point: point[1])
    depth_chart = AreaChart(
        key="depth",
        title=_("Documents waiting or in progress, last 60 minutes"),
        description=_("Now: {now}. Maximum: {maximum} at {time} UTC.").format(
            now=f"{unsettled:,}", maximum=f"{maximum:,}", time=f"{time_of_maximum:%H:%M}"
        ),
        labels=[f"{time:%H:%M}" for time, _depth in depths],
        values=[depth for _time, depth in depths],
    )
    codes = metrics.count_rejections_by_code(Document.objects.all(), now - REASONS_PERIOD)
    documents_url = reverse("admin:ingestion_document_changelist")
    rows = [
        (get_short_text(code), number, f"{documents_url}?code={code}")
        for code, number in codes.items()
    ]
    owners = metrics.count_unfiled_by_owner(Document.objects.all(), now - REASONS_PERIOD)
    owner_labels = label_attribute_values("owner")
    owner_rows = [
        (owner_labels[owner], number, f"{documents_url}?owner={owner}")
        for owner, number in owners.items()
    ]
    return {
        "hours_chart": hours_chart,
        "depth_chart": depth_chart,
        "rejection_bars": charts.build_bars(rows, "c2"),
        "owner_bars": charts.build_bars(owner_rows, "c2") if any(owners.values()) else [],
    }
