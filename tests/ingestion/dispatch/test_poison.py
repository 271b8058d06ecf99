"""Tests of poison messages: documents that kill their worker at each attempt."""

import os
import signal
from contextlib import suppress

import pytest

from samples.portal import SamplePortal
from sites.models import Portal
from tests.ingestion.dispatch.conftest import only
from tests.ingestion.hosts import eventually, find, worker_host
from tests.ingestion.whole_batches import assert_filed_once, assert_outcome, is_completed

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.storm,
]
MAX_ATTEMPTS = 3
POISON = "lab-normal-ranges"  # a scan, which takes long enough to kill its reader meanwhile


@pytest.mark.slow
def test_poison_is_held_after_its_attempts_and_other_documents_are_filed(
    one_site_with_scans, submit, settings
):
    packet = only(one_site_with_scans, "irb-approval", "cv-whitfield", POISON)
    with (
        SamplePortal(one_site_with_scans.directory, {}, faults=0) as portal,
        worker_host(settings, DOCUMENT_ATTEMPTS=str(MAX_ATTEMPTS)) as host,
    ):
        batch = submit(packet, portal)
        Portal.objects.update(rate_per_second=100.0, burst=100)
        poison = batch.documents.get(doc_id=POISON)
        kills = kill_each_reader(poison, host)
        eventually(lambda: is_completed(batch))
    poison.refresh_from_db()
    assert (poison.state, poison.code) == ("HELD", "POISON")
    assert kills == MAX_ATTEMPTS
    for expected in packet.expectations:
        if expected.doc_id != poison.doc_id:
            assert_outcome(batch.documents.get(doc_id=expected.doc_id), expected)
    assert_filed_once()


def kill_each_reader(poison, host):
    """Kill each worker that reads the document, until it is settled. Returns how many it were."""
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
            eventually(lambda: is_waiting_again(poison))


def is_waiting_again(document):
    """Return whether the document waits again, after the lease of its dead worker expired."""
    document.refresh_from_db()
    return document.state != "VALIDATING"
