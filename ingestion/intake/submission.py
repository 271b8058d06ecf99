"""Creates the rows of a submission: a batch with its packets, chunks and documents.

All rows and their ledger entries are created in one transaction, and once for each idempotency key.
"""

import hashlib
import json
import uuid
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import prefetch_related_objects
from django.utils import timezone

from audit.correlation import get_correlation_id
from audit.ledger.actors import Actor
from audit.ledger.log import ledger
from ingestion.core.states import DocumentState
from ingestion.dispatch import wakeup
from ingestion.documents import batches
from ingestion.documents.chunks import compute_start_ranks
from ingestion.intake import admission, corrections
from ingestion.intake.admission import AtCapacity
from ingestion.models import Batch, BatchSource, Chunk, Document, Packet
from ingestion.storage import spool
from sites.models import Site, User


class IdempotencyKeyReused(Exception):
    """The idempotency key was used for another submission, and nothing was registered."""


@dataclass(frozen=True, slots=True)
class Submission:
    """Describes who submits, how, and with which priority."""

    source: BatchSource
    by: Actor
    user: User | None = None
    priority: int = 5
    idempotency_key: str = ""
    owner: str = ""  # of the token; all tokens of one owner may repeat and cancel the submission
    # What identifies the submission if its documents do not, for example the site of a pull.
    asks_for: str = ""
    # The detected type of documents by doc_id, if the sender chose another one.
    detected_types: Mapping[str, str] = field(default_factory=dict)

    @property
    def submitter(self) -> str:
        """Return who may repeat the submission under the same key, and cancel it."""
        return self.owner or self.by.name


def create_batch(
    documents: Sequence[Document], labels: Sequence[str], submission: Submission
) -> Batch:
    """Register documents as a batch, or return the batch that has the same idempotency key.

    `labels` name the packet of each document within its site. Raises IdempotencyKeyReused,
    AtCapacity and CorrectionRefused. If no batch is created, the files of the documents are removed
    from the spool.
    """
    digest = _compute_digest(documents, labels, submission)
    try:
        if first := find_batch_by_key(submission.idempotency_key):
            return _attach(first, digest, documents)
        return _insert(documents, labels, submission, digest)
    except (IntegrityError, AtCapacity) as error:
        # The same submission may have been received twice, and the other request was first.
        if first := find_batch_by_key(submission.idempotency_key):
            return _attach(first, digest, documents)
        if isinstance(error, AtCapacity):
            admission.log_refusal(error, {document.site.site_id for document in documents})
        _drop_spooled_files(documents)
        raise
    except BaseException:
        _drop_spooled_files(documents)
        raise


def find_batch_by_key(key: str) -> Batch | None:
    """Return the batch that was registered under this idempotency key. "" stands for no key."""
    return Batch.objects.filter(idempotency_key=key).first() if key else None


def _compute_digest(
    documents: Sequence[Document], labels: Sequence[str], submission: Submission
) -> str:
    """Return a digest of submitter and content.

    A key that is used again with another digest is a mistake, or belongs to another submitter.
    """
    submitter = [submission.source, submission.submitter, submission.priority]
    if submission.asks_for:
        return hashlib.sha256(json.dumps([submitter, submission.asks_for]).encode()).hexdigest()
    lines = [
        [
            document.site.site_id, document.doc_id, document.document_type, document.filename,
            document.url, document.schema_version, document.expected_sha256, label,
            *([document.corrects_id] if document.corrects_id else []),
            *([document.declared_facts] if document.declared_facts else []),
        ]
        for document, label in zip(documents, labels, strict=True)
    ]  # fmt: skip
    return hashlib.sha256(json.dumps([submitter, lines]).encode()).hexdigest()


def _attach(batch: Batch, digest: str, documents: Iterable[Document]) -> Batch:
    """Return a batch that is registered already, and drop the files of the repetition.

    Raises IdempotencyKeyReused if the content differs.
    """
    _drop_spooled_files(documents)
    if batch.request_digest and batch.request_digest != digest:
        raise IdempotencyKeyReused(
            f"the key {batch.idempotency_key!r} was used for another submission; nothing was "
            "registered. Send it under a new key."
        )
    return batch


def _drop_spooled_files(documents: Iterable[Document]) -> None:
    for document in documents:
        if document.spooled:
            spool.drop_upload(document.spooled)


def _insert(
    documents: Sequence[Document], labels: Sequence[str], submission: Submission, digest: str
) -> Batch:
    """Insert all rows of a submission, and record them."""
    by = submission.by
    with ledger():
        corrected = [
            (corrections.lock_for_correction(new.corrects), new)
            for new in documents
            if new.corrects
        ]
        batch = Batch.objects.create(
            reference=uuid.uuid4().hex[:20],  # until the primary key is known
            source=submission.source,
            submitted_by=submission.user,
            submitted_as=submission.submitter,
            priority=submission.priority,
            idempotency_key=submission.idempotency_key or None,
            request_digest=digest,
            correlation_id=get_correlation_id(),
        )
        batch.reference = _reference("BAT", batch.pk)
        batch.save(update_fields=["reference"])
        _create_packets(batch, documents, labels)
        _create_chunks(batch, documents)
        Document.objects.bulk_create(documents, batch_size=500)
        prefetch_related_objects([document.site for document in documents], "study")  # for the log
        for document in documents:
            document.record_at_revision(
                "document.received",
                by=by,
                sha256=document.expected_sha256 if document.spooled else "",
                to_state=DocumentState.RECEIVED,
                detail=document.declared_facts,
            )
            if detected := submission.detected_types.get(document.doc_id):
                detail = {"looks_like": detected, "sent_as": document.document_type}
                document.record("document.guess_overruled", by=by, detail=detail)
        for old, new in corrected:
            corrections.record_correction(old, new, by=by)
        batches.queue_batch(batch, by, documents=len(documents))
        transaction.on_commit(partial(wakeup.wake_worker, batch.reference))
        admission.enforce_capacity()
    return batch


def _reference(prefix: str, key: int) -> str:
    return f"{prefix}-{timezone.now():%Y}-{key:04d}"


def _create_packets(batch: Batch, documents: Sequence[Document], labels: Sequence[str]) -> None:
    """Create a packet for each site and label, and set `batch` and `packet` of the documents."""
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
        document.correlation_id = batch.correlation_id or document.correlation_id
        document.packet = packets[document.site_id, label]


def _create_chunks(batch: Batch, documents: Sequence[Document]) -> None:
    """Create chunks of at most CHUNK_SIZE documents of one site, and set `chunk` of them."""
    by_site: defaultdict[Site, list[Document]] = defaultdict(list)
    for document in documents:
        by_site[document.site].append(document)
    ranks = compute_start_ranks(by_site, batch.priority)
    chunks: list[Chunk] = []
    for site, own in by_site.items():
        for start in range(0, len(own), settings.CHUNK_SIZE):
            ranks[site.pk] += batch.priority
            chunk = Chunk(batch=batch, site=site, rank=ranks[site.pk], is_urgent=batch.is_urgent)
            chunks.append(chunk)
            for document in own[start : start + settings.CHUNK_SIZE]:
                document.chunk = chunk
    Chunk.objects.bulk_create(chunks)
