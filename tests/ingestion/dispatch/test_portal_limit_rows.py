"""The bucket and the breaker of a portal, as everybody's row."""

from datetime import timedelta
from itertools import pairwise

import pytest
from django.db import DatabaseError
from django.utils import timezone

from audit.ledger.queries import timeline
from ingestion.core.breaker import BreakerState, BreakerTerms
from ingestion.core.limiter import Pace
from ingestion.core.portal_limits import Outcome
from ingestion.core.reservations import Grant
from ingestion.dispatch import portal_limit_rows
from ingestion.dispatch.clock import DatabaseClock, database_now
from ingestion.dispatch.database_thread import Door
from ingestion.dispatch.shared_portal_limits import SharedGate
from ingestion.dispatch.work_items import portal_terms
from ingestion.models import Chunk, PortalGate
from tests.factories import make_batch, make_site

pytestmark = pytest.mark.django_db
PACE = Pace.of(10.0, 5)
TERMS = BreakerTerms(failures=2, window_seconds=60, cooldown_seconds=300)


@pytest.fixture
def portal(db):
    return make_site("1001").portal_id


def fail(portal, times=2):
    portal_limit_rows.reserve(portal, PACE, 1)
    for _ in range(times):
        told = portal_limit_rows.tell(portal, Outcome.FAILED, TERMS)
    return told


def cool_down(portal):
    PortalGate.objects.filter(portal=portal).update(shut_until=0)


def test_the_row_does_the_same_arithmetic_as_the_core(portal):
    tat = 0.0
    for tokens in (1, 4, 8, 2):
        reserved = portal_limit_rows.reserve(portal, PACE, tokens, lead=0.01)
        tat = PACE.spend(tat, reserved.now + 0.01, tokens)
        # The clock is read once more for the answer.
        assert reserved.tat == pytest.approx(tat, abs=0.005)


def test_tokens_follow_one_another_whoever_reserves_them(portal):
    receipts = [portal_limit_rows.reserve(portal, PACE, 3).receipt for _ in range(4)]
    assert {after - before for before, after in pairwise(receipts)} == {round(3e6 * PACE.interval)}


def test_what_is_given_back_goes_to_the_next_and_only_if_nobody_came_between(portal):
    first = portal_limit_rows.reserve(portal, PACE, 8)
    assert portal_limit_rows.give_back(portal, first.receipt, PACE, 3)
    assert portal_limit_rows.reserve(portal, PACE, 3).receipt == first.receipt
    portal_limit_rows.reserve(portal, PACE, 1)
    assert not portal_limit_rows.give_back(portal, first.receipt, PACE, 3)


def test_every_portal_has_its_own_bucket(portal):
    portal_limit_rows.reserve(portal, PACE, 100)
    other = portal_limit_rows.reserve(make_site("1002").portal_id, PACE, 1)
    assert other.tat - other.now < 1


def test_a_portal_that_fails_again_and_again_is_not_asked(portal):
    told = fail(portal)
    assert not told.standing.gives
    until = PortalGate.objects.get().next_probe_at
    assert (until - timezone.now()).total_seconds() == pytest.approx(300, abs=2)
    assert portal_limit_rows.reserve(portal, PACE, 1) is None
    breaker, reserved = portal_limit_rows.probe(portal, PACE, TERMS)
    assert (breaker.state, reserved) == (BreakerState.OPEN, None)


def test_after_the_cool_down_one_probe_goes_whoever_asks(portal):
    fail(portal)
    cool_down(portal)
    probes = [portal_limit_rows.probe(portal, PACE, TERMS)[1] for _ in range(3)]
    assert [probe is not None for probe in probes] == [True, False, False]


def test_a_portal_that_answers_its_probe_is_asked_again_and_its_chunks_are_due(portal):
    make_batch(documents=1, site=PortalGate(portal_id=portal).portal.sites.get())
    Chunk.objects.update(next_dispatch_at=timezone.now() + timedelta(hours=1))
    fail(portal)
    cool_down(portal)
    portal_limit_rows.probe(portal, PACE, TERMS)
    portal_limit_rows.tell(portal, Outcome.GIVEN, TERMS)
    assert portal_limit_rows.reserve(portal, PACE, 1)
    assert Chunk.objects.due(database_now()).exists()


def test_every_switch_of_a_breaker_is_in_the_ledger(portal):
    fail(portal)
    cool_down(portal)
    portal_limit_rows.probe(portal, PACE, TERMS)
    portal_limit_rows.tell(portal, Outcome.ANSWERED, TERMS)
    entries = timeline(f"breaker:{portal}")
    assert [entry.event for entry in entries] == [
        "portal.breaker_opened",
        "portal.breaker_half_opened",
        "portal.breaker_closed",
    ]
    assert {entry.site for entry in entries} == {"1001"}
    assert entries[0].detail["portal"] == "site-1001"


def test_failures_of_several_workers_add_up_and_an_answer_to_any_begins_again(portal):
    fail(portal, times=1)
    portal_limit_rows.tell(portal, Outcome.ANSWERED, TERMS)
    portal_limit_rows.tell(portal, Outcome.FAILED, TERMS)
    assert portal_limit_rows.reserve(portal, PACE, 1).is_troubled


class BrokenDoor(Door):
    async def __call__(self, work, *args, **kwargs):
        raise DatabaseError("gone")


@pytest.mark.django_db(transaction=True)
async def test_a_shared_gate_gives_slots_that_lie_ahead_and_its_unused_ones_back(offered):
    async with Door() as door:
        gate = SharedGate(door, DatabaseClock(), offered, TERMS)
        grant = await gate.reserve(3)
        assert len(grant.slots) == 3
        await gate.give_back(grant, 3)
        assert (await gate.reserve(3)).receipt == pytest.approx(grant.receipt, abs=2e6)


@pytest.mark.django_db(transaction=True)
async def test_a_shared_gate_writes_no_news_that_is_none(offered):
    async with Door() as door:
        gate = SharedGate(door, DatabaseClock(), offered, TERMS)
        await gate.reserve(1)
        assert (await gate.tell(Outcome.GIVEN)).gives
        before = await door(PortalGate.objects.values().get)
        assert (await gate.tell(Outcome.GIVEN)).gives
        assert await door(PortalGate.objects.values().get) == before


@pytest.mark.django_db(transaction=True)
async def test_a_shared_gate_is_shut_for_the_cool_down_and_lets_one_probe_through(offered):
    async with Door() as door:
        gate = SharedGate(door, DatabaseClock(), offered, TERMS)
        await gate.reserve(1)
        for _ in range(2):
            assert not (await gate.tell(Outcome.FAILED)).gives
        assert (await gate.reserve(1)).is_shut
        await door(cool_down, offered.portal)
        assert (await gate.reserve(1)).is_probe
        assert (await gate.reserve(1)).is_shut


async def test_a_database_that_fails_is_a_wait_and_no_error(offered):
    gate = SharedGate(BrokenDoor(), DatabaseClock(), offered, TERMS)
    assert await gate.reserve(3) == Grant(again_seconds=1.0)
    await gate.give_back(Grant(), 1)
    assert not (await gate.tell(Outcome.FAILED)).gives


@pytest.fixture
def offered(transactional_db):
    return portal_terms(make_site("1003").portal)
