"""Batches, packets, documents, chunks, gates and findings: the rows that carry the guarantees.

A batch is what was submitted at once; a packet is what one site sent in it; a
document is one file with an identity (site, doc_id); a chunk is the unit of
lease and fairness, always of one site (decision 1). State changes are made in
`filing` and `dispatch` only, each with its ledger entry.
"""

import uuid
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, ClassVar, Self

from django.conf import settings
from django.db import models
from django.db.models import Count, Q
from django.utils import timezone

from ingestion.core.breaker import BreakerState
from ingestion.core.states import SETTLED, BatchState, ChunkState, DocumentState
from ingestion.rules.types import TYPES
from sites.models import Portal, Site, User

PRIORITIES = range(1, 11)  # 1 is the most urgent


def _choices(
    states: type[DocumentState] | type[BatchState] | type[ChunkState],
) -> list[tuple[str, str]]:
    return [
        (state.value, getattr(state, "word", state.name.replace("_", " ").capitalize()))
        for state in states
    ]


class Source(models.TextChoices):
    MANIFEST = "manifest", "Manifest"
    FOLDER = "folder", "Folder"
    UPLOAD = "upload", "Web upload"


class Batch(models.Model):
    reference = models.CharField(max_length=20, unique=True)
    source = models.CharField(max_length=20, choices=Source)
    submitted_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True
    )
    state = models.CharField(
        max_length=20, choices=_choices(BatchState), default=BatchState.SUBMITTED
    )
    priority = models.PositiveSmallIntegerField(default=5)
    idempotency_key = models.CharField(max_length=200, unique=True, null=True, blank=True)
    transitions = models.PositiveIntegerField(default=0)  # the n of its next ledger entry
    created_at = models.DateTimeField(default=timezone.now)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-pk"]
        verbose_name_plural = "batches"
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

    @property
    def subject(self) -> str:
        """How the ledger names this batch."""
        return f"batch:{self.pk}"

    def counts(self) -> dict[DocumentState, int]:
        """How many documents are in each state; states without any are left out."""
        rows = self.documents.order_by().values_list("state").annotate(n=Count("pk"))
        return {DocumentState(state): n for state, n in rows}


class PacketQuerySet(models.QuerySet["Packet"]):
    def visible_to(self, user: User) -> Self:
        return self if user.is_staff else self.filter(site__memberships__user=user)


class Packet(models.Model):
    """What one site sent in one batch."""

    batch = models.ForeignKey(Batch, on_delete=models.PROTECT, related_name="packets")
    site = models.ForeignKey(Site, on_delete=models.PROTECT, related_name="packets")
    reference = models.CharField(max_length=20, unique=True)
    name = models.CharField(max_length=120, blank=True)  # the sender's own label
    created_at = models.DateTimeField(default=timezone.now)

    objects: ClassVar[PacketQuerySet] = PacketQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        ordering = ["-pk"]

    def __str__(self) -> str:
        return self.reference


class ChunkQuerySet(models.QuerySet["Chunk"]):
    def due(self, at: timezone.datetime) -> Self:  # type: ignore[name-defined]
        """What a shift may lease now, in the one order of fairness."""
        return self.filter(state=ChunkState.WAITING, next_dispatch_at__lte=at).order_by(
            "rank", "pk"
        )

    def orphaned(self, at: timezone.datetime) -> Self:  # type: ignore[name-defined]
        """Leased by a worker that stopped beating."""
        return self.filter(state=ChunkState.RUNNING, lease_expires_at__lt=at)

    def waiting_for(self, portal: int) -> Self:
        """Not leased, and their site's documents come from this portal."""
        return self.filter(state=ChunkState.WAITING, site__portal=portal)

    def lock_held(self, leases: Iterable[uuid.UUID]) -> dict[int, uuid.UUID]:
        """Lock the rows that are held under these leases until the transaction ends."""
        held = self.select_for_update(of=("self",), no_key=True).filter(lease_id__in=set(leases))
        rows = held.order_by("pk").values_list("pk", "lease_id")
        return {chunk: lease for chunk, lease in rows if lease}

    def lock_if_held(self, lease: uuid.UUID, **which: Any) -> bool:
        """Lock the chunk's row until the transaction ends, if it is held under this lease."""
        held = self.select_for_update(of=("self",), no_key=True).filter(lease_id=lease, **which)
        return held.values_list("pk", flat=True).first() is not None


