"""Uploaded packets whose documents have the state that a test needs."""

import uuid
from datetime import timedelta
from itertools import repeat

from django.core.files.base import ContentFile
from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils import timezone

from ingestion.core.states import ChunkState
from ingestion.intake import registration
from ingestion.models import Chunk
from ingestion.reading.results import (
    DocumentReading,
    MediaType,
    PageReading,
    TextSource,
)
from ingestion.rules.findings import RuleFinding
from ingestion.rules.segmentation.parts import PagePart, ProposedCut
from tests import steps
from tests.factories import verdict

KINDS = ("irb-approval", "form-fda-1572", "delegation-log")
READ = DocumentReading(
    MediaType.PDF, tuple(PageReading(number, 612, 792, "", TextSource.NATIVE) for number in (1, 2))
)
UNSIGNED = RuleFinding(
    "SIGNATURE_MISSING", 2, {"page": 2, "role": "the chair", "section": "page 2"}
)
FILED = verdict()
REJECTED = verdict("REJECTED", UNSIGNED)
IN_REVIEW = verdict(
    "IN_REVIEW", RuleFinding("SITE_MISMATCH", 1, {"named": "0417", "expected": "0203"})
)


def pdf(name="IRB_approval.pdf", content=None):
    """Return a file. Its bytes depend on its name."""
    content = f"%PDF-1.7 {name}".encode() if content is None else content
    return SimpleUploadedFile(name, content, "application/pdf")


def send(client, **fields):
    """Post the upload form as a browser without JavaScript does."""
    return client.post("/packets/new/", {"site": "0203", "token": "t-1", **fields})


def make_packet(site, user, *verdicts, kinds=KINDS, reading=READ, content=b""):
    """Return an uploaded packet. Each verdict settles one document, and None leaves one waiting.

    `content` has the bytes of all files, or a list with those of each. By default they differ.
    """
    each = content if isinstance(content, list) else repeat(content)
    packet = registration.register_upload(
        site=site,
        user=user,
        files=[
            registration.UploadedDocument(
                f"{kind}.pdf", kind, "", ContentFile(own or uuid.uuid4().bytes, f"{kind}.pdf")
            )
            for kind, own, _ in zip(kinds, each, verdicts, strict=False)
        ],
    )
    settle(packet, *verdicts, reading=reading)
    return packet


def lease_all(packet):
    """Lease the documents of a packet to a worker, and return the lease."""
    lease = uuid.uuid4()
    Chunk.objects.filter(batch=packet.batch).update(
        state=ChunkState.RUNNING,
        lease_id=lease,
        lease_owner="here:1:1",
        lease_expires_at=timezone.now() + timedelta(minutes=5),
    )
    return lease


def settle(packet, *verdicts, reading=READ):
    """Settle the waiting documents with these verdicts, in order."""
    lease = lease_all(packet)
    waiting = packet.documents.filter(state="RECEIVED").order_by("pk")
    for document, decided in zip(waiting, verdicts, strict=False):
        if decided is None:
            continue
        sha256 = document.expected_sha256
        if steps.start_checking(document.pk, lease, sha256=sha256, size=document.size):
            steps.conclude(document.pk, lease, decided, reading=reading)


def make_file_to_divide(site, user):
    """Return a file of three pages in review, which may hold two documents."""
    reading = DocumentReading(
        MediaType.PDF,
        tuple(PageReading(n, 612, 792, "", TextSource.NATIVE) for n in range(1, 4)),
    )
    several = verdict("IN_REVIEW", RuleFinding("MULTIPLE_DOCUMENTS", 2, {"documents": "two"}))
    packet = make_packet(site, user, None)
    file, lease = packet.documents.get(), lease_all(packet)
    steps.start_checking(file.pk, lease, sha256=file.expected_sha256, size=file.size)
    cut = ProposedCut(
        (PagePart(1, 1, type="cv"), PagePart(2, 3)), is_certain=False, reasons=("unsure-starts",)
    )
    steps.conclude(file.pk, lease, several, reading=reading, cut=cut)
    file.refresh_from_db()
    return file
