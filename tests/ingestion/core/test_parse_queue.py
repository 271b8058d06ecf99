"""Tests of the queue between fetching and parsing."""

import asyncio

import pytest

from ingestion.core.parse_queue import ParseQueue
from tests.ingestion.core.fakes import make_item


def from_portal(number):
    return make_item(number)


def uploaded(number):
    return make_item(number, terms=None)


async def drained(parse_queue):
    parse_queue.end(consumers=1)
    numbers = []
    while ready := await parse_queue.get():
        numbers.append(ready[0].document)
    return numbers


async def test_documents_of_portals_wait_in_order_and_block_fetchers():
    parse_queue = ParseQueue(max_fetched=2)
    for number in (1, 2):
        await parse_queue.put(from_portal(number), None)
    third = asyncio.create_task(parse_queue.put(from_portal(3), None))
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(asyncio.shield(third), 0.05)
    assert (await parse_queue.get())[0].document == 1
    await third
    assert await drained(parse_queue) == [2, 3]


async def test_uploads_go_first_and_never_wait_for_a_place():
    parse_queue = ParseQueue(max_fetched=1)
    await parse_queue.put(from_portal(1), None)
    for number in (2, 3):
        await asyncio.wait_for(parse_queue.put(uploaded(number), None), 60)
    assert await drained(parse_queue) == [2, 3, 1]


async def test_every_consumer_receives_the_end_after_the_last_document():
    parse_queue = ParseQueue(max_fetched=1)
    await parse_queue.put(from_portal(1), None)
    parse_queue.end(consumers=2)
    assert [await parse_queue.get() for _ in range(3)][1:] == [None, None]
