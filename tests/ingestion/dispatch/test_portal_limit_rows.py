"""Tests of the row that holds a portal's token bucket and breaker."""

from datetime import timedelta
from itertools import pairwise

import pytest
from django.db import DatabaseError
from django.utils import timezone

from audit.ledger.queries import list_entries
from ingestion.core.breaker import BreakerSettings, BreakerState
from ingestion.core.limiter import RequestRate
from ingestion.core.portal_limits import RequestOutcome
from ingestion.core.reservations import SlotReservation
from ingestion.dispatch import portal_limit_rows
from ingestion.dispatch.clock import DatabaseClock, read_database_time
from ingestion.dispatch.database_thread import DatabaseThread
from ingestion.dispatch.shared_portal_limits import SharedPortalLimit
from ingestion.dispatch.work_items import get_portal_terms
from ingestion.models import Chunk, PortalLimitState
from sites.models import Portal
from tests.factories import make_batch, make_site

pytestmark = pytest.mark.django_db
RATE = RequestRate.of(10.0, 5)
BREAKER = BreakerSettings(failures=2, window_seconds=60, cooldown_seconds=300)


@pytest.fixture
def portal(db):
    return make_site("1001").portal_id


def fail(portal, times=2):
    portal_limit_rows.reserve_tokens(portal, RATE, 1)
    for _ in range(times):
        recorded = portal_limit_rows.record_outcome(portal, RequestOutcome.FAILED, BREAKER)
    return recorded


def cool_down(portal):
    PortalLimitState.objects.filter(portal=portal).update(probe_at=0)


def test_the_row_does_the_same_arithmetic_as_the_core(portal):
    tat = 0.0
    for tokens in (1, 4, 8, 2):
        reserved = portal_limit_rows.reserve_tokens(portal, RATE, tokens, lead=1.0)
        tat = RATE.spend(tat, reserved.now + 1.0, tokens)
        # The clock is read once more for the answer, at most an interval of a token later.
        assert reserved.tat == pytest.approx(tat, abs=0.9 * RATE.interval)


def test_tokens_of_several_reservations_follow_one_another(portal):
    receipts = [portal_limit_rows.reserve_tokens(portal, RATE, 3).receipt for _ in range(4)]
    assert {after - before for before, after in pairwise(receipts)} == {round(3e6 * RATE.interval)}


def test_tokens_can_be_returned_unless_another_reservation_followed(portal):
    first = portal_limit_rows.reserve_tokens(portal, RATE, 8)
    assert portal_limit_rows.return_tokens(portal, first.receipt, RATE, 3)
    assert portal_limit_rows.reserve_tokens(portal, RATE, 3).receipt == first.receipt
    portal_limit_rows.reserve_tokens(portal, RATE, 1)
    assert not portal_limit_rows.return_tokens(portal, first.receipt, RATE, 3)


def test_every_portal_has_its_own_bucket(portal):
    portal_limit_rows.reserve_tokens(portal, RATE, 100)
    other = portal_limit_rows.reserve_tokens(make_site("1002").portal_id, RATE, 1)
    assert other.tat - other.now < 1


def test_a_portal_with_repeated_failures_is_not_asked(portal, monkeypatch):
    now = timezone.now()
    monkeypatch.setattr(portal_limit_rows, "read_database_time", lambda: now)
    recorded = fail(portal)
    assert not recorded.health.is_healthy
    until = PortalLimitState.objects.get().next_probe_at
    assert (until - now).total_seconds() == pytest.approx(300)
    assert portal_limit_rows.reserve_tokens(portal, RATE, 1) is None
    breaker, reserved = portal_limit_rows.start_probe(portal, RATE, BREAKER)
    assert (breaker.state, reserved) == (BreakerState.OPEN, None)


def test_after_the_cooldown_one_worker_may_send_a_probe(portal):
    fail(portal)
    cool_down(portal)
    probes = [portal_limit_rows.start_probe(portal, RATE, BREAKER)[1] for _ in range(3)]
    assert [probe is not None for probe in probes] == [True, False, False]


def test_an_answered_probe_closes_the_breaker_and_makes_the_chunks_due(portal):
    make_batch(documents=1, site=PortalLimitState(portal_id=portal).portal.sites.get())
    Chunk.objects.update(next_dispatch_at=timezone.now() + timedelta(hours=1))
    fail(portal)
    cool_down(portal)
    portal_limit_rows.start_probe(portal, RATE, BREAKER)
    portal_limit_rows.record_outcome(portal, RequestOutcome.DELIVERED, BREAKER)
    assert portal_limit_rows.reserve_tokens(portal, RATE, 1)
    assert Chunk.objects.due(read_database_time()).exists()


