"""Lists portals for the dashboard: the used share of their request limit, and their state."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Q
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from ingestion.core.breaker import BreakerState
from ingestion.documents import portal_sources
from ingestion.models import Document, PortalLimitState
from sites.models import Portal
from web.shell.charts import Bar

MAX_PORTALS_SHOWN = 12  # in the table: portals that do not respond, then the busiest ones
MAX_SITES_NAMED = 3  # in the row of one portal


@dataclass(frozen=True, slots=True)
class PortalLine:
    """One portal in the table of the dashboard."""

    portal: Portal
    sites: str  # the numbers of its sites
    used: float  # the used share of the request limit; 1.0 means that the limit is reached
    waiting: int  # documents
    is_down: bool = False
    next_probe_at: datetime | None = None  # of a portal that is down; None: with the next document
    fallback: str = ""  # key of the mirror that is asked in the meantime; "": people upload

    @property
    def is_at_limit(self) -> bool:
        """Return whether the portal receives as many requests as its limit permits."""
        return self.used >= 1.0

    @property
    def bar(self) -> Bar:
        """Return a bar of the used share of the limit, in per cent."""
        filled = max(1 if self.used > 0 else 0, min(100, round(100 * self.used)))
        at_limit = _("{percent}%, limit reached").format(percent=filled)
        text = at_limit if self.is_at_limit else f"{filled}%"
        return Bar(self.sites, filled, text, "c3" if self.is_at_limit else "c1")


def list_busy_portals() -> list[PortalLine]:
    """Return the portals that receive requests or do not respond.

    Three queries, and two more if a portal does not respond.

    Portals that do not respond come first, then those closest to their request limit.
    """
    now = time.time()
    is_busy = Q(tat__gt=now * 1e6) | ~Q(breaker=BreakerState.CLOSED)
    rows = PortalLimitState.objects.filter(is_busy).select_related("portal__mirror_of")
    limit_states = list(rows.prefetch_related("portal__sites"))
    portals = [limit_state.portal_id for limit_state in limit_states]
    documents = Document.objects.unsettled().exclude(url="").filter(site__portal__in=portals)
    waiting = dict(documents.order_by().values_list("site__portal").annotate(Count("pk")))
    down = [row.portal_id for row in limit_states if row.breaker != BreakerState.CLOSED]
    active = portal_sources.find_active_mirrors(down)
    lines = [
        _build_line(limit_state, waiting, active.get(limit_state.portal_id), now)
        for limit_state in limit_states
    ]
    return sorted(lines, key=lambda line: (not line.is_down, -line.used))


def _build_line(
    limit_state: PortalLimitState, waiting: Mapping[int, int], mirror: Portal | None, now: float
) -> PortalLine:
    portal = limit_state.portal
    numbers = [site.site_id for site in portal.sites.all()]
    named, others = ", ".join(numbers[:MAX_SITES_NAMED]), len(numbers) - MAX_SITES_NAMED
    if others > 0:
        more = ngettext("{sites} and {n} more", "{sites} and {n} more", others)
        named = more.format(sites=named, n=others)
    is_down = limit_state.breaker != BreakerState.CLOSED
    return PortalLine(
        portal=portal,
        sites=named,
        used=limit_state.used(now),
        waiting=waiting.get(portal.pk, 0),
        is_down=is_down,
        next_probe_at=portal_sources.find_coming_probe(limit_state) if is_down else None,
        fallback=mirror.key if mirror else "",
    )
