"""One queue per portal: fair, bounded, at each portal's own pace."""

import asyncio
import time
from contextlib import asynccontextmanager

from ingestion.core.portal_limits import LocalGate, Outcome, Standing
from ingestion.core.portal_queues import Lanes
from ingestion.core.reservations import Grant, Slot


def open_lanes(*keys, depth=100, max_in_flight=100):
    lanes = Lanes(depth)
    for key in keys:
        lanes.open(key, None, max_in_flight)
    return lanes


@asynccontextmanager
async def paced(lanes):
    """What a gate that is shut sends away comes to nobody. Ends with the lanes abandoned."""
    pacing = asyncio.create_task(lanes.pace(lambda *_: None))
    yield
    lanes.abandon()
    assert await lanes.take() is None
    await pacing


class ScriptedGate:
    """Answers what it was given, in this order, and remembers what it was asked."""

    def __init__(self, *grants):
        self.grants, self.wanted, self.given_back = list(grants), [], 0

    async def reserve(self, wanted):
        self.wanted.append(wanted)
        return self.grants.pop(0) if self.grants else Grant(again_seconds=60)

    async def give_back(self, grant, unused):
        self.given_back += unused

    async def tell(self, outcome):
        return Standing()


def grant(*offsets, lasts=60.0, **options):
    now = time.monotonic()
    return Grant(slots=tuple(Slot(now + at, now + at + lasts) for at in offsets), **options)


async def gated(gate, *items, max_in_flight=100):
    lanes = Lanes(100)
    lanes.open("a", gate, max_in_flight)
    for item in items:
        await lanes.put("a", item)
    return lanes


async def test_what_people_sent_gets_every_other_turn_beside_many_portals():
    lanes = open_lanes("sent")
    for key in ("a", "b", "c"):
        lanes.open(key, ScriptedGate(grant(0, 0)), 100)
        for number in range(2):
            await lanes.put(key, f"{key}{number}")
    async with paced(lanes):
        assert await lanes.take() == "a0"  # each portal has given its slots by now
        for number in range(3):
            await lanes.put("sent", f"sent{number}")
        taken = [await lanes.take() for _ in range(8)]
    assert taken == ["sent0", "b0", "sent1", "c0", "sent2", "a1", "b1", "c1"]


async def test_portals_take_turns():
    lanes = open_lanes("a", "b")
    for item in ("a1", "a2", "a3"):
        await lanes.put("a", item)
    await lanes.put("b", "b1")
    assert [await lanes.take() for _ in range(4)] == ["a1", "b1", "a2", "a3"]


async def test_a_portal_without_a_token_holds_nobody_back():
    lanes = open_lanes("fast")
    lanes.open("slow", LocalGate(0.001, 1), 10)
    for number in range(3):
        await lanes.put("slow", f"slow{number}")
        await lanes.put("fast", f"fast{number}")
    async with paced(lanes):
        taken = [await lanes.take() for _ in range(4)]
    assert sorted(taken) == ["fast0", "fast1", "fast2", "slow0"]


async def test_a_portal_serves_no_more_at_once_than_it_allows():
    lanes = open_lanes("a", max_in_flight=1)
    await lanes.put("a", 1)
    await lanes.put("a", 2)
    assert await lanes.take() == 1
    second = asyncio.create_task(lanes.take())
    await asyncio.sleep(0.01)
    assert not second.done()
    lanes.done("a")
    assert await second == 2


async def test_the_feed_of_a_full_lane_waits_and_others_do_not():
    lanes = open_lanes("full", "empty", depth=2)
    feeding = [asyncio.create_task(lanes.put("full", number)) for number in range(3)]
    await asyncio.sleep(0.01)
    assert [task.done() for task in feeding] == [True, True, False]
    await lanes.put("empty", "goes in")
    await lanes.take()
    await asyncio.gather(*feeding)


async def test_an_item_whose_feed_was_cancelled_is_not_lost():
    lanes = open_lanes("a", depth=1)
    await lanes.put("a", 1)
    feeding = asyncio.create_task(lanes.put("a", 2))
    await asyncio.sleep(0.01)
    feeding.cancel()
    assert lanes.left == [1, 2]


async def test_an_item_that_was_put_back_goes_again_after_its_wait():
    lanes = open_lanes("a")
    await lanes.put("a", "again")
    await lanes.take()
    lanes.put_back("a", "again", 0.01)
    lanes.close()
    assert await lanes.take() == "again"


async def test_workers_leave_when_the_last_item_is_over_and_not_before():
    lanes = open_lanes("a")
    await lanes.put("a", 1)
    await lanes.take()
    lanes.close()
    leaving = asyncio.create_task(lanes.take())
    await asyncio.sleep(0.01)
    assert not leaving.done()  # what is in flight may still be put back
    lanes.done("a")
    assert await leaving is None


async def test_after_a_stop_nothing_is_handed_out_and_nothing_is_lost():
    lanes = open_lanes("a")
    for number in range(3):
        await lanes.put("a", number)
    await lanes.take()
    lanes.abandon()
    assert await lanes.take() is None
    lanes.put_back("a", "retry", 60)
    assert lanes.left == [1, 2, "retry"]


async def test_slots_are_reserved_for_what_waits_and_has_room():
    gate = ScriptedGate(grant(0, 0))
    lanes = await gated(gate, 1, 2, 3, max_in_flight=2)
    async with paced(lanes):
        assert [await lanes.take(), await lanes.take()] == [1, 2]
    assert gate.wanted == [2]


