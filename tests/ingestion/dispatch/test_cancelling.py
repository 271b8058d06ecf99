"""Tests of cancelling a batch during a shift, and of the room for urgent packets."""

import logging
import threading

import pytest
from django.core.files.base import ContentFile
from django.db import connections

from audit.ledger.actors import Actor, add_process, drop_process
from audit.ledger.queries import list_entries
from ingestion.core.states import BatchState, ChunkState, DocumentState
from ingestion.dispatch import leases, worker_steps
from ingestion.dispatch.shift import work_shift
from ingestion.documents import batches
from ingestion.intake import registration
from ingestion.models import Batch, Chunk
from samples.portal import SamplePortal, SiteLimit, read_limits
from sites.models import Portal
from tests.factories import make_batch, make_user
from tests.ingestion.hosts import eventually, find, worker_host

pytestmark = pytest.mark.django_db(transaction=True)
OPS = Actor("system:tests", "ops")
REQUESTS_PER_SECOND = 0.25  # of the slow portal: half a minute for a batch


@pytest.fixture
def slow_batch(one_site, submit):
    """A batch that takes half a minute, because its portal allows few requests."""
    limits = {one_site.expectations[0].site_id: SiteLimit(REQUESTS_PER_SECOND, 1)}
    with SamplePortal(one_site.directory, limits, faults=0) as portal:
        batch = submit(one_site, portal)
        Portal.objects.update(rate_per_second=REQUESTS_PER_SECOND, burst=1)
        yield batch, portal


def has_settled_documents(batch):
    return batch.documents.exclude(settled_at=None).exists()


def is_cancelled(batch):
    batch.refresh_from_db()
    return batch.state == BatchState.CANCELLED


def assert_ended_cleanly(batch, portal):
    counts = batch.counts()
    assert not batch.documents.unsettled().exists()
    assert counts[DocumentState.CANCELLED] + len(portal.requests) >= sum(counts.values())
    assert len(portal.requests) < sum(counts.values())
    assert set(batch.chunks.values_list("state", flat=True)) == {ChunkState.DONE}
    for document in batch.documents.filter(state=DocumentState.CANCELLED):
        assert list_entries(document.subject)[-1].actor == add_process(OPS.name)


def test_a_running_shift_begins_no_more_documents_of_a_cancelled_batch(slow_batch, settings):
    batch, portal = slow_batch

    def cancel():
        try:
            eventually(lambda: has_settled_documents(batch))
            batches.cancel_batch(Batch.objects.get(pk=batch.pk), by=OPS)
        finally:
            connections.close_all()

    canceller = threading.Thread(target=cancel)
    canceller.start()
    work_shift()
    canceller.join()
    assert is_cancelled(batch)
    assert_ended_cleanly(batch, portal)
    assert not [path for path in settings.SPOOL_DIR.rglob("*") if path.is_file()]


@pytest.mark.slow
@pytest.mark.hosts
def test_the_worker_of_another_host_stops_working_on_a_cancelled_batch(slow_batch, settings):
    batch, portal = slow_batch
    with worker_host(settings):
        eventually(lambda: has_settled_documents(batch))
        batches.cancel_batch(batch, by=OPS)
        eventually(lambda: is_cancelled(batch))
    assert_ended_cleanly(batch, portal)


@pytest.mark.hosts
@pytest.mark.requirement("R40")
@pytest.mark.slow
def test_ledger_entries_name_the_worker_of_the_host(slow_batch, settings):
    batch, _portal = slow_batch
    with worker_host(settings, WORKERS="1") as host:
        eventually(lambda: has_settled_documents(batch))
        workers = {f"{pid}" for pid in find(host, "worker")}
    entries = list_entries(batch.documents.exclude(settled_at=None).first().subject)[1:]
    assert {drop_process(entry.actor) for entry in entries} == {"system:worker"}
    assert {entry.actor.rpartition("/")[2] for entry in entries} <= workers


def test_a_failed_shift_names_its_batch_and_documents_and_is_logged_once(monkeypatch, caplog):
    batch = make_batch(documents=2)
    failures = iter([OSError("disk full")])

    def fail_once(held):
        for failure in failures:
            raise failure
        return set()

    monkeypatch.setattr(leases, "find_chunks_being_cancelled", fail_once)
    with caplog.at_level(logging.ERROR), pytest.raises(ExceptionGroup) as failed:
        work_shift()
    [note] = failed.value.__notes__
    assert f"of batch {batch.reference} (doc-1, doc-2)" in note
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


def test_a_document_that_fails_unexpectedly_is_logged_once(monkeypatch, caplog):
    batch = make_batch(documents=1)

    def fail(*args, **options):
        raise OSError("disk full")

    monkeypatch.setattr(worker_steps.RecordFetchFailure, "apply", fail)
    work_shift()
    errors = [record for record in caplog.records if record.levelno >= logging.ERROR]
    name = batch.documents.get().subject  # and not its doc_id, which may contain a name
    assert [record.getMessage() for record in errors] == [f"held {name} after an unexpected error"]
    assert batch.documents.get().code == "INTERNAL_ERROR"


@pytest.mark.slow
def test_an_urgent_packet_is_finished_while_a_large_batch_fills_the_other_room(
    slow_batch, one_site, settings
):
    """Neither the room of the shift nor the room of the site makes a packet of the site wait."""
    settings.SHIFT_MAX_CHUNKS = settings.SITE_MAX_CHUNKS = 1
    batch, _ = slow_batch
    expected = one_site.expectations[0]
    content = (one_site.files / expected.site_id / f"{expected.doc_id}.pdf").read_bytes()
    packets = []

    def send():
        try:
            eventually(lambda: has_settled_documents(batch))
            site = batch.chunks.first().site
            file = registration.UploadedDocument(
                "a.pdf", "protocol-signature-page", "", ContentFile(content, "a.pdf")
            )
            packets.append(
                registration.register_upload(site=site, user=make_user(sites=(site,)), files=[file])
            )
        finally:
            connections.close_all()

    sender = threading.Thread(target=send)
    sender.start()
    work_shift()
    sender.join()
    uploaded = packets[0].documents.get()
    assert uploaded.settled_at < batch.documents.latest("settled_at").settled_at
    assert not Batch.objects.open().exists()


@pytest.mark.slow
def test_the_next_chunk_of_a_site_is_claimed_while_its_last_one_is_still_read(
    one_site, submit, settings, monkeypatch
):
    settings.CHUNK_SIZE, settings.SITE_MAX_CHUNKS = 1, 3
    take, running = leases.claim_due_chunks, []

    def taken(*args, **options):
        leased = take(*args, **options)
        running.append(Chunk.objects.running().count())
        return leased

    monkeypatch.setattr(leases, "claim_due_chunks", taken)
    with SamplePortal(one_site.directory, read_limits(one_site.sites), faults=0) as portal:
        batch = submit(one_site, portal)
        work_shift()
    batch.refresh_from_db()
    assert batch.state == BatchState.COMPLETED
    assert 1 < max(running) <= 3
