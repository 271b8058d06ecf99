"""Tests of admission control and idempotency keys."""

import threading

import pytest
from django.core.files.base import ContentFile
from django.db import connections
from django.utils import timezone

from ingestion.core.states import DocumentState
from ingestion.dispatch import leases
from ingestion.intake import admission, manifest, registration, submission
from ingestion.models import Batch, Chunk, Document
from ingestion.storage import spool
from tests import steps
from tests.factories import make_batch, make_site, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _folders(settings, tmp_path):
    settings.SPOOL_DIR = tmp_path


def upload(user, site, content=b"%PDF-1.7"):
    file = registration.UploadedDocument("a.pdf", "irb-approval", "", ContentFile(content, "a.pdf"))
    return registration.register_upload(
        site=site, user=user, files=[file], idempotency_key="form-1"
    )


def spooled():
    folder = spool.get_path("uploads")
    return list(folder.iterdir()) if folder.exists() else []


def test_a_batch_with_too_many_chunks_is_refused_with_the_numbers(settings):
    settings.CHUNK_SIZE, settings.MAX_CHUNKS = 2, 3
    with pytest.raises(
        manifest.SubmissionRefused,
        match="7 documents of 1 sites make 4 chunks",
    ):
        make_batch(documents=7)
    assert not Document.objects.exists()
    assert make_batch(documents=6).chunks.count() == 3


def test_up_to_50_documents_of_a_site_are_one_chunk_by_default():
    assert make_batch(documents=50).chunks.count() == 1
    assert make_batch(documents=51).chunks.count() == 2


def test_a_batch_above_the_limit_is_refused_without_a_time_to_try_again(settings):
    settings.MAX_UNFINISHED_DOCUMENTS = 3
    with pytest.raises(manifest.SubmissionRefused, match="4 documents are more than the 3"):
        make_batch(documents=4)


def test_at_the_limit_a_submission_is_refused_with_a_time_to_try_again(settings):
    settings.MAX_UNFINISHED_DOCUMENTS = 5
    make_batch(documents=4)
    with pytest.raises(admission.AtCapacity) as full:
        make_batch(documents=2)
    assert full.value.retry_after == 600
    assert "Nothing was registered. Try again in 10 minutes." in str(full.value)
    assert Batch.objects.count() == 1


def test_without_a_limit_every_submission_is_accepted(settings):
    settings.MAX_UNFINISHED_DOCUMENTS = 0
    make_batch(documents=4)
    assert make_batch(documents=4)


def test_settled_documents_free_capacity(settings):
    settings.MAX_UNFINISHED_DOCUMENTS = 4
    make_batch(documents=4)
    with pytest.raises(admission.AtCapacity):
        make_batch()
    for lease in leases.claim_due_chunks(1, by="here:1:1"):
        steps.give_up(lease.items[0].document, lease.lease_id, "DOWNLOAD_FAILED", {}, held=False)
    assert make_batch()


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("settled", "excess", "seconds"), [(30, 3, 30), (3000, 1, 1), (1, 9, 600)])
def test_the_time_to_try_again_follows_from_the_measured_rate(settled, excess, seconds):
    """30 documents in five minutes are one document in ten seconds."""
    batch = make_batch()
    document = batch.documents.get()
    Document.objects.bulk_create(
        Document(
            batch=batch,
            packet=document.packet,
            site=document.site,
            url=document.url,
            doc_id=f"settled-{number}",
            schema_version="v2.1",
            state=DocumentState.REJECTED,
            settled_at=timezone.now(),
        )
        for number in range(settled)
    )
    assert admission.estimate_retry_seconds(excess) == seconds
    Document.objects.exclude(pk=document.pk).delete()


def test_a_repeated_submission_returns_its_batch_even_at_the_limit(settings):
    settings.MAX_UNFINISHED_DOCUMENTS = 2
    site = make_site()
    first = make_batch(site, documents=2, idempotency_key="k-1")
    assert make_batch(site, documents=2, idempotency_key="k-1") == first


def test_a_key_of_another_submission_is_refused():
    site = make_site()
    make_batch(site, documents=2, idempotency_key="k-1")
    with pytest.raises(
        submission.IdempotencyKeyReused, match="'k-1' was used for another submission"
    ):
        make_batch(site, documents=3, idempotency_key="k-1")
    assert Batch.objects.count() == 1


def test_the_same_files_with_the_same_key_are_one_packet_and_other_bytes_are_refused():
    mara, site = make_user(), make_site()
    first = upload(mara, site)
    assert upload(mara, site) == first
    with pytest.raises(submission.IdempotencyKeyReused):
        upload(mara, site, content=b"%PDF-2.0")
    assert len(spooled()) == 1


def test_a_key_belongs_to_its_first_owner():
    site = make_site()
    upload(make_user(), site)
    with pytest.raises(submission.IdempotencyKeyReused):
        upload(make_user(), site)


def test_a_refused_upload_leaves_no_files_in_the_spool(settings):
    settings.MAX_UNFINISHED_DOCUMENTS = 1
    make_batch()
    with pytest.raises(admission.AtCapacity):
        upload(make_user(), make_site())
    assert not spooled()


def test_no_file_is_read_when_there_is_no_capacity(settings):
    settings.MAX_UNFINISHED_DOCUMENTS = 1
    make_batch()
    unreadable = registration.UploadedDocument("a.pdf", "irb-approval", "", None)
    with pytest.raises(admission.AtCapacity):
        registration.register_upload(site=make_site(), user=make_user(), files=[unreadable])


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(1, "1 second"), (45, "45 seconds"), (60, "1 minute"), (61, "2 minutes"), (600, "10 minutes")],
)
def test_waiting_times_are_formatted_in_seconds_and_minutes(seconds, words):
    assert admission.format_wait(seconds) == words


def run_concurrently(number, work):
    """Run `work` in so many threads that start together. Return their results or errors."""
    start, got = threading.Barrier(number), []

    def run():
        start.wait(120)
        try:
            got.append(work())
        except admission.AtCapacity as full:
            got.append(full)
        finally:
            connections.close_all()

    threads = [threading.Thread(target=run) for _ in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    return got


@pytest.mark.django_db(transaction=True)
def test_twenty_equal_concurrent_submissions_are_one_batch(settings):
    settings.MAX_UNFINISHED_DOCUMENTS = 3
    site = make_site()
    got = run_concurrently(20, lambda: make_batch(site, documents=3, idempotency_key="k-1"))
    assert len(got) == 20
    assert set(got) == {Batch.objects.get()}
    assert Document.objects.count() == 3


@pytest.mark.django_db(transaction=True)
def test_concurrent_submissions_do_not_exceed_the_limit_together(settings):
    settings.MAX_UNFINISHED_DOCUMENTS = 10
    sites = [make_site() for _ in range(12)]
    got = run_concurrently(12, lambda: make_batch(sites.pop(), documents=3))
    taken = [each for each in got if isinstance(each, Batch)]
    assert len(got) == 12
    assert len(taken) == 3
    assert Document.objects.count() == 9
    assert Chunk.objects.count() == 3
