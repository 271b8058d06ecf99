"""Tests that all workers together keep the concurrent requests of a portal, also after a crash."""

import asyncio
import threading
from datetime import timedelta

import pytest
from django.db import DatabaseError
from django.utils import timezone

from ingestion.core.portal_limits import LocalPortalLimit
from ingestion.core.portal_queues import PortalQueues
from ingestion.dispatch import leases, portal_place_rows
from ingestion.dispatch.database_thread import DatabaseThread
from ingestion.dispatch.portal_place_rows import claim_places
from ingestion.dispatch.shared_portal_limits import SharedPlaceClaims
from ingestion.dispatch.work_items import get_portal_terms
from ingestion.models import PortalPlaces
from tests.factories import make_site
from tests.ingestion.slow_portal import CountingPortal

pytestmark = pytest.mark.django_db
ONE, OTHER = "here:1:1", "there:2:2"


@pytest.fixture
def portal(db):
    return make_site("1001").portal_id


def test_two_workers_share_the_places_of_a_portal(portal):
    assert claim_places(portal, ONE, held=0, wanted=8, maximum=3) == 3
    assert claim_places(portal, OTHER, held=0, wanted=8, maximum=3) == 0
    assert claim_places(portal, ONE, held=3, wanted=8, maximum=3) == 2
    assert claim_places(portal, OTHER, held=0, wanted=8, maximum=3) == 0, "its request runs"
    assert claim_places(portal, ONE, held=2, wanted=8, maximum=3) == 2
    assert claim_places(portal, OTHER, held=0, wanted=8, maximum=3) == 1


def test_a_worker_that_needs_no_place_leaves_no_claim(portal):
    claim_places(portal, ONE, held=0, wanted=2, maximum=2)
    assert claim_places(portal, ONE, held=0, wanted=0, maximum=2) == 0
    assert not PortalPlaces.objects.exists()


def test_the_places_of_a_dead_worker_come_back_when_its_claim_expires(portal):
    claim_places(portal, ONE, held=0, wanted=2, maximum=2)
    assert claim_places(portal, OTHER, held=0, wanted=2, maximum=2) == 0
    PortalPlaces.objects.filter(holder=ONE).update(expires_at=timezone.now())
    assert claim_places(portal, OTHER, held=0, wanted=2, maximum=2) == 2
    assert list(PortalPlaces.objects.values_list("holder", flat=True)) == [OTHER]


def test_heartbeats_renew_claims_and_the_end_of_a_worker_removes_them(portal):
    claim_places(portal, ONE, held=0, wanted=2, maximum=2)
    PortalPlaces.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    portal_place_rows.renew_claims(ONE)
    assert claim_places(portal, OTHER, held=0, wanted=2, maximum=2) == 0
    leases.recover_leases_of(ONE)
    assert claim_places(portal, OTHER, held=0, wanted=2, maximum=2) == 2


def test_without_the_database_a_shift_keeps_its_places_and_takes_no_more():
    async def fail(*_arguments):
        raise DatabaseError

    claims = SharedPlaceClaims(fail, get_portal_terms(make_site("1002").portal), ONE)
    assert asyncio.run(claims.claim(1, 4)) == 1


@pytest.mark.django_db(transaction=True)
def test_shifts_together_send_no_more_concurrent_requests_than_a_real_portal_allows():
    """Three event loops stand for three workers; the portal counts, and answers slowly."""
    with CountingPortal(seconds=0.02) as portal:
        terms = get_portal_terms(make_site("1002", max_in_flight=2).portal)
        outcomes = []

        def work(holder):
            outcomes.append(asyncio.run(_request(portal, terms, holder, requests=12)))

        workers = [threading.Thread(target=work, args=(f"here:{n}:1",)) for n in range(3)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    assert outcomes == [12, 12, 12]
    assert portal.requests == 36
    assert portal.most_at_once == 2
    assert not PortalPlaces.objects.exists(), "everything was given back"


async def _request(portal, terms, holder, requests):
    queues, done = PortalQueues(requests), 0

    async def work():
        nonlocal done
        while await queues.take() is not None:
            await portal.request()
            done += 1
            queues.finish_request("a")

    async with DatabaseThread() as database:
        claims = SharedPlaceClaims(database, terms, holder)
        queues.open("a", LocalPortalLimit(1000.0, 1000), terms.max_in_flight, claims)
        async with asyncio.TaskGroup() as group:
            group.create_task(queues.reserve_slots(lambda *_: None))
            for _ in range(4):
                group.create_task(work())
            for number in range(requests):
                await queues.put("a", number)
            queues.close()
    return done
