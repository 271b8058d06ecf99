"""What was fetched waits to be read: in a bounded queue, which what people sent may pass."""

import asyncio

import pytest

from ingestion.core.parse_queue import ParseQueue
from tests.ingestion.core.fakes import make_item


def given(number):
    return make_item(number)


def sent(number):
    return make_item(number, terms=None)


async def drained(parse_queue):
    parse_queue.end(consumers=1)
    numbers = []
    while ready := await parse_queue.get():
        numbers.append(ready[0].document)
    return numbers


async def test_what_portals_gave_waits_in_order_and_blocks_who_brings_more():
    parse_queue = ParseQueue(max_fetched=2)
    for number in (1, 2):
        await parse_queue.put(given(number), None)
    third = asyncio.create_task(parse_queue.put(given(3), None))
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(asyncio.shield(third), 0.05)
    assert (await parse_queue.get())[0].document == 1
    await third
    assert await drained(parse_queue) == [2, 3]


async def test_what_people_sent_goes_first_and_is_never_held_up_by_a_full_queue():
    parse_queue = ParseQueue(max_fetched=1)
    await parse_queue.put(given(1), None)
    for number in (2, 3):
        await asyncio.wait_for(parse_queue.put(sent(number), None), 60)
    assert await drained(parse_queue) == [2, 3, 1]


async def test_everybody_who_takes_is_told_of_the_end_and_nothing_is_left():
    parse_queue = ParseQueue(max_fetched=1)
    await parse_queue.put(given(1), None)
    parse_queue.end(consumers=2)
    assert [await parse_queue.get() for _ in range(3)][1:] == [None, None]
