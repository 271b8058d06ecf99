"""Selects the source of a site's documents: its portal, one of its mirrors, or uploads by people.

The sources of a site have an order: the portal, its mirrors, and manual upload. A mirror is a
portal of its own, with an address that a second person approved, a secret, a rate limit and a
circuit breaker; `Portal.mirror_of` names the portal whose documents it has. The first source whose
breaker is closed is asked. A source whose breaker is open is asked again when its next probe is
due, so the first one is used again as soon as it responds.

The breakers are moved by `dispatch.portal_limit_rows`, which records each change of the source.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from itertools import chain
from urllib.parse import urlsplit

from django.db.models import Q, QuerySet
from django.utils import timezone

from audit.ledger import queries
from ingestion.core.breaker import BreakerState
from ingestion.models import PortalLimitState
from sites.models import Portal, Site
from sites.portal_origin import parse_origin

UPLOAD = "upload"  # in place of the key of a portal
SOURCE_CHANGED = "portal.source_changed"  # the event, whose detail has the keys `from` and `to`


class SiteSourceKind(StrEnum):
    """Lists where the documents of a site come from at the moment."""

    PORTAL = "portal"
    MIRROR = "mirror"
    UPLOAD = "upload"  #: Neither the portal nor a mirror responds.


@dataclass(frozen=True, slots=True)
class SourceStatus:
    """Describes the sources of a site at the moment."""

    kind: SiteSourceKind
    portal: Portal  # the first source
    source: Portal | None  # that is asked; None: people upload documents
    # Of the first source, if it does not respond. None: it is asked with the next document.
    next_probe_at: datetime | None = None


def list_sources(portal: Portal) -> list[Portal]:
    """Return the portal and its mirrors in order. Mirrors that nobody approved are left out."""
    return [portal, *_in_order(portal.mirrors.all())]


def _in_order(mirrors: "QuerySet[Portal]") -> Iterator[Portal]:
    """Yield the mirrors that a second person approved, in their order."""
    return filter(is_approved, mirrors.order_by("mirror_order", "pk"))


def is_approved(portal: Portal) -> bool:
    """Return whether a second person approved the origin of the address."""
    return parse_origin(portal.base_url) == portal.approved_origin


def find_limit_states(sources: Iterable[Portal]) -> dict[int, PortalLimitState]:
    """Return what is known about the breakers of these portals, by primary key."""
    return PortalLimitState.objects.in_bulk([source.pk for source in sources])


def find_active_source(
    sources: Iterable[Portal], states: Mapping[int, PortalLimitState]
) -> Portal | None:
    """Return the first source whose breaker is closed, or None if people have to upload."""
    for source in sources:
        state = states.get(source.pk)
        if state is None or state.breaker == BreakerState.CLOSED:
            return source
    return None


def choose_source(portal: Portal, now: datetime) -> Portal:
    """Return the source to ask now: the first one that responds, or whose next probe is due.

    Returns the portal itself if there is none: its queue then waits for the probe.
    """
    sources = list_sources(portal)
    if len(sources) == 1:
        return portal
    states = find_limit_states(sources)
    for source in sources:
        state = states.get(source.pk)
        if state is None or state.breaker == BreakerState.CLOSED or state.next_probe_at <= now:
            return source
    return portal


def find_next_attempt(portal: Portal, now: datetime) -> datetime | None:
    """Return when a source of the portal may be asked, or None if one may be asked now."""
    sources = list_sources(portal)
    states = find_limit_states(sources)
    if find_active_source(sources, states):
        return None
    return max(now, min(state.next_probe_at for state in states.values()))


def make_mirror_address(url: str, portal: Portal, mirror: Portal) -> str:
    """Return the address of a document at a mirror, or "" if the mirror does not have it.

    What follows the portal's base address follows that of the mirror.
    """
    asked, base = urlsplit(url), urlsplit(portal.base_url)
    folder = base.path.rpartition("/")[0] + "/"
    if not asked.path.startswith(folder):
        return ""
    path = asked.path.removeprefix(folder)
    root = mirror.base_url.partition("?")[0].rpartition("/")[0]
    return f"{root}/{path}{'?' if asked.query else ''}{asked.query}"


def describe_source(site: Site) -> SourceStatus:
    """Return where the documents of the site come from at the moment."""
    return describe_sources([site])[site.pk]


def describe_sources(sites: Iterable[Site]) -> dict[int, SourceStatus]:
    """Return where the documents of sites come from at the moment, by primary key of the site.

    One query if all portals respond, and three otherwise.
    """
    sites = list(sites)
    rows = PortalLimitState.objects.down().filter(portal__in={site.portal_id for site in sites})
    down = {row.portal_id: row for row in rows}
    active = find_active_mirrors(down)
    found = {}
    for site in sites:
        portal, state = site.portal, down.get(site.portal_id)
        if state is None:
            found[site.pk] = SourceStatus(SiteSourceKind.PORTAL, portal, portal)
            continue
        mirror = active.get(portal.pk)
        kind = SiteSourceKind.MIRROR if mirror else SiteSourceKind.UPLOAD
        found[site.pk] = SourceStatus(kind, portal, mirror, find_coming_probe(state))
    return found


def find_coming_probe(state: PortalLimitState) -> datetime | None:
    """Return when a portal that does not respond is asked again, or None if that time has passed.

    A probe is a request for a document. Without a document that is due, the portal is asked with
    the next document, however long ago the time of the probe was.
    """
    return state.next_probe_at if state.next_probe_at > timezone.now() else None


def find_active_mirrors(portals: Collection[int]) -> dict[int, Portal]:
    """Return the mirrors that are asked while these portals do not respond, by their primary keys.

    A portal without a mirror that responds is left out. Two queries, or none without portals.
    """
    if not portals:
        return {}
    mirrors: dict[int | None, list[Portal]] = {portal: [] for portal in portals}
    for mirror in _in_order(Portal.objects.filter(mirror_of__in=portals)):
        mirrors[mirror.mirror_of_id].append(mirror)
    states = find_limit_states(chain.from_iterable(mirrors.values()))
    active = {portal: find_active_source(mirrors[portal], states) for portal in portals}
    return {portal: mirror for portal, mirror in active.items() if mirror}


def find_sites_to_upload(sites: "QuerySet[Site]") -> "QuerySet[Site]":
    """Return the sites of which neither the portal nor a mirror responds."""
    closed = Q(limit_state=None) | Q(limit_state__breaker=BreakerState.CLOSED)
    mirrored = Portal.objects.filter(closed, mirror_of__isnull=False).exclude(approved_origin="")
    down = sites.filter(portal__limit_state__in=PortalLimitState.objects.down())
    return down.exclude(portal__in=mirrored.values("mirror_of"))


def list_outages(portals: Iterable[Portal], since: datetime) -> list[tuple[datetime, datetime]]:
    """Return when no source of one or more of these portals responded: beginnings and ends.

    Outages that overlap are one. `since` cuts off what was before, and one that goes on ends now.
    """
    subjects = [portal.subject for portal in portals]
    outages, down, beginning = [], set[str](), since
    for change in queries.list_entries_of_events([SOURCE_CHANGED], subjects):
        before = bool(down)
        if change.detail and change.detail["to"] == UPLOAD:
            down.add(change.subject)
        else:
            down.discard(change.subject)
        if down and not before:
            beginning = change.occurred_at
        elif before and not down:
            outages.append((beginning, change.occurred_at))
    if down:
        outages.append((beginning, timezone.now()))
    return [(max(beginning, since), end) for beginning, end in outages if end > since]
