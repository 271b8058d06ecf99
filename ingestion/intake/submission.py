"""A submission's rows: one Batch with its Packets, Documents, Chunks and RECEIVED entries.

All in one transaction, and once for each idempotency key.
"""

import hashlib
import json
import uuid
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Max
from django.utils import timezone

from audit.ledger.actors import Actor
from audit.ledger.log import ledger
from ingestion.core.states import DocumentState
from ingestion.dispatch import wakeup
from ingestion.documents import batches
from ingestion.intake import admission, corrections
from ingestion.intake.admission import AtCapacity
from ingestion.models import Batch, BatchSource, Chunk, Document, Packet
from ingestion.storage import spool
from sites.models import Site, User


class IdempotencyKeyReused(Exception):
    """The idempotency key stands for another submission already. Nothing was registered."""


@dataclass(frozen=True, slots=True)
class Submission:
    """Who submits, by which way, and how urgent it is."""

    source: BatchSource
    by: Actor
    user: User | None = None
    priority: int = 5
    idempotency_key: str = ""
    owner: str = ""  # for whom the actor stands; several tokens of one owner stand for each other
    asks_for: str = ""  # in the sender's words, where it is not these very documents
    # By doc_id: what we took a document for, where its sender said otherwise.
    guesses: Mapping[str, str] = field(default_factory=dict)

    @property
    def submitter(self) -> str:
        """Who may submit it again under the same key, and cancel it."""
        return self.owner or self.by.name


def create_batch(
    documents: Sequence[Document], labels: Sequence[str], submission: Submission
) -> Batch:
    """Rows for these documents; `labels` name the packet of each within its site.

    Raises KeyReused, AtCapacity and NotToCorrect; what was spooled for them is dropped then.
    """
    digest = _digest(documents, labels, submission)
    try:
        if first := find_batch_by_key(submission.idempotency_key):
            return _attach(first, digest, documents)
        return _insert(documents, labels, submission, digest)
    except (IntegrityError, AtCapacity):
        # The same submission came in twice at once, and the other one was first.
        if first := find_batch_by_key(submission.idempotency_key):
            return _attach(first, digest, documents)
        _forget(documents)
        raise
    except BaseException:
        _forget(documents)
        raise


def _insert(
    documents: Sequence[Document], labels: Sequence[str], submission: Submission, digest: str
) -> Batch:
    by = submission.by
    with ledger():
        corrected = [
            (corrections.lock_for_correction(new.corrects), new)
            for new in documents
            if new.corrects
        ]
        batch = _batch(submission, digest)
        _packets(batch, documents, labels)
        _chunks(batch, documents)
        Document.objects.bulk_create(documents, batch_size=500)
        for document in documents:
            document.record_at_revision(
                "document.received",
                by=by,
                sha256=document.expected_sha256 if document.spooled else "",
                to_state=DocumentState.RECEIVED,
            )
            if guess := submission.guesses.get(document.doc_id):
                said = {"looks_like": guess, "sent_as": document.document_type}
                document.record("document.guess_overruled", by=by, detail=said)
        for old, new in corrected:
            corrections.record_correction(old, new, by=by)
        batches.queue_batch(batch, by, documents=len(documents))
        transaction.on_commit(wakeup.wake_worker)
        admission.enforce_capacity()
    return batch


def _digest(documents: Sequence[Document], labels: Sequence[str], submission: Submission) -> str:
    """Who asks for what. A key that comes again with another digest is a mistake, or a trespass."""
    said = [submission.source, submission.submitter, submission.priority]
    if submission.asks_for:
        return hashlib.sha256(json.dumps([said, submission.asks_for]).encode()).hexdigest()
    lines = [
        [
            document.site.site_id, document.doc_id, document.document_type, document.filename,
            document.url, document.schema_version, document.expected_sha256, label,
            *([document.corrects_id] if document.corrects_id else []),
        ]
        for document, label in zip(documents, labels, strict=True)
    ]  # fmt: skip
    return hashlib.sha256(json.dumps([said, lines]).encode()).hexdigest()


