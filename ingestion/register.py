"""What was submitted, to rows: one Batch with its Packets, Documents, Chunks and RECEIVED entries.

All in one transaction. Bytes that people upload are spooled, fsynced and hashed first, so that a
registered document can always be worked, whatever dies afterwards.
"""

import hashlib
import json
import re
import unicodedata
import uuid
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.core.files.base import File
from django.db import IntegrityError, transaction
from django.db.models import Max
from django.utils import timezone

from audit.log import ledger, record
from ingestion import admission, batches, spool
from ingestion.admission import AtCapacity
from ingestion.core.states import DocumentState
from ingestion.dispatch import bell
from ingestion.filing import By
from ingestion.manifest import Descriptor, Fault, Refused
from ingestion.models import Batch, Chunk, Document, Packet, Source
from ingestion.rules.checks import SCHEMA_VERSIONS
from ingestion.rules.classify import guess_type
from ingestion.rules.types import TYPES
from sites.models import Site, User

__all__ = [
    "AtCapacity",
    "Fault",
    "KeyReused",
    "Refused",
    "Submission",
    "UploadedDocument",
    "refuse_faulty",
    "register_files",
    "register_folder",
    "register_manifest",
    "upload_packet",
]


class KeyReused(Exception):
    """The idempotency key stands for another submission already. Nothing was registered."""


@dataclass(frozen=True, slots=True)
class UploadedDocument:
    """One file of a form. `person` where the type is per person (CV, licence, ...)."""

    filename: str
    document_type: str
    person: str
    content: "File[bytes]"


@dataclass(frozen=True, slots=True)
class Submission:
    """Who submits, by which way, and how urgent it is."""

    source: Source
    actor: str
    role: str
    user: User | None = None
    priority: int = 5
    idempotency_key: str = ""
    owner: str = ""  # for whom the actor stands; several tokens of one owner stand for each other
    asks_for: str = ""  # in the sender's words, where it is not these very documents

    @property
    def submitter(self) -> str:
        """Who may submit it again under the same key, and cancel it."""
        return self.owner or self.actor

    @property
    def by(self) -> By:
        return By(self.actor, self.role)


def register_manifest(descriptors: Sequence[Descriptor], submission: Submission) -> Batch:
    """A checked manifest (`manifest.read`).

    The same idempotency key gives the same batch, whatever the load. Raises KeyReused, Refused and
    AtCapacity.
    """
    _admit([line.site_id for line in descriptors], submission)
    sites = Site.objects.in_bulk([line.site_id for line in descriptors], field_name="site_id")
    documents = [
        Document(
            site=sites[line.site_id],
            doc_id=line.doc_id,
            document_type=line.document_type,
            filename=line.filename,
            url=line.url,
            schema_version=line.schema_version,
            expected_sha256=line.sha256,
        )
        for line in descriptors
    ]
    labels = [line.packet for line in descriptors]
    return _register(documents, labels, submission)


def upload_packet(
    *, site: Site, user: User, files: Sequence[UploadedDocument], idempotency_key: str = ""
) -> Packet:
    """What a coordinator sent in the form. Raises Refused with a fault per file.

    And KeyReused and AtCapacity, as for a manifest.
    """
    submission = Submission(
        Source.UPLOAD, user.actor, user.role, user=user, priority=2, idempotency_key=idempotency_key
    )
    return register_files(site, files, submission)


def register_files(site: Site, files: Sequence[UploadedDocument], submission: Submission) -> Packet:
    """Files with what each is, sent by a person or a program. Raises as `upload_packet` does."""
    refuse_faulty(files)
    _admit([site.site_id] * len(files), submission)
    documents = [
        _spooled(site, upload.content, upload.filename, _doc_id(upload), upload.document_type)
        for upload in files
    ]
    return _register(documents, [""] * len(documents), submission).packets.get()


def refuse_faulty(files: Sequence[UploadedDocument]) -> None:
    """What can be told without their bytes. Raises Refused."""
    if faults := list(_upload_faults(files)):
        raise Refused(faults)


def register_folder(folder: Path, site: Site, submission: Submission) -> Batch:
    """The files of a folder, each under its stem. Raises Refused for none, or two alike."""
    files = sorted(path for path in folder.iterdir() if path.is_file())
    repeated = [stem for stem, n in Counter(path.stem for path in files).items() if n > 1]
    if not files:
        raise Refused([Fault(0, "", f"{folder} holds no file")])
    if repeated:
        raise Refused([Fault(0, stem, "is the name of several files") for stem in repeated])
    _admit([site.site_id] * len(files), submission)
    documents = []
    for path in files:
        with path.open("rb") as content:
            documents.append(
                _spooled(site, File(content), path.name, path.stem, guess_type(path.name))
            )
    return _register(documents, [folder.name[:120]] * len(documents), submission)


