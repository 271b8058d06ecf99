"""Portals as operations see them: how much of their limit is spent, and who does not answer."""

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Q
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from ingestion.core.breaker import BreakerState
from ingestion.models import Document, PortalGate
from sites.models import Portal
from web.shell.charts import Bar

MOST = 12  # portals in the table: those that are nearest to their limit, or down
NAMED = 3  # sites of one portal that are named


@dataclass(frozen=True, slots=True)
class Line:
    portal: Portal
    sites: str  # their numbers
    used: float  # `PortalGate.used`
    waiting: int  # documents
    next_probe_at: datetime | None  # None: it answers

    @property
    def is_at_limit(self) -> bool:
        return self.used >= 1.0

    @property
    def bar(self) -> Bar:
        filled = max(1 if self.used > 0 else 0, min(100, round(100 * self.used)))
        at_limit = _("{percent}%, limit reached").format(percent=filled)
        text = at_limit if self.is_at_limit else f"{filled}%"
        return Bar(self.sites, filled, text, "c3" if self.is_at_limit else "c1")


def lines() -> list[Line]:
    """Those that are asked just now, or do not answer. Three queries."""
    now = time.time()
    busy = Q(tat__gt=now * 1e6) | ~Q(breaker=BreakerState.CLOSED)
    rows = PortalGate.objects.filter(busy).select_related("portal")
    gates = list(rows.prefetch_related("portal__sites"))
    waiting = _waiting([gate.portal_id for gate in gates])
    found = [_line(gate, waiting, now) for gate in gates]
    return sorted(found, key=lambda line: (line.next_probe_at is None, -line.used))


def _waiting(portals: Iterable[int]) -> Mapping[int, int]:
    rows = Document.objects.unsettled().exclude(url="").filter(site__portal__in=portals)
    return dict(rows.order_by().values_list("site__portal").annotate(Count("pk")))


def _line(gate: PortalGate, waiting: Mapping[int, int], now: float) -> Line:
    portal = gate.portal
    numbers = [site.site_id for site in portal.sites.all()]
    named, left_out = ", ".join(numbers[:NAMED]), len(numbers) - NAMED
    if left_out > 0:
        more = ngettext("{sites} and {n} more", "{sites} and {n} more", left_out)
        named = more.format(sites=named, n=left_out)
    is_down = gate.breaker != BreakerState.CLOSED
    return Line(
        portal=portal,
        sites=named,
        used=gate.used(now),
        waiting=waiting.get(portal.pk, 0),
        next_probe_at=gate.next_probe_at if is_down else None,
    )
