"""`/admin/ops/`: how the work stands, at a glance. The page renews itself every ten seconds.

Each number leads to what is behind it. As many queries for a hundred thousand documents as for ten.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.core.checks import run_checks
from django.db.models import Count
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django_q.models import Failure

from audit.signing import anchors
from audit.verification import runs
from audit.verification.ledger_status import current_verdict, ledger_status
from ingestion.core.states import ChunkState, DocumentState
from ingestion.dispatch.processes import host_heartbeat
from ingestion.models import AlarmRow, Chunk, Document, WorkerHost
from ingestion.operations import (
    alarms,
    metrics,
    stuck,
    throughput,
    work_status,
)
from ingestion.operations.alarms import Alarm
from ingestion.rules.finding_texts import reason
from ingestion.storage import disk_space
from web.operations import portals
from web.shell import charts
from web.shell.access import READ, SignedIn, page
from web.shell.charts import AreaChart, ChartSeries, ColumnChart

SEE, OPERATE = "ingestion.view_chunk", "ingestion.retry_document"
POLL_MILLISECONDS = 10_000
WEEK = timedelta(days=7)


@page(READ, permission=SEE)
def dashboard(request: SignedIn) -> HttpResponse:
    is_fragment = bool(request.headers.get("X-Fragment"))
    context = {"poll": POLL_MILLISECONDS, **_numbers(timezone.now())}
    if is_fragment:
        return render(request, "ops/_live.html", context)
    # Once for each page that is opened: what is set does not change while one looks.
    context["checks"] = [
        each for each in run_checks(databases=["default"]) if not each.is_silenced()
    ]
    return render(request, "ops/dashboard.html", context)


def _numbers(now: datetime) -> dict[str, Any]:
    states = _states()
    unsettled = sum(states.get(state, 0) for state in (_S.RECEIVED, _S.VALIDATING))
    lines = portals.list_busy_portals()
    return {
        "now": now,
        **_work(unsettled),
        **_today(now),
        **_ledger(),
        "alarms": _alarms(),
        "at_limit": [line for line in lines if line.is_at_limit and line.waiting],
        "portals": lines[: portals.MAX_PORTALS_SHOWN],
        "portals_left_out": max(0, len(lines) - portals.MAX_PORTALS_SHOWN),
        "hosts": _hosts(),
        "stuck": stuck.count_stuck(now),
        "failed": Failure.objects.filter(success=False).count(),
        "disks": _disks(),
        "hours": _hours(now),
        "depth": _depth(now, unsettled),
        "reasons": _reasons(now),
    }


_S = DocumentState


def _alarms() -> list[tuple[Alarm, datetime | None]]:
    """With the moment since when they ring; None: no worker host has noticed it yet."""
    began = dict(AlarmRow.objects.filter(over_at=None).values_list("key", "began_at"))
    return [(alarm, began.get(alarm.key)) for alarm in alarms.find_alarms().alarms]


def _states() -> dict[str, int]:
    rows = Document.objects.unsettled().order_by()
    return dict(rows.values_list("state").annotate(Count("pk")))


def _work(unsettled: int) -> dict[str, Any]:
    in_hand = Document.objects.unsettled().filter(chunk__state=ChunkState.RUNNING).count()
    return {
        "waiting": unsettled - in_hand,
        "oldest": work_status.get_oldest_due_seconds(),
        "in_hand": in_hand,
        "chunks": Chunk.objects.running().count(),
    }


def _today(now: datetime) -> dict[str, Any]:
    filed, rejected = throughput.count_today(now)
    return {"filed": filed, "rejected": metrics.compute_percentage(rejected, filed + rejected)}


def _ledger() -> dict[str, Any]:
    return {
        "verdict": current_verdict(),
        "standing": ledger_status(),
        "check": next(iter(runs.latest_runs(1)), None),
        "unanchored": anchors.list_unanchored(),
    }


@dataclass(frozen=True, slots=True)
class WorkerHosts:
    all: Sequence[tuple[WorkerHost, bool]]  # is it alive?

    @property
    def alive(self) -> list[WorkerHost]:
        return [host for host, is_alive in self.all if is_alive]

    @property
    def at_work(self) -> int:
        return sum(host.at_work for host in self.alive)

    @property
    def workers(self) -> int:
        return sum(host.workers for host in self.alive)

    @property
    def room(self) -> int:
        """Chunks that all their shifts together hold at a time, without the urgent ones."""
        return self.workers * int(settings.SHIFT_MAX_CHUNKS)

    @property
    def last_seen(self) -> datetime | None:
        return max((host.seen_at for host, _ in self.all), default=None)


def _hosts() -> WorkerHosts:
    return WorkerHosts(
        [(host, host_heartbeat.is_host_alive(host)) for host in host_heartbeat.list_hosts()]
    )


def _disks() -> list[tuple[str, int, int]]:
    """Return name, free space in percent and free bytes of each folder."""
    labels = {"archive": _("Archive folder"), "spool": _("Spool folder")}
    return [
        (labels[name], disk_space.get_free_percent(setting), disk_space.get_free_bytes(setting))
        for name, setting in disk_space.list_folders().items()
    ]


def _hours(now: datetime) -> ColumnChart:
    hours = throughput.count_by_hour(now)
    filed, rejected = sum(hour.filed for hour in hours), sum(hour.rejected for hour in hours)
    return ColumnChart(
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


def _depth(now: datetime, unsettled: int) -> AreaChart:
    points = throughput.compute_queue_depth(now, unsettled)
    at, most = max(points, key=lambda point: point[1])
    return AreaChart(
        key="depth",
        title=_("Documents waiting or in progress, last 60 minutes"),
        description=_("Now: {now}. Maximum: {most} at {time} UTC.").format(
            now=f"{unsettled:,}", most=f"{most:,}", time=f"{at:%H:%M}"
        ),
        labels=[f"{point[0]:%H:%M}" for point in points],
        values=[point[1] for point in points],
    )


def _reasons(now: datetime) -> list[charts.Bar]:
    codes = metrics.count_rejections_by_code(Document.objects.all(), now - WEEK)
    documents = reverse("admin:ingestion_document_changelist")
    rows = [(reason(code), n, f"{documents}?code={code}") for code, n in codes.items()]
    return charts.build_bars(rows, "c2")
