"""Defines drafts: packets in the upload form that are not submitted yet."""

from datetime import datetime, timedelta
from typing import Self

from django.db import models
from django.db.models import Q
from django.utils import timezone

from ingestion.models.batches import Packet
from ingestion.models.documents import Document
from sites.models import Site, User


class DraftQuerySet(models.QuerySet["Draft"]):
    """Selects the drafts that are not submitted."""

    def open(self) -> Self:
        """Return the drafts that are not submitted."""
        return self.filter(packet=None)


class Draft(models.Model):
    """Stores a packet that a person prepares, or one file that replaces a rejected one.

    A person has one draft of the first kind at a time, and one of the second kind for each
    document. The row is kept for some time after the submission, so that submitting it again finds
    the packet.
    """

    user = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    site = models.ForeignKey(Site, on_delete=models.PROTECT, null=True, related_name="+")
    corrects = models.ForeignKey(Document, on_delete=models.PROTECT, null=True, related_name="+")
    token = models.CharField(max_length=32)  # of the form in which it was begun
    packet = models.ForeignKey(Packet, on_delete=models.PROTECT, null=True, related_name="+")
    touched_at = models.DateTimeField(default=timezone.now)

    KEPT = timedelta(days=7)  # after the last change

    objects = DraftQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["user"],
                condition=Q(packet=None, corrects=None),
                name="a_person_puts_one_packet_together",
            ),
            models.UniqueConstraint(
                fields=["user", "corrects"],
                condition=Q(packet=None),
                name="a_person_corrects_a_document_in_one_draft",
            ),
            models.UniqueConstraint(fields=["user", "token"], name="a_form_begins_one_draft"),
        ]

    def __str__(self) -> str:
        return f"{self.token} of {self.user}"

    @property
    def expires_at(self) -> datetime:
        """Return the time at which the draft is deleted unless it is changed before."""
        return self.touched_at + self.KEPT


class DraftFile(models.Model):
    """Stores a file that was uploaded and is not submitted yet. Its bytes wait in the spool."""

    draft = models.ForeignKey(Draft, on_delete=models.CASCADE, related_name="files")
    filename = models.CharField(max_length=255)
    spooled = models.CharField(max_length=200)  # key in the spool
    sha256 = models.CharField(max_length=64)
    size = models.PositiveBigIntegerField()  # bytes
    document_type = models.CharField(max_length=40, blank=True)  # as chosen, or ""
    person = models.CharField(max_length=80, blank=True)
    # Detected from the pages, or "".
    detected_type = models.CharField(max_length=40, blank=True, db_column="guess")
    detected_at = models.DateTimeField(null=True, db_column="guessed_at")  # None: not detected yet
    cut = models.JSONField(null=True, blank=True)  # as in `Extraction.cut`; None: one document
    doubted = models.CharField(max_length=40, blank=True)  # the choice to be confirmed
    received_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["draft", "sha256"], name="a_draft_holds_a_file_once")
        ]

    def __str__(self) -> str:
        return self.filename
