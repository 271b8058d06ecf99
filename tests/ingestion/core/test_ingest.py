"""Tests of the core, with one document and with many."""

import asyncio
import time

import pytest

from ingestion.core.breaker import BreakerSettings
from ingestion.core.errors import (
    LeaseLost,
    NotServed,
    PortalFailing,
    PortalThrottled,
    PortalUnreachable,
    ReadingFault,
    StorageUnavailable,
)
from ingestion.core.ports import FiledVersion
from tests.ingestion.core.fakes import LIMITS, House, make_item, terms


async def test_a_document_is_fetched_checked_and_filed():
    house = House()
    await house.ingest([make_item(1)])
    assert house.recorder.moves == {1: ["VALIDATING", "ARCHIVED"]}


async def test_every_document_of_many_sites_is_finished_exactly_once():
    house = House()
    await house.ingest([make_item(n, site=str(n % 7)) for n in range(200)])
    assert sorted(house.recorder.ended) == list(range(200))
    assert all(moves[-1] == "ARCHIVED" for moves in house.recorder.moves.values())


async def test_no_more_documents_are_fetched_at_once_than_there_are_fetchers():
    house = House()
    house.portal.turns = 5
    await house.ingest([make_item(n, site=str(n)) for n in range(40)])
    assert house.portal.max_at_once == 4


async def test_bytes_that_are_on_file_are_not_read_again():
    house = House()
    house.recorder.on_file.add("sha-of-1")
    await house.ingest([make_item(1)])
    assert house.recorder.moves[1] == ["DEDUPED"]


async def test_an_unchanged_document_is_not_read_and_one_no_longer_on_file_is_fetched():
    house = House()
    house.recorder.on_file.add("a")
    unchanged = make_item(1, filed=FiledVersion('"1"', "a"))
    withdrawn = make_item(2, filed=FiledVersion('"2"', "b"))
    await house.ingest([unchanged, withdrawn])
    assert house.recorder.moves[1] == ["DEDUPED"]
    assert house.recorder.moves[2] == ["not on file", "VALIDATING", "ARCHIVED"]
    assert sorted(house.recorder.ended) == [1, 2]


async def test_a_portal_that_recovers_costs_a_retry_and_not_the_document():
    house = House()
    house.fail(1, PortalFailing(), PortalFailing())
    await house.ingest([make_item(1)])
    assert house.portal.asked == [1, 1, 1]
    failed = "again DOWNLOAD_FAILED"
    assert house.recorder.moves[1] == [failed, failed, "VALIDATING", "ARCHIVED"]


async def test_a_document_that_its_portal_never_serves_is_rejected_after_the_last_try():
    house = House()
    house.fail(2, *[PortalFailing() for _ in range(3)])
    await house.ingest([make_item(1), make_item(2)])
    assert house.recorder.moves[2][-1] == "REJECTED DOWNLOAD_FAILED"
    assert house.portal.asked.count(2) == 3


async def test_a_portal_that_serves_nothing_rejects_no_document():
    house = House()
    house.fail(1, *[PortalFailing() for _ in range(3)])
    await house.ingest([make_item(1)])
    assert house.recorder.moves[1][-1] == "ARCHIVED"


async def test_failures_of_the_portal_are_retried_without_limit():
    house = House()
    house.fail(1, PortalUnreachable(), *[PortalThrottled() for _ in range(5)])
    await house.ingest([make_item(1), make_item(2)])
    assert house.recorder.moves[1][-1] == "ARCHIVED"


@pytest.mark.parametrize("error", [PortalUnreachable(), PortalThrottled(), PortalFailing()])
async def test_past_its_deadline_a_document_is_held_and_never_rejected(error):
    house = House()
    house.fail(1, error)
    await house.ingest([make_item(1, deadline=time.monotonic())])
    assert house.recorder.moves[1] == ["HELD PORTAL_UNAVAILABLE"]


async def test_a_document_leaves_the_shift_for_a_long_wait_only():
    house, long = House(), PortalThrottled()
    long.retry_after = 60
    house.fail(1, PortalThrottled(), long)
    await house.ingest([make_item(1)])
    assert house.recorder.moves[1] == ["again DOWNLOAD_FAILED", "later DOWNLOAD_FAILED"]
    assert house.recorder.ended == [1]


