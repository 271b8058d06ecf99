"""What was fetched waits to be read: in a bounded queue, which what people sent may pass."""

import asyncio

import pytest

from ingestion.core.parse_queue import Handover
from tests.ingestion.core.fakes import make_item


def given(number):
    return make_item(number)


def sent(number):
    return make_item(number, terms=None)


async def drained(handover):
    handover.end(takers=1)
    numbers = []
    while ready := await handover.get():
        numbers.append(ready[0].document)
    return numbers


async def test_what_portals_gave_waits_in_order_and_blocks_who_brings_more():
    handover = Handover(room=2)
    for number in (1, 2):
        await handover.put(given(number), None)
    third = asyncio.create_task(handover.put(given(3), None))
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(asyncio.shield(third), 0.05)
    assert (await handover.get())[0].document == 1
    await third
    assert await drained(handover) == [2, 3]


async def test_what_people_sent_goes_first_and_is_never_held_up_by_a_full_queue():
    handover = Handover(room=1)
    await handover.put(given(1), None)
    for number in (2, 3):
        await asyncio.wait_for(handover.put(sent(number), None), 1)
    assert await drained(handover) == [2, 3, 1]


async def test_everybody_who_takes_is_told_of_the_end_and_nothing_is_left():
    handover = Handover(room=1)
    await handover.put(given(1), None)
    handover.end(takers=2)
    assert [await handover.get() for _ in range(3)][1:] == [None, None]
