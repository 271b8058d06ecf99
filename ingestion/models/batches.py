"""Defines batches, packets and chunks: what was submitted, and the portions of work."""

import uuid
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Self

from django.conf import settings
from django.db import models
from django.db.models import Count, Max, Q
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from audit.ledger.recorded_row import RecordedRow
from ingestion.core.states import OPEN_BATCH_STATES, BatchState, ChunkState, DocumentState
from ingestion.models.choices import list_state_choices
from sites.models import Site, User, make_visibility_filter

PRIORITIES = range(1, 11)  # 1 is the most urgent
MAX_URGENT_PRIORITY = 3  # up to this priority, chunks have room of their own


class BatchSource(models.TextChoices):
    """Lists the ways in which batches are submitted."""

    MANIFEST = "manifest", _("Manifest")
    FOLDER = "folder", _("Folder")
    UPLOAD = "upload", _("Web upload")
    PULL = "pull", _("Repeated portal download")


class BatchQuerySet(models.QuerySet["Batch"]):
    """Selects batches by their state."""

    def open(self) -> Self:
        """Return batches that have not ended."""
        return self.filter(state__in=OPEN_BATCH_STATES)

    def being_cancelled(self) -> Self:
        """Return cancelled batches that have not ended. Workers begin nothing of them."""
        return self.open().filter(cancel_requested_at__isnull=False)


class Batch(RecordedRow):
    """Describes a submission: packets of documents that are worked on and reported together."""

    reference = models.CharField(max_length=20, unique=True)
    source = models.CharField(max_length=20, choices=BatchSource)
    submitted_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True
    )
    submitted_as = models.CharField(max_length=200, blank=True)  # an actor, or the owner of a token
    state = models.CharField(
        max_length=20, choices=list_state_choices(BatchState), default=BatchState.SUBMITTED
    )
    priority = models.PositiveSmallIntegerField(default=5)
    idempotency_key = models.CharField(max_length=200, unique=True, null=True, blank=True)
    request_digest = models.CharField(max_length=64, blank=True)  # of the request with that key
    revision = models.PositiveIntegerField(default=0, editable=False, db_column="transitions")
    # Of the request or command that submitted it; None for batches of earlier releases.
    correlation_id = models.UUIDField(null=True, editable=False)
    created_at = models.DateTimeField(default=timezone.now)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    cancel_requested_at = models.DateTimeField(null=True, blank=True)
    cancel_requested_by = models.CharField(max_length=200, blank=True)  # as in the ledger
    cancel_requested_role = models.CharField(max_length=200, blank=True)
    error_code = models.CharField(max_length=40, blank=True)  # why it ended unfinished
    summary = models.JSONField(default=dict, blank=True)  # set at its end, kept without chunks
    pruned_at = models.DateTimeField(null=True, blank=True)

    objects = BatchQuerySet.as_manager()

    class Meta:
        ordering = ["-pk"]
        verbose_name_plural = _("batches")
        permissions = [("cancel_batch", "Can cancel anybody's batches")]
        indexes = [
            models.Index(fields=["state", "finished_at"], name="batches_by_state"),
        ]
        constraints = [
            models.CheckConstraint(
                condition=Q(state__in=[state.value for state in BatchState]),
                name="batch_state_is_one_of_the_table",
            ),
            models.CheckConstraint(
                condition=Q(priority__gte=1, priority__lte=10),
                name="batch_priority_is_from_1_to_10",
            ),
        ]

    def __str__(self) -> str:
        return self.reference

    def entry_facts(self) -> Mapping[str, Any]:
        """Return the facts that all entries of the batch contain: its correlation ID.

        Entries of batches of earlier releases have the reference instead.
        """
        return {"correlation_id": str(self.correlation_id or self.reference)}

    def log_facts(self) -> Mapping[str, Any]:
        """Return the batch for lines of the log."""
        return {"batch": self.reference}

    @property
    def is_urgent(self) -> bool:
        """Return whether the documents of the batch are worked on before those of others."""
        return self.priority <= MAX_URGENT_PRIORITY

    @property
    def is_being_cancelled(self) -> bool:
        """Return whether a cancellation was requested and workers have not all stopped."""
        return self.cancel_requested_at is not None and not BatchState(self.state).is_final

    def counts(self) -> dict[DocumentState, int]:
        """Return the number of documents in each state that has any."""
        rows = self.documents.order_by().values_list("state").annotate(n=Count("pk"))
        return {DocumentState(state): n for state, n in rows}

    def count_files(self) -> int:
        """Return the number of files that were received. Parts of files are not counted."""
        return self.documents.files().count()


class BatchRetry(models.Model):
    """Stores a retry of the held documents of a batch, which was requested over HTTP."""

    batch = models.ForeignKey(Batch, on_delete=models.PROTECT, related_name="retries")
    idempotency_key = models.CharField(max_length=200, unique=True)
    request_digest = models.CharField(max_length=64)
    requested_by = models.CharField(max_length=200)  # an actor, as in the ledger
    documents = models.PositiveIntegerField(default=0)  # queued so far
    created_at = models.DateTimeField(default=timezone.now)
    finished_at = models.DateTimeField(null=True, blank=True)  # when all were queued

    class Meta:
        ordering = ["-pk"]
        verbose_name_plural = _("retries of batches")

    def __str__(self) -> str:
        return f"retry {self.pk} of {self.batch_id}"


class PacketQuerySet(models.QuerySet["Packet"]):
    """Selects the packets that a person can see."""

    def visible_to(self, user: User) -> Self:
        """Return the packets that the person can see (R15)."""
        return self.filter(make_visibility_filter(user, "site"))


