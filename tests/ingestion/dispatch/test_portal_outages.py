"""Tests that documents of a portal that is down wait in their rows and are not rejected."""

import dataclasses
from datetime import timedelta

import pytest
from django.utils import timezone

from audit.ledger.queries import list_entries
from ingestion.core.breaker import BreakerSettings
from ingestion.core.retry import RetryRules
from ingestion.core.states import ChunkState
from ingestion.dispatch import leases
from ingestion.dispatch.shift import work_shift
from ingestion.models import Chunk, Document, PortalLimitState
from samples.portal import SamplePortal
from tests.factories import make_batch, make_site

pytestmark = pytest.mark.django_db(transaction=True)
LONG_AGO = timezone.now() - timedelta(days=2)


@pytest.fixture(autouse=True)
def _waits_are_long(settings):
    # Each wait is drawn from 0 to 3600 seconds, so nearly every one is longer than a shift.
    hour = RetryRules(reschedule_seconds=0, backoff_base_seconds=3600, backoff_cap_seconds=3600)
    settings.INGEST_LIMITS = dataclasses.replace(settings.INGEST_LIMITS, retry=hour)
    settings.BREAKER = BreakerSettings(failures=3)


def batch_at_a_portal_that_is_down(documents=1):
    return make_batch(make_site("9001", base_url="http://127.0.0.1:9/x/"), documents=documents)


def end_waiting_times(batch):
    """End all waiting times of the batch and the cooldown of the portal."""
    batch.documents.update(next_attempt_at=LONG_AGO)
    batch.chunks.update(next_dispatch_at=LONG_AGO)
    PortalLimitState.objects.update(probe_at=0)


def list_failed_requests(batch):
    subjects = [document.subject for document in batch.documents.all()]
    return [entry for entry in list_entries(*subjects) if entry.event == "document.fetch_failed"]


def test_a_failed_request_is_recorded_and_the_document_waits_in_its_row():
    batch = batch_at_a_portal_that_is_down()
    work_shift()
    document, chunk = batch.documents.get(), batch.chunks.get()
    assert (document.state, document.fetch_tries, document.attempts) == ("RECEIVED", 1, 0)
    assert chunk.state == ChunkState.WAITING
    assert chunk.next_dispatch_at == document.next_attempt_at
    [entry] = list_failed_requests(batch)
    assert (entry.to_state, entry.code) == ("", "PORTAL_UNAVAILABLE")
    assert entry.detail["fault"] == "PortalUnreachable"
    assert entry.detail["tries"] == 1


def test_a_document_is_not_requested_before_its_next_attempt():
    batch = batch_at_a_portal_that_is_down(documents=2)
    first, second = batch.documents.order_by("pk")
    Document.objects.filter(pk=first.pk).update(next_attempt_at=timezone.now() + timedelta(hours=1))
    [lease] = leases.claim_due_chunks(1, by="here:1:1")
    assert [item.document for item in lease.items] == [second.pk]


def test_tries_and_deadline_survive_a_restart():
    batch = batch_at_a_portal_that_is_down()
    since = timezone.now() - timedelta(hours=1)
    batch.documents.update(fetch_tries=7, counted_tries=3, failing_since=since)
    work_shift()
    document = batch.documents.get()
    assert (document.fetch_tries, document.failing_since) == (8, since)
    assert document.counted_tries == 3, "the portal is to blame, not the document"


def test_a_document_is_held_after_its_deadline():
    batch = batch_at_a_portal_that_is_down()
    batch.documents.update(failing_since=LONG_AGO)
    work_shift()
    document = batch.documents.get()
    assert (document.state, document.code) == ("HELD", "PORTAL_UNAVAILABLE")


def test_documents_are_fetched_when_their_portal_answers_again(few, submit):
    with SamplePortal(few.directory, {}, faults=0) as portal:
        batch = submit(few, portal)
    work_shift()
    assert not batch.documents.exclude(state="RECEIVED").exists()
    port = int(portal.base_url.rpartition(":")[2])
    with SamplePortal(few.directory, {}, faults=0, port=port) as portal:
        end_waiting_times(batch)
        work_shift()  # It sends one probe, and the answer makes all documents due.
    assert not batch.documents.unsettled().exists()
    assert [entry.event for entry in list_entries(PortalLimitState.objects.get().subject)] == [
        "portal.breaker_opened",
        "portal.breaker_half_opened",
        "portal.breaker_closed",
    ]


@pytest.mark.slow
def test_a_portal_that_is_down_does_not_delay_other_portals(few, submit):
    down = batch_at_a_portal_that_is_down(documents=20)
    with SamplePortal(few.directory, {}, faults=0) as portal:
        batch = submit(few, portal)
        work_shift()
    assert not batch.documents.unsettled().exists()
    assert down.documents.filter(state="RECEIVED", attempts=0).count() == 20
    in_flight = 8  # at most, when the breaker opened
    assert 3 <= len(list_failed_requests(down)) <= 3 + in_flight
    [chunk] = down.chunks.all()
    assert chunk.state == ChunkState.WAITING
    assert chunk.next_dispatch_at > timezone.now() + timedelta(minutes=4)


def test_each_document_of_a_portal_that_is_down_states_the_time_of_the_next_attempt():
    batch = batch_at_a_portal_that_is_down(documents=20)
    work_shift()
    batch.documents.update(next_attempt_at=None)
    probe_at = PortalLimitState.objects.get().next_probe_at
    assert {document.waits_until for document in batch.documents.all()} == {probe_at}
    batch.chunks.update(next_dispatch_at=LONG_AGO)
    assert {document.waits_until for document in batch.documents.all()} == {None}


def test_a_portal_that_is_still_down_receives_one_request_per_cooldown():
    batch = batch_at_a_portal_that_is_down(documents=20)
    work_shift()
    before = len(list_failed_requests(batch))
    end_waiting_times(batch)
    work_shift()
    assert len(list_failed_requests(batch)) == before + 1
    assert batch.documents.filter(state="RECEIVED", attempts=0).count() == 20


def test_while_a_portal_is_down_documents_are_held_at_their_deadline():
    batch = batch_at_a_portal_that_is_down(documents=20)
    work_shift()
    waiting = batch.documents.order_by("pk")
    overdue, nearly_overdue = waiting[18], waiting[19]
    batch.documents.filter(pk=overdue.pk).update(failing_since=LONG_AGO)
    batch.documents.filter(pk=nearly_overdue.pk).update(
        failing_since=timezone.now() - timedelta(hours=23, minutes=59)
    )
    batch.chunks.update(next_dispatch_at=LONG_AGO)
    work_shift()
    overdue.refresh_from_db()
    assert (overdue.state, overdue.code) == ("HELD", "PORTAL_UNAVAILABLE")
    assert batch.documents.filter(state="RECEIVED").count() == 19
    assert Chunk.objects.get().next_dispatch_at < timezone.now() + timedelta(minutes=2)