async def test_a_slot_that_was_not_used_in_time_is_thrown_away():
    gate = ScriptedGate(grant(-1, lasts=0.5), grant(0))
    lanes = await gated(gate, 1)
    async with paced(lanes):
        assert await lanes.take() == 1
    assert gate.wanted == [1, 1]


async def test_an_item_goes_when_its_slot_says_and_no_sooner():
    lanes = await gated(ScriptedGate(grant(0.05)), 1)
    started = time.monotonic()
    async with paced(lanes):
        await lanes.take()
    assert time.monotonic() - started >= 0.05


async def test_slots_that_nobody_used_are_given_back():
    gate = ScriptedGate(grant(0, 60, 120))
    lanes = await gated(gate, 1, 2, 3)
    async with paced(lanes):
        await lanes.take()
    assert gate.given_back == 2


async def test_slots_that_keep_are_reserved_many_at_once_and_not_given_back():
    gate = ScriptedGate(grant(0, keeps=True), grant(*[0] * 8, keeps=True))
    lanes = await gated(gate, "one", "two")
    async with paced(lanes):
        assert [await lanes.take() for _ in range(2)] == ["one", "two"]
    assert (gate.wanted, gate.given_back) == ([2, 8], 0)


async def test_slots_that_keep_are_not_used_once_the_portal_failed():
    gate = ScriptedGate(grant(0, 0, keeps=True), Grant(is_shut=True))
    lanes, sent_away = await gated(gate, "one", "two"), asyncio.Event()
    pacing = asyncio.create_task(lanes.pace(lambda *_: sent_away.set()))
    assert await lanes.take() == "one"
    await lanes.tell("a", Outcome.FAILED)
    second = asyncio.create_task(lanes.take())
    await sent_away.wait()
    lanes.abandon()
    assert await second is None
    await pacing


async def test_a_gate_that_cannot_be_reached_is_asked_again_later():
    gate = ScriptedGate(Grant(again_seconds=0.01), grant(0))
    lanes = await gated(gate, 1)
    async with paced(lanes):
        assert await lanes.take() == 1


async def test_a_gate_is_left_alone_while_no_worker_waits():
    gate = ScriptedGate()
    lanes = await gated(gate, 1)
    async with paced(lanes):
        await asyncio.sleep(0.01)
        assert gate.wanted == []


async def test_while_a_probe_is_out_nothing_else_goes():
    gate = ScriptedGate(grant(0, is_probe=True), grant(0))
    lanes = await gated(gate, 1, 2)
    async with paced(lanes):
        assert await lanes.take() == 1
        second = asyncio.create_task(lanes.take())
        await asyncio.sleep(0.01)
        assert not second.done()
        lanes.done("a")
        assert await second == 2


async def test_what_waits_for_a_portal_that_is_shut_is_sent_away():
    away = []
    lanes = await gated(ScriptedGate(Grant(is_shut=True)), 1, 2)
    lanes.open("other", None, 1)
    pacing = asyncio.create_task(lanes.pace(lambda *sent: away.append(sent)))
    taking = asyncio.create_task(lanes.take())
    await asyncio.sleep(0.01)
    assert away == [("a", [1, 2])]
    await lanes.put("other", 3)
    assert await taking == 3
    lanes.done("other")
    lanes.close()
    assert await lanes.take() is None
    await pacing


async def test_five_thousand_documents_wait_outside_while_nobody_takes_them():
    lanes = open_lanes(*map(str, range(10)), depth=4)

    async def produce(key):
        for number in range(500):
            await lanes.put(key, (key, number))

    feeding = [asyncio.create_task(produce(str(key))) for key in range(10)]
    await asyncio.sleep(0.01)
    assert len(lanes) == 10 * (4 + 1)
    assert not any(task.done() for task in feeding)
    for _ in range(5000):
        key, _ = await lanes.take()
        lanes.done(key)
        assert len(lanes) <= 10 * (4 + 1)
    await asyncio.gather(*feeding)
    assert len(lanes) == 0


async def test_a_redirect_waits_for_a_slot_of_its_own():
    lanes = Lanes(10)
    lanes.open("a", LocalGate(1000.0, 1), 10)
    assert await lanes.another_slot("a")
    lanes.open("uploads", None, 10)
    assert await lanes.another_slot("uploads")


async def test_what_is_withdrawn_comes_to_nobody_and_the_rest_keeps_its_order():
    lanes = open_lanes("a")
    for number in range(6):
        await lanes.put("a", number)
    assert await lanes.take() == 0
    lanes.put_back("a", 0, 0.0)
    assert lanes.withdraw("a", lambda number: number % 2 == 0) == [2, 4, 0]
    assert [await lanes.take() for _ in range(3)] == [1, 3, 5]
    assert len(lanes) == 0


async def test_a_feed_that_waits_for_a_full_lane_goes_on_when_its_items_are_withdrawn():
    lanes = open_lanes("a", depth=1)
    await lanes.put("a", 1)
    feeding = asyncio.create_task(lanes.put("a", 2))
    await asyncio.sleep(0)
    assert not feeding.done()
    lanes.withdraw("a", lambda number: number == 1)
    await feeding
    assert await lanes.take() == 2
