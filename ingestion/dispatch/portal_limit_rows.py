"""Stores the token bucket and the circuit breaker of each portal in a row that all workers share.

The bucket is one integer, the theoretical arrival time (TAT) of GCRA in microseconds. One statement
reads and moves it under the lock of the row, so it is correct with any number of processes. A
reserved token that is not used is lost to the portal's throughput; no token is used twice
(docs/adr/0009).

`core.breaker` decides how the breaker moves, under the lock of the row. Each change of its state is
a ledger entry. Locks are taken in this order: portal limit, chunk, document, batch, ledger.
"""

import time
from dataclasses import dataclass
from typing import Any

from django.db import connection, transaction

from audit.ledger.log import ledger
from ingestion.core.breaker import Breaker, BreakerSettings, BreakerState
from ingestion.core.limiter import RequestRate
from ingestion.core.portal_limits import (
    PortalHealth,
    RequestOutcome,
    compute_next_breaker,
    get_portal_health,
)
from ingestion.dispatch.clock import read_database_time
from ingestion.documents import portal_sources
from ingestion.documents.transitions import WORKER_ACTOR
from ingestion.models import Chunk, Document, PortalLimitState
from sites import portal_approval
from sites.models import Portal, Site

_RESERVE = """
INSERT INTO {table}
    (portal_id, tat, given_at, breaker, failures, shut_until, switches)
VALUES (%(portal)s, {now} + %(lead)s + %(cost)s, 0, 'CLOSED', '[]', 0, 0)
ON CONFLICT (portal_id) DO UPDATE
    SET tat = {greatest}({table}.tat, {now} + %(lead)s) + %(cost)s
    WHERE {table}.breaker = 'CLOSED'
RETURNING tat, {now}, given_at, failures
"""
# The time at which the statement reads the clock. now() would be the start of the transaction.
_POSTGRESQL_NOW = "(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000)::bigint"

_TABLE = PortalLimitState._meta.db_table
_STATEMENTS = {
    "postgresql": _RESERVE.format(table=_TABLE, now=_POSTGRESQL_NOW, greatest="GREATEST"),
    "sqlite": _RESERVE.format(table=_TABLE, now="%(now)s", greatest="MAX"),
}


@dataclass(frozen=True, slots=True)
class ReservedTokens:
    """Describes a reservation. Times are seconds since 1970 by the database's clock."""

    receipt: int  # the theoretical arrival time as the row stores it, in microseconds
    now: float  # when the tokens were reserved
    delivered_at: float  # when the portal delivered a document last
    has_failures: bool  # since the last answer

    @property
    def tat(self) -> float:
        """Return the theoretical arrival time after this reservation (GCRA).

        It is in seconds since 1970.
        """
        return self.receipt / 1e6


@dataclass(frozen=True, slots=True)
class RecordedOutcome:
    """Describes a portal after the outcome of a request was recorded."""

    health: PortalHealth
    delivered_at: float  # of its last document; seconds since 1970 by the database's clock
    has_failures: bool  # since the last answer


def reserve_tokens(
    portal: int,
    rate: RequestRate,
    tokens: int,
    *,
    lead: float = 0.0,
    free_seconds: float = 0.0,
) -> ReservedTokens | None:
    """Reserve tokens for requests that start at least `lead` seconds from now.

    `portal` is the primary key of the portal. No request of another reservation starts within
    `free_seconds` behind them. Returns None if the breaker is not closed.
    """
    cost = tokens * rate.interval + free_seconds
    values = {"portal": portal, "lead": _micros(lead), "cost": _micros(cost)}
    if connection.vendor == "postgresql":
        row = _fetch_one(values)
    else:
        # BEGIN IMMEDIATE waits for the write lock, and the time is read after that.
        with transaction.atomic():
            row = _fetch_one(values | {"now": _micros(time.time())})
    if row is None:
        return None
    tat, now, delivered_at, failures = row
    return ReservedTokens(tat, now / 1e6, delivered_at / 1e6, str(failures) != "[]")


def _fetch_one(values: dict[str, int]) -> Any:
    with connection.cursor() as cursor:
        cursor.execute(_STATEMENTS[connection.vendor], values)
        return cursor.fetchone()


def return_tokens(portal: int, receipt: int, rate: RequestRate, unused: int) -> bool:
    """Return the last `unused` tokens of a reservation.

    Returns False, and returns no token, if another reservation followed.
    """
    before = receipt - _micros(unused * rate.interval)
    return PortalLimitState.objects.filter(portal=portal, tat=receipt).update(tat=before) == 1


