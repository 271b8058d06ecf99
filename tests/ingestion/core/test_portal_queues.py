"""Tests of the portal queues: fair, bounded, at the rate of each portal."""

import asyncio
import time
from contextlib import asynccontextmanager

from ingestion.core.portal_limits import LocalPortalLimit, PortalHealth, RequestOutcome
from ingestion.core.portal_queues import PortalQueues
from ingestion.core.reservations import Slot, SlotReservation


def open_queues(*keys, depth=100, max_in_flight=100):
    queues = PortalQueues(depth)
    for key in keys:
        queues.open(key, None, max_in_flight)
    return queues


async def let_tasks_run():
    """Give every task that can go on its turns, until all of them wait."""
    for _ in range(200):
        await asyncio.sleep(0)


@asynccontextmanager
async def paced(queues):
    """Reserve slots while the block runs, and drop what a portal that is down sends away."""
    pacing = asyncio.create_task(queues.reserve_slots(lambda *_: None))
    yield
    queues.abandon()
    assert await queues.take() is None
    await pacing


class ScriptedPortalLimit:
    """Answers what it was given, in this order, and remembers what it was asked."""

    def __init__(self, *reservations):
        self.reservations, self.wanted, self.given_back = list(reservations), [], 0

    async def reserve(self, wanted):
        self.wanted.append(wanted)
        return (
            self.reservations.pop(0)
            if self.reservations
            else SlotReservation(retry_after_seconds=60)
        )

    async def give_back(self, reservation, unused):
        self.given_back += unused

    async def report_outcome(self, outcome):
        return PortalHealth()


def make_reservation(*offsets, lasts=60.0, **options):
    now = time.monotonic()
    return SlotReservation(
        slots=tuple(Slot(now + at, now + at + lasts) for at in offsets), **options
    )


async def with_limit(limit, *items, max_in_flight=100, clock=time.monotonic):
    queues = PortalQueues(100, clock=clock)
    queues.open("a", limit, max_in_flight)
    for item in items:
        await queues.put("a", item)
    return queues


async def test_uploads_get_every_second_turn_beside_many_portals():
    queues = open_queues("sent")
    for key in ("a", "b", "c"):
        queues.open(key, ScriptedPortalLimit(make_reservation(0, 0)), 100)
        for number in range(2):
            await queues.put(key, f"{key}{number}")
    async with paced(queues):
        assert await queues.take() == "a0"  # each portal has given its slots by now
        for number in range(3):
            await queues.put("sent", f"sent{number}")
        taken = [await queues.take() for _ in range(8)]
    assert taken == ["sent0", "b0", "sent1", "c0", "sent2", "a1", "b1", "c1"]


async def test_portals_take_turns():
    queues = open_queues("a", "b")
    for item in ("a1", "a2", "a3"):
        await queues.put("a", item)
    await queues.put("b", "b1")
    assert [await queues.take() for _ in range(4)] == ["a1", "b1", "a2", "a3"]


async def test_a_portal_without_a_token_delays_no_other_portal():
    queues = open_queues("fast")
    queues.open("slow", LocalPortalLimit(0.001, 1), 10)
    for number in range(3):
        await queues.put("slow", f"slow{number}")
        await queues.put("fast", f"fast{number}")
    async with paced(queues):
        taken = [await queues.take() for _ in range(4)]
    assert sorted(taken) == ["fast0", "fast1", "fast2", "slow0"]


async def test_a_portal_serves_no_more_at_once_than_it_allows():
    queues = open_queues("a", max_in_flight=1)
    await queues.put("a", 1)
    await queues.put("a", 2)
    assert await queues.take() == 1
    second = asyncio.create_task(queues.take())
    await let_tasks_run()
    assert not second.done()
    queues.finish_request("a")
    assert await second == 2


async def test_feeding_a_full_queue_waits_and_feeding_others_does_not():
    queues = open_queues("full", "empty", depth=2)
    feeding = [asyncio.create_task(queues.put("full", number)) for number in range(3)]
    await let_tasks_run()
    assert [task.done() for task in feeding] == [True, True, False]
    await queues.put("empty", "goes in")
    await queues.take()
    await asyncio.gather(*feeding)