class Packet(models.Model):
    """Stores what one site sent in one batch."""

    batch = models.ForeignKey(Batch, on_delete=models.PROTECT, related_name="packets")
    site = models.ForeignKey(Site, on_delete=models.PROTECT, related_name="packets")
    reference = models.CharField(max_length=20, unique=True)
    name = models.CharField(max_length=120, blank=True)  # the sender's own label
    created_at = models.DateTimeField(default=timezone.now)

    objects = PacketQuerySet.as_manager()

    class Meta:
        ordering = ["-pk"]

    def __str__(self) -> str:
        return self.reference

    @property
    def subject(self) -> str:
        """Return how the ledger names this packet."""
        return f"packet:{self.pk}"

    def list_subjects(self) -> list[str]:
        """Return the subjects of the entries of the packet, its batch and its documents."""
        keys = self.documents.order_by("pk").values_list("pk", flat=True)
        return [self.batch.subject, self.subject, *(f"document:{pk}" for pk in keys)]


class ChunkQuerySet(models.QuerySet["Chunk"]):
    """Selects chunks by their state, their urgency and their lease."""

    def waiting(self) -> Self:
        """Return the chunks that no worker has leased."""
        return self.filter(state=ChunkState.WAITING)

    def running(self) -> Self:
        """Return the chunks that a worker has leased."""
        return self.filter(state=ChunkState.RUNNING)

    def of_urgency(self, urgent: bool) -> Self:
        """Return the chunks of urgent batches, or those of all others."""
        # Not `is_urgent=`, which Django writes as NOT: SQLite uses the order of the index only
        # after equalities, and would sort the whole backlog of a site.
        return self.filter(is_urgent__in=[urgent])

    def due(self, at: datetime | Now) -> Self:
        """Return chunks that a shift may lease, in the order of fairness."""
        return self.waiting().filter(next_dispatch_at__lte=at).order_by("rank", "pk")

    def orphaned(self, at: datetime) -> Self:
        """Return chunks whose lease has expired."""
        return self.running().filter(lease_expires_at__lt=at)

    def virtual_time(self) -> float:
        """Return the highest rank that was leased. New chunks do not rank before it."""
        dispatched = self.filter(attempts__gt=0).aggregate(Max("rank"))
        return dispatched["rank__max"] or 0.0

    def waiting_for_portal(self, portal: int) -> Self:
        """Return chunks that are not leased and whose documents come from this portal."""
        return self.waiting().filter(site__portal=portal)

    def lock_if_held(self, lease: uuid.UUID, **which: Any) -> bool:
        """Lock the row until the transaction ends. Returns False if the lease is lost."""
        held = self.select_for_update(of=("self",), no_key=True).filter(lease_id=lease, **which)
        return held.values_list("pk", flat=True).first() is not None


class Chunk(models.Model):
    """Stores at most CHUNK_SIZE documents of one site, which a shift leases together."""

    batch = models.ForeignKey(Batch, on_delete=models.PROTECT, related_name="chunks")
    site = models.ForeignKey(Site, on_delete=models.PROTECT, related_name="chunks")
    state = models.CharField(
        max_length=10, choices=list_state_choices(ChunkState), default=ChunkState.WAITING
    )
    rank = models.FloatField()  # virtual time of its site, weighted by priority
    is_urgent = models.BooleanField(default=False)  # urgent chunks have room of their own
    next_dispatch_at = models.DateTimeField(default=timezone.now)
    created_at = models.DateTimeField(default=timezone.now, db_default=Now())  # queued
    lease_id = models.UUIDField(null=True, blank=True)
    lease_owner = models.CharField(max_length=120, blank=True)  # host:pid:start
    lease_expires_at = models.DateTimeField(null=True, blank=True)
    attempts = models.PositiveIntegerField(default=0)  # leases given so far
    losses = models.PositiveSmallIntegerField(default=0)  # leases in a row that expired

    objects = ChunkQuerySet.as_manager()

    class Meta:
        ordering = ["rank", "pk"]
        indexes = [
            # By site first: the next chunk of each site is one probe, however many chunks wait. Not
            # a partial index, which SQLite does not use for a query with a bound state.
            models.Index(
                fields=["site", "state", "is_urgent", "rank", "id", "next_dispatch_at"],
                name="chunks_due",
            ),
            models.Index(fields=["is_urgent", "state", "next_dispatch_at"], name="chunks_waiting"),
            models.Index(
                fields=["lease_expires_at"],
                condition=Q(state=ChunkState.RUNNING),
                name="chunks_leased",
            ),
            # For the rank that was leased last.
            models.Index(fields=["rank"], condition=Q(attempts__gt=0), name="chunks_dispatched"),
        ]
        constraints = [
            models.CheckConstraint(
                condition=Q(state__in=[state.value for state in ChunkState]),
                name="chunk_state_is_one_of_the_table",
            ),
            models.CheckConstraint(
                condition=Q(
                    state=ChunkState.RUNNING, lease_id__isnull=False, lease_expires_at__isnull=False
                )
                | Q(~Q(state=ChunkState.RUNNING), lease_id__isnull=True),
                name="a_running_chunk_has_a_lease_and_no_other_has",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.batch_id}/{self.pk} of {self.site_id}"

    def log_facts(self) -> Mapping[str, Any]:
        """Return what lines of the log say about the chunk. Its number of attempts is of leases."""
        return {
            **self.batch.entry_facts(),
            **self.batch.log_facts(),
            "study": self.site.study.protocol_number,
            "site": self.site.site_id,
            "attempt": self.attempts,
        }