def _upload_faults(files: Sequence[UploadedDocument]) -> Iterable[Fault]:
    if not files:
        yield Fault(0, "files", "Add at least one document")
    identities = Counter(_doc_id(upload) for upload in files)
    for number, upload in enumerate(files, start=1):
        kind = TYPES.get(upload.document_type)
        if kind is None:
            yield Fault(number, "document_type", f"Choose what {upload.filename} is")
        elif kind.per_person and not upload.person.strip():
            yield Fault(number, "person", f"Say whose {kind.name} {upload.filename} is")
        elif identities[_doc_id(upload)] > 1:
            message = f"{upload.filename} is one of several files marked as {kind.name}; send one"
            yield Fault(number, "document_type", message)


def _doc_id(upload: UploadedDocument) -> str:
    """Decision 12: the type, plus the person where the type is per person."""
    kind = TYPES.get(upload.document_type)
    if kind is None or not kind.per_person:
        return upload.document_type
    name = unicodedata.normalize("NFC", upload.person.casefold())
    person = re.sub(r"[^\w]+", "-", name).strip("-")
    return f"{upload.document_type}.{person}"[:120]


def _spooled(site: Site, content: "File[bytes]", filename: str, doc_id: str, kind: str) -> Document:
    kept = spool.keep(content.chunks())
    return Document(
        site=site,
        doc_id=doc_id,
        document_type=kind,
        filename=filename[:255],
        spooled=kept.key,
        size=kept.size,
        schema_version=SCHEMA_VERSIONS[-1],
        expected_sha256=kept.sha256,
    )


def _admit(sites: Sequence[str], submission: Submission) -> None:
    """Before any byte is kept: can it be taken at all, and is there room?

    Work that is on record already is attached to, and needs no room.
    """
    if known(submission.idempotency_key):
        return
    admission.refuse_what_can_never_be(Counter(sites).values())
    try:
        admission.look(len(sites))
    except AtCapacity:
        # Unless it is this very submission that has just filled the last place.
        if not known(submission.idempotency_key):
            raise


def _register(
    documents: Sequence[Document], labels: Sequence[str], submission: Submission
) -> Batch:
    digest = _digest(documents, labels, submission)
    try:
        if first := known(submission.idempotency_key):
            return _attach(first, digest, documents)
        return _insert(documents, labels, submission, digest)
    except (IntegrityError, AtCapacity):
        # The same submission came in twice at once, and the other one was first.
        if first := known(submission.idempotency_key):
            return _attach(first, digest, documents)
        _forget(documents)
        raise
    except BaseException:
        _forget(documents)
        raise


def _insert(
    documents: Sequence[Document], labels: Sequence[str], submission: Submission, digest: str
) -> Batch:
    with ledger():
        batch = _batch(submission, digest)
        _packets(batch, documents, labels)
        _chunks(batch, documents)
        Document.objects.bulk_create(documents, batch_size=500)
        for document in documents:
            _record_received(document, submission)
        batches.queue(batch, submission.by, documents=len(documents))
        transaction.on_commit(bell.ring)
        admission.count()
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
        ]
        for document, label in zip(documents, labels, strict=True)
    ]  # fmt: skip
    return hashlib.sha256(json.dumps([said, lines]).encode()).hexdigest()


def known(key: str) -> Batch | None:
    """What was registered under this key."""
    return Batch.objects.filter(idempotency_key=key).first() if key else None


def _attach(batch: Batch, digest: str, documents: Iterable[Document]) -> Batch:
    """The work is on record already; what was spooled for this repetition is not needed."""
    _forget(documents)
    if batch.request_digest and batch.request_digest != digest:
        raise KeyReused(
            f"the key {batch.idempotency_key!r} was used for another submission; nothing was "
            "registered. Send it under a new key."
        )
    return batch


def _forget(documents: Iterable[Document]) -> None:
    for document in documents:
        if document.spooled:
            spool.drop(document.spooled)


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


def another_chunk(batch: Batch, site: Site) -> Chunk:
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


def _record_received(document: Document, submission: Submission) -> None:
    record(
        "document.received",
        subject=document.subject,
        n=0,
        site=document.site.site_id,
        doc_id=document.doc_id,
        sha256=document.expected_sha256 if document.spooled else "",
        to_state=DocumentState.RECEIVED,
        correlation_id=str(document.correlation_id),
        actor=submission.actor,
        role=submission.role,
        schema_version=document.schema_version,
    )
