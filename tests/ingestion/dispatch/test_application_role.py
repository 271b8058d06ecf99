"""Tests a shift with a database role that owns no table and may only add to the ledger."""

import pytest

from ingestion.core.states import BatchState
from ingestion.dispatch.shift import work_shift
from samples.portal import SamplePortal
from tests.audit.support import APPLICATION, application_role, sql
from tests.commands import run
from tests.ingestion.whole_batches import assert_filed_once, assert_outcomes

__all__ = ["application_role"]


@pytest.mark.requirement("R01")
@pytest.mark.only_on("postgresql", reason="SQLite has no roles")
def test_a_role_that_cannot_change_the_ledger_works_on_a_packet(application_role, few, submit):
    with SamplePortal(few.directory, {}, faults=0) as portal:
        batch = submit(few, portal)
        work_shift()
    assert sql("SELECT current_user") == [(APPLICATION,)]
    batch.refresh_from_db()
    assert batch.state == BatchState.COMPLETED
    assert_outcomes(few, batch)
    assert_filed_once()
    assert run("verify_audit", "--full")[0] == 3
