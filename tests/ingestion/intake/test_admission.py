"""What is taken in: never a part of it, never more than there is room for, the same thing once."""

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


def test_a_batch_of_too_many_chunks_is_refused_whole_with_its_numbers(settings):
    settings.CHUNK_SIZE, settings.MAX_CHUNKS = 2, 3
    with pytest.raises(
        manifest.SubmissionRefused,
        match="7 documents of 1 sites make 4 chunks; a batch may have at most 3",
    ):
        make_batch(documents=7)
    assert not Document.objects.exists()
    assert make_batch(documents=6).chunks.count() == 3


def test_a_small_batch_is_one_chunk_for_each_site(settings):
    batch = make_batch(documents=settings.CHUNK_SIZE)
    assert batch.chunks.count() == 1


def test_a_batch_larger_than_the_ceiling_is_refused_for_good_and_not_for_now(settings):
    settings.MAX_UNFINISHED_DOCUMENTS = 3
    with pytest.raises(manifest.SubmissionRefused, match="4 documents are more than the 3"):
        make_batch(documents=4)


def test_at_the_ceiling_nothing_is_registered_and_the_time_to_come_back_is_told(settings):
    settings.MAX_UNFINISHED_DOCUMENTS = 5
    make_batch(documents=4)
    with pytest.raises(admission.AtCapacity) as full:
        make_batch(documents=2)
    assert full.value.retry_after == 600
    assert "nothing was registered. Try again in 10 minutes." in str(full.value)
    assert Batch.objects.count() == 1


def test_without_a_ceiling_everything_comes_in(settings):
    settings.MAX_UNFINISHED_DOCUMENTS = 0
    make_batch(documents=4)
    assert make_batch(documents=4)


def test_what_is_settled_makes_room(settings):
    settings.MAX_UNFINISHED_DOCUMENTS = 4
    make_batch(documents=4)
    with pytest.raises(admission.AtCapacity):
        make_batch()
    for lease in leases.claim_due_chunks(1, by="here:1:1"):
        steps.give_up(lease.items[0].document, lease.lease_id, "DOWNLOAD_FAILED", {}, held=False)
    assert make_batch()


@pytest.mark.parametrize(("settled", "excess", "seconds"), [(30, 3, 30), (3000, 1, 1), (1, 9, 600)])
def test_the_time_to_come_back_follows_from_the_measured_rate(settled, excess, seconds):
    """30 documents in five minutes are one in ten seconds."""
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


def test_the_same_submission_attaches_even_at_the_ceiling(settings):
    settings.MAX_UNFINISHED_DOCUMENTS = 2
    site = make_site()
    first = make_batch(site, documents=2, idempotency_key="k-1")
    assert make_batch(site, documents=2, idempotency_key="k-1") == first


def test_a_key_that_stands_for_something_else_is_refused():
    site = make_site()
    make_batch(site, documents=2, idempotency_key="k-1")
    with pytest.raises(
        submission.IdempotencyKeyReused, match="'k-1' was used for another submission"
    ):
        make_batch(site, documents=3, idempotency_key="k-1")
    assert Batch.objects.count() == 1


def test_the_same_files_under_the_same_key_are_one_packet_and_other_bytes_are_not():
    mara, site = make_user(), make_site()
    first = upload(mara, site)
    assert upload(mara, site) == first
    with pytest.raises(submission.IdempotencyKeyReused):
        upload(mara, site, content=b"%PDF-2.0")
    assert len(spooled()) == 1


def test_a_key_belongs_to_whoever_used_it_first():
    site = make_site()
    upload(make_user(), site)
    with pytest.raises(submission.IdempotencyKeyReused):
        upload(make_user(), site)


def test_an_upload_at_the_ceiling_leaves_no_bytes_behind(settings):
    settings.MAX_UNFINISHED_DOCUMENTS = 1
    make_batch()
    with pytest.raises(admission.AtCapacity):
        upload(make_user(), make_site())
    assert not spooled()


def test_bytes_are_not_even_read_when_there_is_no_room(settings):
    settings.MAX_UNFINISHED_DOCUMENTS = 1
    make_batch()
    unreadable = registration.UploadedDocument("a.pdf", "irb-approval", "", None)
    with pytest.raises(admission.AtCapacity):
        registration.register_upload(site=make_site(), user=make_user(), files=[unreadable])


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(1, "1 second"), (45, "45 seconds"), (60, "1 minute"), (61, "2 minutes"), (600, "10 minutes")],
)
def test_waiting_times_are_told_as_people_say_them(seconds, words):
    assert admission.format_wait(seconds) == words


def at_once(number, work):
    """What each of `number` threads got, all started together."""
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
def test_twenty_equal_submissions_at_once_are_one_batch(settings):
    settings.MAX_UNFINISHED_DOCUMENTS = 3
    site = make_site()
    got = at_once(20, lambda: make_batch(site, documents=3, idempotency_key="k-1"))
    assert len(got) == 20
    assert set(got) == {Batch.objects.get()}
    assert Document.objects.count() == 3


@pytest.mark.django_db(transaction=True)
def test_a_flood_beyond_the_ceiling_gets_in_or_is_told_to_come_back_and_nothing_else(settings):
    settings.MAX_UNFINISHED_DOCUMENTS = 10
    sites = [make_site() for _ in range(12)]
    got = at_once(12, lambda: make_batch(sites.pop(), documents=3))
    taken = [each for each in got if isinstance(each, Batch)]
    assert len(got) == 12
    assert len(taken) == 3
    assert Document.objects.count() == 9
    assert Chunk.objects.count() == 3
