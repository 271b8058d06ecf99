"""Tests that a document that kills its workers is held, and its neighbours are not."""

import os
import signal
from contextlib import suppress

import pytest

from samples.portal import SamplePortal
from sites.models import Portal
from tests.ingestion.dispatch.conftest import only
from tests.ingestion.hosts import eventually, find, worker_host
from tests.ingestion.scenes import assert_as_expected, each_was_filed_once, is_completed

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.storm,
]
BUDGET = 3
POISON = "lab-normal-ranges"  # a scan: it is read for long enough to be met at it


def test_poison_is_held_after_its_budget_and_its_neighbours_are_filed(one_site, submit, settings):
    packet = only(one_site, "irb-approval", "cv-whitfield", POISON)
    with (
        SamplePortal(one_site.directory, {}, faults=0) as portal,
        worker_host(settings, DOCUMENT_ATTEMPTS=str(BUDGET)) as host,
    ):
        batch = submit(packet, portal)
        Portal.objects.update(rate_per_second=100.0, burst=100)
        poison = batch.documents.get(doc_id=POISON)
        kills = kill_whoever_reads(poison, host)
        eventually(lambda: is_completed(batch))
    poison.refresh_from_db()
    assert (poison.state, poison.code) == ("HELD", "POISON")
    assert kills == BUDGET
    for expected in packet.expectations:
        if expected.doc_id != poison.doc_id:
            assert_as_expected(batch.documents.get(doc_id=expected.doc_id), expected)
    each_was_filed_once()


def kill_whoever_reads(poison, host):
    """Until the document is settled. Answers how many workers it took."""
    kills = 0
    while True:
        poison.refresh_from_db()
        if poison.settled_at:
            return kills
        if poison.state == "VALIDATING":
            kills += 1
            for worker in find(host, "worker"):
                with suppress(ProcessLookupError):
                    os.kill(worker, signal.SIGKILL)
            eventually(lambda: is_let_go(poison))


def is_let_go(document):
    """The lease of its dead reader has run out, and it waits for the next."""
    document.refresh_from_db()
    return document.state != "VALIDATING"
