"""A portal's gate as a row: bucket and breaker, shared by every worker of every host.

The bucket is one integer, moved on by one statement whose expression reads the row that it locks:
no guard in a subquery, no read before the write, hence right under any number of processes. What
is reserved and never used is lost to the portal, never doubled. (docs/adr/0009)

The breaker is moved under the row's lock by `core.breaker`; each switch is a ledger entry. Locks
are taken in this order: gate, chunk, document, batch, the ledger.
"""

import time
from dataclasses import dataclass
from typing import Any

from django.db import connection, transaction

from audit.ledger.log import ledger, record
from ingestion.core.breaker import Breaker, BreakerState, BreakerTerms
from ingestion.core.limiter import Pace
from ingestion.core.portal_limits import (
    Outcome,
    Standing,
    moved,
    standing,
)
from ingestion.dispatch.clock import database_now
from ingestion.documents.transitions import BY_WORKER
from ingestion.models import Chunk, PortalGate
from sites.models import Site

_RESERVE = """
INSERT INTO ingestion_portalgate
    (portal_id, tat, given_at, breaker, failures, shut_until, switches)
VALUES (%(portal)s, {now} + %(lead)s + %(cost)s, 0, 'CLOSED', '[]', 0, 0)
ON CONFLICT (portal_id) DO UPDATE
    SET tat = {greatest}(ingestion_portalgate.tat, {now} + %(lead)s) + %(cost)s
    WHERE ingestion_portalgate.breaker = 'CLOSED'
RETURNING tat, {now}, given_at, failures
"""
# The database's clock at this moment; now() would be the one of the transaction's begin.
_POSTGRESQL_NOW = "(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000)::bigint"

_STATEMENTS = {
    "postgresql": _RESERVE.format(now=_POSTGRESQL_NOW, greatest="GREATEST"),
    "sqlite": _RESERVE.format(now="%(now)s", greatest="MAX"),
}


@dataclass(frozen=True, slots=True)
class Reserved:
    """Seconds since 1970 by the database's clock; `receipt` is the row's own value."""

    receipt: int
    now: float
    given_at: float
    is_troubled: bool  # it failed since it last answered

    @property
    def tat(self) -> float:
        return self.receipt / 1e6


@dataclass(frozen=True, slots=True)
class Told:
    standing: Standing
    given_at: float  # as above
    is_troubled: bool


def reserve(portal: int, pace: Pace, tokens: int, *, lead: float = 0.0) -> Reserved | None:
    """Spend tokens from `lead` seconds from now on. None: the breaker is not closed."""
    values = {"portal": portal, "lead": _micros(lead), "cost": _micros(tokens * pace.interval)}
    if connection.vendor == "postgresql":
        row = _fetch_one(values)
    else:
        # BEGIN IMMEDIATE first: the time is read when the wait for the write lock is over.
        with transaction.atomic():
            row = _fetch_one(values | {"now": _micros(time.time())})
    if row is None:
        return None
    tat, now, given_at, failures = row
    return Reserved(tat, now / 1e6, given_at / 1e6, str(failures) != "[]")


def _fetch_one(values: dict[str, int]) -> Any:
    with connection.cursor() as cursor:
        cursor.execute(_STATEMENTS[connection.vendor], values)
        return cursor.fetchone()


def give_back(portal: int, receipt: int, pace: Pace, unused: int) -> bool:
    """Undo the end of a reservation, unless somebody reserved after it."""
    before = receipt - _micros(unused * pace.interval)
    return PortalGate.objects.filter(portal=portal, tat=receipt).update(tat=before) == 1


def probe(portal: int, pace: Pace, terms: BreakerTerms) -> tuple[Breaker, Reserved | None]:
    """Ask a breaker that is not closed. It is HALF_OPEN with a token: send the one probe."""
    with ledger():
        gate, now = _locked(portal), database_now().timestamp()
        old = breaker_of(gate)
        new, may_ask = old.ask(now, terms)
        if not may_ask or new.state is BreakerState.CLOSED:
            return new, None
        gate.tat = _micros(pace.spend(gate.tat / 1e6, now))
        _keep(gate, old, new)
        return new, Reserved(gate.tat, now, gate.given_at / 1e6, is_troubled=True)


def tell(portal: int, outcome: Outcome, terms: BreakerTerms) -> Told:
    """Move the breaker by what became of a request."""
    with ledger():
        gate, now = _locked(portal), database_now().timestamp()
        if outcome is Outcome.GIVEN:
            gate.given_at = _micros(now)
        old = breaker_of(gate)
        new = moved(old, outcome, now, terms)
        _keep(gate, old, new)
    given_at = gate.given_at / 1e6
    is_troubled = new.state is not BreakerState.CLOSED or bool(new.failures)
    return Told(standing(new, given_at, now, terms), given_at, is_troubled)


def _locked(portal: int) -> PortalGate:
    """The row is there: every request's slot came from it."""
    return PortalGate.objects.select_for_update(of=("self",)).get(portal=portal)


def breaker_of(gate: PortalGate) -> Breaker:
    failures = tuple(at / 1e6 for at in gate.failures)
    return Breaker(BreakerState(gate.breaker), failures, gate.shut_until / 1e6)


def _keep(gate: PortalGate, old: Breaker, new: Breaker) -> None:
    """Save the row. A switch is an entry; a portal that is back has its chunks due at once."""
    gate.breaker, gate.shut_until = new.state, _micros(new.until)
    gate.failures = [_micros(at) for at in new.failures]
    if new.state is not old.state:
        gate.switches += 1
        _record(gate, old, new)
        if new.state is BreakerState.CLOSED:
            Chunk.objects.waiting_for(gate.portal_id).update(next_dispatch_at=database_now())
    gate.save()


def _record(gate: PortalGate, old: Breaker, new: Breaker) -> None:
    sites = list(Site.objects.filter(portal=gate.portal_id).values_list("site_id", flat=True)[:2])
    record(
        f"portal.breaker_{_SAID[new.state]}",
        subject=gate.subject,
        n=gate.switches,
        site=sites[0] if len(sites) == 1 else "",
        from_state=old.state,
        to_state=new.state,
        actor=BY_WORKER.actor,
        role=BY_WORKER.role,
        detail={
            "portal": gate.portal.key,
            "failures": len(new.failures),
            "until": gate.next_probe_at.isoformat(timespec="seconds") if new.until else "",
        },
    )


_SAID = {
    BreakerState.CLOSED: "closed",
    BreakerState.OPEN: "opened",
    BreakerState.HALF_OPEN: "half_opened",
}


def _micros(seconds: float) -> int:
    return round(seconds * 1e6)