def start_probe(
    portal: int, rate: RequestRate, settings: BreakerSettings
) -> tuple[Breaker, ReservedTokens | None]:
    """Ask a breaker that is not closed for permission to send a probe.

    Returns the breaker, and a reservation of one token if the probe is permitted.
    """
    with ledger():
        row, now = _lock_row(portal), read_database_time().timestamp()
        old = read_breaker(row)
        new, is_permitted = old.request_permission(now, settings)
        if not is_permitted or new.state is BreakerState.CLOSED:
            return new, None
        row.tat = _micros(rate.spend(row.tat / 1e6, now))
        _save(row, old, new)
        return new, ReservedTokens(row.tat, now, row.delivered_at / 1e6, has_failures=True)


def record_outcome(
    portal: int, outcome: RequestOutcome, settings: BreakerSettings
) -> RecordedOutcome:
    """Record the outcome of a request, which may open or close the breaker."""
    with ledger():
        row, now = _lock_row(portal), read_database_time().timestamp()
        if outcome is RequestOutcome.DELIVERED:
            row.delivered_at = _micros(now)
        old = read_breaker(row)
        new = compute_next_breaker(old, outcome, now, settings)
        _save(row, old, new)
    delivered_at = row.delivered_at / 1e6
    has_failures = new.state is not BreakerState.CLOSED or bool(new.failures)
    health = get_portal_health(new, delivered_at, now, settings)
    return RecordedOutcome(health, delivered_at, has_failures)


def _lock_row(portal: int) -> PortalLimitState:
    """Return the locked row. It exists, because every request reserved its slot in it."""
    return PortalLimitState.objects.select_for_update(of=("self",)).get(portal=portal)


def read_breaker(row: PortalLimitState) -> Breaker:
    """Return the breaker that the row stores, with times in seconds since 1970."""
    failures = tuple(at / 1e6 for at in row.failures)
    return Breaker(BreakerState(row.breaker), failures, row.probe_at / 1e6)


def _save(row: PortalLimitState, old: Breaker, new: Breaker) -> None:
    """Save the row, and record a change of the breaker's state in the ledger.

    When the breaker is closed, because the portal answers again, the chunks of the portal are made
    due at once.
    """
    row.breaker, row.probe_at = new.state, _micros(new.until)
    row.failures = [_micros(at) for at in new.failures]
    row.save()
    if new.state is old.state:
        return
    sites = list(Site.objects.filter(portal=row.portal_id).values_list("site_id", flat=True)[:2])
    row.record(
        f"portal.breaker_{_EVENT_SUFFIXES[new.state]}",
        by=WORKER_ACTOR,
        site=sites[0] if len(sites) == 1 else "",
        from_state=old.state,
        to_state=new.state,
        detail={
            "portal": row.portal.key,
            "failures": len(new.failures),
            "until": row.next_probe_at.isoformat(timespec="seconds") if new.until else "",
        },
    )
    _follow_sources(row.portal, old, new)


def _follow_sources(portal: Portal, old: Breaker, new: Breaker) -> None:
    """Record a change of the source of documents, and make what waits for a source due at once.

    `portal` is a portal or a mirror, whose breaker has just changed. Of a portal with mirrors, a
    change also ends the waiting times of its documents: they were those of the other source.
    """
    first = portal.mirror_of or portal
    sources = portal_sources.list_sources(first)
    states = portal_sources.find_limit_states(sources)
    after = portal_sources.find_active_source(sources, states)
    if portal.pk in states:
        states[portal.pk].breaker = old.state
    before = portal_sources.find_active_source(sources, states)
    if before != after:
        change = {
            "from": before.key if before else portal_sources.UPLOAD,
            "to": after.key if after else portal_sources.UPLOAD,
        }
        first.record(
            portal_sources.SOURCE_CHANGED,
            by=WORKER_ACTOR,
            site=portal_approval.get_site_of_portal(first),
            detail={"portal": first.key, **change},
            logged=change,
        )
    if before != after and len(sources) > 1:
        Document.objects.waiting().filter(
            site__portal=first, failing_since__isnull=False, next_attempt_at__isnull=False
        ).update(next_attempt_at=None)
    if new.state is BreakerState.CLOSED or (before != after and after):
        Chunk.objects.waiting_for_portal(first.pk).update(next_dispatch_at=read_database_time())


_EVENT_SUFFIXES = {
    BreakerState.CLOSED: "closed",
    BreakerState.OPEN: "opened",
    BreakerState.HALF_OPEN: "half_opened",
}


def _micros(seconds: float) -> int:
    return round(seconds * 1e6)