async def test_an_item_whose_feed_was_cancelled_is_not_lost():
    queues = open_queues("a", depth=1)
    await queues.put("a", 1)
    feeding = asyncio.create_task(queues.put("a", 2))
    await let_tasks_run()
    feeding.cancel()
    assert queues.waiting_items == [1, 2]


async def test_an_item_that_was_put_back_is_taken_after_its_wait():
    queues = open_queues("a")
    await queues.put("a", "again")
    await queues.take()
    queues.put_back("a", "again", 0.01)
    queues.close()
    assert await queues.take() == "again"


async def test_an_item_that_was_put_back_needs_a_token_of_its_own():
    limit = ScriptedPortalLimit(make_reservation(0), make_reservation(0))
    queues = await with_limit(limit, "again")
    async with paced(queues):
        for _ in range(2):  # The third attempt would wait, because no slot is left.
            assert await queues.take() == "again"
            queues.put_back("a", "again", 0.0)
        third = asyncio.create_task(queues.take())
        await let_tasks_run()
        assert not third.done()
        assert limit.wanted == [1, 1, 1]
        third.cancel()


async def test_workers_leave_when_the_last_item_is_finished_and_not_before():
    queues = open_queues("a")
    await queues.put("a", 1)
    await queues.take()
    queues.close()
    leaving = asyncio.create_task(queues.take())
    await let_tasks_run()
    assert not leaving.done()  # what is in flight may still be put back
    queues.finish_request("a")
    assert await leaving is None


async def test_after_a_stop_no_item_is_taken_and_none_is_lost():
    queues = open_queues("a")
    for number in range(3):
        await queues.put("a", number)
    await queues.take()
    queues.abandon()
    assert await queues.take() is None
    queues.put_back("a", "retry", 60)
    assert queues.waiting_items == [1, 2, "retry"]


async def test_slots_are_reserved_for_waiting_items_with_a_place_in_flight():
    limit = ScriptedPortalLimit(make_reservation(0, 0))
    queues = await with_limit(limit, 1, 2, 3, max_in_flight=2)
    async with paced(queues):
        assert [await queues.take(), await queues.take()] == [1, 2]
    assert limit.wanted == [2]


async def test_a_slot_that_was_not_used_in_time_is_dropped():
    limit = ScriptedPortalLimit(make_reservation(-1, lasts=0.5), make_reservation(0))
    queues = await with_limit(limit, 1)
    async with paced(queues):
        assert await queues.take() == 1
    assert limit.wanted == [1, 1]


async def test_an_item_goes_at_the_start_of_its_slot_and_no_sooner():
    now = [time.monotonic()]
    limit = ScriptedPortalLimit(make_reservation(3600, 7200, lasts=7200))
    queues = await with_limit(limit, 1, clock=lambda: now[0])
    async with paced(queues):
        taking = asyncio.create_task(queues.take())
        await let_tasks_run()
        assert not taking.done()
        now[0] += 3600.1
        await queues.put("a", 2)  # so that the queues look at the clock
        assert await taking == 1


async def test_unused_slots_are_given_back():
    limit = ScriptedPortalLimit(make_reservation(0, 60, 120))
    queues = await with_limit(limit, 1, 2, 3)
    async with paced(queues):
        await queues.take()
    assert limit.given_back == 2


async def test_delay_tolerant_slots_are_reserved_many_at_once_and_not_given_back():
    limit = ScriptedPortalLimit(
        make_reservation(0, is_delay_tolerant=True),
        make_reservation(*[0] * 8, is_delay_tolerant=True),
    )
    queues = await with_limit(limit, "one", "two")
    async with paced(queues):
        assert [await queues.take() for _ in range(2)] == ["one", "two"]
    assert (limit.wanted, limit.given_back) == ([2, 8], 0)