async def test_the_tries_of_an_earlier_shift_count():
    house = House()
    house.fail(2, PortalFailing())
    await house.ingest([make_item(1), make_item(2, tries=2, counted_tries=2)])
    assert house.recorder.moves[2] == ["REJECTED DOWNLOAD_FAILED"]


async def test_failures_of_a_portal_that_is_down_never_count_against_a_document():
    house = House()
    house.fail(2, PortalUnreachable(), PortalUnreachable(), PortalFailing())
    await house.ingest([make_item(1), make_item(2)])
    assert len(house.portal.asked) > LIMITS.retry.fetch_tries + 1
    assert house.recorder.moves[2][-1] == "ARCHIVED"


async def test_a_portal_that_is_down_is_not_asked_and_its_documents_leave_the_shift():
    house = House(breaker=BreakerSettings(failures=2))
    for document in range(1, 21):
        house.fail(document, *[PortalUnreachable() for _ in range(9)])
    await house.ingest([*[make_item(n) for n in range(1, 21)], make_item(21, site="2")])
    assert len(house.portal.asked) <= LIMITS.fetchers + 2
    assert house.recorder.moves[20] == ["postponed"]
    assert house.recorder.moves[21][-1] == "ARCHIVED"
    assert sorted(house.recorder.ended) == list(range(1, 22))


async def test_documents_of_fast_portals_do_not_wait_for_a_slow_one():
    house = House()
    slow = [make_item(n, site="slow", terms=terms("slow", rate=0.001, burst=1)) for n in range(3)]
    fast = [make_item(n, site=str(n % 4)) for n in range(3, 100)]
    working = asyncio.create_task(house.ingest([*slow, *fast]))
    await house.recorder.has_ended(len(fast) + 1)
    assert set(house.recorder.ended) == {0, *(item.document for item in fast)}
    house.queues.abandon()
    await working
    assert {item.document for item in house.queues.waiting_items} == {1, 2}


async def test_a_refusal_is_final_at_once():
    house = House()
    house.fail(1, NotServed("404"))
    await house.ingest([make_item(1)])
    assert house.portal.asked == [1]
    assert house.recorder.moves[1] == ["REJECTED DOWNLOAD_FAILED"]


async def test_the_log_has_the_place_of_a_fault_whose_code_does_not_name_it(caplog):
    house = House()
    path = (await house.portal.fetch(make_item(1))).path
    house.reader.faults[path] = ReadingFault("the reading pool did not start")
    await house.ingest([make_item(1)])
    assert house.recorder.moves[1][-1] == "HELD INTERNAL_ERROR"
    [record] = [each for each in caplog.records if each.exc_info]
    assert record.exc_info[0] is ReadingFault
    assert make_item(1).name in record.getMessage()


@pytest.mark.parametrize("error", [StorageUnavailable(), RuntimeError("a bug"), MemoryError()])
async def test_our_own_failure_holds_the_document_and_never_rejects_it(error):
    house = House()
    house.reader.faults[(await house.portal.fetch(make_item(1))).path] = error
    await house.ingest([make_item(1), make_item(2)])
    assert house.recorder.moves[1][-1].startswith("HELD ")
    assert house.recorder.moves[2][-1] == "ARCHIVED"


async def test_a_poisoned_document_is_held_and_its_neighbours_go_on():
    house = House()
    house.recorder.poison.add(1)
    await house.ingest([make_item(n) for n in range(1, 5)])
    assert house.recorder.moves[1] == ["HELD POISON"]
    assert 1 not in house.portal.asked
    assert [house.recorder.moves[n][-1] for n in (2, 3, 4)] == ["ARCHIVED"] * 3


async def test_a_worker_that_lost_its_lease_writes_nothing_more_and_logs_it(caplog):
    house = House()
    house.portal.faults[1] = [LeaseLost()]
    await house.ingest([make_item(1), make_item(2)])
    assert house.recorder.moves[1] == []
    assert house.recorder.moves[2][-1] == "ARCHIVED"
    assert caplog.messages.count("document.lease_lost") == 1


async def test_an_upload_waits_for_no_portal():
    house = House()
    await house.ingest([make_item(1, url="", terms=None, spooled="uploads/x")])
    assert house.recorder.moves[1] == ["VALIDATING", "ARCHIVED"]
