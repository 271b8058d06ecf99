"""Tests of leases: claiming, renewing, returning and recovering chunks."""

import uuid
from datetime import timedelta

import pytest
from django.utils import timezone

from audit.ledger.log import ledger
from audit.ledger.queries import list_entries
from ingestion.core.ports import FiledVersion
from ingestion.core.states import BatchState, ChunkState, DocumentState
from ingestion.dispatch import leases
from ingestion.documents import transitions
from ingestion.models import Chunk, Document, PortalLimitState
from ingestion.storage import spool
from tests import steps
from tests.factories import make_batch, make_site, verdict

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _folders(settings, tmp_path):
    settings.SPOOL_DIR = tmp_path


def claim(room=10, by="here:1:1", **options):
    return leases.claim_due_chunks(room, by=by, **options)


def expire(chunk_id):
    Chunk.objects.filter(pk=chunk_id).update(lease_expires_at=timezone.now() - timedelta(1))


def settle(lease):
    for item in lease.items:
        sha256 = uuid.uuid4().hex * 2
        steps.start_checking(item.document, lease.lease_id, sha256=sha256, size=1)
        steps.conclude(item.document, lease.lease_id, verdict(), pages=1)


def test_a_chunk_is_leased_to_one_worker_only():
    make_batch()
    assert len(claim()) == 1
    assert claim(by="there:2:2") == []


def test_a_worker_receives_chunks_of_different_sites(settings):
    settings.CHUNK_SIZE = 1
    make_batch(make_site(), documents=5)
    make_batch(make_site(), documents=5)
    leased = claim(room=4)
    assert len({lease.site for lease in leased}) == len(leased) == 2


def test_a_due_chunk_is_claimed_and_one_that_is_due_later_is_not():
    due, later = make_batch(make_site()), make_batch(make_site())
    later.chunks.update(next_dispatch_at=timezone.now() + timedelta(minutes=1))
    [lease] = claim()
    assert lease.batch == due.reference
    assert later.chunks.get().state == ChunkState.WAITING
    later.chunks.update(next_dispatch_at=timezone.now())
    [lease] = claim()
    assert lease.batch == later.reference


def test_the_chunk_of_a_site_that_waits_longest_is_claimed_first():
    site = make_site()
    batches = [make_batch(site) for _ in range(3)]
    claimed = [lease.batch for _ in range(3) for lease in claim()]
    assert claimed == [batch.reference for batch in batches]


def test_no_chunk_of_a_busy_site_is_claimed(settings):
    settings.CHUNK_SIZE = 1
    make_batch(documents=2)
    first = claim()
    assert claim(busy_sites=[first[0].site]) == []


def test_claiming_the_first_chunk_starts_the_batch_and_records_it():
    batch = make_batch()
    claim()
    batch.refresh_from_db()
    assert batch.state == BatchState.IN_PROGRESS
    assert [entry.event for entry in list_entries(batch.subject)] == [
        "batch.submitted",
        "batch.queued",
        "batch.in_progress",
    ]


def test_a_batch_is_completed_when_its_last_document_is_settled(settings):
    settings.CHUNK_SIZE = 1
    batch = make_batch(documents=2)
    for _ in range(2):
        [lease] = claim()
        settle(lease)
        leases.return_chunk(lease.chunk, lease.lease_id)
    batch.refresh_from_db()
    assert batch.state == BatchState.COMPLETED
    assert batch.finished_at


def test_a_returned_chunk_is_due_again_and_untouched_documents_lose_no_attempt():
    batch = make_batch(documents=2)
    [lease] = claim()
    document = lease.items[0].document
    steps.start_attempt(document, lease.lease_id, max_attempts=5)
    leases.return_chunk(lease.chunk, lease.lease_id, untouched=[document])
    assert Document.objects.get(pk=document).attempts == 0
    assert len(claim()) == 1
    batch.refresh_from_db()
    assert batch.state == BatchState.IN_PROGRESS


def test_renewing_keeps_the_leases_and_returns_those_that_exist():
    make_batch()
    [lease] = claim()
    lost = uuid.uuid4()
    assert leases.renew([lease.lease_id, lost]) == {lease.lease_id}


def test_the_chunk_of_a_silent_worker_is_leased_to_another_worker():
    make_batch()
    [lost] = claim()
    sha256 = "c" * 64
    steps.start_checking(lost.items[0].document, lost.lease_id, sha256=sha256, size=1)
    (spool.get_attempt_folder(lost.lease_id) / "half").write_bytes(b"x")
    expire(lost.chunk)
    assert leases.recover_expired() == 1
    assert not spool.get_path(f"attempts/{lost.lease_id}").exists()
    [lease] = claim(by="there:2:2")
    assert [item.document for item in lease.items] == [lost.items[0].document]
    assert Document.objects.get().state == DocumentState.RECEIVED


def test_only_the_chunks_of_a_dead_worker_are_due_at_once():
    make_batch(documents=1)
    make_batch(documents=1)
    [lost] = claim(room=1, by="here:1:1")
    [kept] = claim(room=1, by="here:1:2")  # a later process with the same number
    assert leases.recover_leases_of("here:1:1") == 1
    assert leases.renew([lost.lease_id, kept.lease_id]) == {kept.lease_id}
    assert Chunk.objects.due(timezone.now()).get().pk == lost.chunk


