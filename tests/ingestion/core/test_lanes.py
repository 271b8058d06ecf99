"""One queue per portal: fair, bounded, at each portal's own pace."""

import asyncio

from ingestion.core.lanes import Lanes
from ingestion.core.limiter import TokenBucket


def open_lanes(*keys, depth=100, max_in_flight=100):
    lanes = Lanes(depth)
    for key in keys:
        lanes.open(key, None, max_in_flight)
    return lanes


async def test_portals_take_turns():
    lanes = open_lanes("a", "b")
    for item in ("a1", "a2", "a3"):
        await lanes.put("a", item)
    await lanes.put("b", "b1")
    assert [await lanes.take() for _ in range(4)] == ["a1", "b1", "a2", "a3"]


async def test_a_portal_without_a_token_holds_nobody_back():
    lanes = open_lanes("fast")
    lanes.open("slow", TokenBucket(0.001, 1), 10)
    for number in range(3):
        await lanes.put("slow", f"slow{number}")
        await lanes.put("fast", f"fast{number}")
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