def test_every_change_of_a_breaker_is_in_the_ledger(portal):
    fail(portal)
    cool_down(portal)
    portal_limit_rows.start_probe(portal, RATE, BREAKER)
    portal_limit_rows.record_outcome(portal, RequestOutcome.ANSWERED, BREAKER)
    entries = list_entries(f"breaker:{portal}")
    assert [entry.event for entry in entries] == [
        "portal.breaker_opened",
        "portal.breaker_half_opened",
        "portal.breaker_closed",
    ]
    assert {entry.site for entry in entries} == {"1001"}
    assert entries[0].detail["portal"] == "site-1001"


def test_a_portal_without_mirrors_records_that_people_have_to_upload(portal):
    fail(portal)
    cool_down(portal)
    portal_limit_rows.start_probe(portal, RATE, BREAKER)
    portal_limit_rows.record_outcome(portal, RequestOutcome.ANSWERED, BREAKER)
    changes = [
        (entry.detail["from"], entry.detail["to"])
        for entry in list_entries(Portal.objects.get(pk=portal).subject)
        if entry.event == "portal.source_changed"
    ]
    assert changes == [("site-1001", "upload"), ("upload", "site-1001")]


def test_failures_of_several_workers_add_up_until_an_answer(portal):
    fail(portal, times=1)
    portal_limit_rows.record_outcome(portal, RequestOutcome.ANSWERED, BREAKER)
    portal_limit_rows.record_outcome(portal, RequestOutcome.FAILED, BREAKER)
    assert portal_limit_rows.reserve_tokens(portal, RATE, 1).has_failures


class BrokenDatabaseThread(DatabaseThread):
    async def __call__(self, work, *args, **kwargs):
        raise DatabaseError("gone")


@pytest.mark.django_db(transaction=True)
async def test_a_shared_limit_reserves_slots_in_advance_and_returns_unused_ones(offered):
    async with DatabaseThread() as database:
        portal_limit = SharedPortalLimit(database, DatabaseClock(), offered, BREAKER)
        reservation = await portal_limit.reserve(3)
        assert len(reservation.slots) == 3
        await portal_limit.give_back(reservation, 3)
        assert (await portal_limit.reserve(3)).receipt == pytest.approx(
            reservation.receipt, abs=2e6
        )


@pytest.mark.django_db(transaction=True)
async def test_a_shared_limit_skips_the_write_if_the_portal_was_marked_healthy(offered):
    async with DatabaseThread() as database:
        portal_limit = SharedPortalLimit(database, DatabaseClock(), offered, BREAKER)
        await portal_limit.reserve(1)
        assert (await portal_limit.report_outcome(RequestOutcome.DELIVERED)).is_healthy
        before = await database(PortalLimitState.objects.values().get)
        assert (await portal_limit.report_outcome(RequestOutcome.DELIVERED)).is_healthy
        assert await database(PortalLimitState.objects.values().get) == before


@pytest.mark.django_db(transaction=True)
async def test_a_shared_limit_stops_requests_for_the_cooldown_and_permits_one_probe(offered):
    async with DatabaseThread() as database:
        portal_limit = SharedPortalLimit(database, DatabaseClock(), offered, BREAKER)
        await portal_limit.reserve(1)
        for _ in range(2):
            assert not (await portal_limit.report_outcome(RequestOutcome.FAILED)).is_healthy
        assert (await portal_limit.reserve(1)).is_portal_down
        await database(cool_down, offered.portal)
        assert (await portal_limit.reserve(1)).is_probe
        assert (await portal_limit.reserve(1)).is_portal_down


async def test_a_database_failure_causes_a_waiting_time_and_no_error(offered):
    portal_limit = SharedPortalLimit(BrokenDatabaseThread(), DatabaseClock(), offered, BREAKER)
    assert await portal_limit.reserve(3) == SlotReservation(retry_after_seconds=1.0)
    await portal_limit.give_back(SlotReservation(), 1)
    assert not (await portal_limit.report_outcome(RequestOutcome.FAILED)).is_healthy


@pytest.fixture
def offered(transactional_db):
    return get_portal_terms(make_site("1003").portal)