def test_the_delay_of_a_chunk_grows_with_each_lost_worker():
    """It is due at once after the first loss, which is probably a killed process."""
    make_batch()
    delays = []
    for _ in range(8):
        Chunk.objects.update(next_dispatch_at=timezone.now())
        [lease] = claim()
        expire(lease.chunk)
        before = timezone.now()
        leases.recover_expired()
        due_at = Chunk.objects.get().next_dispatch_at
        delays.append((due_at - before).total_seconds())
    assert delays[0] < 0.1
    assert Chunk.objects.get().losses == 8
    assert max(delays) <= leases.MAX_RECOVERY_DELAY_SECONDS + 0.1


def test_recovery_delays_grow_to_a_bound_and_are_random():
    drawn = [{leases._draw_recovery_delay(losses) for _ in range(200)} for losses in range(1, 20)]
    assert all(len(pauses) > 150 for pauses in drawn)
    assert max(drawn[0]) <= 1.0
    assert all(max(pauses) <= leases.MAX_RECOVERY_DELAY_SECONDS for pauses in drawn)
    assert max(drawn[-1]) > 10


def test_returning_a_chunk_resets_its_losses():
    make_batch()
    [lost] = claim()
    expire(lost.chunk)
    leases.recover_expired()
    [lease] = claim()
    leases.return_chunk(lease.chunk, lease.lease_id)
    assert Chunk.objects.get().losses == 0


def test_a_worker_that_lost_its_lease_cannot_write():
    make_batch()
    [lost] = claim()
    expire(lost.chunk)
    leases.recover_expired()
    [current] = claim(by="there:2:2")
    leases.return_chunk(lost.chunk, lost.lease_id)
    chunk = Chunk.objects.get()
    assert (chunk.state, chunk.lease_id) == (ChunkState.RUNNING, current.lease_id)


def test_a_worker_that_renews_its_lease_keeps_it():
    make_batch()
    claim()
    assert leases.recover_expired() == 0


def test_a_chunk_whose_portal_is_down_is_due_at_the_next_probe():
    batch = make_batch()
    [lease] = claim()
    at = timezone.now() + timedelta(minutes=4)
    open_breaker(batch, at)
    leases.return_chunk(lease.chunk, lease.lease_id)
    chunk = Chunk.objects.get()
    assert abs(chunk.next_dispatch_at - at) < timedelta(milliseconds=1)
    assert batch.documents.get().failing_since


def test_an_upload_does_not_wait_for_a_portal_that_is_down():
    batch = make_batch()
    batch.documents.update(url="", spooled="uploads/x")
    [lease] = claim()
    open_breaker(batch, timezone.now() + timedelta(minutes=4))
    leases.return_chunk(lease.chunk, lease.lease_id)
    assert len(claim()) == 1


def open_breaker(batch, until):
    """Open the breaker of the batch's portal until that time."""
    portal = batch.chunks.get().site.portal
    PortalLimitState.objects.create(portal=portal, breaker="OPEN", probe_at=until.timestamp() * 1e6)


@pytest.fixture
def filed():
    """A filed document that its portal served with an ETag."""
    batch = make_batch()
    [lease] = claim()
    document = batch.documents.get()
    steps.start_checking(document.pk, lease.lease_id, sha256="a" * 64, size=1, etag='"v1"')
    steps.conclude(document.pk, lease.lease_id, verdict(), pages=1)
    return document


def resubmit(filed, **columns):
    """Submit a document resubmit, with other columns, and return its work item."""
    batch = make_batch(filed.site)
    batch.documents.update(**columns)
    items = [item for lease in claim() for item in lease.items]
    return next(item for item in items if item.document == batch.documents.get().pk)


def test_a_work_item_names_the_version_on_file(filed):
    assert resubmit(filed).filed == FiledVersion('"v1"', "a" * 64)


@pytest.mark.parametrize(
    "other",
    [{"url": "http://127.0.0.1:9/moved.pdf"}, {"doc_id": "other"}, {"expected_sha256": "b" * 64}],
)
def test_another_address_name_or_announced_version_is_fetched(filed, other):
    assert resubmit(filed, **other).filed is None


def test_a_version_on_file_without_an_etag_is_fetched(filed):
    Document.objects.update(etag="")
    assert resubmit(filed).filed is None


def test_a_withdrawn_version_is_not_the_version_on_file(filed):
    filed.refresh_from_db()
    with ledger():
        transitions.move_document(filed, DocumentState.WITHDRAWN, event="document.withdrawn")
    assert resubmit(filed).filed is None


def test_the_newest_version_on_file_is_compared(filed):
    newer = resubmit(filed)
    lease = Chunk.objects.get(pk=newer.chunk).lease_id
    steps.start_checking(newer.document, lease, sha256="b" * 64, size=1, etag='"v2"')
    steps.conclude(newer.document, lease, verdict(), pages=1)
    assert resubmit(filed).filed == FiledVersion('"v2"', "b" * 64)
