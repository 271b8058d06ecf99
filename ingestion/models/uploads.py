"""Defines resumable uploads, and the open packets of the HTTP interface that they belong to."""

import uuid
from datetime import datetime, timedelta
from typing import cast

from django.db import models
from django.db.models import Q
from django.utils import timezone

from ingestion.models.drafts import Draft, DraftFile
from sites.models import Site


class OpenPacket(models.Model):
    """Stores a packet that a program has opened over HTTP and has not submitted yet.

    `id` is derived from owner and key, so that opening it again finds it.
    """

    id = models.UUIDField(primary_key=True)
    owner = models.CharField(max_length=200)  # `ApiToken.owner`
    key = models.CharField(max_length=128)  # the Idempotency-Key that opened it
    site = models.ForeignKey(Site, on_delete=models.PROTECT, related_name="+")
    priority = models.PositiveSmallIntegerField()
    files = models.JSONField()  # as declared; `intake.open_packets.DeclaredFile` describes one
    size = models.PositiveBigIntegerField()  # bytes of all files, as declared
    touched_at = models.DateTimeField(default=timezone.now)

    KEPT = timedelta(days=1)  # after the last part was received

    class Meta:
        indexes = [models.Index(fields=["owner"], name="open_packets_by_owner")]

    def __str__(self) -> str:
        return f"{self.id} of {self.owner}"

    @property
    def expires_at(self) -> datetime:
        """Return the time at which the packet is deleted unless a file is received before."""
        return self.touched_at + self.KEPT


class Upload(models.Model):
    """Stores a resumable upload: a file of a person's draft, or of a program's open packet.

    `offset` bytes have been received. They wait in the spool: as parts until the last part is
    received, then as one file.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    draft = models.ForeignKey(Draft, on_delete=models.CASCADE, null=True, related_name="uploads")
    packet = models.ForeignKey(
        OpenPacket, on_delete=models.CASCADE, null=True, related_name="uploads"
    )
    number = models.PositiveIntegerField(null=True)  # of the file in its open packet, from 0
    filename = models.CharField(max_length=255)
    length = models.PositiveBigIntegerField()  # bytes of the whole file
    offset = models.PositiveBigIntegerField(default=0)  # bytes received
    sha256 = models.CharField(max_length=64, blank=True)  # as declared; computed once complete
    metadata = models.TextField(blank=True)  # the header Upload-Metadata, as it was sent
    spooled = models.CharField(max_length=200, blank=True)  # key of the whole file in the spool
    file = models.ForeignKey(DraftFile, on_delete=models.CASCADE, null=True, related_name="uploads")

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(draft=None, packet__isnull=False) | Q(draft__isnull=False, packet=None),
                name="an_upload_has_one_holder",
            ),
            models.CheckConstraint(
                condition=Q(offset__lte=models.F("length")), name="an_upload_fits_its_length"
            ),
            models.UniqueConstraint(
                fields=["packet", "number"], name="a_file_of_a_packet_has_one_upload"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.filename}, {self.offset} of {self.length} bytes"

    @property
    def holder(self) -> Draft | OpenPacket:
        """Return the draft or open packet of the file. The upload expires with it."""
        return cast("Draft | OpenPacket", self.draft or self.packet)  # by the first constraint

    @property
    def is_complete(self) -> bool:
        """Return whether the whole file has been received, joined and compared."""
        return bool(self.spooled or self.file_id)


class ReceivedPart(models.Model):
    """Stores one part of an upload, which one request has sent. Its bytes wait in the spool."""

    upload = models.ForeignKey(Upload, on_delete=models.CASCADE, related_name="parts")
    offset = models.PositiveBigIntegerField()  # of the first byte in the file
    size = models.PositiveBigIntegerField()  # bytes
    sha256 = models.CharField(max_length=64)
    spooled = models.CharField(max_length=200)  # its key in the spool
    received_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["offset"]
        constraints = [
            models.UniqueConstraint(fields=["upload", "offset"], name="a_part_is_received_once")
        ]

    def __str__(self) -> str:
        return f"{self.size} bytes from {self.offset} of {self.upload_id}"