class Chunk(models.Model):
    """At most CHUNK_SIZE documents of one site: what a shift leases."""

    batch = models.ForeignKey(Batch, on_delete=models.PROTECT, related_name="chunks")
    site = models.ForeignKey(Site, on_delete=models.PROTECT, related_name="chunks")
    state = models.CharField(
        max_length=10, choices=_choices(ChunkState), default=ChunkState.WAITING
    )
    rank = models.FloatField()  # virtual time of its site, weighted by priority
    next_dispatch_at = models.DateTimeField(default=timezone.now)
    lease_id = models.UUIDField(null=True, blank=True)
    lease_owner = models.CharField(max_length=120, blank=True)  # host:pid:start
    lease_expires_at = models.DateTimeField(null=True, blank=True)
    attempts = models.PositiveIntegerField(default=0)  # leases given so far

    objects: ClassVar[ChunkQuerySet] = ChunkQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        ordering = ["rank", "pk"]
        indexes = [
            models.Index(
                fields=["rank", "id"], condition=Q(state=ChunkState.WAITING), name="chunks_due"
            ),
            models.Index(
                fields=["lease_expires_at"],
                condition=Q(state=ChunkState.RUNNING),
                name="chunks_leased",
            ),
            # The virtual clock is the rank that was dispatched last.
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


class DocumentQuerySet(models.QuerySet["Document"]):
    def visible_to(self, user: User) -> Self:
        """Another site's document does not exist for a coordinator."""
        return self if user.is_staff else self.filter(site__memberships__user=user)

    def unsettled(self) -> Self:
        """The machine still has something to do with them."""
        return self.exclude(state__in=SETTLED)

    def waiting(self) -> Self:
        """Registered and not fetched: a worker may take them up, once their time has come."""
        return self.filter(state=DocumentState.RECEIVED)

    def due(self, at: timezone.datetime) -> Self:  # type: ignore[name-defined]
        return self.waiting().filter(Q(next_attempt_at=None) | Q(next_attempt_at__lte=at))

    def on_file(self) -> Self:
        return self.filter(state=DocumentState.ARCHIVED)

    def with_etag(self) -> Self:
        """Their portal can be asked whether it has anything else."""
        return self.exclude(etag="")


class Document(models.Model):
    """One file with an identity: (site, doc_id). Its versions are its different bytes."""

    batch = models.ForeignKey(Batch, on_delete=models.PROTECT, related_name="documents")
    packet = models.ForeignKey(Packet, on_delete=models.PROTECT, related_name="documents")
    chunk = models.ForeignKey(
        Chunk, on_delete=models.SET_NULL, null=True, blank=True, related_name="documents"
    )
    site = models.ForeignKey(Site, on_delete=models.PROTECT, related_name="documents")
    doc_id = models.CharField("document", max_length=120)
    # No choices: types are data that a data manager extends, and need no migration.
    document_type = models.CharField("type", max_length=40, blank=True)
    filename = models.CharField(max_length=255, blank=True)
    url = models.URLField(max_length=2000, blank=True)  # "" for an upload
    spooled = models.CharField(max_length=200, blank=True)  # an upload's key in the spool
    schema_version = models.CharField(max_length=20)
    expected_sha256 = models.CharField(max_length=64, blank=True)  # as the manifest gives it
    sha256 = models.CharField(max_length=64, blank=True, db_index=True)
    size = models.PositiveBigIntegerField(null=True, blank=True)  # bytes
    etag = models.CharField(max_length=200, blank=True)  # a strong one, its portal's for its bytes
    pages = models.PositiveIntegerField(null=True, blank=True)
    state = models.CharField(
        max_length=20, choices=_choices(DocumentState), default=DocumentState.RECEIVED
    )
    code = models.CharField(max_length=40, blank=True)  # the primary finding's
    attempts = models.PositiveIntegerField(default=0)  # times taken up, counted before anything
    fetch_tries = models.PositiveIntegerField(default=0)  # requests that failed so far
    failing_since = models.DateTimeField(null=True, blank=True)  # its deadline counts from then
    next_attempt_at = models.DateTimeField(null=True, blank=True)  # not asked for before
    transitions = models.PositiveIntegerField(default=0)  # the n of its next ledger entry
    correlation_id = models.UUIDField(default=uuid.uuid4, editable=False)
    rules_version = models.CharField(max_length=20, blank=True)
    duplicate_of = models.ForeignKey(
        "self", on_delete=models.PROTECT, null=True, blank=True, related_name="duplicates"
    )
    received_at = models.DateTimeField(default=timezone.now)
    settled_at = models.DateTimeField(null=True, blank=True)

    objects: ClassVar[DocumentQuerySet] = DocumentQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        ordering = ["-pk"]
        permissions = [("retry_document", "Can try held documents again")]
        indexes = [
            models.Index(fields=["chunk", "state"], name="documents_of_a_chunk"),
            models.Index(fields=["batch", "state"], name="documents_of_a_batch"),
            models.Index(fields=["site", "sha256"], name="documents_by_content"),
        ]
        constraints = [
            models.CheckConstraint(
                condition=Q(state__in=[state.value for state in DocumentState]),
                name="document_state_is_one_of_the_table",
            ),
            models.UniqueConstraint(
                fields=["site", "doc_id", "sha256"],
                condition=Q(state=DocumentState.ARCHIVED),
                name="document_is_filed_once",
            ),
            models.UniqueConstraint(
                fields=["batch", "site", "doc_id"], name="a_batch_names_a_document_once"
            ),
            models.CheckConstraint(
                condition=~Q(state=DocumentState.ARCHIVED) | ~Q(sha256=""),
                name="a_filed_document_has_its_fingerprint",
            ),
            models.CheckConstraint(
                condition=~Q(url="") | ~Q(spooled=""),
                name="a_document_comes_from_a_portal_or_an_upload",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.doc_id} at site {self.site.site_id}"

    @property
    def subject(self) -> str:
        """How the ledger names this document."""
        return f"document:{self.pk}"

    @property
    def type_name(self) -> str:
        kind = TYPES.get(self.document_type)
        return kind.name if kind else "Document"


class PortalGateQuerySet(models.QuerySet["PortalGate"]):
    def shut(self) -> Self:
        """Their portals do not answer, and are not asked but for a probe now and then."""
        return self.exclude(breaker=BreakerState.CLOSED)


class PortalGate(models.Model):
    """Bucket and breaker of a portal, shared by all workers: one row each (docs/adr/0009).

    Written by `dispatch.gates` alone. Times are microseconds since 1970 by the database's clock:
    integers, so that a reservation is given back only to the very value that it left.
    """

    portal = models.OneToOneField(
        Portal, on_delete=models.CASCADE, primary_key=True, related_name="gate"
    )
    tat = models.BigIntegerField(default=0)  # theoretical arrival time of the next request
    given_at = models.BigIntegerField(default=0)  # when it last gave a document, roughly
    breaker = models.CharField(
        max_length=10,
        choices=[(state.value, state.value) for state in BreakerState],
        default=BreakerState.CLOSED,
    )
    failures = models.JSONField(default=list)  # when, since the portal last answered
    shut_until = models.BigIntegerField(default=0)  # the next probe may go then
    switches = models.PositiveIntegerField(default=0)  # the n of the breaker's last ledger entry

    objects: ClassVar[PortalGateQuerySet] = PortalGateQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(breaker__in=[state.value for state in BreakerState]),
                name="breaker_state_is_one_of_the_table",
            ),
        ]

    def __str__(self) -> str:
        return f"gate of {self.portal}"

    @property
    def subject(self) -> str:
        """How the ledger names this portal's breaker."""
        return f"breaker:{self.portal_id}"

    @property
    def next_probe_at(self) -> datetime:
        return datetime.fromtimestamp(self.shut_until / 1e6, UTC)


class Finding(models.Model):
    """What a rule saw. The sentences are made from code and facts when they are shown."""

    document = models.ForeignKey(Document, on_delete=models.PROTECT, related_name="findings")
    code = models.CharField(max_length=40)
    page = models.PositiveIntegerField(default=0)  # 0: the whole document
    is_primary = models.BooleanField(default=False)
    facts = models.JSONField(default=dict)  # str and int only
    rules_version = models.CharField(max_length=20)
    attempt = models.PositiveIntegerField(default=1)  # of the document, when it was found

    class Meta:
        ordering = ["document", "-is_primary", "pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["document", "attempt"],
                condition=Q(is_primary=True),
                name="a_decision_has_one_primary_finding",
            )
        ]

    def __str__(self) -> str:
        return self.code
