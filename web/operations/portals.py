"""Portals as operations see them: how much of their limit is spent, and who does not answer."""

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Q
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from ingestion.core.breaker import BreakerState
from ingestion.models import Document, PortalLimitState
from sites.models import Portal
from web.shell.charts import Bar

MAX_PORTALS_SHOWN = 12  # portals in the table: those that are nearest to their limit, or down
MAX_SITES_NAMED = 3  # sites of one portal that are named


@dataclass(frozen=True, slots=True)
class PortalLine:
    portal: Portal
    sites: str  # their numbers
    used: float  # `PortalLimitState.used`
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


def list_busy_portals() -> list[PortalLine]:
    """Those that are asked just now, or do not answer. Three queries."""
    now = time.time()
    busy = Q(tat__gt=now * 1e6) | ~Q(breaker=BreakerState.CLOSED)
    rows = PortalLimitState.objects.filter(busy).select_related("portal")
    limit_states = list(rows.prefetch_related("portal__sites"))
    waiting = _waiting([limit_state.portal_id for limit_state in limit_states])
    found = [_line(limit_state, waiting, now) for limit_state in limit_states]
    return sorted(found, key=lambda line: (line.next_probe_at is None, -line.used))


def _waiting(portals: Iterable[int]) -> Mapping[int, int]:
    rows = Document.objects.unsettled().exclude(url="").filter(site__portal__in=portals)
    return dict(rows.order_by().values_list("site__portal").annotate(Count("pk")))


def _line(limit_state: PortalLimitState, waiting: Mapping[int, int], now: float) -> PortalLine:
    portal = limit_state.portal
    numbers = [site.site_id for site in portal.sites.all()]
    named, left_out = ", ".join(numbers[:MAX_SITES_NAMED]), len(numbers) - MAX_SITES_NAMED
    if left_out > 0:
        more = ngettext("{sites} and {n} more", "{sites} and {n} more", left_out)
        named = more.format(sites=named, n=left_out)
    is_down = limit_state.breaker != BreakerState.CLOSED
    return PortalLine(
        portal=portal,
        sites=named,
        used=limit_state.used(now),
        waiting=waiting.get(portal.pk, 0),
        next_probe_at=limit_state.next_probe_at if is_down else None,
    )