def find_batch_by_key(key: str) -> Batch | None:
    """What was registered under this key."""
    return Batch.objects.filter(idempotency_key=key).first() if key else None


def _attach(batch: Batch, digest: str, documents: Iterable[Document]) -> Batch:
    """The work is on record already; what was spooled for this repetition is not needed."""
    _forget(documents)
    if batch.request_digest and batch.request_digest != digest:
        raise IdempotencyKeyReused(
            f"the key {batch.idempotency_key!r} was used for another submission; nothing was "
            "registered. Send it under a new key."
        )
    return batch


def _forget(documents: Iterable[Document]) -> None:
    for document in documents:
        if document.spooled:
            spool.drop_upload(document.spooled)


def _batch(submission: Submission, digest: str) -> Batch:
    batch = Batch.objects.create(
        reference=uuid.uuid4().hex[:20],
        source=submission.source,
        submitted_by=submission.user,
        submitted_as=submission.submitter,
        priority=submission.priority,
        idempotency_key=submission.idempotency_key or None,
        request_digest=digest,
    )
    batch.reference = _reference("BAT", batch.pk)
    batch.save(update_fields=["reference"])
    return batch


def _reference(prefix: str, key: int) -> str:
    return f"{prefix}-{timezone.now():%Y}-{key:04d}"


def _packets(batch: Batch, documents: Sequence[Document], labels: Sequence[str]) -> None:
    """One packet for each site and label; sets `batch` and `packet` of every document."""
    packets: dict[tuple[int, str], Packet] = {}
    for document, label in zip(documents, labels, strict=True):
        packets.setdefault(
            (document.site_id, label),
            Packet(batch=batch, site=document.site, name=label, reference=uuid.uuid4().hex[:20]),
        )
    created = Packet.objects.bulk_create(packets.values())
    for packet in created:
        packet.reference = _reference("PKT", packet.pk)
    Packet.objects.bulk_update(created, ["reference"], batch_size=200)
    for document, label in zip(documents, labels, strict=True):
        document.batch = batch
        document.packet = packets[document.site_id, label]


def _chunks(batch: Batch, documents: Sequence[Document]) -> None:
    """At most CHUNK_SIZE documents of one site each; sets `chunk` of every document."""
    by_site: defaultdict[Site, list[Document]] = defaultdict(list)
    for document in documents:
        by_site[document.site].append(document)
    ranks = _starts(by_site, batch.priority)
    chunks: list[Chunk] = []
    for site, own in by_site.items():
        for start in range(0, len(own), settings.CHUNK_SIZE):
            ranks[site.pk] += batch.priority
            chunk = Chunk(batch=batch, site=site, rank=ranks[site.pk], is_urgent=batch.is_urgent)
            chunks.append(chunk)
            for document in own[start : start + settings.CHUNK_SIZE]:
                document.chunk = chunk
    Chunk.objects.bulk_create(chunks)


def create_requeue_chunk(batch: Batch, site: Site) -> Chunk:
    """For documents that go into the queue once more: behind the site's others."""
    rank = _starts([site], batch.priority)[site.pk] + batch.priority
    return Chunk.objects.create(batch=batch, site=site, rank=rank, is_urgent=batch.is_urgent)


def _starts(sites: Iterable[Site], priority: int) -> dict[int, float]:
    """Where each site stands in virtual time (self-clocked fair queueing, Golestani 1994).

    Behind its own chunks that are as urgent or more, and never before what was dispatched last: a
    site that sends a lot waits behind itself, one that trickles gains nothing by it, and whatever
    arrives later ranks later, so that no stream of urgent chunks can hold up another for ever.
    """
    own = (
        Chunk.objects.waiting()
        .filter(site__in=list(sites), batch__priority__lte=priority)
        .order_by()
        .values_list("site")
        .annotate(Max("rank"))
    )
    behind, now = dict(own), Chunk.objects.virtual_time()
    return {site.pk: max(now, behind.get(site.pk, 0.0)) for site in sites}
