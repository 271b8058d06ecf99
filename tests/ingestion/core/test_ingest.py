"""One document's way through the core, and many at a time."""

import pytest

from ingestion.core.errors import (
    LeaseLost,
    NotServed,
    PortalFailing,
    PortalUnreachable,
    StorageUnavailable,
)
from tests.ingestion.core.fakes import House, make_item


async def test_a_document_is_fetched_checked_and_filed():
    house = House()
    await house.ingest([make_item(1)])
    assert house.desk.moves == {1: ["VALIDATING", "ARCHIVED"]}


async def test_every_document_of_many_sites_is_over_exactly_once():
    house = House()
    await house.ingest([make_item(n, site=str(n % 7)) for n in range(200)])
    assert sorted(house.desk.ended) == list(range(200))
    assert all(moves[-1] == "ARCHIVED" for moves in house.desk.moves.values())


async def test_no_more_documents_are_fetched_at_once_than_there_are_fetchers():
    house = House()
    await house.ingest([make_item(n, site=str(n)) for n in range(40)])
    assert house.portal.most_at_once == 4


async def test_bytes_that_are_on_file_are_not_read_again():
    house = House()
    house.desk.on_file.add("sha-of-1")
    await house.ingest([make_item(1)])
    assert house.desk.moves[1] == ["DEDUPED"]


async def test_a_portal_that_recovers_costs_a_retry_and_not_the_document():
    house = House()
    house.fail(1, PortalFailing(), PortalFailing())
    await house.ingest([make_item(1)])
    assert house.portal.asked == [1, 1, 1]
    assert house.desk.moves[1] == ["VALIDATING", "ARCHIVED"]


async def test_a_document_that_its_portal_never_gives_is_rejected_after_the_last_try():
    house = House()
    house.fail(1, *[PortalFailing() for _ in range(3)])
    await house.ingest([make_item(1)])
    assert house.desk.moves[1] == ["REJECTED DOWNLOAD_FAILED"]
    assert len(house.portal.asked) == 3


async def test_a_portal_that_never_answers_is_no_fault_of_the_document():
    house = House()
    house.fail(1, *[PortalUnreachable() for _ in range(3)])
    await house.ingest([make_item(1)])
    assert house.desk.moves[1] == ["HELD PORTAL_UNAVAILABLE"]


async def test_a_refusal_is_final_at_once():
    house = House()
    house.fail(1, NotServed("404"))
    await house.ingest([make_item(1)])
    assert house.portal.asked == [1]
    assert house.desk.moves[1] == ["REJECTED DOWNLOAD_FAILED"]


@pytest.mark.parametrize("error", [StorageUnavailable(), RuntimeError("a bug"), MemoryError()])
async def test_our_own_failure_holds_the_document_and_never_rejects_it(error):
    house = House()
    house.reader.faults[(await house.portal.fetch(make_item(1))).path] = error
    await house.ingest([make_item(1), make_item(2)])
    assert house.desk.moves[1][-1].startswith("HELD ")
    assert house.desk.moves[2][-1] == "ARCHIVED"


async def test_a_poisoned_document_is_held_and_its_neighbours_go_on():
    house = House()
    house.desk.poison.add(1)
    await house.ingest([make_item(n) for n in range(1, 5)])
    assert house.desk.moves[1] == ["HELD POISON"]
    assert 1 not in house.portal.asked
    assert [house.desk.moves[n][-1] for n in (2, 3, 4)] == ["ARCHIVED"] * 3


async def test_a_worker_that_lost_its_lease_writes_nothing_more():
    house = House()
    house.portal.faults[1] = [LeaseLost()]
    await house.ingest([make_item(1), make_item(2)])
    assert house.desk.moves[1] == []
    assert house.desk.moves[2][-1] == "ARCHIVED"


async def test_an_upload_waits_for_no_portal():
    house = House()
    await house.ingest([make_item(1, url="", terms=None, spooled="uploads/x")])
    assert house.desk.moves[1] == ["VALIDATING", "ARCHIVED"]