async def test_delay_tolerant_slots_are_not_used_after_the_portal_failed():
    limit = ScriptedPortalLimit(
        make_reservation(0, 0, is_delay_tolerant=True), SlotReservation(is_portal_down=True)
    )
    queues, sent_away = await with_limit(limit, "one", "two"), asyncio.Event()
    pacing = asyncio.create_task(queues.reserve_slots(lambda *_: sent_away.set()))
    assert await queues.take() == "one"
    await queues.report_outcome("a", RequestOutcome.FAILED)
    second = asyncio.create_task(queues.take())
    await sent_away.wait()
    queues.abandon()
    assert await second is None
    await pacing


async def test_a_limit_that_cannot_be_reached_is_asked_again_later():
    limit = ScriptedPortalLimit(SlotReservation(retry_after_seconds=0.01), make_reservation(0))
    queues = await with_limit(limit, 1)
    async with paced(queues):
        assert await queues.take() == 1


async def test_no_slot_is_reserved_while_no_worker_waits():
    limit = ScriptedPortalLimit()
    queues = await with_limit(limit, 1)
    async with paced(queues):
        await let_tasks_run()
        assert limit.wanted == []


async def test_while_a_probe_is_in_flight_no_other_item_goes():
    limit = ScriptedPortalLimit(make_reservation(0, is_probe=True), make_reservation(0))
    queues = await with_limit(limit, 1, 2)
    async with paced(queues):
        assert await queues.take() == 1
        second = asyncio.create_task(queues.take())
        await let_tasks_run()
        assert not second.done()
        queues.finish_request("a")
        assert await second == 2


async def test_items_of_a_portal_that_is_down_are_sent_away():
    away = []
    queues = await with_limit(ScriptedPortalLimit(SlotReservation(is_portal_down=True)), 1, 2)
    queues.open("other", None, 1)
    pacing = asyncio.create_task(queues.reserve_slots(lambda *sent: away.append(sent)))
    taking = asyncio.create_task(queues.take())
    await let_tasks_run()
    assert away == [("a", [1, 2])]
    await queues.put("other", 3)
    assert await taking == 3
    queues.finish_request("other")
    queues.close()
    assert await queues.take() is None
    await pacing


async def test_feeding_five_thousand_documents_waits_while_no_worker_takes_them():
    queues = open_queues(*map(str, range(10)), depth=4)

    async def produce(key):
        for number in range(500):
            await queues.put(key, (key, number))

    feeding = [asyncio.create_task(produce(str(key))) for key in range(10)]
    await let_tasks_run()
    assert len(queues) == 10 * (4 + 1)
    assert not any(task.done() for task in feeding)
    for _ in range(5000):
        key, _ = await queues.take()
        queues.finish_request(key)
        assert len(queues) <= 10 * (4 + 1)
    await asyncio.gather(*feeding)
    assert len(queues) == 0


async def test_a_redirect_waits_for_a_slot_of_its_own():
    queues = PortalQueues(10)
    queues.open("a", LocalPortalLimit(1000.0, 1), 10)
    assert await queues.wait_for_extra_slot("a")
    queues.open("uploads", None, 10)
    assert await queues.wait_for_extra_slot("uploads")


async def test_withdrawn_items_are_not_taken_and_the_others_keep_their_order():
    queues = open_queues("a")
    for number in range(6):
        await queues.put("a", number)
    assert await queues.take() == 0
    queues.put_back("a", 0, 0.0)
    assert queues.withdraw("a", lambda number: number % 2 == 0) == [2, 4, 0]
    assert [await queues.take() for _ in range(3)] == [1, 3, 5]
    assert len(queues) == 0


async def test_feeding_a_full_queue_continues_when_items_are_withdrawn():
    queues = open_queues("a", depth=1)
    await queues.put("a", 1)
    feeding = asyncio.create_task(queues.put("a", 2))
    await asyncio.sleep(0)
    assert not feeding.done()
    queues.withdraw("a", lambda number: number == 1)
    await feeding
    assert await queues.take() == 2
