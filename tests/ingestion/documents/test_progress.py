"""Tests of the progress and the results of batches."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from audit.ledger.actors import Actor
from audit.ledger.log import ledger
from ingestion.core.states import BatchState, DocumentState
from ingestion.dispatch import leases
from ingestion.documents import batches, progress, results
from ingestion.intake import retrying
from ingestion.models import Batch, Document, PortalLimitState
from ingestion.rules.findings import RuleFinding
from tests import steps
from tests.factories import make_batch, verdict

pytestmark = pytest.mark.django_db
OPS = Actor("system:tests", "ops")


@pytest.fixture(autouse=True)
def _folders(settings, tmp_path):
    settings.SPOOL_DIR = tmp_path


def claim():
    [lease] = leases.claim_due_chunks(1, by="here:1:1")
    return lease


def end(lease, item, code="DOWNLOAD_FAILED", *, held=False):
    steps.give_up(item.document, lease.lease_id, code, {}, held=held)


def close(lease):
    leases.return_chunk(lease.chunk, lease.lease_id)


def test_progress_grows_with_every_document_and_reaches_100_at_the_end():
    batch = make_batch(documents=4)
    seen = [progress.get_progress(batch)]
    lease = claim()
    for item in lease.items:
        end(lease, item)
        seen.append(progress.get_progress(batch))
    close(lease)
    seen.append(progress.get_progress(batch))
    assert [each.percentage for each in seen] == [0, 25, 50, 75, 99, 100]
    assert [each.settled for each in seen] == [0, 1, 2, 3, 4, 4]
    steps = [each.step for each in (seen[0], seen[1], seen[-1])]
    assert steps == ["Waiting for a worker", "Fetching and checking", "Finished"]


def test_a_retry_of_an_ended_batch_is_new_work_with_its_own_progress_and_estimate():
    batch = make_batch(documents=4)
    lease = claim()
    for item in lease.items:
        end(lease, item, "INTERNAL_ERROR", held=item != lease.items[0])
    close(lease)
    now = timezone.now()
    Batch.objects.update(started_at=now - timedelta(seconds=40), finished_at=now)
    retrying.retry_held(Document.objects.all(), by=OPS)
    begun = progress.get_progress(batch)
    assert (begun.settled, begun.total, begun.percentage) == (1, 4, 25)
    assert begun.step == "Retrying held documents"
    assert begun.estimate.low <= begun.estimated_seconds_remaining == 30 <= begun.estimate.high
    lease = claim()
    end(lease, lease.items[0], "INTERNAL_ERROR", held=True)
    later = progress.get_progress(batch)
    assert (later.settled, later.percentage, later.estimated_seconds_remaining) == (2, 50, 20)


def test_the_remaining_time_is_not_estimated_while_a_portal_does_not_respond():
    batch = make_batch(documents=4)
    lease = claim()
    end(lease, lease.items[0])
    assert progress.get_progress(batch).estimate is not None
    portal = batch.packets.get().site.portal
    PortalLimitState.objects.create(portal=portal, breaker="OPEN")
    down = progress.get_progress(batch)
    assert (down.estimate, down.waits_for_portal) == (None, True)
    assert down.step == "Waiting for a portal that does not respond"
    PortalLimitState.objects.update(breaker="CLOSED")
    assert progress.get_progress(batch).estimate is not None


def test_the_pace_after_an_outage_is_that_of_the_time_before_and_after_it():
    batch = make_batch(documents=4)
    portal, now = batch.packets.get().site.portal, timezone.now()
    lease = claim()
    for item in lease.items[:2]:
        end(lease, item)
    Batch.objects.update(started_at=now - timedelta(seconds=3700))
    before, during = lease.items[:2]
    for item, seconds in ((before, 3650), (during, 1000)):
        settled_at = now - timedelta(seconds=seconds)
        Document.objects.filter(pk=item.document).update(settled_at=settled_at)
    names = (portal.key, "upload")
    for seconds, source, target in ((3640, *names), (40, *reversed(names))):
        change = {"from": source, "to": target}
        at = now - timedelta(seconds=seconds)
        with ledger():
            portal.record("portal.source_changed", by=OPS, detail=change, occurred_at=at)
    # One document in 100 seconds with a portal. What was rejected without it does not count.
    assert 200 <= progress.get_progress(batch).estimate.likely <= 210


def test_an_estimate_ends_after_the_next_attempt_of_each_document():
    batch = make_batch(documents=2)
    lease = claim()
    end(lease, lease.items[0])
    later = timezone.now() + timedelta(seconds=3600)
    Document.objects.filter(pk=lease.items[1].document).update(
        state=DocumentState.RECEIVED, next_attempt_at=later
    )
    assert 3590 < progress.get_progress(batch).estimate.low <= 3600


def test_the_remaining_time_is_estimated_when_a_document_is_settled():
    batch = make_batch(documents=4)
    assert progress.get_progress(batch).estimated_seconds_remaining is None
    lease = claim()
    assert progress.get_progress(batch).estimated_seconds_remaining is None
    end(lease, lease.items[0])
    Batch.objects.update(started_at=timezone.now() - timedelta(seconds=100))
    assert 300 <= progress.get_progress(batch).estimated_seconds_remaining <= 400
    for item in lease.items[1:]:
        end(lease, item)
    close(lease)
    assert progress.get_progress(batch).estimated_seconds_remaining == 0


def test_a_batch_that_is_being_cancelled_has_its_own_step():
    batch = make_batch()
    claim()
    batches.cancel_batch(batch, by=OPS)
    assert progress.get_progress(batch).step == "Cancelling"


def questions(looks):
    return [query["sql"] for query in looks.captured_queries]


def test_reading_progress_writes_nothing():
    batch = make_batch(documents=3)
    with CaptureQueriesContext(connection) as looks:
        progress.get_progress(batch)
        progress.wait_until_final(batch, 0.3)
        list(results.list_results(batch))
    assert questions(looks)
    assert not [sql for sql in questions(looks) if sql.startswith(("INSERT", "UPDATE", "DELETE"))]


def test_a_progress_that_many_clients_request_is_counted_once():
    batch = make_batch(documents=3)
    first = progress.get_progress(batch, max_age=60)
    with CaptureQueriesContext(connection) as looks:
        assert progress.get_progress(batch, max_age=60) == first
    assert len(questions(looks)) == 1


def test_the_end_of_a_batch_is_visible_despite_the_cache():
    batch = make_batch()
    assert not progress.get_progress(batch, max_age=60).is_final
    batches.cancel_batch(batch, by=OPS)
    assert progress.get_progress(batch, max_age=60).state == BatchState.CANCELLED


def test_a_wait_ends_with_the_batch():
    batch = make_batch()
    looks = []

    def sleep(seconds):
        looks.append(seconds)
        if len(looks) == 3:
            batches.cancel_batch(Batch.objects.get(pk=batch.pk), by=OPS)

    assert progress.wait_until_final(batch, 600, sleep=sleep).is_final
    assert len(looks) == 3
    assert looks == sorted(looks)
    assert looks[0] < looks[-1]


def test_a_wait_can_end_before_the_batch():
    batch = make_batch()
    lease = claim()
    assert progress.wait_until_final(batch, 0.1).state == BatchState.IN_PROGRESS
    assert leases.renew([lease.lease_id]) == {lease.lease_id}


def test_the_results_name_each_document_with_what_happened_and_what_to_do(settings):
    settings.CHUNK_SIZE = 2
    batch = make_batch(documents=3)
    lease = claim()
    filed, rejected = lease.items
    steps.start_checking(filed.document, lease.lease_id, sha256="a" * 64, size=1)
    steps.conclude(filed.document, lease.lease_id, verdict(), pages=1)
    steps.start_checking(rejected.document, lease.lease_id, sha256="b" * 64, size=1)
    expired = RuleFinding("ENCRYPTED_DOCUMENT")
    answer = verdict("REJECTED", expired)
    steps.conclude(rejected.document, lease.lease_id, answer, pages=None)
    close(lease)
    first, second, third = results.list_results(batch)
    assert (first.state, first.what, first.sha256) == (
        "ARCHIVED",
        "The document is on file.",
        "a" * 64,
    )
    assert (second.state, second.code) == ("REJECTED", "ENCRYPTED_DOCUMENT")
    assert "password" in second.what + second.do
    assert third.state == DocumentState.RECEIVED
    document = batch.documents.get(doc_id="doc-1")
    assert first.as_json() == {
        "site": document.site.site_id,
        "doc_id": "doc-1",
        "sha256": "a" * 64,
        "state": "ARCHIVED",
        "code": "",
        "what": "The document is on file.",
        "why": "",
        "do": "No action is needed.",
        "url": document.url,
        "part_of": "",
        "page_range": None,
    }


def test_results_are_read_in_pages():
    batch = make_batch(documents=30)
    with CaptureQueriesContext(connection) as looks:
        assert len(list(results.list_results(batch))) == 30
    assert len(questions(looks)) == 2  # not one for each document
